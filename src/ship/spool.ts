import { mkdir, readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Row } from './line.js'
import {
  firstOf,
  mend,
  nameOf,
  type Reader,
  readSegment,
  remove,
  type Segment,
  type Writer,
  writeSegment,
} from './segment.js'

export interface SpoolOptions {
  directory: string
  /** Bytes on disk; over it the oldest rows go. */
  limit: number
  /** With fewer bytes of free disk nothing is written. */
  min_free_disk: number
  /** As the last process left them: rows up to `settled` are done with, those up to `sending` may be. */
  settled: number
  sending: number
  /** Milliseconds; only differences count. */
  clock: () => number
  /** Told of rows that are lost, and why. */
  lost(why: 'spool_full' | 'damaged', rows: number): void
  log: { warn(details: object, message: string): void }
}

/** Rows in order on disk: one writes and one reads, at the same time. */
export interface Spool {
  /** The highest number that has been given to a row. */
  readonly last: number
  /** Rows that are neither done with nor lost. */
  readonly waiting: number
  readonly bytes: number
  /** On the disk when it resolves; where it rejects, none of them counts as written. */
  append(rows: readonly Row[]): Promise<void>
  /** The next rows in order; none where there are no more. */
  read(): Promise<Row[]>
  /** The reader has the rows up to `number` in memory, and goes on behind them. */
  pass(number: number): void
  /** Rows up to `number` are done with: they leave the disk, the rows of a file together. */
  settle(number: number): Promise<void>
  close(): Promise<void>
}

/** Files that the whole is cut into, so that the oldest part can go. */
const PARTS = 16
const LARGEST_SEGMENT = 16 << 20

/** Opens the rows that wait in `directory`, which is made where there is none. Rejects where it cannot be written. */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  const { directory, limit, min_free_disk, clock, lost, log } = options
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const segments = await segmentsOf(directory, log)
  const size = Math.min(LARGEST_SEGMENT, Math.ceil(limit / PARTS))
  let last = Math.max(options.settled, options.sending, ...segments.map((segment) => segment.last))
  let settled = options.settled
  /** Rows up to this one are not lost, whatever becomes of the files: they are in memory, or may have been delivered. */
  let safe = options.sending
  /** Every row up to this one was read, or is lost. */
  let seen = options.settled
  let writer: Writer | undefined
  let reading: { segment: Segment; reader: Reader } | undefined
  /** Where to read on in a segment of which the reader has the rows up to there. */
  let passed: { segment: Segment; at: number } | undefined
  /** Rows that were lost, from above one number up to another, in order. */
  let holes: { from: number; to: number }[] = []
  let checked = Number.NEGATIVE_INFINITY
  let turn: Promise<unknown> = Promise.resolve()

  /** What changes files, one after the other: a file that is emptied must not be one that is written to. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = turn.then(work)
    turn = done.catch(() => {})
    return done
  }
  const bytes = () => segments.reduce((sum, segment) => sum + segment.bytes, 0)
  const leave = async () => {
    const left = reading
    reading = undefined
    await left?.reader.close()
  }
  const take = (segment: Segment) => {
    const at = segments.indexOf(segment)
    if (at >= 0) segments.splice(at, 1)
  }
  const endWriter = async () => {
    const ended = writer
    writer = undefined
    await ended?.close()
  }
  const room = async () => {
    const at = clock()
    if (at - checked < 1_000) return
    const { bavail, bsize } = await statfs(directory)
    if (bavail * bsize < min_free_disk) throw new Error(`less than ${min_free_disk} bytes of the disk are free`)
    checked = at
  }
  const lose = (why: 'spool_full' | 'damaged', from: number, to: number) => {
    if (to <= from) return
    lost(why, to - from)
    const before = holes.at(-1)
    if (before !== undefined && before.to === from) before.to = to
    else holes.push({ from, to })
  }
  /** The reader has come by `number`; those it did not meet on the way were damaged. */
  const came = (number: number, missed: number) => {
    lose('damaged', Math.max(seen, safe), missed)
    seen = Math.max(seen, number)
  }
  /** A file that cannot be read any more must not hold up those behind it. */
  const giveUp = (segment: Segment, error: unknown): undefined => {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'EIO' && code !== 'ENOENT') throw error
    log.warn({ file: segment.path, err: error }, 'rows on disk cannot be read')
    came(segment.last, segment.last)
  }
  const dropOldest = async () => {
    while (bytes() > limit && segments.length > 1) {
      const [oldest] = segments
      if (oldest === undefined) return
      lose('spool_full', Math.max(oldest.first - 1, settled, safe), oldest.last)
      safe = Math.max(safe, oldest.last)
      seen = Math.max(seen, oldest.last)
      take(oldest)
      await remove(oldest.path)
    }
  }

  return {
    get last() {
      return last
    },
    get waiting() {
      return last - settled - holes.reduce((sum, { from, to }) => sum + to - Math.max(from, settled), 0)
    },
    get bytes() {
      return bytes()
    },
    append: (rows) =>
      inTurn(async () => {
        const [first] = rows
        if (first === undefined) return
        await room()
        if (writer !== undefined && writer.segment.bytes >= size) await endWriter()
        if (writer === undefined) {
          writer = await writeSegment(join(directory, nameOf(first.number)), first.number)
          segments.push(writer.segment)
        }
        const { segment } = writer
        try {
          await writer.append(rows)
        } catch (error) {
          checked = Number.NEGATIVE_INFINITY
          // The next file may have its name.
          if (segment.last < segment.first) take(segment)
          await endWriter().catch(() => {})
          throw error
        }
        last = Math.max(last, segment.last)
        await dropOldest()
      }),
    async read() {
      for (;;) {
        if (reading === undefined || !segments.includes(reading.segment)) {
          await leave()
          const segment = segments.find((one) => one.last > seen)
          if (segment === undefined) return []
          const from = passed?.segment === segment ? passed.at : 0
          reading = await readSegment(segment.path, from).then(
            (reader) => ({ segment, reader }),
            (error) => giveUp(segment, error),
          )
          if (reading === undefined) continue
        }
        const { segment, reader } = reading
        const until = { row: segment.last, byte: segment.bytes }
        const read = await reader.next(until.byte).catch((error) => giveUp(segment, error))
        const rows = read?.filter(({ number }) => number > seen) ?? []
        for (const { number } of rows) came(number, number - 1)
        safe = Math.max(safe, rows.at(-1)?.number ?? 0)
        if (rows.length > 0) return rows
        if (read !== undefined && reader.at < until.byte && segments.includes(segment)) continue
        came(until.row, until.row)
        await leave()
      }
    },
    pass(number) {
      last = Math.max(last, number)
      seen = Math.max(seen, number)
      safe = Math.max(safe, number)
      if (writer !== undefined && writer.segment.last === number)
        passed = { segment: writer.segment, at: writer.segment.bytes }
    },
    async settle(number) {
      settled = Math.max(settled, number)
      holes = holes.filter(({ to }) => to > settled)
      if (!segments.some((segment) => segment.last <= settled && segment.bytes > 0)) return
      await inTurn(async () => {
        for (const segment of segments.filter((one) => one.last <= settled)) {
          if (segment !== writer?.segment) {
            take(segment)
            await remove(segment.path)
          } else if (segment.bytes > 0) {
            if (passed?.segment === segment) passed = undefined
            if (reading?.segment === segment) await leave()
            await writer.empty()
          }
        }
      })
    },
    async close() {
      await turn
      await leave()
      const unused = writer !== undefined && writer.segment.bytes === 0 ? writer.segment.path : undefined
      await endWriter()
      if (unused !== undefined) await remove(unused)
    },
  }
}

/** What the last process left; the end that it did not finish is cut off. */
async function segmentsOf(directory: string, log: SpoolOptions['log']): Promise<Segment[]> {
  const found = (await readdir(directory))
    .flatMap((name) => {
      const first = firstOf(name)
      return first === undefined ? [] : [{ path: join(directory, name), first }]
    })
    .sort((a, b) => a.first - b.first)
  const segments: Segment[] = []
  for (const [n, { path, first }] of found.entries()) {
    const next = found[n + 1]
    if (next !== undefined) {
      segments.push({ path, first, last: next.first - 1, bytes: (await stat(path)).size })
      continue
    }
    const { last, bytes, cut } = await mend(path)
    if (cut > 0) log.warn({ file: path, bytes: cut }, 'the last row was not written to its end and is cut off')
    if (last === 0) await remove(path)
    else segments.push({ path, first, last, bytes })
  }
  return segments
}
