import type { DuckDBAppender, DuckDBConnection } from '@duckdb/node-api'
import type { EdgeDelivery } from '../capture/edge-delivery.js'
import { duckdbDialect } from '../dialects/duckdb.js'
import { type CommitPosition, formatCommitPosition, parseCommitPosition } from '../engine/commit-position.js'
import type { Addition, Rows } from '../rows.js'
import { type Sql, sql } from '../sql.js'
import type { ResultRow, Store } from '../store.js'
import { type AggregateTracker, appendStale, openAggregateTracker } from './aggregate-tracker.js'
import { type DataFile, type DataFileOptions, openDataFile } from './datafile.js'
import { appendDeliveries, buildExpiredDeliveriesDelete } from './deliveries.js'
import { EVENTS_SCHEMA } from './events-schema.js'
import { runQuery, runTransaction, toTimestamp } from './query.js'
import { isCheckpointBlocked, toApiError } from './query-errors.js'
import { forgetRemovals, type Removal, type RemovalStep, removeStep } from './removal.js'
import type { Repair } from './repair.js'
import { appendRows, COLUMN_TYPES, RowError } from './row-appender.js'
import { DEFAULT_STREAM_TIMEOUTS, type StreamTimeouts, streamRows } from './row-stream.js'
import { buildSessionMoves, type SessionMove } from './session-moves.js'
import { buildVerdictUpdate, type LateVerdict } from './verdict-update.js'
import { buildViewAdditions } from './view-additions.js'

/** What a commit does besides adding rows. */
export interface StoredChanges {
  moves?: readonly SessionMove[]
  additions?: readonly Addition[]
  deliveries?: readonly EdgeDelivery[]
}

export interface EventStore extends Store {
  /**
   * As `Store.append`. With a `mark`, rows whose mark is stored already are left out, so that an append that failed in
   * an unknown state may be repeated. `changes` are made to what is stored already, in the same transaction, and their
   * `deliveries` are stored with the rows they brought. Throws `RowError` for a row that no store could take (nothing is
   * stored then).
   */
  append(rows: Rows, mark?: CommitPosition, changes?: StoredChanges): Promise<void>
  /** As `query`, but behind every write and before any read: for what the next write depends on. */
  lookUp(asked: Sql): Promise<ResultRow[]>
  /** Gives rows that are open still the verdicts that came late. */
  complete(all: readonly LateVerdict[]): Promise<void>
  /**
   * Statements that change stored rows, in one transaction, and a checkpoint behind it: changes are not left to be
   * replayed from the log. They are made of what is asked first, and no other write or checkpoint, which may give rows
   * other numbers, comes between. Throws `ApiError('database_error')`; nothing is changed then.
   */
  amend(make: (ask: (asked: Sql) => Promise<ResultRow[]>) => Promise<readonly Sql[]>): Promise<void>
  /**
   * One step of removing rows, with all that is summed up of them, in one transaction and with a checkpoint behind it:
   * what was removed is not in the log either. Throws `ApiError('database_error')`.
   */
  remove(leaving: Removal): Promise<RemovalStep>
  /** What `remove` did is known to whoever asked for it: this key, or all, and who they were, are forgotten. */
  forgetRemovals(key?: string): Promise<void>
  /** The last mark of a run; undefined before its first commit. */
  lastCommit(run: string): Promise<CommitPosition | undefined>
  /** Puts these URLs in the place of all that is stored of a hostname's sitemaps, in one transaction. */
  replaceSitemap(hostname: string, urls: readonly { pathname: string; lastmod: Date | null }[]): Promise<void>
  /** To be called each second or so: a step of sealing, the checkpoint of a quiet moment. Never throws. */
  maintain(): Promise<void>
  /** Seals the sessions that started before `target` (rollup.ts), all of them in bounded steps. */
  aggregate(target: Date): Promise<void>
  /** What opening had to give up, with the rows of it where the log still says. */
  readonly losses: readonly Loss[]
}

export interface Loss extends Repair {
  rows: number | undefined
}

export interface EventStoreOptions extends Omit<DataFileOptions, 'migrations'> {
  /** A checkpoint runs when the log is this long: it bounds the next start's replay and the memory that new rows hold. */
  wal_bytes?: number
  /** And one when nothing was appended for `idle_ms` and the log is at least `idle_bytes` long. */
  idle_bytes?: number
  idle_ms?: number
  /** Sessions are sealed this long after they began, and looked for as often as `seal_ms` says. */
  settled_ms?: number
  aggregate_ms?: number
  /** With an asker of `stream`. */
  stream_timeouts?: Partial<StreamTimeouts> | undefined
}

const FIRST_AGGREGATION_MS = 60_000

/** Marks of past commits are cleared in a checkpoint once there are this many. */
const MAX_COMMIT_ROWS = 100_000
/** As are deliveries that cannot come again. */
const MAX_NEW_DELIVERIES = 10_000

/** Opens `events.duckdb`, the store of both readerships' rows. Throws `StoreFault`. */
export async function openEvents(options: EventStoreOptions): Promise<EventStore> {
  const { clock, log, wal_bytes = 16 << 20, idle_bytes = 4 << 20, idle_ms = 5_000 } = options
  const { settled_ms = 2 * 3_600_000, aggregate_ms: seal_ms = 600_000 } = options
  const file = await openDataFile({ ...options, migrations: EVENTS_SCHEMA })
  const losses = await findLosses(file)
  for (const { rows, backup: kept } of losses) {
    log('error', `${options.file}: ${rows ?? 'an unknown number of'} committed rows were lost; see ${kept}`)
  }
  let lastAppend = clock()
  let lastCheckpoint = lastAppend
  /** An append failed after its commit began: whether it is stored must be asked. */
  let uncertain = false
  let marks = 0
  // Those of the runs before are cleared with the first.
  let deliveriesSince = MAX_NEW_DELIVERIES
  /** Stored rows were changed since the last checkpoint. */
  let moved = false
  const seals = await openAggregateTracker(file)
  // Not at once: a start has enough to do.
  let sealAt = clock() + Math.min(seal_ms, FIRST_AGGREGATION_MS)

  const query = async (asked: Sql, signal?: AbortSignal) => {
    try {
      return await file.read((reader) => runQuery(reader, asked), signal)
    } catch (cause) {
      throw toApiError(cause, 'The query failed.')
    }
  }

  const last = async (run: string): Promise<CommitPosition | undefined> => {
    const found = await file.write((writer) =>
      runQuery(writer, sql`select mark from commits where run = ${run} order by sequence desc limit 1`),
    )
    return found[0] && parseCommitPosition(String(found[0].mark))
  }

  const checkpoint = async (): Promise<void> => {
    try {
      await file.write(async (writer) => {
        if (marks > MAX_COMMIT_ROWS) {
          await writer.run('delete from commits where sequence < (select max(sequence) from commits)')
          marks = 0
        }
        if (deliveriesSince > MAX_NEW_DELIVERIES) {
          await runQuery(writer, buildExpiredDeliveriesDelete(options.now()))
          deliveriesSince = 0
        }
        await writer.run('checkpoint')
      })
      moved = false
      lastCheckpoint = clock()
    } catch (error) {
      // It passes once that read has ended: each append tries it again.
      if (!isCheckpointBlocked(error))
        log('warn', `${options.file}: the checkpoint failed and will be tried again`, error)
    }
  }

  const sealSome = async (target: Date): Promise<boolean> => {
    const { deleted, more } = await file.write((writer) => seals.step(writer, target))
    // A delete is not left to be replayed from the log.
    if (deleted) await checkpoint()
    return more
  }

  return {
    dialect: duckdbDialect,
    losses,
    lastCommit: last,
    query,
    async *stream(asked, signal) {
      try {
        yield* streamRows(file, asked, { ...DEFAULT_STREAM_TIMEOUTS, ...options.stream_timeouts }, signal)
      } catch (cause) {
        throw toApiError(cause, 'The query failed.')
      }
    },
    async lookUp(asked) {
      try {
        return await file.write((writer) => runQuery(writer, asked))
      } catch (cause) {
        throw toApiError(cause, 'The query failed.')
      }
    },
    async append(rows, mark, changes = {}) {
      const { moves = [], additions = [], deliveries = [] } = changes
      try {
        if (uncertain && mark && ((await last(mark.run))?.sequence ?? 0) >= mark.sequence) return
        uncertain = true
        await file.write((writer) => appendAll(writer, seals, rows, mark, { moves, additions, deliveries }))
        uncertain = false
      } catch (cause) {
        if (cause instanceof RowError) throw cause
        throw toApiError(cause, 'The rows could not be stored.')
      }
      marks += 1
      deliveriesSince += deliveries.length
      moved ||= moves.length + additions.length > 0
      lastAppend = clock()
      if (file.walBytes() >= wal_bytes) await checkpoint()
    },
    async complete(all) {
      try {
        await file.write((writer) => runQuery(writer, buildVerdictUpdate(all)))
      } catch (cause) {
        throw toApiError(cause, 'The verdicts could not be stored.')
      }
    },
    async replaceSitemap(hostname, urls) {
      try {
        await file.write((writer) => replaceSitemapRows(writer, hostname, urls))
      } catch (cause) {
        throw toApiError(cause, 'The sitemap could not be stored.')
      }
      // A delete is not left to be replayed from the log.
      await checkpoint()
    },
    async amend(make) {
      try {
        await file.write(async (writer) => runTransaction(writer, await make((asked) => runQuery(writer, asked))))
      } catch (cause) {
        throw toApiError(cause, 'The rows could not be changed.')
      }
      await checkpoint()
    },
    async remove(leaving) {
      try {
        const removed = await file.write((writer) => removeStep(writer, leaving, () => seals.refreshStale(writer)))
        // Where a long read holds the checkpoint up, a later one has it.
        moved = true
        if (removed.rows > 0) await checkpoint()
        return removed
      } catch (cause) {
        throw toApiError(cause, 'The rows could not be removed.')
      }
    },
    async forgetRemovals(key) {
      try {
        const forgotten = await file.write((writer) => forgetRemovals(writer, key))
        if (forgotten > 0) await checkpoint()
      } catch (cause) {
        throw toApiError(cause, 'What was removed could not be forgotten.')
      }
    },
    async aggregate(target) {
      while (await sealSome(target));
    },
    async maintain() {
      if (clock() >= sealAt) {
        // One step at a time: they would queue up before the appends.
        sealAt = Number.POSITIVE_INFINITY
        try {
          const more = await sealSome(new Date(options.now().getTime() - settled_ms))
          sealAt = more ? clock() : clock() + seal_ms
        } catch (error) {
          sealAt = clock() + seal_ms
          log('warn', `${options.file}: sessions could not be sealed and will be tried again`, error)
        }
      }
      const quiet = clock() - lastAppend >= idle_ms && file.walBytes() >= idle_bytes
      // Changes are not left to be replayed from the log for long; a checkpoint after each would cost more than they do.
      if (quiet || (moved && clock() - lastCheckpoint >= idle_ms)) await checkpoint()
    },
    close: () => file.close(),
  }
}

/** What is stored already first, then both tables and the mark, in one transaction. */
async function appendAll(
  writer: DuckDBConnection,
  seals: AggregateTracker,
  rows: Rows,
  mark: CommitPosition | undefined,
  { moves, additions, deliveries }: Required<StoredChanges>,
): Promise<void> {
  const appenders: DuckDBAppender[] = []
  const appender = async (table: string) => {
    const made = await writer.createAppender(table)
    appenders.push(made)
    return made
  }
  await writer.run('begin transaction')
  try {
    if (moves.length > 0) await runQuery(writer, buildSessionMoves(moves))
    const changed = additions.length > 0 ? await runQuery(writer, buildViewAdditions(additions)) : []
    const broken = seals.findStale(rows.events, moves, changed)
    if (rows.events.length > 0) {
      appendRows(await appender('events'), 'events', COLUMN_TYPES.events, rows.events)
    }
    if (rows.agent_events.length > 0) {
      appendRows(await appender('agent_events'), 'agent_events', COLUMN_TYPES.agent_events, rows.agent_events)
    }
    if (broken.length > 0) appendStale(await appender('unsealed'), broken)
    if (deliveries.length > 0) appendDeliveries(await appender('deliveries'), deliveries)
    if (mark) {
      const marks = await appender('commits')
      marks.appendVarchar(mark.run)
      marks.appendBigInt(BigInt(mark.sequence))
      marks.appendVarchar(formatCommitPosition(mark))
      marks.endRow()
    }
    for (const made of appenders) made.closeSync()
    await writer.run('commit')
  } catch (error) {
    for (const made of appenders) discard(made)
    await writer.run('rollback').catch(() => {})
    throw error
  }
}

async function replaceSitemapRows(
  writer: DuckDBConnection,
  hostname: string,
  urls: readonly { pathname: string; lastmod: Date | null }[],
): Promise<void> {
  let rows: DuckDBAppender | undefined
  await writer.run('begin transaction')
  try {
    await runQuery(writer, sql`delete from sitemap_urls where hostname = ${hostname}`)
    rows = await writer.createAppender('sitemap_urls')
    for (const { pathname, lastmod } of urls) {
      rows.appendVarchar(hostname)
      rows.appendVarchar(pathname)
      if (lastmod === null) rows.appendNull()
      else rows.appendTimestamp(toTimestamp(lastmod))
      rows.endRow()
    }
    rows.closeSync()
    await writer.run('commit')
  } catch (error) {
    if (rows) discard(rows)
    await writer.run('rollback').catch(() => {})
    throw error
  }
}

/** An appender keeps the rows that failed and would write them when it is collected: a second time. */
function discard(appender: DuckDBAppender): void {
  try {
    appender.clear()
    appender.closeSync()
  } catch {
    // It was closed, or its connection is gone, and its rows with it.
  }
}

/** Rows lost by what opening left out: per run, the last mark that the log had less the last that is stored. */
async function findLosses(file: DataFile): Promise<Loss[]> {
  if (file.repairs.length === 0) return []
  const stored = await file.read((reader) =>
    runQuery(reader, sql`select run, arg_max(mark, sequence) as mark from commits group by run`),
  )
  const kept = new Map(stored.map((row) => [String(row.run), parseCommitPosition(String(row.mark))]))
  let rows = 0
  for (const [run, inLog] of file.wal?.committed_rows ?? []) {
    const mark = kept.get(run)
    rows += Math.max(0, inLog - (mark ? mark.human + mark.agent : 0))
  }
  const known = file.wal !== undefined && file.wal.committed_rows.size > 0
  return file.repairs.map((repair) => ({
    ...repair,
    rows: known && repair.what !== 'file_set_aside' ? rows : undefined,
  }))
}
