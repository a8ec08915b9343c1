import { MAX_LINE_CHARS } from './log-format.js'

/** Cuts bytes into lines. Bytes that are not UTF-8 become U+FFFD. */
export function createLineSplitter() {
  let rest: Buffer[] = []
  let restBytes = 0
  let isStart = true
  const keep = (piece: Buffer) => {
    // A longer line is broken in any case, so that its length is enough.
    if (restBytes < MAX_LINE_BYTES) rest.push(piece)
    restBytes += piece.length
  }
  const takeRest = (piece: Buffer) => {
    const whole = rest.length === 0 ? piece : Buffer.concat([...rest, piece])
    rest = []
    restBytes = 0
    return whole
  }
  const decode = (bytes: Buffer) => {
    const text = bytes.toString()
    const bare = isStart && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
    isStart = false
    const lines = bare.split('\n')
    return bare.includes('\r') ? lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line)) : lines
  }
  return {
    split(piece: Buffer): string[] {
      const end = piece.lastIndexOf(NEWLINE)
      if (end < 0) {
        keep(piece)
        return []
      }
      const lines = decode(takeRest(piece.subarray(0, end)))
      if (end + 1 < piece.length) keep(piece.subarray(end + 1))
      return lines
    },
    /** The last line, if the file does not end with a newline. */
    end: (): string[] => (restBytes === 0 ? [] : decode(takeRest(Buffer.alloc(0)))),
  }
}
const NEWLINE = 10
/** UTF-8 has at most 3 bytes for each of JavaScript's characters. */
const MAX_LINE_BYTES = 3 * (MAX_LINE_CHARS + 1)
const BYTE_ORDER_MARK = '\ufeff'
