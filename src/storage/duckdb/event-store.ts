import type { DuckDBConnection } from '@duckdb/node-api'
import {
  type AggregateTracker,
  type AggregationOptions,
  createAggregateTracker,
  createAggregation,
} from '../aggregates/aggregation.js'
import { RowError } from '../columns.js'
import { type CommitPosition, parseCommitPosition } from '../commit-position.js'
import { duckdbDialect } from '../dialects/duckdb.js'
import { type Sql, sql } from '../sql.js'
import type { Repair, ResultRow } from '../store.js'
import { aggregateStep, readAggregatedUntil } from './aggregate-step.js'
import { appendCommit, replaceSitemapRows, storeVerdicts } from './append.js'
import { type CheckpointOptions, createCheckpoints } from './checkpoints.js'
import { dailyStep, readCountedUntil } from './daily-step.js'
import { DEFAULT_READ_TIMEOUTS } from './database.js'
import { type DataFile, type DataFileOptions, openDataFile } from './datafile.js'
import type { EventFile } from './event-file.js'
import { EVENTS_SCHEMA } from './events-schema.js'
import { removeImportStep } from './import-removal.js'
import { judgeFetches } from './judge-fetches.js'
import { buildEditionChanges } from './page-samples.js'
import { runQuery, runTransaction } from './query.js'
import { asApiError, toApiError } from './query-errors.js'
import { reclassifyFetches, renameDevice } from './reclassification.js'
import { assignStep, forgetRemovals, removeStep } from './removal.js'
import { streamRows } from './row-stream.js'
import { createSharedReads } from './shared-reads.js'
import { createSnapshot } from './snapshot.js'
import { readTableSizes, readUsedBytes } from './store-size.js'

export type EventStoreOptions = Omit<DataFileOptions, 'migrations'> & CheckpointOptions & AggregationOptions

/** Results of reads that are kept for the next that asks the same. */
const MAX_SHARED_BYTES = 16 << 20

/** Opens `events.duckdb`, the store of hits and fetches. Throws `StoreOpenError`. */
export async function openEvents(options: EventStoreOptions): Promise<EventFile> {
  const shared = createSharedReads((query, call) => runRead(file, query, call), MAX_SHARED_BYTES)
  const onReopen = () => shared.changed('everything')
  const file = await openDataFile({ ...options, migrations: EVENTS_SCHEMA, onReopen })
  const losses = await findLosses(file, options)
  const progress = {
    aggregatedUntil: await file.read(readAggregatedUntil),
    countedUntil: await file.read(readCountedUntil),
  }
  const aggregates = createAggregateTracker(progress, { aggregateStep, dailyStep })
  const checkpoints = createCheckpoints(file, options)
  /** Runs `work` on the writing connection. Forgets all shared results after it, even if it failed. */
  const change: typeof file.write = (work) => file.write(work).finally(() => shared.changed('everything'))
  const aggregation = createAggregation({
    ...options,
    store: options.file,
    async step(target) {
      const { deleted, more } = await change((writer) => aggregates.step(writer, target))
      // A delete must not be replayed from the log.
      if (deleted) await checkpoints.run()
      return more
    },
  })
  const reads = createReads(file, options)
  const query: EventFile['query'] = (statement, signal, scope) =>
    scope ? shared.query(statement, signal, scope) : runRead(file, statement, { signal })
  const updateRows = createUpdateRows(change, checkpoints)
  /** Runs a step in one transaction. A checkpoint follows, because the rows are not in the log either. */
  const removeRows = async <S extends { rows: number }>(
    message: string,
    work: (writer: DuckDBConnection) => Promise<S>,
  ): Promise<S> => {
    const step = await asApiError(message, () => change(work))
    await checkpoints.afterRemoval(step.rows)
    return step
  }

  return {
    dialect: duckdbDialect,
    losses,
    ...reads,
    query,
    append: createAppend({ file, shared, aggregates, checkpoints }, reads.lastCommit, options),
    updateVerdicts: (verdicts) =>
      asApiError('The verdicts could not be stored.', () =>
        change((writer) => storeVerdicts(writer, aggregates, verdicts)),
      ),
    updateRows,
    judgeFetches: (selection, judge) => judgeFetches({ updateRows }, selection, judge),
    reclassify: (version, describe) => reclassifyFetches({ query, updateRows }, version, describe),
    renameDevice: (from, to) => renameDevice({ updateRows }, from, to),
    async replaceSitemap(hostname, urls) {
      await asApiError('The sitemap could not be stored.', () =>
        change((writer) => replaceSitemapRows(writer, hostname, urls)),
      )
      await checkpoints.run()
    },
    writePageEditions: (changes) => updateRows(async () => buildEditionChanges(changes)),
    remove: (removal) =>
      removeRows('The rows could not be removed.', (writer) =>
        removeStep(writer, removal, () => aggregates.refreshStale(writer)),
      ),
    removeImport: (part) => removeRows('The rows could not be removed.', (writer) => removeImportStep(writer, part)),
    assign: (sites) => removeRows('The rows could not be moved.', (writer) => assignStep(writer, sites)),
    async forgetRemovals(key) {
      const forgotten = await asApiError('The notes of removals could not be deleted.', () =>
        file.write((writer) => forgetRemovals(writer, key)),
      )
      if (forgotten > 0) await checkpoints.run()
    },
    checkpoint: checkpoints.run,
    aggregate: aggregation.until,
    async maintain({ aggregate }) {
      if (aggregate) await aggregation.stepIfDue()
      await checkpoints.whenIdle()
    },
    close: () => file.close(),
  }
}

/** Runs a statement; `onStart` is called before the first row is read. */
const runRead = (
  file: DataFile,
  query: Sql,
  { onStart, ...options }: { signal?: AbortSignal | undefined; asker?: string; onStart?: () => void },
): Promise<ResultRow[]> =>
  asApiError('The query failed.', () =>
    file.read((reader) => {
      onStart?.()
      return runQuery(reader, query)
    }, options),
  )

/** Creates the methods that change nothing. */
const createReads = (file: DataFile, { file: name, limits, now }: EventStoreOptions) => ({
  async *stream(query: Sql, signal?: AbortSignal) {
    try {
      yield* streamRows(file, query, { ...DEFAULT_READ_TIMEOUTS, ...limits }, signal)
    } catch (cause) {
      throw toApiError(cause, 'The query failed.')
    }
  },
  lookUp: (query: Sql) => asApiError('The query failed.', () => file.write((writer) => runQuery(writer, query))),
  async lastCommit(run: string): Promise<CommitPosition | undefined> {
    const [row] = await file.write((writer) =>
      runQuery(writer, sql`select mark from commits where run = ${run} order by sequence desc limit 1`),
    )
    return row && parseCommitPosition(String(row.mark))
  },
  snapshot: createSnapshot(file, name),
  readSize: () =>
    asApiError('The file cannot be measured.', () =>
      file.read((reader) => readUsedBytes((query) => runQuery(reader, query), file.walBytes())),
    ),
  readTableSizes: () =>
    asApiError('The tables cannot be measured.', () =>
      file.read((reader) => readTableSizes((query) => runQuery(reader, query), now())),
    ),
})

interface AppendParts {
  file: DataFile
  shared: ReturnType<typeof createSharedReads>
  aggregates: AggregateTracker<DuckDBConnection>
  checkpoints: ReturnType<typeof createCheckpoints>
}

/** Creates the method that changes rows by statements. */
const createUpdateRows =
  (change: DataFile['write'], checkpoints: AppendParts['checkpoints']): EventFile['updateRows'] =>
  async (build) => {
    let statements: readonly Sql[] = []
    await asApiError('The rows could not be changed.', () =>
      change(async (writer) => {
        statements = await build((query) => runQuery(writer, query))
        await runTransaction(writer, statements)
      }),
    )
    if (statements.length > 0) await checkpoints.run()
  }

/** Creates the method that appends rows. */
function createAppend(
  { file, shared, aggregates, checkpoints }: AppendParts,
  lastCommit: EventFile['lastCommit'],
  { file: name, log }: EventStoreOptions,
): EventFile['append'] {
  /** An append failed after its commit began: whether its rows are stored must be asked. */
  let uncertain = false
  return async (rows, position, changes = {}) => {
    try {
      if (uncertain && position && ((await lastCommit(position.run))?.sequence ?? 0) >= position.sequence) return
      uncertain = true
      const committed = await file.write((writer) => appendCommit(writer, aggregates, rows, position, changes))
      uncertain = false
      for (const one of committed.changes) shared.changed(one)
      const { lost } = committed
      if (lost > 0) {
        const why = lost === 1 ? 'was not stored, because its view was' : 'were not stored, because their views were'
        log('warn', `${name}: ${lost} of ${changes.additions?.length} reports ${why} removed`)
      }
    } catch (cause) {
      shared.changed('everything')
      if (cause instanceof RowError) throw cause
      throw toApiError(cause, 'The rows could not be stored.')
    }
    const { moves = [], placements = [], additions = [], deliveries = [] } = changes
    const changed = moves.length + placements.length + additions.length > 0
    await checkpoints.afterAppend({ deliveries: deliveries.length, changed })
  }
}

/**
 * Repairs with the committed rows that they cost: per run, the last position in the log less the last that is stored.
 * Undefined if the log does not say. Logs each.
 */
async function findLosses(
  file: DataFile,
  { file: name, log }: EventStoreOptions,
): Promise<(Repair & { rows: number | undefined })[]> {
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
  return file.repairs.map((repair) => {
    const lost = counted && repair.what !== 'file_set_aside' ? rows : undefined
    log('error', `${name}: ${lost ?? 'an unknown number of'} committed rows were lost; see ${repair.backup}`)
    return { ...repair, rows: lost }
  })
}
