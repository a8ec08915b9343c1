import { type AggregationOptions, createAggregateTracker, createAggregation } from '../aggregates/aggregation.js'
import { RowError } from '../columns.js'
import { type CommitPosition, parseCommitPosition } from '../commit-position.js'
import { duckdbDialect } from '../dialects/duckdb.js'
import { type Sql, sql } from '../sql.js'
import type { QueryScope, Repair, ResultRow } from '../store.js'
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

/**
 * Opens `events.duckdb`, the store of hits and fetches. Throws `StoreOpenError`. Long because it lists the store's methods.
 */
export async function openEvents(options: EventStoreOptions): Promise<EventFile> {
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
  const updateRows: EventFile['updateRows'] = async (build) => {
    let statements: readonly Sql[] = []
    await asApiError('The rows could not be changed.', () =>
      change(async (writer) => {
        statements = await build((query) => runQuery(writer, query))
        await runTransaction(writer, statements)
      }),
    )
    if (statements.length > 0) await checkpoints.run()
  }

  return {
    dialect: duckdbDialect,
    losses,
    lastCommit,
    query,
    snapshot: createSnapshot(file, options.file),
    async *stream(query, signal) {
      try {
        yield* streamRows(file, query, { ...DEFAULT_READ_TIMEOUTS, ...options.limits }, signal)
      } catch (cause) {
        throw toApiError(cause, 'The query failed.')
      }
    },
    lookUp: (query) => asApiError('The query failed.', () => file.write((writer) => runQuery(writer, query))),
    async append(rows, position, changes = {}) {
      try {
        if (uncertain && position && ((await lastCommit(position.run))?.sequence ?? 0) >= position.sequence) return
        uncertain = true
        const committed = await file.write((writer) => appendCommit(writer, aggregates, rows, position, changes))
        uncertain = false
        for (const one of committed.changes) shared.changed(one)
        const { lost } = committed
        if (lost > 0) {
          const why = lost === 1 ? 'was not stored, because its view was' : 'were not stored, because their views were'
          options.log('warn', `${options.file}: ${lost} of ${changes.additions?.length} reports ${why} removed`)
        }
      } catch (cause) {
        shared.changed('everything')
        if (cause instanceof RowError) throw cause
        throw toApiError(cause, 'The rows could not be stored.')
      }
      const { moves = [], placements = [], additions = [], deliveries = [] } = changes
      const changed = moves.length + placements.length + additions.length > 0
      await checkpoints.afterAppend({ deliveries: deliveries.length, changed })
    },
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
    // Each step is one transaction, and a checkpoint follows: the rows are not in the log either.
    async remove(removal) {
      const step = await asApiError('The rows could not be removed.', () =>
        change((writer) => removeStep(writer, removal, () => aggregates.refreshStale(writer))),
      )
      await checkpoints.afterRemoval(step.rows)
      return step
    },
    async removeImport(part) {
      const step = await asApiError('The rows could not be removed.', () =>
        change((writer) => removeImportStep(writer, part)),
      )
      await checkpoints.afterRemoval(step.rows)
      return step
    },
    async assign(sites) {
      const step = await asApiError('The rows could not be moved.', () => change((writer) => assignStep(writer, sites)))
      await checkpoints.afterRemoval(step.rows)
      return step
    },
    async forgetRemovals(key) {
      const forgotten = await asApiError('The notes of removals could not be deleted.', () =>
        file.write((writer) => forgetRemovals(writer, key)),
      )
      if (forgotten > 0) await checkpoints.run()
    },
    readSize: () =>
      asApiError('The file cannot be measured.', () =>
        file.read((reader) => readUsedBytes((query) => runQuery(reader, query), file.walBytes())),
      ),
    readTableSizes: () =>
      asApiError('The tables cannot be measured.', () =>
        file.read((reader) => readTableSizes((query) => runQuery(reader, query), options.now())),
      ),
    checkpoint: checkpoints.run,
    aggregate: aggregation.until,
    async maintain({ aggregate }) {
      if (aggregate) await aggregation.stepIfDue()
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
