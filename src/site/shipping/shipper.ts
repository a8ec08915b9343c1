import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { loadCatalog } from '../../agents/catalog.js'
import type { Observation } from '../../capture/observation.js'
import { type DeliveryOptions, startDelivery } from './delivery-loop.js'
import { lockDirectory } from './directory-lock.js'
import { createRowBuilder, createRowCounts, type OutgoingRow, type RawHit } from './outgoing-row.js'
import { openProgress } from './progress-file.js'
import { createRefusedRows } from './refused-rows.js'
import type { RowList, UnshippedReason } from './row-list.js'
import { createQueue } from './row-queue.js'
import { openSpool, type SpoolOptions } from './spool.js'

/** The reason why a row never reaches the collector; counted by name. */
type LossReason =
  | UnshippedReason
  /** The spool was over its limit, and the oldest rows were deleted. */
  | 'spool_full'
  /** The disk accepted no rows and the buffer in memory was full; the oldest rows were deleted. */
  | 'memory_full'
  /** The row on disk is no longer what was written. */
  | 'damaged'
  /** The collector refused the row; it is stored in `refused.ndjson`. */
  | 'refused'
  /** The row came after `close`, or could not be written before its end. */
  | 'closed'

export interface ShipperOptions
  extends Pick<DeliveryOptions, 'site' | 'key' | 'send' | 'now' | 'clock' | 'random' | 'id' | 'sleep' | 'log'> {
  /** The directory of the spool, which no other process may use; created if it does not exist. */
  directory: string
  /** Bytes of rows on disk. */
  spool_limit: number
  /** Bytes of free disk below which rows wait in memory. */
  min_free_disk: number
}

export interface ShipperStats {
  /** `degraded`: rows cannot be written to disk. An unreachable collector does not count, because rows wait for it. */
  state: 'ready' | 'degraded' | 'closed'
  reason?: string
  /** The reason why the collector accepts no rows at present. */
  trouble?: string
  /** Rows that the collector has committed since the start. */
  shipped: Readonly<Record<RowList, number>>
  /** Rows that wait, and bytes on disk. */
  waiting: number
  spool_bytes: number
  losses: Readonly<Partial<Record<LossReason, number>>>
  /** Requests by outcome: `accepted`, `refused`, `denied`, `later`. */
  attempts: Readonly<Record<string, number>>
}

export type Shipper = Awaited<ReturnType<typeof createShipper>>

/** Bounds of the rows in memory while the disk accepts none; they equal the recorder's. */
const MEMORY_LIMIT = { maxRows: 64_000, maxCharacters: 64 << 20 }
const CLOSE_TIMEOUT_MS = 10_000

/**
 * Ships rows to a collector. A row is on disk before it is sent, and is deleted when the collector has committed it: an
 * outage or a restart loses nothing, and kill -9 or a power cut loses the rows of the last 200 ms. Rejects with an error
 * of one line if another process uses the directory or it cannot be written.
 */
export async function createShipper(options: ShipperOptions) {
  const { directory, log } = options
  const { shipped, losses, lose, add } = createRowCounts<LossReason>()
  const opened = await openDirectory(options, (why, rows) => {
    if (losses[why] === undefined)
      log.warn(
        { rows },
        why === 'damaged' ? 'rows on disk are damaged' : 'the spool is full: its oldest rows are deleted',
      )
    lose(why, rows)
  })
  const { progress, resume, spool } = opened
  const queue = createQueue({
    ...options,
    ...MEMORY_LIMIT,
    spool,
    settled: resume?.settled ?? 0,
    onLost: (rows) => lose('memory_full', rows),
  })
  if (queue.waiting > 0) log.info({ rows: queue.waiting }, 'rows of the previous run wait to be shipped')
  const refused = createRefusedRows(directory)
  const delivery = startDelivery({
    ...options,
    queue,
    resume,
    save: (state) => progress.save(state),
    shipped: (list, rows) => {
      shipped[list] += rows
    },
    async setAside(row, why) {
      lose('refused')
      await refused
        .add(row, why, new Date(options.now()))
        .catch((error) => log.warn({ err: error }, 'a refused row could not be stored'))
    },
  })

  const items = createRowBuilder(loadCatalog())
  let closed = false
  const enqueue = (make: () => OutgoingRow | UnshippedReason) => add(() => (closed ? 'closed' : make()), queue.add)

  return {
    /** Queues a row for an observation. Never throws, never waits. */
    record: (observation: Observation): void => enqueue(() => items.of(observation)),
    /** Queues a row for a hit that the tracker endpoint accepted. Never throws, never waits. */
    hit: (hit: RawHit): void => enqueue(() => items.ofHit(hit)),
    stats(): ShipperStats {
      const { fault } = queue
      const { problem: trouble, attempts } = delivery
      return {
        state: closed ? 'closed' : fault === undefined ? 'ready' : 'degraded',
        ...(fault === undefined ? {} : { reason: `rows cannot be written to disk: ${fault}` }),
        ...(trouble === undefined ? {} : { trouble }),
        shipped: { ...shipped },
        waiting: queue.waiting,
        spool_bytes: spool.bytes,
        losses: { ...losses },
        attempts: { ...attempts },
      }
    },
    /** Writes waiting rows to disk and ships for at most ten seconds; the rest is shipped after the next start. */
    async close(): Promise<void> {
      if (closed) return
      closed = true
      await queue.close()
      await delivery.finish(CLOSE_TIMEOUT_MS)
      const { waiting, unwritten: unkept } = queue
      if (unkept > 0) {
        lose('closed', unkept)
        log.error({ rows: unkept }, 'rows are lost: they could neither be shipped nor written to disk')
      }
      if (waiting > unkept) log.warn({ rows: waiting - unkept }, 'rows wait on disk to be shipped after the next start')
      await opened.close()
    },
  }
}

/** Locks the directory, creates it if it does not exist, and opens the files in it. */
async function openDirectory(options: ShipperOptions, onLost: SpoolOptions['onLost']) {
  const { directory, spool_limit: limit, log } = options
  const fail = (error: unknown): never => {
    throw spoolError(directory, error)
  }
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch(fail)
  const lock = await lockDirectory(join(directory, 'lock'), directory)
  const progress = await openProgress(join(directory, 'progress')).catch(async (error) => {
    await lock.release()
    return fail(error)
  })
  try {
    const resume = progress.stored === 'damaged' ? undefined : progress.stored
    if (progress.stored === 'damaged')
      log.warn({ directory }, 'the progress of deliveries cannot be read: some waiting rows may be stored twice')
    const spool = await openSpool({ settled: 0, sending: 0, ...options, ...resume, limit, onLost })
    const close = async () => {
      await spool.close()
      await progress.close()
      await lock.release()
    }
    return { progress, resume, spool, close }
  } catch (error) {
    // The lock is released also if the file cannot be closed: the directory may be opened again.
    await progress.close().catch(() => {})
    await lock.release()
    return fail(error)
  }
}

const spoolError = (directory: string, error: unknown): Error =>
  new Error(`The spool in ${directory} cannot be used: ${error instanceof Error ? error.message : String(error)}.`)
