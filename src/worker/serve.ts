import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { UnusableSetting } from '../base/errors.js'
import { createImports } from '../manage/imports.js'
import { createBackupApi } from '../storage/backup/take.js'
import type { CommitPosition } from '../storage/commit-position.js'
import type { EventStore } from '../storage/event-store.js'
import type { Rows } from '../storage/rows.js'
import { type Log, type RecordStore, type Repair, toHexId } from '../storage/store.js'
import type { TailRow, WorkerOptions } from '../worker-client/protocol.js'
import { createChangeRelay } from './change-relay.js'
import { createDiskLimit } from './disk-limit.js'
import { createImportApi } from './import/api.js'
import { createLateHitResolver } from './late-hits.js'
import { createLateJudgements, findUnjudgedHostnames } from './late-judgements.js'
import { createLateVerdicts } from './late-verdicts.js'
import { listen } from './listen.js'
import { openWorkerStores, type WorkerStores } from './open-stores.js'
import { findPageReports } from './page-reports.js'
import { createUsageReport, freeDisk, heapShare, killSelf, type ParentPort } from './parent-port.js'
import type { CreateParts, WorkerApi } from './parts.js'
import { createRemovalStep } from './removal.js'
import { formatError } from './requests.js'
import { serveReader } from './serve-reader.js'
import { openSharedSalts } from './shared-salts.js'
import { createSharedApi, createSizeApi } from './shared-status.js'
import { openSites } from './sites.js'
import { readReportingVisitors } from './stored-reports.js'
import { readActiveSessions } from './stored-sessions.js'
import { readRecentViews } from './stored-views.js'
import { createWriter } from './writer.js'

/** Above this share of the heap the worker ends in good order, before Node ends it in none. */
const MAX_HEAP_SHARE = 0.9
/** The site's process handles each message at once. */
const TAIL_ROWS_PER_MESSAGE = 500

/** Runs the worker: opens the stores, and writes or only reads. */
export async function serve(port: ParentPort, options: WorkerOptions, createParts: CreateParts): Promise<void> {
  const { post } = port
  const log: Log = (level, message, error) =>
    post({ type: 'log', level, message, ...(error === undefined ? {} : { error: formatError(error) }) })
  const changes = createChangeRelay({ onReloaded: () => post({ type: 'records_changed' }), log })
  const onLeaseLost = () => {
    // Nothing of this process counts any more: it need not end in order.
    post({ type: 'role_changed', reason: 'another process has become the writer' })
    port.exit(0)
  }
  const onStage = (stage: string) => post({ type: 'opening', stage })
  const hooks = { log, onStage, onRepaired: () => port.exit(0), onRecordsChange: changes.add, onLeaseLost }
  const stores = await openWorkerStores(options, hooks)
  const sites = await openSites(stores.records)
  changes.open(sites.reload)
  if (stores.held?.kept) log('info', 'this process writes')
  const run = { port, options, createParts, stores, sites, log, changes }
  await (stores.held && stores.held.kept === undefined ? serveReader(run) : serveWriter(run))
}

/**
 * Stores batches, answers messages, closes in order. A DuckDB call that is running while its environment is torn down
 * aborts the process, so every way out that we control stops and awaits the calls first.
 */
async function serveWriter({
  port,
  options,
  createParts,
  stores: { events, records, held },
  sites,
  log,
}: {
  port: ParentPort
  options: WorkerOptions
  createParts: CreateParts
  stores: WorkerStores
  sites: Awaited<ReturnType<typeof openSites>>
  log: Log
}): Promise<void> {
  const { post } = port
  const disk = createDiskLimit({ options, events, clock: () => performance.now(), log })
  const { obstacle } = disk
  const salts = held && { file: await openSharedSalts(records, log), keepEnded: true }
  const parts = openParts(createParts, { options, ...sites, records, events, salts, obstacle, log, post })
  await Promise.all([restoreMemory(parts, events, new Date(), log), disk.measure()])
  await parts.start()
  const stored = await events.lastCommit(options.from.run)
  const from = stored && stored.sequence > options.from.sequence ? stored : options.from

  const { writer, lateVerdicts, setTailing } = startWriter({ events, parts, from, obstacle, post, log })
  const lateJudgements = createLateJudgements({ store: events, writer, log, ...parts.judgement })
  const imports = createImports(records, randomBytes)
  const { runExclusive } = writer
  const importing = createImportApi({ ...parts.importing, store: events, imports, runExclusive })
  const api: WorkerApi = {
    ...parts.api,
    remove: createRemovalStep({ store: events, writer, imports, ...parts }),
    assign: (sites) => events.assign(z.object({ from: z.int(), to: z.int() }).parse(sites)),
    forget_removals: (key) => events.forgetRemovals(z.string().optional().parse(key)),
    ...createSharedApi({ events, records, held, options }),
    ...importing.api,
    ...createSizeApi(events),
    ...createBackupApi({ ...options, events, records, freeDisk: () => freeDisk(options.data), now: () => new Date() }),
  }

  const reportUsage = createUsageReport(post)
  let ending = false
  const end = (code: number): void => {
    if (ending) return
    ending = true
    clearInterval(ticking)
    // Verdicts of the last second may wait that no tick has written.
    void Promise.allSettled([parts.close(), lateVerdicts.flush()])
      .then(() => Promise.allSettled([events.close(), writer.stop()]))
      .then(() => held?.kept?.release())
      .then(() => records.close())
      .finally(() => port.exit(code))
  }
  // At once, because agents are judged by what it fetches.
  parts.tick()
  const ticking = setInterval(() => {
    parts.tick()
    void Promise.all([lateVerdicts.flush(), lateJudgements.flush()])
    void events.maintain({ aggregate: !importing.isStoringPast() })
    void disk.measure()
    writer.noteObstacle()
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

  listen(port, { events, records, sites, api, writer, setTailing, setNoting: parts.setNoting, end, log })
  post({ type: 'ready', position: from, losses: formatLosses(events, records), writer: true })
  reportUsage()
}

/** Starts to store batches. The site's process hears of each commit, with its rows while it asks for them. */
function startWriter({
  events,
  parts,
  from,
  obstacle,
  post,
  log,
}: {
  events: EventStore
  parts: ReturnType<CreateParts>
  from: CommitPosition
  obstacle: () => string | undefined
  post: ParentPort['post']
  log: Log
}) {
  const lateVerdicts = createLateVerdicts({ store: events, onStored: parts.activity.addAgents, log })
  let tailing = false
  const writer = createWriter({
    classifier: parts.classifier,
    store: events,
    resolveLate: createLateHitResolver({ store: events, sessions: parts.sessions, findReports: findPageReports }),
    from,
    obstacle,
    clock: () => performance.now(),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    onBegin: (sequence) => post({ type: 'begun', sequence }),
    onCommit({ position, rows, drops, pending, ms }) {
      lateVerdicts.add(pending)
      parts.activity.addAgents(rows.agent_events)
      post({ type: 'committed', position, drops, ms })
      if (tailing) for (const part of tailRows(rows)) post({ type: 'tail_rows', rows: part })
    },
    onState: (reason) => post({ type: 'state', ...(reason === undefined ? {} : { reason }) }),
    log,
  })
  const setTailing = (on: boolean) => {
    tailing = on
  }
  return { writer, lateVerdicts, setTailing }
}

function formatLosses(events: EventStore, records: RecordStore): string[] {
  return [
    ...events.losses.map((loss) => `${formatLoss(loss)} (${loss.rows ?? 'an unknown number of'} rows lost)`),
    ...records.repairs.map((repair) => `records: ${formatLoss(repair)} (sites, accounts or keys may be lost)`),
  ]
}

/**
 * Reads running sessions, recent views and the hostnames of unjudged fetches back. If that fails, memory is empty, and each
 * hit is looked up.
 */
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
  try {
    parts.judgement.policies.addStored(await findUnjudgedHostnames(events, now.getTime()))
  } catch (error) {
    log('error', 'the hostnames of unjudged fetches cannot be read: each is known from its next request', error)
  }
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
