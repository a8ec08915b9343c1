import { z } from 'zod'
import { RangesStatus } from '../../agents/ranges/status.js'
import type { InstanceStatus } from '../../api/instance-status.js'
import { FleetStatus, SharedStatus } from '../../api/metrics.js'
import { GeoSources } from '../../api/worker-control.js'
import { waitAtMost } from '../../base/wait-at-most.js'
import type { ScheduleStatus } from '../../storage/backup/manifest.js'
import type { WorkerClientStatus } from '../../worker-client/status.js'
import type { Core } from './core.js'
import { measureDataFiles } from './data-files.js'
import type { InstanceDeps } from './instance.js'
import { createRateMeter } from './rate-meter.js'
import type { createSizeReader } from './size-reader.js'

/** A worker that takes longer has no part in the status. */
const WORKER_TIMEOUT_MS = 2_000
const WEEK_MS = 7 * 86_400_000

/** The ages of what the worker has fetched or opened. */
const Freshness = z.object({
  robots: z.array(
    z.object({
      hostname: z.string(),
      site: z.number().optional(),
      standing: z.enum(['served', 'unavailable', 'unreachable', 'unknown']),
      checked_at: z.iso.datetime().optional(),
    }),
  ),
  ranges: z.array(RangesStatus),
  geo: GeoSources,
})

/** The facts about the process that every kind of instance has. */
export const describeProcess = (deps: Pick<InstanceDeps, 'proxy'>): Pick<InstanceStatus, 'requests' | 'memory'> => {
  const { active, statuses, failures, addresses, ignored_peer } = deps.proxy?.() ?? {}
  const set = (counts: Readonly<Partial<Record<string, number>>> = {}) =>
    Object.fromEntries(Object.entries(counts).flatMap(([name, n]) => (n === undefined ? [] : [[name, n]])))
  return {
    ...(active !== undefined && {
      requests: {
        active,
        statuses: set(statuses),
        failures: set(failures),
        addresses: set(addresses),
        ...(ignored_peer !== undefined && { ignored_peer }),
      },
    }),
    memory: { site_bytes: process.memoryUsage.rss() },
  }
}

/** Returns functions that read the parts of the status which only the worker knows; empty while it does not respond. */
function createWorkerFacts(
  workerClient: Pick<Core['workerClient'], 'call' | 'isShared' | 'isWriter' | 'writerAddress'>,
) {
  /** Asks the worker; undefined if it does not respond in time. */
  const askWorker = async <T>(name: string, shape: z.ZodType<T>): Promise<T | undefined> => {
    let facts: T | undefined
    const reading = workerClient.call(name).then((value) => {
      facts = shape.parse(value)
    })
    await waitAtMost(
      WORKER_TIMEOUT_MS,
      reading.catch(() => {}),
    )
    return facts
  }
  const freshness = async () => {
    const found = await askWorker('freshness', Freshness)
    if (!found) return {}
    const { ranges, ...rest } = found
    const oldest = ranges.map(({ refreshed_at }) => refreshed_at).sort()[0]
    const stale = ranges.filter((one) => one.stale).length
    return { ...rest, ranges: { agents: ranges.length, stale, ...(oldest && { oldest }) } }
  }
  const fleet = async (): Promise<Pick<InstanceStatus, 'engines' | 'fleet'>> => {
    const [shared, servers] = await Promise.all([
      askWorker('fleet_status', FleetStatus),
      workerClient.isShared ? askWorker('shared_status', SharedStatus) : undefined,
    ])
    if (!shared) return {}
    const { engines, lease } = shared
    const { server, records_bytes } = servers ?? {}
    const writer = workerClient.writerAddress()
    return {
      engines: {
        ...engines,
        ...(server?.bytes !== undefined && { rows_bytes: server.bytes }),
        ...(records_bytes !== undefined && { records_bytes }),
      },
      ...(lease && {
        fleet: { role: workerClient.isWriter() ? 'writer' : 'reader', ...(writer && { writer }), ...lease },
      }),
    }
  }
  return { freshness, fleet }
}

/** Returns the function that describes the running instance to the operator, and the one that ends its measuring. */
export function createStatusReader(
  { workerClient, recorder, spans, now }: Core,
  deps: Pick<InstanceDeps, 'version' | 'status' | 'proxy' | 'lastError' | 'otherRecorders'> & {
    data: string
    health(): WorkerClientStatus
    sizes: Pick<ReturnType<typeof createSizeReader>, 'read'>
    backups?: (() => ScheduleStatus) | undefined
  },
) {
  const started = now().toISOString()
  const countRows = () => {
    const { human, agent } = workerClient.status().rows
    return human + agent
  }
  const facts = createWorkerFacts(workerClient)
  const rate = createRateMeter(countRows, () => performance.now())

  const readGap = async () => {
    const gap = (await spans.gaps().catch(() => [])).at(-1)
    if (!gap || gap.end.getTime() < now().getTime() - WEEK_MS) return {}
    return { gap: { start: gap.start.toISOString(), end: gap.end.toISOString(), reason: gap.reason } }
  }

  return {
    async read(): Promise<Record<string, unknown>> {
      await deps.otherRecorders?.()?.refresh()
      const { rows: _, drops, worker, flush_ms: __, ...store } = deps.health()
      const { waiting, drops: recorded } = recorder.stats()
      const dropped: Record<string, number> = { ...drops }
      for (const [reason, n] of Object.entries(recorded)) dropped[reason] = (dropped[reason] ?? 0) + n
      const { requests, memory } = describeProcess(deps)
      const a_second = rate.perSecond()
      const error = deps.lastError?.()
      const [data, freshness, gap, size, fleet] = await Promise.all([
        ...([measureDataFiles(deps.data), facts.freshness(), readGap(), deps.sizes.read(), facts.fleet()] as const),
      ])
      const status: InstanceStatus = {
        version: deps.version ?? '0',
        started_at: started,
        now: now().toISOString(),
        store: { ...store, losses: [...(store.losses ?? [])], ...(worker && { worker: { pid: worker.pid } }) },
        rows: { stored: countRows(), ...(a_second !== undefined && { a_second }), waiting, dropped },
        ...(requests && { requests }),
        memory: { ...memory, ...(worker && { worker_bytes: worker.resident_bytes }) },
        data,
        ...(size && { size }),
        ...(deps.backups && { backups: deps.backups() }),
        ...freshness,
        ...fleet,
        ...gap,
        ...(error && { last_error: { at: error.at.toISOString(), message: error.message } }),
      }
      return { ...deps.status?.(), ...status }
    },
    stop: rate.stop,
  }
}
