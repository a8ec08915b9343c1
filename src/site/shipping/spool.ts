import { mkdir, readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import {
  openSegmentReader,
  openSegmentWriter,
  parseSegmentName,
  removeFile,
  repairSegment,
  type Segment,
  type SegmentReader,
  type SegmentWriter,
  segmentName,
} from './segment.js'
import type { SpooledRow } from './spool-line.js'

export interface SpoolOptions {
  directory: string
  /** Upper bound of bytes on disk; the oldest rows are deleted to keep it. */
  limit: number
  /** Bytes of free disk below which no row is written. */
  min_free_disk: number
  /** The stored progress: rows up to `settled` are delivered, rows up to `sending` may be. */
  settled: number
  sending: number
  /** Monotonic milliseconds. */
  clock: () => number
  /** Called with the number of lost rows and the reason. */
  onLost(why: 'spool_full' | 'damaged', rows: number): void
  log: { warn(details: object, message: string): void }
}

/** Rows in order on disk, with one writer and one reader at the same time. */
export type Spool = Awaited<ReturnType<typeof openSpool>>

/** Files of a full spool: deleting the oldest rows deletes one of them. */
const SEGMENTS_PER_SPOOL = 16
const MAX_SEGMENT_BYTES = 16 << 20

/**
 * Opens the waiting rows in `directory`, and creates it if it does not exist. Rejects if it cannot be written. Long because
 * writer, reader and limits share the list of files.
 */
export async function openSpool(options: SpoolOptions) {
  const { directory, limit, min_free_disk, clock, onLost: lost, log } = options
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const segments = await findSegments(directory, log)
  const size = Math.min(MAX_SEGMENT_BYTES, Math.ceil(limit / SEGMENTS_PER_SPOOL))
  let last = Math.max(options.settled, options.sending, ...segments.map((segment) => segment.last))
  let settled = options.settled
  /** Rows up to this number are not lost if their file is: they are in memory, or may have been delivered. */
  let safeUpTo = options.sending
  /** Rows up to this number were read or are lost. */
  let readUpTo = options.settled
  let writer: SegmentWriter | undefined
  let reading: { segment: Segment; reader: SegmentReader } | undefined
  /** The byte of a segment at which the reader continues after `skipTo`. */
  let resumeAt: { segment: Segment; at: number } | undefined
  /** Lost rows as ranges above `from` up to `to`, in order. */
  let lostRanges: { from: number; to: number }[] = []
  let checked = Number.NEGATIVE_INFINITY
  let pendingWork: Promise<unknown> = Promise.resolve()

  /** Runs changes of files one after the other, because a file must not be emptied while it is written. */
  const serialise = <T>(work: () => Promise<T>): Promise<T> => {
    const done = pendingWork.then(work)
    pendingWork = done.catch(() => {})
    return done
  }
  const bytes = () => segments.reduce((sum, segment) => sum + segment.bytes, 0)
  const closeReader = async () => {
    const left = reading
    reading = undefined
    await left?.reader.close()
  }
  const forgetSegment = (segment: Segment) => {
    const at = segments.indexOf(segment)
    if (at >= 0) segments.splice(at, 1)
  }
  const endWriter = async () => {
    const ended = writer
    writer = undefined
    await ended?.close()
  }
  const checkFreeDisk = async () => {
    const at = clock()
    if (at - checked < 1_000) return
    const { bavail, bsize } = await statfs(directory)
    if (bavail * bsize < min_free_disk) throw new Error(`less than ${min_free_disk} bytes of the disk are free`)
    checked = at
  }
  const lose = (why: 'spool_full' | 'damaged', from: number, to: number) => {
    if (to <= from) return
    lost(why, to - from)
    const before = lostRanges.at(-1)
    if (before !== undefined && before.to === from) before.to = to
    else lostRanges.push({ from, to })
  }
  /** Moves the reader to `number`; the rows up to `missed` that it did not meet are damaged. */
  const advance = (number: number, missed: number) => {
    lose('damaged', Math.max(readUpTo, safeUpTo), missed)
    readUpTo = Math.max(readUpTo, number)
  }
  /** Skips a file that cannot be read, so that later files are still read. */
  const skipUnreadable = (segment: Segment, error: unknown): undefined => {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'EIO' && code !== 'ENOENT') throw error
    log.warn({ file: segment.path, err: error }, 'rows on disk cannot be read')
    advance(segment.last, segment.last)
  }
  const dropOldest = async () => {
    while (bytes() > limit && segments.length > 1) {
      const [oldest] = segments
      if (oldest === undefined) return
      lose('spool_full', Math.max(oldest.first - 1, settled, safeUpTo), oldest.last)
      safeUpTo = Math.max(safeUpTo, oldest.last)
      readUpTo = Math.max(readUpTo, oldest.last)
      forgetSegment(oldest)
      await removeFile(oldest.path)
    }
  }

  return {
    /** The highest row number so far. */
    get last() {
      return last
    },
    /** Rows that are neither delivered nor lost. */
    get waiting() {
      return last - settled - lostRanges.reduce((sum, { from, to }) => sum + to - Math.max(from, settled), 0)
    },
    get bytes() {
      return bytes()
    },
    /** Resolves when the rows are on disk; if it rejects, none of them counts as written. */
    append: (rows: readonly SpooledRow[]): Promise<void> =>
      serialise(async () => {
        const [first] = rows
        if (first === undefined) return
        await checkFreeDisk()
        if (writer !== undefined && writer.segment.bytes >= size) await endWriter()
        if (writer === undefined) {
          writer = await openSegmentWriter(join(directory, segmentName(first.number)), first.number)
          segments.push(writer.segment)
        }
        const { segment } = writer
        try {
          await writer.append(rows)
        } catch (error) {
          checked = Number.NEGATIVE_INFINITY
          // Forgets an empty file, because the next file may get its name.
          if (segment.last < segment.first) forgetSegment(segment)
          await endWriter().catch(() => {})
          throw error
        }
        last = Math.max(last, segment.last)
        await dropOldest()
      }),
    /** Returns the next rows in order, or none at the end. */
    async read(): Promise<SpooledRow[]> {
      for (;;) {
        if (reading === undefined || !segments.includes(reading.segment)) {
          await closeReader()
          const segment = segments.find((one) => one.last > readUpTo)
          if (segment === undefined) return []
          const from = resumeAt?.segment === segment ? resumeAt.at : 0
          reading = await openSegmentReader(segment.path, from).then(
            (reader) => ({ segment, reader }),
            (error) => skipUnreadable(segment, error),
          )
          if (reading === undefined) continue
        }
        const { segment, reader } = reading
        const until = { row: segment.last, byte: segment.bytes }
        const read = await reader.next(until.byte).catch((error) => skipUnreadable(segment, error))
        const rows = read?.filter(({ number }) => number > readUpTo) ?? []
        for (const { number } of rows) advance(number, number - 1)
        safeUpTo = Math.max(safeUpTo, rows.at(-1)?.number ?? 0)
        if (rows.length > 0) return rows
        if (read !== undefined && reader.position < until.byte && segments.includes(segment)) continue
        advance(until.row, until.row)
        await closeReader()
      }
    },
    /** Tells the reader that the rows up to `number` are in memory; it continues after them. */
    skipTo(number: number): void {
      last = Math.max(last, number)
      readUpTo = Math.max(readUpTo, number)
      safeUpTo = Math.max(safeUpTo, number)
      if (writer !== undefined && writer.segment.last === number)
        resumeAt = { segment: writer.segment, at: writer.segment.bytes }
    },
    /** Marks the rows up to `number` as delivered; a file is deleted when all of its rows are. */
    async settle(number: number): Promise<void> {
      settled = Math.max(settled, number)
      lostRanges = lostRanges.filter(({ to }) => to > settled)
      if (!segments.some((segment) => segment.last <= settled && segment.bytes > 0)) return
      await serialise(async () => {
        for (const segment of segments.filter((one) => one.last <= settled)) {
          if (segment !== writer?.segment) {
            forgetSegment(segment)
            await removeFile(segment.path)
          } else if (segment.bytes > 0) {
            if (resumeAt?.segment === segment) resumeAt = undefined
            if (reading?.segment === segment) await closeReader()
            await writer.empty()
          }
        }
      })
    },
    async close() {
      await pendingWork
      await closeReader()
      const unused = writer !== undefined && writer.segment.bytes === 0 ? writer.segment.path : undefined
      await endWriter()
      if (unused !== undefined) await removeFile(unused)
    },
  }
}

/** Lists the files of the previous process and truncates a torn last line. */
async function findSegments(directory: string, log: SpoolOptions['log']): Promise<Segment[]> {
  const names = (await readdir(directory))
    .flatMap((name) => {
      const first = parseSegmentName(name)
      return first === undefined ? [] : [{ path: join(directory, name), first }]
    })
    .sort((a, b) => a.first - b.first)
  const segments: Segment[] = []
  for (const [n, { path, first }] of names.entries()) {
    const next = names[n + 1]
    if (next !== undefined) {
      segments.push({ path, first, last: next.first - 1, bytes: (await stat(path)).size })
      continue
    }
    const { last, bytes, cut } = await repairSegment(path)
    if (cut > 0) log.warn({ file: path, bytes: cut }, 'the last row was written only in part and is removed')
    if (last === 0) await removeFile(path)
    else segments.push({ path, first, last, bytes })
  }
  return segments
}
