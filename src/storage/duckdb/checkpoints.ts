import { sql } from '../sql.js'
import type { DataFile, DataFileOptions } from './datafile.js'
import { runQuery } from './query.js'
import { isCheckpointBlocked } from './query-errors.js'

export interface CheckpointOptions {
  /** A checkpoint runs when the log is this long: it bounds the next start's replay and the memory of new rows. */
  wal_bytes?: number
  /** A checkpoint also runs if nothing was appended for `idle_ms` and the log is at least `idle_bytes` long. */
  idle_bytes?: number
  idle_ms?: number
}

/** A checkpoint deletes the positions of past commits when there are this many. */
const MAX_COMMIT_ROWS = 100_000
/** A checkpoint deletes expired deliveries when this many were added. */
const MAX_NEW_DELIVERIES = 10_000
/** A signature expires long before. */
const REPLAY_WINDOW_MS = 15 * 60_000
/** A sender that was silent for this long is gone. */
const SENDER_EXPIRY_MS = 90 * 86_400_000

/** Decides when DuckDB folds its log into the file, and deletes at that moment what is not needed any more. */
export function createCheckpoints(
  database: Pick<DataFile, 'write' | 'walBytes' | 'freeIdleCache'>,
  options: CheckpointOptions & Pick<DataFileOptions, 'file' | 'clock' | 'now' | 'log'>,
) {
  const { file, clock, log, wal_bytes = 16 << 20, idle_bytes = 4 << 20, idle_ms = 5_000 } = options
  let lastAppend = clock()
  let lastCheckpoint = lastAppend
  let commitRows = 0
  // The first new delivery also deletes those of earlier processes.
  let newDeliveries = MAX_NEW_DELIVERIES
  /** Stored rows were changed since the last checkpoint. */
  let changed = false

  /** Logs an error and does not throw. */
  const run = async (): Promise<void> => {
    try {
      await database.write(async (writer) => {
        if (commitRows > MAX_COMMIT_ROWS) {
          await writer.run('delete from commits where sequence < (select max(sequence) from commits)')
          commitRows = 0
        }
        if (newDeliveries > MAX_NEW_DELIVERIES) {
          await runQuery(writer, buildExpiredDeliveriesDelete(options.now()))
          newDeliveries = 0
        }
        await writer.run('checkpoint')
      })
      changed = false
      lastCheckpoint = clock()
    } catch (error) {
      // A blocked checkpoint succeeds after that read has ended: each append tries it again.
      if (!isCheckpointBlocked(error)) log('warn', `${file}: the checkpoint failed and will be tried again`, error)
    }
  }

  const runAndFreeCache = async (): Promise<void> => {
    await run()
    await database.freeIdleCache().catch((error) => log('warn', `${file}: the cache could not be freed`, error))
  }

  return {
    /** Also run after every delete, which must not be replayed from the log. */
    run,
    async afterAppend(append: { deliveries: number; changed: boolean }): Promise<void> {
      commitRows += 1
      newDeliveries += append.deliveries
      changed ||= append.changed
      lastAppend = clock()
      if (database.walBytes() >= wal_bytes) await runAndFreeCache()
    },
    async afterRemoval(rows: number): Promise<void> {
      // If a long read blocks this checkpoint, a later one has the removal.
      changed = true
      if (rows > 0) await run()
    },
    /** Runs a checkpoint if the store is idle, or if changed rows are in the log for some time. */
    async whenIdle(): Promise<void> {
      const idle = clock() - lastAppend >= idle_ms && database.walBytes() >= idle_bytes
      // Changes must not stay in the log for long; a checkpoint after each would cost more than they do.
      if (idle || (changed && clock() - lastCheckpoint >= idle_ms)) await runAndFreeCache()
    },
  }
}

/** Deletes deliveries that cannot arrive again. The highest number of a sender stays while the sender exists. */
const buildExpiredDeliveriesDelete = (now: Date) => sql`
  delete from deliveries as old
  where accepted_at < ${new Date(now.getTime() - REPLAY_WINDOW_MS)}
    and (sender is null or accepted_at < ${new Date(now.getTime() - SENDER_EXPIRY_MS)}
      or number < (select max(number) from deliveries as all_of_it
        where all_of_it.site_id = old.site_id and all_of_it.sender = old.sender))`
