import { ApiError } from '../../base/errors.js'
import { type AggregationOptions, createAggregation } from '../aggregates/aggregation.js'
import { RowError } from '../columns.js'
import type { EventStore } from '../event-store.js'
import type { Log, Records } from '../store.js'
import { openAggregates } from './aggregates.js'
import { applyCommit, prepareRows } from './append.js'
import { bindToRecords } from './binding.js'
import { buildVerdictUpdate } from './changes.js'
import { requireSameClock } from './clock.js'
import { eraseExpiredDeliveries, MAX_NEW_DELIVERIES } from './deliveries.js'
import { removeImportStep } from './import-removal.js'
import { openJournal } from './journal.js'
import { readRows } from './query.js'
import { judgeFetches, reclassifyFetches, renameDevice } from './reclassification.js'
import { assignStep, forgetRemovals, removeStep } from './removal.js'
import { replaceSitemap } from './sitemaps.js'
import { runWrite } from './statements.js'
import { type ClickHouseOptions, openClickHouse } from './store.js'

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
 * journal cannot be opened. Long because it lists the store's methods.
 */
export async function openEventStore(url: string, options: ClickHouseWriterOptions): Promise<EventStore> {
  const { records, epoch, now, clock, random, log } = options
  const { client, address, requireOpen, ...reader } = await openClickHouse(url, options)
  /** An append failed: its commit may be in the journal, and may be applied in part. */
  let uncertain = false
  /** The journal has an entry, and no commit came since the last call of `maintain`. */
  let entryState: 'none' | 'new' | 'idle' = 'new'
  // The first new delivery also has those of earlier processes deleted.
  let newDeliveries = MAX_NEW_DELIVERIES
  const commits = { count: 0, rows: 0, seconds: 0 }
  let last: Promise<unknown> = Promise.resolve()

  /** Runs `work` after every change and look-up that was begun before. What it throws becomes an `ApiError`. */
  const inTurn = <T>(message: string, work: () => Promise<T>): Promise<T> => {
    const run = async () => {
      requireOpen()
      try {
        return await work()
      } catch (cause) {
        if (cause instanceof RowError || cause instanceof ApiError) throw cause
        throw new ApiError('database_error', message, undefined, { cause })
      }
    }
    const next = last.then(run, run)
    last = next.catch(() => {})
    return next
  }
  const recover = async (): Promise<void> => {
    if (uncertain) await journal.settle()
    const entry = await journal.read()
    if (entry) await applyCommit(client, marks, entry)
  }
  /** Runs a change that has no entry in the journal, under `count` numbers of its own. */
  const change = <T>(message: string, work: (number: bigint) => Promise<T>, count = 1): Promise<T> =>
    inTurn(message, async () => {
      if (uncertain) await recover()
      const number = await journal.takeNumbers(count)
      entryState = 'none'
      return work(number)
    })

  const closeAndThrow = async (error: unknown): Promise<never> => {
    await reader.close()
    throw error
  }
  const journal = await openJournal(records, epoch).catch(closeAndThrow)
  const aggregates = await openAggregates(client, () => journal.takeNumbers()).catch(closeAndThrow)
  const { marks } = aggregates
  const aggregation = createAggregation({
    ...options,
    store: 'ClickHouse',
    step: (target) => change('Sessions could not be aggregated.', () => aggregates.step(target), 0),
  })
  try {
    await requireSameClock(client, now)
    await bindToRecords(client, records, { token: random(16).toString('hex'), now: now() })
    await inTurn('The last commit could not be stored.', recover)
    await inTurn('The aggregates could not be taken over.', aggregates.takeOver)
  } catch (error) {
    return closeAndThrow(error)
  }

  return {
    ...reader,
    losses: [],
    lastCommit: journal.lastCommit,
    lookUp: (query) => inTurn('The query failed.', () => readRows(client, query)),
    append: (rows, position, changes = {}) =>
      inTurn('The rows could not be stored.', async () => {
        const prepared = prepareRows({ rows, changes })
        if (uncertain) {
          await recover()
          if (position && ((await journal.lastCommit(position.run))?.sequence ?? 0) >= position.sequence) {
            uncertain = false
            return
          }
        }
        uncertain = true
        const entry = await journal.write({ rows, changes }, prepared.count, position)
        entryState = 'new'
        const startedAt = clock()
        await applyCommit(client, marks, entry, prepared)
        commits.count += 1
        commits.rows += prepared.count
        commits.seconds += (clock() - startedAt) / 1_000
        newDeliveries += changes.deliveries?.length ?? 0
        uncertain = false
      }),
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
    remove: (removal) =>
      change('The rows could not be removed.', (number) => removeStep({ client, address, marks, number }, removal), 2),
    removeImport: (part) =>
      change('The rows could not be removed.', (number) => removeImportStep({ client, address, marks, number }, part)),
    assign: (sites) => change('The rows could not be moved.', (number) => assignStep({ client, marks, number }, sites)),
    forgetRemovals: (key) => inTurn('The notes of removals could not be deleted.', () => forgetRemovals(client, key)),
    aggregate: aggregation.until,
    serverStatus: async () => ({ ...(await reader.serverStatus()), commits: { ...commits } }),
    async maintain({ aggregate }) {
      if (aggregate) await aggregation.stepIfDue()
      try {
        if (newDeliveries > MAX_NEW_DELIVERIES) {
          newDeliveries = 0
          await inTurn('Deliveries could not be deleted.', () => eraseExpiredDeliveries(client, now()))
        }
        if (entryState === 'new') entryState = 'idle'
        // Rows of people leave the records too.
        else if (entryState === 'idle' && !uncertain)
          await change('The journal could not be emptied.', async () => {}, 0)
      } catch (error) {
        log('warn', 'the store could not be tidied up; this will be tried again', error)
      }
    },
    async close() {
      await last
      await reader.close()
    },
  }
}
