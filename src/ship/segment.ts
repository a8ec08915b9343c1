import { constants } from 'node:fs'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { lineOf, parseLine, type Row } from './line.js'

/** Rows on disk, in one file of lines; its name says from which number on. */
export interface Segment {
  readonly path: string
  /** No row in it has a lower number. */
  first: number
  /** None has a higher one; of the one that is written to, so far. */
  last: number
  bytes: number
}

const NAME = /^rows-(\d{16})\.ndjson$/
export const nameOf = (first: number): string => `rows-${String(first).padStart(16, '0')}.ndjson`
/** Undefined for what is no segment. */
export const firstOf = (name: string): number | undefined => {
  const [, digits] = NAME.exec(name) ?? []
  return digits === undefined ? undefined : Number(digits)
}

const CHUNK = 256 << 10
/** No line is so long: what is has lost its line feed. */
const LONGEST = 4 << 20
const LINE_FEED = 10

export interface Reader {
  /** Some of the next rows, up to byte `until` of the file; none where that was reached. What is damaged is left out. */
  next(until: number): Promise<Row[]>
  /** Where it is: bytes read, and of them those that were whole lines. */
  readonly at: number
  readonly whole: number
  close(): Promise<void>
}

/** Reads a segment from its byte `from` on, of which the memory ever holds a chunk. */
export async function readSegment(path: string, from = 0): Promise<Reader> {
  const file = await open(path, constants.O_RDONLY)
  const buffer = Buffer.allocUnsafeSlow(CHUNK)
  let rest: Buffer = Buffer.alloc(0)
  let at = from
  return {
    get at() {
      return at
    },
    get whole() {
      return at - rest.length
    },
    async next(until) {
      while (at < until) {
        const { bytesRead } = await file.read(buffer, 0, Math.min(CHUNK, until - at), at)
        if (bytesRead === 0) return []
        at += bytesRead
        const read = buffer.subarray(0, bytesRead)
        const end = read.lastIndexOf(LINE_FEED) + 1
        if (end === 0) {
          rest = rest.length > LONGEST ? Buffer.alloc(0) : Buffer.concat([rest, read])
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

export interface Writer {
  readonly segment: Segment
  /** On the disk when it resolves. After a rejection the writer is of no more use; what it wrote before stays. */
  append(rows: readonly Row[]): Promise<void>
  /** None of its rows stays on the disk. */
  empty(): Promise<void>
  close(): Promise<void>
}

/** A file to write rows from number `first` on to. */
export async function writeSegment(path: string, first: number): Promise<Writer> {
  const file: FileHandle = await open(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o600)
  const segment: Segment = { path, first, last: first - 1, bytes: (await file.stat()).size }
  return {
    segment,
    async append(rows) {
      // What is there before the first row was cut off within a line.
      const torn = segment.bytes > 0 && segment.last < segment.first
      const text = `${torn ? '\n' : ''}${rows.map(lineOf).join('')}`
      await file.appendFile(text)
      await file.datasync()
      segment.bytes += Buffer.byteLength(text)
      segment.last = rows.at(-1)?.number ?? segment.last
    },
    async empty() {
      await file.truncate(0)
      segment.bytes = 0
      segment.first = segment.last + 1
    },
    close: () => file.close(),
  }
}

/** The highest number of a file's rows, 0 where there is none; what follows its last whole line is cut off. */
export async function mend(path: string): Promise<{ last: number; bytes: number; cut: number }> {
  const file = await open(path, constants.O_RDWR)
  const reader = await readSegment(path)
  try {
    const { size } = await file.stat()
    let last = 0
    for (let rows = await reader.next(size); rows.length > 0; rows = await reader.next(size))
      for (const { number } of rows) last = Math.max(last, number)
    const { whole } = reader
    if (whole < size) await file.truncate(whole)
    return { last, bytes: whole, cut: size - whole }
  } finally {
    await reader.close()
    await file.close()
  }
}

/** Gone, or gone already. */
export const remove = (path: string): Promise<void> =>
  unlink(path).catch((error) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return
    throw error
  })
