import { constants } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { formatLine, parseLine, type SpooledRow } from './spool-line.js'

/** A file of rows, one per line; its name has the number of its first row. */
export interface Segment {
  readonly path: string
  /** Lower bound of its row numbers. */
  first: number
  /** Upper bound of its row numbers; it grows while the file is written. */
  last: number
  bytes: number
}

const NAME = /^rows-(\d{16})\.ndjson$/
export const segmentName = (first: number): string => `rows-${String(first).padStart(16, '0')}.ndjson`
/** Returns the first row number from the name of a segment, or undefined for any other file. */
export const parseSegmentName = (name: string): number | undefined => {
  const [, digits] = NAME.exec(name) ?? []
  return digits === undefined ? undefined : Number(digits)
}

const CHUNK_BYTES = 256 << 10
/** A longer line has lost its line feed and is damaged. */
const MAX_LINE_BYTES = 4 << 20
const LINE_FEED = 10

export type SegmentReader = Awaited<ReturnType<typeof openSegmentReader>>

/** Opens a segment for reading from byte `from`; memory holds one chunk at a time. */
export async function openSegmentReader(path: string, from = 0) {
  const file = await open(path, constants.O_RDONLY)
  const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  let rest: Buffer = Buffer.alloc(0)
  let at = from
  return {
    /** Bytes read so far. */
    get position() {
      return at
    },
    /** The end of the last whole line that was read. */
    get lastLineEnd() {
      return at - rest.length
    },
    /** Returns some of the next rows up to byte `until` of the file, or none at its end. Skips damaged lines. */
    async next(until: number): Promise<SpooledRow[]> {
      while (at < until) {
        const { bytesRead } = await file.read(buffer, 0, Math.min(CHUNK_BYTES, until - at), at)
        if (bytesRead === 0) return []
        at += bytesRead
        const read = buffer.subarray(0, bytesRead)
        const end = read.lastIndexOf(LINE_FEED) + 1
        if (end === 0) {
          rest = rest.length > MAX_LINE_BYTES ? Buffer.alloc(0) : Buffer.concat([rest, read])
          continue
        }
        const text = Buffer.concat([rest, read.subarray(0, end)]).toString()
        rest = Buffer.from(read.subarray(end))
        const rows = text.split('\n').flatMap((line) => parseLine(line) ?? [])
        if (rows.length > 0) return rows
      }
      return []
    },
    close: () => file.close(),
  }
}

export type SegmentWriter = Awaited<ReturnType<typeof openSegmentWriter>>

/** Opens a file for rows from number `first` on. */
export async function openSegmentWriter(path: string, first: number) {
  const file: FileHandle = await open(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o600)
  const segment: Segment = { path, first, last: first - 1, bytes: (await file.stat()).size }
  return {
    segment,
    /** Resolves when the rows are on disk. After a rejection the writer is unusable; earlier rows stay. */
    async append(rows: readonly SpooledRow[]): Promise<void> {
      // Bytes before this writer's first row are a torn line of an earlier process.
      const torn = segment.bytes > 0 && segment.last < segment.first
      const text = `${torn ? '\n' : ''}${rows.map(formatLine).join('')}`
      await file.appendFile(text)
      await file.datasync()
      segment.bytes += Buffer.byteLength(text)
      segment.last = rows.at(-1)?.number ?? segment.last
    },
    /** Removes all of its rows from the disk. */
    async empty(): Promise<void> {
      await file.truncate(0)
      segment.bytes = 0
      segment.first = segment.last + 1
    },
    close: () => file.close(),
  }
}

/** Truncates a file after its last whole line and returns its highest row number, 0 if it has no rows. */
export async function repairSegment(path: string): Promise<{ last: number; bytes: number; cut: number }> {
  const file = await open(path, constants.O_RDWR)
  const reader = await openSegmentReader(path)
  try {
    const { size } = await file.stat()
    let last = 0
    for (let rows = await reader.next(size); rows.length > 0; rows = await reader.next(size))
      for (const { number } of rows) last = Math.max(last, number)
    const { lastLineEnd: whole } = reader
    if (whole < size) await file.truncate(whole)
    return { last, bytes: whole, cut: size - whole }
  } finally {
    await reader.close()
    await file.close()
  }
}

/** Deletes a file if it exists. */
export const removeFile = (path: string): Promise<void> => rm(path, { force: true })
