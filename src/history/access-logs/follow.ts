import { type FileHandle, open, stat } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { createLineSplitter } from './line-splitter.js'
import type { LogChunk } from './read-lines.js'

interface FollowOptions {
  /** Bytes of the file that were read before; 0 by default. */
  readonly from?: number
  /** Milliseconds between two looks at the file; 500 by default. */
  readonly interval?: number
  /** Ends the following. */
  readonly signal: AbortSignal
}

/**
 * Yields what is appended to a log, and goes on with the next file after a rotation, like `tail -F`: after a rename, after
 * the file was truncated, and when the file appears later. Asks again and again, because watching a file reports
 * nothing on network file systems. A file that is truncated and grows beyond its old size between two looks is not
 * recognised.
 */
export async function* followLog(path: string, options: FollowOptions): AsyncGenerator<LogChunk> {
  const { from = 0, interval = 500, signal } = options
  const splitter = createLineSplitter()
  let position = from
  let file = await openIfThere(path)
  const readRest = async function* (): AsyncGenerator<LogChunk> {
    const buffer = Buffer.allocUnsafe(PIECE_BYTES)
    for (let bytes = -1; file && bytes !== 0; ) {
      bytes = (await file.read(buffer, 0, PIECE_BYTES, position)).bytesRead
      position += bytes
      // A copy, because the splitter keeps the start of a line until its end is written.
      const lines = bytes === 0 ? [] : splitter.split(Buffer.from(buffer.subarray(0, bytes)))
      if (lines.length > 0) yield { file: path, lines, bytesRead: position }
    }
  }
  try {
    while (!signal.aborted) {
      yield* readRest()
      const change = await findChange(path, file, position)
      if (change === undefined) await setTimeout(interval, undefined, { signal }).catch(() => undefined)
      else {
        // The server writes the last lines after the rename.
        if (change === 'replaced') yield* readRest()
        const lines = splitter.end()
        if (lines.length > 0) yield { file: path, lines, bytesRead: position }
        position = 0
        if (change === 'replaced') {
          await file?.close()
          file = await openIfThere(path)
        }
      }
    }
  } finally {
    await file?.close()
  }
}
const PIECE_BYTES = 65_536

const openIfThere = (path: string): Promise<FileHandle | undefined> => open(path).catch(() => undefined)

/** Compares the open file with the one that has its name now, which is missing for a moment during a rotation. */
async function findChange(path: string, file: FileHandle | undefined, position: number) {
  const [named, opened] = [await stat(path).catch(() => undefined), await file?.stat()]
  if (named && (named.ino !== opened?.ino || named.dev !== opened.dev)) return 'replaced'
  return opened && opened.size < position ? 'truncated' : undefined
}
