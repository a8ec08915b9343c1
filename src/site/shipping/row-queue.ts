import type { Log } from '../../base/log.js'
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
  log: Pick<Log, 'info' | 'error'>
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

export function createQueue(options: QueueOptions) {
  const { spool } = options
  const ahead = createReadAhead(options)
  const writer = startWriter(options, ahead)

  /** Reads rows ahead while there are any and they fit, at least up to the number `until`. */
  const fill = async (until: number) => {
    while (!ahead.isFull() || ahead.reached < until) {
      if (await ahead.read()) continue
      // The disk does not accept them, but the collector may.
      const refused = writer.takeRefused(MAX_LIST_ROWS)
      if (refused.length === 0) return
      ahead.pass(refused)
    }
  }

  return {
    add: writer.add,
    /** Returns the next delivery of at most `most` rows, or undefined if none waits. */
    async next(most: number): Promise<Batch | undefined> {
      if (ahead.rows.length < MAX_LIST_ROWS) await fill(0)
      return takeBatch(ahead.rows, most)
    },
    /** Returns an earlier delivery unchanged: all remaining rows up to `number`. */
    async repeat(number: number): Promise<Batch> {
      await fill(number)
      return { number, rows: ahead.rows.slice(0, ahead.countUpTo(number)) }
    },
    /** Resolves when there may be more rows than `next` found. */
    waitForMore: () => writer.stored.heard(),
    /** Ends `waitForMore`. */
    wake: () => writer.stored.ring(),
    /** Marks the rows up to `number` as delivered. */
    async settle(number: number): Promise<void> {
      ahead.drop(number)
      await spool.settle(number)
    },
    close: writer.close,
    get waiting() {
      return spool.waiting + writer.unwritten
    },
    /** Waiting rows that are only in memory. */
    get unwritten() {
      return writer.unwritten
    },
    /** The reason why rows are not written to disk. */
    get fault() {
      return writer.fault
    },
  }
}

const weigh = (items: readonly OutgoingRow[]) => items.reduce((sum, { json }) => sum + json.length, 0)
/** Gives rows the numbers after `last`. */
const numbered = (items: readonly OutgoingRow[], last: number): SpooledRow[] =>
  items.map(({ list, json }, n) => ({ number: last + 1 + n, list, json }))

/** Keeps the next rows to deliver, which were read from the spool or passed on when they were written. */
function createReadAhead({ spool, settled }: QueueOptions) {
  const rows: SpooledRow[] = []
  let weight = 0
  /** The number of the last row that was read ahead. */
  let reached = settled
  let isReading = false

  const put = (more: readonly SpooledRow[]) => {
    for (const row of more) rows.push(row)
    weight += weigh(more)
    reached = more.at(-1)?.number ?? reached
  }
  const countUpTo = (number: number) => {
    const after = rows.findIndex((row) => row.number > number)
    return after < 0 ? rows.length : after
  }
  return {
    rows,
    isFull: () => rows.length >= READ_AHEAD.rows || weight >= READ_AHEAD.weight,
    get reached() {
      return reached
    },
    get isReading() {
      return isReading
    },
    /** Adds the next rows of the spool; resolves to whether there were any. */
    async read(): Promise<boolean> {
      isReading = true
      const more = await spool.read().finally(() => {
        isReading = false
      })
      put(more)
      return more.length > 0
    },
    /** Adds rows that are not read from the spool; the spool continues after them. */
    pass(more: readonly SpooledRow[]): void {
      put(more)
      spool.skipTo(reached)
    },
    countUpTo,
    drop(number: number): void {
      weight -= weigh(rows.splice(0, countUpTo(number)))
      reached = Math.max(reached, number)
    },
  }
}

/** Keeps rows that are not on disk and have no numbers yet; above its bounds the oldest are lost. */
function createFreshRows({ maxRows, maxCharacters, onLost }: QueueOptions) {
  const rows: OutgoingRow[] = []
  let weight = 0
  const take = (most: number): OutgoingRow[] => {
    const items = rows.splice(0, most)
    weight -= weigh(items)
    return items
  }
  const trim = () => {
    while (rows.length > maxRows || (weight > maxCharacters && rows.length > 1))
      onLost(take(Math.max(1, Math.min(1_000, rows.length >> 1))).length)
  }
  return {
    rows,
    take,
    add(item: OutgoingRow): void {
      rows.push(item)
      weight += item.json.length
      trim()
    },
    giveBack(items: readonly OutgoingRow[]): void {
      rows.unshift(...items)
      weight += weigh(items)
      trim()
    },
  }
}

/** Takes new rows and writes them to the spool, some at a time, until it is closed. */
function startWriter(options: QueueOptions, ahead: ReturnType<typeof createReadAhead>) {
  const { spool, sleep, log } = options
  const arrived = createSignal()
  const stored = createSignal()
  const fresh = createFreshRows(options)
  let fault: string | undefined
  let writing = 0
  let closed = false
  let hurry = new AbortController()

  /** Writes some of the new rows; returns false if the disk does not accept them. */
  const store = async (): Promise<boolean> => {
    const items = fresh.take(MAX_ROWS_PER_WRITE)
    const rows = numbered(items, spool.last)
    writing = rows.length
    try {
      await spool.append(rows)
      if (fault !== undefined) log.info({}, 'rows are written to disk again')
      fault = undefined
      // If the reader has all earlier rows, the new ones need not be read back.
      const few = rows.length <= MAX_LIST_ROWS && !ahead.isFull()
      if (few && !ahead.isReading && rows[0]?.number === ahead.reached + 1) ahead.pass(rows)
      return true
    } catch (error) {
      if (fault === undefined) log.error({ err: error }, 'rows cannot be written to disk; they wait in memory')
      fault = error instanceof Error ? error.message : String(error)
      fresh.giveBack(items)
      return false
    } finally {
      writing = 0
      stored.ring()
    }
  }

  const run = async () => {
    for (;;) {
      if (fresh.rows.length === 0 && closed) return
      if (fresh.rows.length === 0) {
        await arrived.heard()
        continue
      }
      if (fresh.rows.length < BATCH_WINDOW_ROWS && !closed) await sleep(BATCH_WINDOW_MS, hurry.signal)
      hurry = new AbortController()
      // The collector may have taken the rows from memory meanwhile: a write of none says nothing of the disk.
      if (fresh.rows.length === 0) continue
      if (await store()) continue
      if (closed) return
      await sleep(RETRY_AFTER_FAULT_MS, hurry.signal)
    }
  }
  const storing = run()

  return {
    /** Rings after each write. */
    stored,
    add(item: OutgoingRow): void {
      fresh.add(item)
      const { length } = fresh.rows
      if (length === 1) arrived.ring()
      if (length >= BATCH_WINDOW_ROWS && fault === undefined) hurry.abort()
    },
    /** Takes rows that the disk does not accept, at most `most`. */
    takeRefused: (most: number) => (fault === undefined || writing > 0 ? [] : numbered(fresh.take(most), spool.last)),
    /** Tries once to write the rows in memory to disk; no row may be added afterwards. */
    async close(): Promise<void> {
      closed = true
      hurry.abort()
      arrived.ring()
      await storing
    },
    /** Rows that are only in memory. */
    get unwritten() {
      return writing + fresh.rows.length
    },
    /** The reason why rows are not written to disk. */
    get fault() {
      return fault
    },
  }
}
