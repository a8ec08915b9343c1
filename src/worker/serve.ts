import { z } from 'zod'
import type { SiteByHostname, SiteById } from '../capture/site.js'
import type { Log } from '../duckdb/datafile.js'
import { type EventStore, openEvents } from '../duckdb/event-store.js'
import { toHexId } from '../duckdb/query.js'
import { openRecords } from '../duckdb/records.js'
import type { Repair } from '../duckdb/repair.js'
import type { TailRow, WorkerUsage } from '../engine/engine.js'
import type { FromWorker, ToWorker, WorkerOptions } from '../engine/protocol.js'
import { ApiError } from '../errors.js'
import type { Classifier } from '../ingest/classified-batch.js'
import type { SessionMemory } from '../ingest/session-memory.js'
import type { ViewMemory } from '../ingest/view-memory.js'
import type { PolicyChange } from '../policy/change.js'
import type { Rows } from '../rows.js'
import type { Records } from '../store.js'
import { createLateHitResolver } from './late-hits.js'
import { createLateVerdicts } from './late-verdicts.js'
import { createRemovalStep } from './removal.js'
import { createRequests, formatError, toSql } from './requests.js'
import { openSites } from './sites.js'
import { readActiveSessions } from './stored-sessions.js'
import { readRecentViews } from './stored-views.js'
import { createWriter } from './writer.js'

/** What the worker does its work with: the write path over its state, and the world outside. */
export interface WorkerParts {
  classifier: Classifier
  /** Told what ran when the process, or the worker before this one, ended, and of late rows. */
  sessions: Pick<SessionMemory, 'restore' | 'settle' | 'forget'>
  browsing: Pick<ViewMemory, 'restore' | 'forget'>
  /** Called before the first row; never rejects. */
  start: () => Promise<void>
  /** Called each second. */
  tick: () => void
  /** Called before the files are closed: what is not stored yet. Never rejects. */
  close: () => Promise<void>
  api: WorkerApi
}

/** What the site's process may ask of the worker's parts, by name; each parses its argument. */
export type WorkerApi = Readonly<Record<string, (argument: unknown) => Promise<unknown>>>

export interface ProcessContext {
  now: () => Date
  /** Milliseconds of a clock that never jumps. */
  clock: () => number
  /** Bytes that may still be written to the data directory. */
  freeDisk: () => number
  /** Of this process's own heap, 0 to 1. */
  heapUsed: () => number
  usage: () => WorkerUsage
  /** Ends the process, once all that was posted is on its way. */
  exit: (code: number) => void
  /** Ends it at once, whatever is under way. */
  vanish: () => void
}

/** The way to the process that serves the site. */
export interface ParentPort {
  /** Throws where the message is no data. */
  post(message: FromWorker): void
  /** To be called once: what came before is handed over then. */
  listen(listener: (message: ToWorker) => void): void
  /** Called when that process is there no more. */
  onDisconnect(listener: () => void): void
}

export type CreateParts = (deps: {
  options: WorkerOptions
  siteOf: SiteByHostname
  siteById: SiteById
  records: Records
  events: EventStore
  /** Why nothing may be written just now; undefined when it may. */
  obstacle: () => string | undefined
  log: Log
  policyChanged: (change: PolicyChange) => void
}) => WorkerParts

/** A process that was killed leaves a worker that has its files for two seconds more. */
const LOCK_WAIT_MS = 5_000
/** A heap this full ends the worker in good order, before the engine ends it in none. */
const MAX_HEAP_SHARE = 0.9
/** Rows in one message to the site's process, which reads each at once. */
const TAIL_ROWS_PER_MESSAGE = 500

/**
 * The worker's whole life: opens both files, answers messages, ends in good order. Order matters at the end: a DuckDB
 * call that is under way when its environment is torn down aborts the process, so every way out that is ours stops and
 * awaits them first.
 */
export async function serve(
  port: ParentPort,
  options: WorkerOptions,
  compose: CreateParts,
  world: ProcessContext,
): Promise<void> {
  const { post } = port
  const log: Log = (level, message, error) =>
    post({ type: 'log', level, message, ...(error === undefined ? {} : { error: formatError(error) }) })
  const opening = {
    settings: { memory_limit: options.memory_limit, threads: options.threads, temp_limit: '4GB' },
    now: world.now,
    clock: world.clock,
    log,
    limits: options.limits,
    patience: options.limits,
    lock_ms: options.lock_ms ?? LOCK_WAIT_MS,
  }
  const events = await openEvents({ ...opening, file: `${options.data}/events.duckdb` })
  const settings = { ...opening.settings, memory_limit: '64MB', threads: 1 }
  const records = await openRecords({ ...opening, settings, file: `${options.data}/control.duckdb` }).catch(
    async (error: unknown) => {
      await events.close()
      throw error
    },
  )

  const sites = await openSites(records)
  const obstacle = () =>
    world.freeDisk() < options.min_free_disk ? `less than ${options.min_free_disk} bytes are free on disk` : undefined
  const parts = compose({
    options,
    siteOf: sites.siteOf,
    siteById: sites.siteById,
    records,
    events,
    obstacle,
    log,
    policyChanged: (change) => post({ type: 'policy', change }),
  })
  try {
    const { open, since } = await readActiveSessions(events, world.now())
    parts.sessions.restore(open, since)
  } catch (error) {
    log('error', 'the sessions that ran cannot be read back: each hit is looked up', error)
    parts.sessions.restore([], world.now().getTime())
  }
  try {
    parts.browsing.restore(await readRecentViews(events, world.now()))
  } catch (error) {
    log('error', 'the views of the last half hour cannot be read back: each is looked up', error)
    const now = world.now().getTime()
    parts.browsing.restore({ views: [], sessions: [], sites: [], since: now, last: now })
  }
  await parts.start()
  const stored = await events.lastCommit(options.from.run)
  const from = stored && stored.sequence > options.from.sequence ? stored : options.from

  const completions = createLateVerdicts({ store: events, log })
  let tailing = false
  const writer = createWriter({
    classifier: parts.classifier,
    store: events,
    resolveLate: createLateHitResolver({ store: events, sessions: parts.sessions }),
    from,
    obstacle,
    clock: world.clock,
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    onCommit({ mark, rows, dropped, late, ms }) {
      completions.add(late)
      post({ type: 'committed', mark, dropped, ms })
      if (tailing) for (const part of tailRows(rows)) post({ type: 'rows', rows: part })
    },
    onState: (reason) => post({ type: 'state', ...(reason === undefined ? {} : { reason }) }),
    log,
  })

  const desk: WorkerApi = {
    ...parts.api,
    remove: createRemovalStep({ store: events, writer, ...parts }),
    forget_removed: (key) => events.forgetRemovals(z.string().optional().parse(key)),
  }
  let ending = false
  const end = (code: number) => {
    if (ending) return
    ending = true
    clearInterval(ticking)
    // A second's verdicts may be ready that no tick has written.
    void Promise.allSettled([parts.close(), completions.flush()])
      .then(() => Promise.allSettled([events.close(), writer.stop(), records.close()]))
      .then(() => world.exit(code))
  }
  const ticking = setInterval(() => {
    parts.tick()
    void completions.flush()
    void events.maintain()
    post({ type: 'usage', usage: world.usage() })
    if (world.heapUsed() > MAX_HEAP_SHARE) {
      log('error', 'the worker’s heap is nearly full: it is started again')
      end(1)
    }
  }, 1_000)
  process.on('uncaughtException', (error) => {
    log('error', 'the worker failed and is started again', error)
    end(1)
  })

  // Nobody is left to be told, and the next process waits for the files: what is being committed may end, no more.
  port.onDisconnect(() => void writer.stop().then(world.vanish))

  const failed = (error: unknown) => log('error', 'a statement failed', error)
  const answers = createRequests({ events, records, post, failed })
  port.listen((message) => {
    switch (message.type) {
      case 'batch':
        return writer.push(message.sequence, message.parcel, message.delivery)
      case 'tail':
        tailing = message.on
        return
      case 'close':
        return end(0)
      case 'query':
        return answers.query(message)
      case 'stream':
        return answers.stream(message)
      case 'more':
        return answers.acknowledge(message.id)
      case 'cancel':
        return answers.cancel(message.id)
      case 'ask':
        return answers.run(message.id, async () => {
          const told = desk[message.name]
          if (!told) throw new ApiError('not_found', `There is nothing to ask that is called ${message.name}.`)
          return { type: 'told', id: message.id, answer: await told(message.argument) }
        })
      case 'write':
        return answers.run(message.id, async () => {
          await records.write(...message.statements.map(toSql))
          await sites.reload()
          return { type: 'answer', id: message.id, rows: [] }
        })
    }
  })
  const losses = [
    ...events.losses.map((loss) => `${formatLoss(loss)} (${loss.rows ?? 'an unknown number of'} rows lost)`),
    ...records.repairs.map((repair) => `records: ${formatLoss(repair)} (with the sites and keys in it)`),
  ]
  post({ type: 'ready', mark: from, losses })
  post({ type: 'usage', usage: world.usage() })
}

const formatLoss = ({ what, bytes, backup: kept }: Repair): string =>
  `${what.replaceAll('_', ' ')}: ${bytes} bytes, kept in ${kept}`

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
