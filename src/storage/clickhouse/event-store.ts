import type { ClickHouseClient } from '@clickhouse/client'
import { ApiError } from '../../base/errors.js'
import { createLock } from '../../base/lock.js'
import { type AggregationOptions, createAggregation } from '../aggregates/aggregation.js'
import { RowError } from '../columns.js'
import type { CommitPosition } from '../commit-position.js'
import type { EventStore } from '../event-store.js'
import type { Log, Records } from '../store.js'
import { type Aggregates, openAggregates } from './aggregates.js'
import { applyCommit, prepareRows } from './append.js'
import { bindToRecords } from './binding.js'
import { buildVerdictUpdate } from './changes.js'
import { requireSameClock } from './clock.js'
import { eraseExpiredDeliveries, MAX_NEW_DELIVERIES } from './deliveries.js'
import { removeImportStep } from './import-removal.js'
import { type Commit, openJournal } from './journal.js'
import { writePageEditions } from './page-samples.js'
import { readRows } from './query.js'
import { judgeFetches, reclassifyFetches, renameDevice } from './reclassification.js'
import { assignStep, forgetRemovals, removeStep } from './removal.js'
import { replaceSitemap } from './sitemaps.js'
import { runWrite } from './statements.js'
import { type ClickHouseOptions, type ClickHouseReader, openClickHouse } from './store.js'

export interface ClickHouseWriterOptions extends ClickHouseOptions, AggregationOptions {
  /** The records, which have the journal. Their `write` must refuse a writer that was taken over (shared-records.ts). */
  records: Pick<Records, 'query' | 'write'>
  /** The epoch of the writer's lease: nothing is stored any more once a writer of a later one has opened the store. */
  epoch: number
  now: () => Date
  /** Milliseconds that only ascend. */
  clock: () => number
  random: (bytes: number) => Buffer
  log: Log
}

/**
 * Opens the store of hits and fetches in a database of a ClickHouse server for the one process that writes, and applies
 * the commit that the writer before may not have. Throws `ClickHouseOpenError`, `StoreOpenError` for the rows of others, and `ApiError('database_error')` if the
 * journal cannot be opened.
 */
export async function openEventStore(url: string, options: ClickHouseWriterOptions): Promise<EventStore> {
  const reader = await openClickHouse(url, options)
  try {
    return await openWriter(reader, options)
  } catch (error) {
    await reader.close()
    throw error
  }
}

async function openWriter(opened: ClickHouseReader, options: ClickHouseWriterOptions): Promise<EventStore> {
  const { client, address, requireOpen, ...reader } = opened
  const { records, epoch, now, clock, random, log } = options
  const lock = createLock()
  /** Runs `work` after every change and look-up that was begun before. What it throws becomes an `ApiError`. */
  const inTurn = <T>(message: string, work: () => Promise<T>): Promise<T> =>
    lock(async () => {
      requireOpen()
      try {
        return await work()
      } catch (cause) {
        if (cause instanceof RowError || cause instanceof ApiError) throw cause
        throw new ApiError('database_error', message, undefined, { cause })
      }
    })
  /** Runs a change that has no entry in the journal, under `count` numbers of its own. */
  const change = <T>(message: string, work: (number: bigint) => Promise<T>, count = 1): Promise<T> =>
    inTurn(message, async () => work(await commits.takeNumbers(count)))

  const journal = await openJournal(records, epoch)
  const aggregates = await openAggregates(client, () => journal.takeNumbers())
  const { marks } = aggregates
  const commits = createCommits(client, journal, marks, clock)
  const aggregation = createAggregation({
    ...options,
    store: 'ClickHouse',
    step: (target) => change('Sessions could not be aggregated.', () => aggregates.step(target), 0),
  })
  await requireSameClock(client, now)
  await bindToRecords(client, records, { token: random(16).toString('hex'), now: now() })
  await inTurn('The last commit could not be stored.', commits.recover)
  await inTurn('The aggregates could not be taken over.', aggregates.takeOver)

  return {
    ...reader,
    losses: [],
    lastCommit: journal.lastCommit,
    lookUp: (query) => inTurn('The query failed.', () => readRows(client, query)),
    append: (rows, position, changes = {}) =>
      inTurn('The rows could not be stored.', () => commits.append({ rows, changes }, position)),
    updateVerdicts: (verdicts) =>
      change('The verdicts could not be stored.', async (number) => {
        await marks.ofVerdicts(verdicts, number)
        await runWrite(client, buildVerdictUpdate(verdicts, number))
      }),
    judgeFetches: (selection, judge) =>
      change('The rows could not be changed.', (number) => judgeFetches({ client, marks, number }, selection, judge)),
    reclassify: (version, describe) =>
      change('The rows could not be changed.', (number) =>
        reclassifyFetches({ client, marks, number }, version, describe),
      ),
    renameDevice: (from, to) =>
      change('The rows could not be changed.', (number) => renameDevice({ client, marks, number }, from, to)),
    replaceSitemap: (hostname, urls) =>
      change('The sitemap could not be stored.', (number) => replaceSitemap({ client, number }, hostname, urls)),
    writePageEditions: (changes) =>
      change('The samples of pages could not be stored.', (number) => writePageEditions({ client, number }, changes)),
    remove: (removal) =>
      change('The rows could not be removed.', (number) => removeStep({ client, address, marks, number }, removal), 2),
    removeImport: (part) =>
      change('The rows could not be removed.', (number) => removeImportStep({ client, address, marks, number }, part)),
    assign: (sites) => change('The rows could not be moved.', (number) => assignStep({ client, marks, number }, sites)),
    forgetRemovals: (key) => inTurn('The notes of removals could not be deleted.', () => forgetRemovals(client, key)),
    aggregate: aggregation.until,
    serverStatus: async () => ({ ...(await reader.serverStatus()), commits: { ...commits.counts } }),
    async maintain({ aggregate }) {
      if (aggregate) await aggregation.stepIfDue()
      await commits
        .tidyUp(
          () => inTurn('Deliveries could not be deleted.', () => eraseExpiredDeliveries(client, now())),
          () => change('The journal could not be emptied.', async () => {}, 0),
        )
        .catch((error) => log('warn', 'the store could not be tidied up; this will be tried again', error))
    },
    async close() {
      await lock(async () => {})
      await reader.close()
    },
  }
}

type Journal = Awaited<ReturnType<typeof openJournal>>

/** Writes commits to the journal and applies them. Run its functions one after the other. */
function createCommits(client: ClickHouseClient, journal: Journal, marks: Aggregates['marks'], clock: () => number) {
  /** An append failed: its commit may be in the journal, and may be applied in part. */
  let uncertain = false
  /** The journal has an entry, and no commit came since the last call of `tidyUp`. */
  let entryState: 'none' | 'new' | 'idle' = 'new'
  // The first new delivery also has those of earlier processes deleted.
  let newDeliveries = MAX_NEW_DELIVERIES
  const counts = { count: 0, rows: 0, seconds: 0 }
  const recover = async (): Promise<void> => {
    if (uncertain) await journal.settle()
    const entry = await journal.read()
    if (entry) await applyCommit(client, marks, entry)
  }
  return {
    counts,
    /** Applies the last commit, if the journal has it. */
    recover,
    /** Takes the numbers of a change that has no entry in the journal. */
    async takeNumbers(count: number): Promise<bigint> {
      if (uncertain) await recover()
      const number = await journal.takeNumbers(count)
      entryState = 'none'
      return number
    },
    async append(commit: Commit, position: CommitPosition | undefined): Promise<void> {
      const prepared = prepareRows(commit)
      if (uncertain) {
        await recover()
        if (position && ((await journal.lastCommit(position.run))?.sequence ?? 0) >= position.sequence) {
          uncertain = false
          return
        }
      }
      uncertain = true
      const entry = await journal.write(commit, prepared.count, position)
      entryState = 'new'
      const startedAt = clock()
      await applyCommit(client, marks, entry, prepared)
      counts.count += 1
      counts.rows += prepared.count
      counts.seconds += (clock() - startedAt) / 1_000
      newDeliveries += commit.changes.deliveries?.length ?? 0
      uncertain = false
    },
    /** Calls what is due: each takes a turn of its own. */
    async tidyUp(eraseDeliveries: () => Promise<void>, emptyJournal: () => Promise<void>): Promise<void> {
      if (newDeliveries > MAX_NEW_DELIVERIES) {
        newDeliveries = 0
        await eraseDeliveries()
      }
      if (entryState === 'new') entryState = 'idle'
      // Rows of people leave the records too.
      else if (entryState === 'idle' && !uncertain) await emptyJournal()
    },
  }
}
