import { mkdir, readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { createLock } from '../../base/lock.js'
import type { Log } from '../../base/log.js'
import {
  openSegmentWriter,
  parseSegmentName,
  removeFile,
  repairSegment,
  type Segment,
  type SegmentWriter,
  segmentName,
} from './segment.js'
import type { SpooledRow } from './spool-line.js'
import { createSpoolReader, type LostReason } from './spool-reader.js'

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
  onLost(why: LostReason, rows: number): void
  log: Pick<Log, 'warn'>
}

/** Rows in order on disk, with one writer and one reader at the same time. */
export type Spool = Awaited<ReturnType<typeof openSpool>>

/** Files of a full spool: deleting the oldest rows deletes one of them. */
const SEGMENTS_PER_SPOOL = 16
const MAX_SEGMENT_BYTES = 16 << 20

/** Opens the waiting rows in `directory`, and creates it if it does not exist. Rejects if it cannot be written. */
export async function openSpool(options: SpoolOptions) {
  const { directory, limit, log } = options
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const segments = await findSegments(directory, log)
  let { settled } = options
  let last = Math.max(settled, options.sending, ...segments.map((segment) => segment.last))
  /** Lost rows as ranges above `from` up to `to`, in order. */
  let lostRanges: { from: number; to: number }[] = []
  const reader = createSpoolReader(segments, options, (why, after, to) => {
    const from = Math.max(after, settled)
    if (to <= from) return
    options.onLost(why, to - from)
    const before = lostRanges.at(-1)
    if (before !== undefined && before.to === from) before.to = to
    else lostRanges.push({ from, to })
  })
  const writer = createSpoolWriter(segments, options)
  /** Changes files one after the other, because a file must not be emptied while it is written. */
  const lock = createLock()
  const bytes = () => segments.reduce((sum, segment) => sum + segment.bytes, 0)

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
      lock(async () => {
        const [first] = rows
        if (first === undefined) return
        const written = await writer.append(rows, first.number)
        last = Math.max(last, written)
        for (let [oldest] = segments; oldest && bytes() > limit && segments.length > 1; [oldest] = segments) {
          reader.drop(oldest)
          forgetSegment(segments, oldest)
          await removeFile(oldest.path)
        }
      }),
    /** Returns the next rows in order, or none at the end. */
    read: reader.read,
    /** Tells the reader that the rows up to `number` are in memory; it continues after them. */
    skipTo(number: number): void {
      last = Math.max(last, number)
      reader.skipTo(number, writer.segment)
    },
    /** Marks the rows up to `number` as delivered; a file is deleted when all of its rows are. */
    async settle(number: number): Promise<void> {
      settled = Math.max(settled, number)
      lostRanges = lostRanges.filter(({ to }) => to > settled)
      if (!segments.some((segment) => segment.last <= settled && segment.bytes > 0)) return
      await lock(async () => {
        for (const segment of segments.filter((one) => one.last <= settled)) {
          if (segment !== writer.segment) {
            forgetSegment(segments, segment)
            await removeFile(segment.path)
          } else if (segment.bytes > 0) {
            await reader.leave(segment)
            await writer.empty()
          }
        }
      })
    },
    close: (): Promise<void> =>
      lock(async () => {
        await reader.close()
        await writer.close()
      }),
  }
}

/** Creates the writer of a spool: it appends rows to the last of `segments`, and begins the next one when that is full. */
function createSpoolWriter(segments: Segment[], { directory, limit, min_free_disk, clock }: SpoolOptions) {
  const size = Math.min(MAX_SEGMENT_BYTES, Math.ceil(limit / SEGMENTS_PER_SPOOL))
  let writer: SegmentWriter | undefined
  let checked = Number.NEGATIVE_INFINITY

  const checkFreeDisk = async () => {
    const at = clock()
    if (at - checked < 1_000) return
    const { bavail, bsize } = await statfs(directory)
    if (bavail * bsize < min_free_disk) throw new Error(`less than ${min_free_disk} bytes of the disk are free`)
    checked = at
  }
  const end = async () => {
    const ended = writer
    writer = undefined
    await ended?.close()
  }
  return {
    /** The file that is written at present. */
    get segment() {
      return writer?.segment
    },
    /** Appends rows from number `first` on and returns the highest number on disk. */
    async append(rows: readonly SpooledRow[], first: number): Promise<number> {
      await checkFreeDisk()
      if (writer !== undefined && writer.segment.bytes >= size) await end()
      if (writer === undefined) {
        writer = await openSegmentWriter(join(directory, segmentName(first)), first)
        segments.push(writer.segment)
      }
      const { segment } = writer
      try {
        await writer.append(rows)
      } catch (error) {
        checked = Number.NEGATIVE_INFINITY
        // Forgets an empty file, because the next file may get its name.
        if (segment.last < segment.first) forgetSegment(segments, segment)
        await end().catch(() => {})
        throw error
      }
      return segment.last
    },
    empty: async () => writer?.empty(),
    async close() {
      const unused = writer?.segment.bytes === 0 ? writer.segment.path : undefined
      await end()
      if (unused !== undefined) await removeFile(unused)
    },
  }
}

function forgetSegment(segments: Segment[], segment: Segment): void {
  const at = segments.indexOf(segment)
  if (at >= 0) segments.splice(at, 1)
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
