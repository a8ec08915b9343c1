import { createSignal, type Sleep } from './back-off.js'
import { type Batch, MAX_LIST_ROWS, takeBatch } from './delivery-body.js'
import type { OutgoingRow } from './outgoing-row.js'
import type { Spool } from './spool.js'
import type { SpooledRow } from './spool-line.js'

interface QueueOptions {
  spool: Spool
  /** Rows up to this number are delivered. */
  settled: number
  /** Rows and characters that may wait in memory while the disk accepts none. */
  maxRows: number
  maxCharacters: number
  sleep: Sleep
  /** Called with the number of rows that did not fit into memory. */
  onLost(rows: number): void
  log: { info(details: object, message: string): void; error(details: object, message: string): void }
}

/** The rows that wait, in order of arrival: new rows in memory for a moment, then on disk, a few of them read ahead. */
export type RowQueue = ReturnType<typeof createQueue>

/** Rows are written after this many milliseconds, or when this many wait. */
const BATCH_WINDOW_MS = 200
const BATCH_WINDOW_ROWS = 50
/** Rows of one write. */
const MAX_ROWS_PER_WRITE = 5_000
/** Rows and characters to read ahead: a full delivery of the three lists, or a few deliveries of long rows. */
const READ_AHEAD = { rows: MAX_LIST_ROWS * 4, weight: 4 << 20 }
/** Wait before the next try after the disk refused a write. */
const RETRY_AFTER_FAULT_MS = 1_000

/**
 * Creates the queue. Long because the writer, the reader and the caller share the rows in memory.
 */
export function createQueue(options: QueueOptions) {
  const { spool, sleep, onLost: lost, log } = options
  const arrived = createSignal()
  const stored = createSignal()
  /** Rows that are not on disk and have no numbers yet. */
  let fresh: OutgoingRow[] = []
  let freshWeight = 0
  const ahead: SpooledRow[] = []
  let aheadWeight = 0
  /** The number of the last row that was read ahead. */
  let reached = options.settled
  let fault: string | undefined
  let writing = 0
  let reading = false
  let closed = false
  let hurry = new AbortController()

  const weigh = (items: readonly OutgoingRow[]) => items.reduce((sum, { json }) => sum + json.length, 0)
  const numbered = (items: readonly OutgoingRow[]): SpooledRow[] =>
    items.map(({ list, json }, n) => ({ number: spool.last + 1 + n, list, json }))
  const putAhead = (rows: readonly SpooledRow[]) => {
    for (const row of rows) ahead.push(row)
    aheadWeight += weigh(rows)
    reached = rows.at(-1)?.number ?? reached
  }
  const isFull = () => ahead.length >= READ_AHEAD.rows || aheadWeight >= READ_AHEAD.weight
  const takeFresh = (most: number) => {
    const items = fresh.splice(0, most)
    freshWeight -= weigh(items)
    return items
  }
  const trim = () => {
    while (fresh.length > options.maxRows || (freshWeight > options.maxCharacters && fresh.length > 1))
      lost(takeFresh(Math.max(1, Math.min(1_000, fresh.length >> 1))).length)
  }

  /** Writes some of the new rows; returns false if the disk does not accept them. */
  const store = async (): Promise<boolean> => {
    const items = takeFresh(MAX_ROWS_PER_WRITE)
    const rows = numbered(items)
    writing = rows.length
    try {
      await spool.append(rows)
      if (fault !== undefined) log.info({}, 'rows are written to disk again')
      fault = undefined
      const [first] = rows
      // If the reader has all earlier rows, the new ones need not be read back.
      const few = rows.length <= MAX_LIST_ROWS && !isFull()
      if (first !== undefined && few && !reading && reached === first.number - 1) {
        putAhead(rows)
        spool.skipTo(reached)
      }
      return true
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      if (fault === undefined) log.error({ err: error }, 'rows cannot be written to disk; they wait in memory')
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
      if (fresh.length < BATCH_WINDOW_ROWS && !closed) await sleep(BATCH_WINDOW_MS, hurry.signal)
      hurry = new AbortController()
      if (await store()) continue
      if (closed) return
      await sleep(RETRY_AFTER_FAULT_MS, hurry.signal)
    }
  })()

  /** Reads rows ahead while there are any and they fit, at least up to the number `until`. */
  const fill = async (until: number) => {
    while (!isFull() || reached < until) {
      reading = true
      const rows = await spool.read().finally(() => {
        reading = false
      })
      if (rows.length > 0) putAhead(rows)
      else if (fault !== undefined && writing === 0 && fresh.length > 0) {
        // The disk does not accept them, but the collector may.
        putAhead(numbered(takeFresh(MAX_LIST_ROWS)))
        spool.skipTo(reached)
      } else return
    }
  }

  return {
    add(item: OutgoingRow): void {
      fresh.push(item)
      freshWeight += item.json.length
      if (fresh.length === 1) arrived.ring()
      if (fresh.length >= BATCH_WINDOW_ROWS && fault === undefined) hurry.abort()
      trim()
    },
    /** Returns the next delivery of at most `most` rows, or undefined if none waits. */
    async next(most: number): Promise<Batch | undefined> {
      if (ahead.length < MAX_LIST_ROWS) await fill(0)
      return takeBatch(ahead, most)
    },
    /** Returns an earlier delivery unchanged: all remaining rows up to `number`. */
    async repeat(number: number): Promise<Batch> {
      await fill(number)
      const after = ahead.findIndex((row) => row.number > number)
      return { number, rows: after < 0 ? [...ahead] : ahead.slice(0, after) }
    },
    /** Resolves when there may be more rows than `next` found. */
    waitForMore: () => stored.heard(),
    /** Ends `waitForMore`. */
    wake: () => stored.ring(),
    /** Marks the rows up to `number` as delivered. */
    async settle(number: number): Promise<void> {
      const after = ahead.findIndex((row) => row.number > number)
      const gone = ahead.splice(0, after < 0 ? ahead.length : after)
      aheadWeight -= weigh(gone)
      reached = Math.max(reached, number)
      await spool.settle(number)
    },
    /** Tries once to write the rows in memory to disk; no row may be added afterwards. */
    async close(): Promise<void> {
      closed = true
      hurry.abort()
      arrived.ring()
      await storing
    },
    get waiting() {
      return spool.waiting + writing + fresh.length
    },
    /** Waiting rows that are only in memory. */
    get unwritten() {
      return writing + fresh.length
    },
    /** The reason why rows are not written to disk. */
    get fault() {
      return fault
    },
  }
}
