import { RowError } from '../columns.js'
import { duckdbDialect } from '../dialects/duckdb.js'
import { type CommitPosition, parseCommitPosition } from '../engine/commit-position.js'
import type { Rows } from '../rows.js'
import { type Sql, sql } from '../sql.js'
import type { QueryScope, ResultRow } from '../store.js'
import { type AggregationOptions, createAggregation, openAggregateTracker } from './aggregate-tracker.js'
import { appendCommit, replaceSitemapRows, type StoredChanges, storeVerdicts } from './append.js'
import { type CheckpointOptions, createCheckpoints } from './checkpoints.js'
import { DEFAULT_READ_TIMEOUTS } from './database.js'
import { type DataFile, type DataFileOptions, openDataFile } from './datafile.js'
import { EVENTS_SCHEMA } from './events-schema.js'
import { runQuery, runTransaction } from './query.js'
import { asApiError, toApiError } from './query-errors.js'
import { assignStep, forgetRemovals, type Removal, type RemovalStep, removeStep } from './removal.js'
import type { Repair } from './repair.js'
import { streamRows } from './row-stream.js'
import type { LateVerdict } from './row-updates.js'
import { createSharedReads } from './shared-reads.js'

export type EventStoreOptions = Omit<DataFileOptions, 'migrations'> & CheckpointOptions & AggregationOptions

export type EventStore = Awaited<ReturnType<typeof openEvents>>

/** Results of reads that are kept for the next that asks the same. */
const MAX_SHARED_BYTES = 16 << 20

/**
 * Opens `events.duckdb`, the store of hits and fetches. Throws `StoreOpenError`. Long because it lists the store's methods.
 */
export async function openEvents(options: EventStoreOptions) {
  const shared = createSharedReads(
    (query, { signal, asker, onStart }) =>
      asApiError('The query failed.', () =>
        file.read(
          (reader) => {
            onStart()
            return runQuery(reader, query)
          },
          { signal, asker },
        ),
      ),
    MAX_SHARED_BYTES,
  )
  const onReopen = () => shared.changed('everything')
  const file = await openDataFile({ ...options, migrations: EVENTS_SCHEMA, onReopen })
  const losses = await findLosses(file)
  for (const { rows, backup } of losses) {
    const count = rows ?? 'an unknown number of'
    options.log('error', `${options.file}: ${count} committed rows were lost; see ${backup}`)
  }
  const aggregates = await openAggregateTracker(file)
  const checkpoints = createCheckpoints(file, options)
  /** Runs `work` on the writing connection. Forgets all shared results after it, even if it failed. */
  const change: typeof file.write = (work) => file.write(work).finally(() => shared.changed('everything'))
  const aggregation = createAggregation({ write: change }, aggregates, checkpoints, options)
  /** An append failed after its commit began: whether its rows are stored must be asked. */
  let uncertain = false

  const query = (query: Sql, signal?: AbortSignal, scope?: QueryScope): Promise<ResultRow[]> =>
    scope
      ? shared.query(query, signal, scope)
      : asApiError('The query failed.', () => file.read((reader) => runQuery(reader, query), { signal }))
  const lastCommit = async (run: string): Promise<CommitPosition | undefined> => {
    const [row] = await file.write((writer) =>
      runQuery(writer, sql`select mark from commits where run = ${run} order by sequence desc limit 1`),
    )
    return row && parseCommitPosition(String(row.mark))
  }

  return {
    dialect: duckdbDialect,
    /** Losses at opening, with their rows if the log still says how many. */
    losses,
    /** The last commit of a run; undefined before its first. */
    lastCommit,
    query,
    async *stream(query: Sql, signal?: AbortSignal): AsyncIterable<ResultRow[]> {
      try {
        yield* streamRows(file, query, { ...DEFAULT_READ_TIMEOUTS, ...options.limits }, signal)
      } catch (cause) {
        throw toApiError(cause, 'The query failed.')
      }
    },
    /** As `query`, but runs after every earlier write and before every read: for what the next write depends on. */
    lookUp: (query: Sql): Promise<ResultRow[]> =>
      asApiError('The query failed.', () => file.write((writer) => runQuery(writer, query))),
    /**
     * As `Store.append`. Rows whose `position` is stored already are left out, so an append that failed in an unknown
     * state may be repeated. `changes` are made to stored rows in the same transaction, and their deliveries are stored
     * with the rows. Throws `RowError` if a column cannot hold a value; nothing is stored then.
     */
    async append(rows: Rows, position?: CommitPosition, changes: StoredChanges = {}): Promise<void> {
      try {
        if (uncertain && position && ((await lastCommit(position.run))?.sequence ?? 0) >= position.sequence) return
        uncertain = true
        const changed = await file.write((writer) => appendCommit(writer, aggregates, rows, position, changes))
        uncertain = false
        for (const one of changed) shared.changed(one)
      } catch (cause) {
        shared.changed('everything')
        if (cause instanceof RowError) throw cause
        throw toApiError(cause, 'The rows could not be stored.')
      }
      const { moves = [], placements = [], additions = [], deliveries = [] } = changes
      const changed = moves.length + placements.length + additions.length > 0
      await checkpoints.afterAppend({ deliveries: deliveries.length, changed })
    },
    /** Gives stored rows the verdicts that came late. */
    updateVerdicts: async (verdicts: readonly LateVerdict[]): Promise<void> => {
      await asApiError('The verdicts could not be stored.', () =>
        change((writer) => storeVerdicts(writer, aggregates, verdicts)),
      )
    },
    /** Replaces the stored URLs of a hostname's sitemaps, in one transaction. */
    async replaceSitemap(hostname: string, urls: readonly { pathname: string; lastmod: Date | null }[]): Promise<void> {
      await asApiError('The sitemap could not be stored.', () =>
        change((writer) => replaceSitemapRows(writer, hostname, urls)),
      )
      await checkpoints.run()
    },
    /**
     * Runs statements that change stored rows, in one transaction with a checkpoint after it. `build` gets a function to
     * query with; no other write, and no checkpoint, which may renumber rows, comes between. Throws
     * `ApiError('database_error')`; nothing is changed then.
     */
    async updateRows(build: (query: (query: Sql) => Promise<ResultRow[]>) => Promise<readonly Sql[]>): Promise<void> {
      await asApiError('The rows could not be changed.', () =>
        change(async (writer) => runTransaction(writer, await build((query) => runQuery(writer, query)))),
      )
      await checkpoints.run()
    },
    /**
     * Removes rows and their aggregates, one bounded step in one transaction, with a checkpoint after it: the rows are
     * not in the log either. Throws `ApiError('database_error')`.
     */
    async remove(removal: Removal): Promise<RemovalStep> {
      const step = await asApiError('The rows could not be removed.', () =>
        change((writer) => removeStep(writer, removal, () => aggregates.refreshStale(writer))),
      )
      await checkpoints.afterRemoval(step.rows)
      return step
    },
    /** Gives rows of a site to another, one bounded step, as `remove` does. Throws `ApiError('database_error')`. */
    async assign(sites: { from: number; to: number }): Promise<{ rows: number; more: boolean }> {
      const step = await asApiError('The rows could not be moved.', () => change((writer) => assignStep(writer, sites)))
      await checkpoints.afterRemoval(step.rows)
      return step
    },
    /** Deletes the notes of removals, of one key or all, when their results are known to the caller. */
    async forgetRemovals(key?: string): Promise<void> {
      const forgotten = await asApiError('The notes of removals could not be deleted.', () =>
        file.write((writer) => forgetRemovals(writer, key)),
      )
      if (forgotten > 0) await checkpoints.run()
    },
    /** Aggregates all sessions that started before `target` and counts all days that ended by then, in bounded steps. */
    aggregate: aggregation.until,
    /** Call about once a second: one step of aggregation, and the checkpoint of an idle store. Never throws. */
    async maintain(): Promise<void> {
      await aggregation.stepIfDue()
      await checkpoints.whenIdle()
    },
    close: () => file.close(),
  }
}

/**
 * Repairs with the committed rows that they cost: per run, the last position in the log less the last that is stored.
 * Undefined if the log does not say.
 */
async function findLosses(file: DataFile): Promise<(Repair & { rows: number | undefined })[]> {
  if (file.repairs.length === 0) return []
  const stored = await file.read((reader) =>
    runQuery(reader, sql`select run, arg_max(mark, sequence) as mark from commits group by run`),
  )
  const positions = new Map(stored.map((row) => [String(row.run), parseCommitPosition(String(row.mark))]))
  let rows = 0
  for (const [run, rowsInLog] of file.wal?.committed_rows ?? []) {
    const position = positions.get(run)
    rows += Math.max(0, rowsInLog - (position ? position.human + position.agent : 0))
  }
  const counted = file.wal !== undefined && file.wal.committed_rows.size > 0
  return file.repairs.map((repair) => ({
    ...repair,
    rows: counted && repair.what !== 'file_set_aside' ? rows : undefined,
  }))
}
