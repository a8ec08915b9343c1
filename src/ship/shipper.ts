import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { loadCatalog } from '../agents/catalog.js'
import type { Observation } from '../capture/observation.js'
import { type DeliveryOptions, startDelivery } from './deliver.js'
import { createItems, type Item, type List, type RawHit, type Unshipped } from './item.js'
import { lock } from './lock.js'
import { openProgress } from './progress.js'
import { createQueue } from './queue.js'
import { createRefused } from './refused.js'
import { openSpool } from './spool.js'

/** Why something is not at the collector and never will be: closed, counted by name. */
export type Loss =
  | Unshipped
  /** The spool was over its limit: the oldest rows went. */
  | 'spool_full'
  /** The disk took no more and the memory for rows was full: the oldest rows went. */
  | 'memory_full'
  /** On the disk, and no longer what was written. */
  | 'damaged'
  /** The collector would not have the row; it is set aside in `refused.ndjson`. */
  | 'refused'
  /** It came after the end, or was still in memory then. */
  | 'closed'

export interface ShipperOptions
  extends Pick<DeliveryOptions, 'site' | 'key' | 'send' | 'now' | 'clock' | 'random' | 'id' | 'sleep' | 'log'> {
  /** Of the spool: it is this process's alone. Made where there is none. */
  directory: string
  /** Bytes of rows on disk. */
  spool_limit: number
  /** With fewer bytes of free disk, rows wait in memory. */
  min_free_disk: number
}

export interface ShipperStats {
  /** `degraded`: rows are not kept on disk. That the collector is away is no reason: they wait for it. */
  state: 'ready' | 'degraded' | 'closed'
  reason?: string
  /** Why the collector takes no rows at present. */
  trouble?: string
  /** Rows that the collector has committed since the start. */
  shipped: Readonly<Record<List, number>>
  /** Rows that wait, and bytes on disk. */
  waiting: number
  spool_bytes: number
  losses: Readonly<Partial<Record<Loss, number>>>
  /** Requests by what they came to: `accepted`, `refused`, `denied`, `later`. */
  attempts: Readonly<Record<string, number>>
}

export interface Shipper {
  /** Never throws, never waits. */
  record(observation: Observation): void
  /** The same, for what a track door took. */
  hit(hit: RawHit): void
  stats(): ShipperStats
  /** Puts what waits on disk, and ships of it what it can within ten seconds; the rest goes after the next start. */
  close(): Promise<void>
}

/** Rows and characters that wait in memory while the disk takes none: as many as the recorder holds. */
const MEMORY = { rows: 64_000, weight: 64 << 20 }
const CLOSING = 10_000

/**
 * Ships rows to a collector's edge door. Each is on disk before it is sent, and leaves the disk when the collector has
 * committed it: an outage or a restart loses nothing, kill -9 or a power cut what came within the last window.
 *
 * Rejects with one line where the directory is another process's or cannot be written.
 */
export async function createShipper(options: ShipperOptions): Promise<Shipper> {
  const { directory, spool_limit, min_free_disk, clock, sleep, log } = options
  const losses: Partial<Record<Loss, number>> = {}
  const shipped: Record<List, number> = { agent_events: 0, events: 0, hits: 0 }
  const lost = (why: Loss, rows: number) => {
    losses[why] = (losses[why] ?? 0) + rows
  }

  const held = await hold(directory)
  const opened = await open().catch(async (error) => {
    await held.release()
    throw unusable(directory, error)
  })
  const { progress, found, spool } = opened

  async function open() {
    const progress = await openProgress(join(directory, 'progress'))
    try {
      if (progress.found === 'damaged')
        log.warn({ directory }, 'which rows were delivered cannot be read: some of those that wait may be stored twice')
      const found = progress.found === 'damaged' ? undefined : progress.found
      const { settled = 0, sending = 0 } = found ?? {}
      const limits = { limit: spool_limit, min_free_disk }
      const spool = await openSpool({ directory, ...limits, settled, sending, clock, lost: lose, log })
      return { progress, found, spool }
    } catch (error) {
      await progress.close()
      throw error
    }
  }

  function lose(why: 'spool_full' | 'damaged', rows: number) {
    if (losses[why] === undefined)
      log.warn({ rows }, why === 'damaged' ? 'rows on disk are damaged' : 'the spool is full: its oldest rows go')
    lost(why, rows)
  }

  const { settled = 0 } = found ?? {}
  const queue = createQueue({ spool, settled, ...MEMORY, sleep, log, lost: (rows) => lost('memory_full', rows) })
  if (queue.waiting > 0) log.info({ rows: queue.waiting }, 'rows of the last run wait to be shipped')
  const refused = createRefused(directory)
  const delivery = startDelivery({
    ...options,
    queue,
    found,
    save: (state) => progress.save(state),
    shipped: (list, rows) => {
      shipped[list] += rows
    },
    async refuse(row, why) {
      lost('refused', 1)
      await refused
        .add(row, why, new Date(options.now()))
        .catch((error) => log.warn({ err: error }, 'a refused row cannot be set aside'))
    },
  })

  const items = createItems(loadCatalog())
  let closed = false
  const take = (make: () => Item | Unshipped) => {
    try {
      const item = closed ? 'closed' : make()
      if (typeof item === 'string') lost(item, 1)
      else queue.push(item)
    } catch {
      // An adapter's caller may hand over what is no observation.
      lost('fault', 1)
    }
  }

  return {
    record: (observation) => take(() => items.of(observation)),
    hit: (hit) => take(() => items.ofHit(hit)),
    stats() {
      const { fault } = queue
      const { trouble, attempts } = delivery
      return {
        state: closed ? 'closed' : fault === undefined ? 'ready' : 'degraded',
        ...(fault === undefined ? {} : { reason: `rows are not kept on disk: ${fault}` }),
        ...(trouble === undefined ? {} : { trouble }),
        shipped: { ...shipped },
        waiting: queue.waiting,
        spool_bytes: spool.bytes,
        losses: { ...losses },
        attempts: { ...attempts },
      }
    },
    async close() {
      if (closed) return
      closed = true
      await queue.close()
      await delivery.finish(CLOSING)
      const { waiting, unkept } = queue
      if (unkept > 0) {
        lost('closed', unkept)
        log.error({ rows: unkept }, 'rows are lost: they could neither be shipped nor kept on disk')
      }
      if (waiting > unkept) log.warn({ rows: waiting - unkept }, 'rows wait on disk to be shipped after the next start')
      await spool.close()
      await progress.close()
      await held.release()
    },
  }
}

async function hold(directory: string) {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw unusable(directory, error)
  }
  return lock(join(directory, 'lock'), directory)
}

const unusable = (directory: string, error: unknown): Error =>
  new Error(`The spool in ${directory} cannot be used: ${error instanceof Error ? error.message : String(error)}.`)
