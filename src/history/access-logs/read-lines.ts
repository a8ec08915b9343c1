import { open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { UnusableSetting } from '../../base/errors.js'
import { createDecoder } from './decompress.js'
import { detectFormat, lacksUserAgents } from './detect.js'
import { createLineSplitter } from './line-splitter.js'
import type { LogFormat } from './log-format.js'
import { isServerMessage } from './server-messages.js'

/** One access log, opened far enough to know its beginning. */
export interface LogFile {
  /** As the operator named it; `-` is standard input. */
  readonly path: string
  /** Bytes on disk, compressed or not; undefined for standard input. */
  readonly size: number | undefined
  /** The first lines that are not about the server itself, for `detectFormat`. */
  readonly head: readonly string[]
  /** Time of the first entry, in milliseconds since 1970; undefined if the format is not detected. */
  readonly firstTime: number | undefined
  /** The log has no user agents, so that people and agents cannot be told apart. */
  readonly lacksUserAgents: boolean
  /** Pieces of the file as it lies on disk. */
  readonly pieces: () => AsyncIterable<Buffer>
}

export interface LogChunk {
  readonly file: string
  /** Whole lines without their ends. */
  readonly lines: readonly string[]
  /** Bytes of the file that were read so far, compressed or not, for a progress bar beside `LogFile.size`. */
  readonly bytesRead: number
  /** With the file's last chunk, if its text ends early: what is wrong with the file. */
  readonly fault?: string
}

export interface OpenOptions {
  /** Read for the path `-`. */
  readonly stdin?: AsyncIterable<Buffer>
  /** The format that the operator named, instead of the detected one. */
  readonly format?: LogFormat
  readonly zone?: string
}

/**
 * Opens access logs and sorts them by the time of their first entry, which is the order of rotation whatever the names.
 * A file that is named twice is opened once. Throws `UnusableSetting` for a path that cannot be read.
 */
export async function openLogs(paths: readonly string[], options: OpenOptions = {}): Promise<LogFile[]> {
  const unique = [...new Map(paths.map((path) => [path === '-' ? path : resolve(path), path])).values()]
  const files: LogFile[] = []
  for (const path of unique) files.push(await openLog(path, options))
  return files.sort(
    (a, b) => (a.firstTime ?? Number.POSITIVE_INFINITY) - (b.firstTime ?? Number.POSITIVE_INFINITY) || 0,
  )
}

/** Reads the files one after the other, in chunks of lines. */
export async function* readLogLines(files: readonly LogFile[]): AsyncGenerator<LogChunk> {
  for (const { path, pieces } of files) yield* readLines(path, pieces())
}

async function openLog(path: string, { stdin, format, zone }: OpenOptions): Promise<LogFile> {
  const { pieces, size } = path === '-' ? rememberStart(stdin) : await filePieces(path)
  let head: readonly string[] = []
  for await (const { lines } of readLines(path, pieces())) {
    // A server may write about itself for long before its first request.
    head = lines.filter((line) => !isServerMessage(line)).slice(0, HEAD_LINES)
    break
  }
  const read = format ?? detectFormat(head)?.format
  const entries = head
    .map(read?.createParser({ zone }) ?? (() => undefined))
    .filter((entry) => typeof entry === 'object')
  return {
    path,
    size,
    head,
    pieces,
    firstTime: entries[0]?.timestamp,
    lacksUserAgents: read !== undefined && lacksUserAgents(read, entries),
  }
}
const HEAD_LINES = 100

async function filePieces(path: string) {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new UnusableSetting(`${path}: ${error.code === 'ENOENT' ? 'does not exist' : error.message}`)
  })
  if (stats.isDirectory()) throw new UnusableSetting(`${path}: is a directory, name the files in it`)
  return { size: stats.size, pieces: () => readPieces(path) }
}

async function* readPieces(path: string): AsyncGenerator<Buffer> {
  const file = await open(path).catch((error: Error) => {
    throw new UnusableSetting(`${path}: ${error.message}`)
  })
  try {
    while (true) {
      const { bytesRead, buffer } = await file.read({ buffer: Buffer.allocUnsafe(PIECE_BYTES) })
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}
/** Compressed logs are 10 to 20 times as long, so that a chunk of lines stays below a few megabytes. */
const PIECE_BYTES = 262_144

/** Standard input cannot be read twice, so that its start is kept for the second reading. */
function rememberStart(stdin: AsyncIterable<Buffer> | undefined) {
  if (!stdin) throw new UnusableSetting('-: standard input is not available')
  const source = stdin[Symbol.asyncIterator]()
  const start: Buffer[] = []
  let reading = 0
  async function* pieces() {
    const isFirst = reading++ === 0
    for (const piece of isFirst ? [] : start.splice(0)) yield piece
    for (let next = await source.next(); !next.done; next = await source.next()) {
      if (isFirst) start.push(next.value)
      yield next.value
    }
  }
  return { size: undefined, pieces }
}

async function* readLines(file: string, pieces: AsyncIterable<Buffer>): AsyncGenerator<LogChunk> {
  const splitter = createLineSplitter()
  let decoder: ReturnType<typeof createDecoder> | undefined
  let bytesRead = 0
  let lineCount = 0
  for await (const piece of pieces) {
    if (!decoder) refuseArchive(file, piece)
    decoder ??= createDecoder(piece)
    bytesRead += piece.length
    for await (const text of decoder.decode(piece)) {
      const lines = splitter.split(text)
      lineCount += lines.length
      if (lines.length > 0) yield { file, lines, bytesRead }
    }
  }
  const found = await decoder?.end()
  const fault = found && `cut short or damaged after byte ${found.at}, line ${lineCount}: ${found.reason}`
  // A line that the fault cut would be another request.
  const lines = fault === undefined ? splitter.end() : []
  if (fault !== undefined || lines.length > 0) yield { file, lines, bytesRead, ...(fault !== undefined && { fault }) }
}

const ARCHIVES: readonly (readonly [start: string, name: string])[] = [
  ['PK\x03\x04', 'a ZIP archive'],
  ['BZh', 'compressed with bzip2'],
  ['\xfd7zXZ\0', 'compressed with xz'],
]

function refuseArchive(file: string, piece: Buffer): void {
  const found = ARCHIVES.find(([start]) => piece.subarray(0, start.length).toString('latin1') === start)
  if (found) throw new UnusableSetting(`${file}: is ${found[1]}: unpack it, or compress the log with gzip or zstd.`)
}
