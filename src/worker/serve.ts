import { z } from 'zod'
import type { TailRow, WorkerOptions, WorkerUsage } from '../engine/protocol.js'
import { ApiError, UnusableSetting } from '../errors.js'
import type { EventStore } from '../event-store.js'
import type { PolicyChange } from '../policy/change.js'
import type { Rows } from '../rows.js'
import { type Log, type RecordStore, type Repair, toHexId } from '../store.js'
import { createLateHitResolver } from './late-hits.js'
import { createLateJudgements } from './late-judgements.js'
import { createLateVerdicts } from './late-verdicts.js'
import { openWorkerStores } from './open-stores.js'
import { freeDisk, heapShare, killSelf, type ParentPort, processUsage } from './parent-port.js'
import type { CreateParts, WorkerApi } from './parts.js'
import { createRemovalStep } from './removal.js'
import { createRequests, formatError, toSql } from './requests.js'
import { openSites } from './sites.js'
import { readReportingVisitors } from './stored-reports.js'
import { readActiveSessions } from './stored-sessions.js'
import { readRecentViews } from './stored-views.js'
import { createWriter, type Writer } from './writer.js'

/** Above this share of the heap the worker ends in good order, before Node ends it in none. */
const MAX_HEAP_SHARE = 0.9
/** The site's process handles each message at once. */
const TAIL_ROWS_PER_MESSAGE = 500

/**
 * Runs the worker: opens both files, answers messages, closes in order. A DuckDB call that is running while its
 * environment is torn down aborts the process, so every way out that we control stops and awaits the calls first.
 */
export async function serve(port: ParentPort, options: WorkerOptions, createParts: CreateParts): Promise<void> {
  const { post } = port
  const log: Log = (level, message, error) =>
    post({ type: 'log', level, message, ...(error === undefined ? {} : { error: formatError(error) }) })
  const { events, records } = await openWorkerStores(options, log, () => port.exit(1))
  const sites = await openSites(records)
  const obstacle = () =>
    freeDisk(options.data) < options.min_free_disk
      ? `less than ${options.min_free_disk} bytes are free on disk`
      : undefined
  const policyChanged = (change: PolicyChange) => post({ type: 'policy', change })
  const parts = openParts(createParts, { options, ...sites, records, events, obstacle, log, policyChanged })
  await restoreMemory(parts, events, new Date(), log)
  await parts.start()
  const stored = await events.lastCommit(options.from.run)
  const from = stored && stored.sequence > options.from.sequence ? stored : options.from

  const lateVerdicts = createLateVerdicts({ store: events, onStored: parts.activity.addAgents, log })
  let tailing = false
  const writer = createWriter({
    classifier: parts.classifier,
    store: events,
    resolveLate: createLateHitResolver({ store: events, sessions: parts.sessions }),
    from,
    obstacle,
    clock: () => performance.now(),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    onCommit({ position, rows, drops, pending, ms }) {
      lateVerdicts.add(pending)
      parts.activity.addAgents(rows.agent_events)
      post({ type: 'committed', position, drops, ms })
      if (tailing) for (const part of tailRows(rows)) post({ type: 'tail_rows', rows: part })
    },
    onState: (reason) => post({ type: 'state', ...(reason === undefined ? {} : { reason }) }),
    log,
  })
  const lateJudgements = createLateJudgements({ store: events, writer, log, ...parts.judgement })
  const api: WorkerApi = {
    ...parts.api,
    remove: createRemovalStep({ store: events, writer, ...parts }),
    assign: (sites) => events.assign(z.object({ from: z.int(), to: z.int() }).parse(sites)),
    forget_removals: (key) => events.forgetRemovals(z.string().optional().parse(key)),
  }

  const reportUsage = createUsageReport(post)
  let ending = false
  const end = (code: number): void => {
    if (ending) return
    ending = true
    clearInterval(ticking)
    // Verdicts of the last second may wait that no tick has written.
    void Promise.allSettled([parts.close(), lateVerdicts.flush()])
      .then(() => Promise.allSettled([events.close(), writer.stop(), records.close()]))
      .then(() => port.exit(code))
  }
  const ticking = setInterval(() => {
    parts.tick()
    void Promise.all([lateVerdicts.flush(), lateJudgements.flush()])
    void events.maintain()
    reportUsage()
    if (heapShare() > MAX_HEAP_SHARE) {
      log('error', 'the worker’s heap is nearly full: it is started again')
      end(1)
    }
  }, 1_000)
  process.on('uncaughtException', (error) => {
    log('error', 'the worker failed and is started again', error)
    end(1)
  })
  // The next process waits for the files: only the commit that is running may finish.
  port.onDisconnect(() => void writer.stop().then(killSelf))

  const setTailing = (on: boolean) => {
    tailing = on
  }
  listen(port, { events, records, sites, api, writer, setTailing, end, log })
  post({ type: 'ready', position: from, losses: formatLosses(events, records) })
  reportUsage()
}

/** Sends the usage where it has changed by more than that of a resting process in minutes: each message wakes the parent. */
function createUsageReport(post: ParentPort['post']): () => void {
  let sent: WorkerUsage | undefined
  return () => {
    const usage = processUsage()
    const isSame =
      sent !== undefined &&
      usage.cpu_seconds - sent.cpu_seconds < 0.05 &&
      Math.abs(usage.resident_bytes - sent.resident_bytes) < 1 << 20
    if (isSame) return
    sent = usage
    post({ type: 'usage', usage })
  }
}

function formatLosses(events: EventStore, records: RecordStore): string[] {
  return [
    ...events.losses.map((loss) => `${formatLoss(loss)} (${loss.rows ?? 'an unknown number of'} rows lost)`),
    ...records.repairs.map((repair) => `records: ${formatLoss(repair)} (sites, accounts or keys may be lost)`),
  ]
}

/** Reads running sessions and recent views back; if that fails, memory is empty and each hit is looked up. */
async function restoreMemory(parts: ReturnType<CreateParts>, events: EventStore, now: Date, log: Log): Promise<void> {
  try {
    const { sessions, since } = await readActiveSessions(events, now)
    parts.sessions.restore(sessions, since, await readReportingVisitors(events, now))
  } catch (error) {
    log('error', 'the running sessions cannot be read back: each hit is looked up', error)
    parts.sessions.restore([], now.getTime())
  }
  try {
    parts.views.restore(await readRecentViews(events, now))
  } catch (error) {
    log('error', 'the views of the last half hour cannot be read back: each is looked up', error)
    parts.views.restore({ views: [], sessions: [], sites: [], since: now.getTime(), last: now.getTime() })
  }
}

/** Handles the messages of the site's process. */
function listen(
  port: ParentPort,
  deps: {
    events: EventStore
    records: RecordStore
    sites: Awaited<ReturnType<typeof openSites>>
    api: WorkerApi
    writer: Writer
    setTailing: (on: boolean) => void
    end: (code: number) => void
    log: Log
  },
): void {
  const { events, records, sites, api, writer, log } = deps
  const onError = (error: unknown) => log('error', 'a statement failed', error)
  const requests = createRequests({ events, records, post: port.post, onError })
  port.listen((message) => {
    switch (message.type) {
      case 'batch':
        return writer.push(message.sequence, message.batch, message.delivery)
      case 'tail':
        return deps.setTailing(message.on)
      case 'close':
        return deps.end(0)
      case 'query':
        return requests.query(message)
      case 'stream':
        return requests.stream(message)
      case 'more':
        return requests.acknowledge(message.id)
      case 'cancel':
        return requests.cancel(message.id)
      case 'call':
        return requests.run(message.id, async () => {
          const run = api[message.name]
          if (!run) throw new ApiError('not_found', `The worker has no function ${message.name}.`)
          return { type: 'result', id: message.id, value: await run(message.argument) }
        })
      case 'write':
        return requests.run(message.id, async () => {
          await records.write(...message.statements.map(toSql))
          await sites.reload()
          return { type: 'rows', id: message.id, rows: [] }
        })
    }
  })
}

const formatLoss = ({ what, bytes, backup }: Repair): string =>
  `${what.replaceAll('_', ' ')}: ${bytes} bytes, kept in ${backup}`

function* tailRows(rows: Rows): Generator<TailRow[]> {
  const all: TailRow[] = [
    ...rows.events.map((row) => ({
      audience: 'human' as const,
      ...row,
      visitor_id: toHexId(row.visitor_id),
      session_id: toHexId(row.session_id),
    })),
    ...rows.agent_events.map((row) => ({ audience: 'agent' as const, ...row, ip_hash: toHexId(row.ip_hash) })),
  ]
  all.sort((a, b) => a.timestamp.getTime() - b.timestamp.getTime())
  for (let from = 0; from < all.length; from += TAIL_ROWS_PER_MESSAGE)
    yield all.slice(from, from + TAIL_ROWS_PER_MESSAGE)
}

/** Makes the parts, which read the files that settings name. */
function openParts(createParts: CreateParts, deps: Parameters<CreateParts>[0]): ReturnType<CreateParts> {
  try {
    return createParts(deps)
  } catch (cause) {
    throw new UnusableSetting(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}
