import { type Batch, batchOf, MOST_ROWS } from './batch.js'
import type { Item } from './item.js'
import type { Row } from './line.js'
import type { Spool } from './spool.js'
import { createBell, type Sleep } from './wait.js'

export interface QueueOptions {
  spool: Spool
  /** Rows up to this one are done with. */
  settled: number
  /** Rows that may wait in memory while the disk takes none, and their characters. */
  rows: number
  weight: number
  sleep: Sleep
  /** Of rows that there was no room for in memory. */
  lost(rows: number): void
  log: { info(details: object, message: string): void; error(details: object, message: string): void }
}

/** All that waits, in the order in which it came: new rows in memory for a moment, then on disk, a few read ahead. */
export interface Queue {
  push(item: Item): void
  /** The next delivery of at most `most` rows; none where nothing waits. */
  next(most: number): Promise<Batch | undefined>
  /** A delivery as it was made before: all rows up to `number` that are still there. */
  again(number: number): Promise<Batch>
  /** Resolves when there may be more than `next` found. */
  more(): Promise<void>
  /** Ends a wait for more. */
  wake(): void
  /** Rows up to `number` are done with. */
  settle(number: number): Promise<void>
  /** Puts on disk what is not there yet, once; nothing may be pushed any more. */
  close(): Promise<void>
  readonly waiting: number
  /** Of them those that are in memory only. */
  readonly unkept: number
  /** Why rows are not kept on disk. */
  readonly fault: string | undefined
}

/** A row goes on after so long, or when so many wait (spec 8). */
const WINDOW = 200
const WINDOW_ROWS = 50
/** What is written at once. */
const MOST_WRITTEN = 5_000
/** Read ahead: what a delivery may hold of the three lists, and no more of long rows than a few deliveries. */
const AHEAD = { rows: MOST_ROWS * 4, weight: 4 << 20 }
/** Behind a disk that takes nothing it is tried again after so long. */
const AFTER_FAULT = 1_000

export function createQueue(options: QueueOptions): Queue {
  const { spool, sleep, lost, log } = options
  const arrived = createBell()
  const stored = createBell()
  /** Not on disk, and without numbers. */
  let fresh: Item[] = []
  let freshWeight = 0
  const ahead: Row[] = []
  let aheadWeight = 0
  /** Of the last row that was taken ahead. */
  let reached = options.settled
  let fault: string | undefined
  let writing = 0
  let reading = false
  let closed = false
  let hurry = new AbortController()

  const weigh = (items: readonly Item[]) => items.reduce((sum, { json }) => sum + json.length, 0)
  const numbered = (items: readonly Item[]): Row[] =>
    items.map(({ list, json }, n) => ({ number: spool.last + 1 + n, list, json }))
  const putAhead = (rows: readonly Row[]) => {
    for (const row of rows) ahead.push(row)
    aheadWeight += weigh(rows)
    reached = rows.at(-1)?.number ?? reached
  }
  const isFull = () => ahead.length >= AHEAD.rows || aheadWeight >= AHEAD.weight
  const takeFresh = (most: number) => {
    const items = fresh.splice(0, most)
    freshWeight -= weigh(items)
    return items
  }
  const trim = () => {
    while (fresh.length > options.rows || (freshWeight > options.weight && fresh.length > 1))
      lost(takeFresh(Math.max(1, Math.min(1_000, fresh.length >> 1))).length)
  }

  /** Writes some of what is new; false where the disk does not take it. */
  const store = async (): Promise<boolean> => {
    const items = takeFresh(MOST_WRITTEN)
    const rows = numbered(items)
    writing = rows.length
    try {
      await spool.append(rows)
      if (fault !== undefined) log.info({}, 'rows are kept on disk again')
      fault = undefined
      const [first] = rows
      // What was just written need not be read again, where the reader has all before it.
      const few = rows.length <= MOST_ROWS && !isFull()
      if (first !== undefined && few && !reading && reached === first.number - 1) {
        putAhead(rows)
        spool.pass(reached)
      }
      return true
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      if (fault === undefined) log.error({ err: error }, 'rows cannot be kept on disk; they wait in memory')
      fault = why
      fresh = [...items, ...fresh]
      freshWeight += weigh(items)
      trim()
      return false
    } finally {
      writing = 0
      stored.ring()
    }
  }

  const storing = (async () => {
    for (;;) {
      if (fresh.length === 0) {
        if (closed) return
        await arrived.heard()
        continue
      }
      if (fresh.length < WINDOW_ROWS && !closed) await sleep(WINDOW, hurry.signal)
      hurry = new AbortController()
      if (await store()) continue
      if (closed) return
      await sleep(AFTER_FAULT, hurry.signal)
    }
  })()

  /** Takes rows ahead as long as there are any and room for them, at least up to number `until`. */
  const fill = async (until: number) => {
    while (!isFull() || reached < until) {
      reading = true
      const rows = await spool.read().finally(() => {
        reading = false
      })
      if (rows.length > 0) putAhead(rows)
      else if (fault !== undefined && writing === 0 && fresh.length > 0) {
        // They cannot be kept, but perhaps delivered.
        putAhead(numbered(takeFresh(MOST_ROWS)))
        spool.pass(reached)
      } else return
    }
  }

  return {
    push(item) {
      fresh.push(item)
      freshWeight += item.json.length
      if (fresh.length === 1) arrived.ring()
      if (fresh.length >= WINDOW_ROWS && fault === undefined) hurry.abort()
      trim()
    },
    async next(most) {
      if (ahead.length < MOST_ROWS) await fill(0)
      return batchOf(ahead, most)
    },
    async again(number) {
      await fill(number)
      const after = ahead.findIndex((row) => row.number > number)
      return { number, rows: after < 0 ? [...ahead] : ahead.slice(0, after) }
    },
    more: () => stored.heard(),
    wake: () => stored.ring(),
    async settle(number) {
      const after = ahead.findIndex((row) => row.number > number)
      const gone = ahead.splice(0, after < 0 ? ahead.length : after)
      aheadWeight -= weigh(gone)
      reached = Math.max(reached, number)
      await spool.settle(number)
    },
    async close() {
      closed = true
      hurry.abort()
      arrived.ring()
      await storing
    },
    get waiting() {
      return spool.waiting + writing + fresh.length
    },
    get unkept() {
      return writing + fresh.length
    },
    get fault() {
      return fault
    },
  }
}
