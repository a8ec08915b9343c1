/** A robots.txt is read up to 500 KiB (RFC 9309 2.5). */
const MAX_ROBOTS_BYTES = 500 * 1024

/** `rfc`: as RFC 9309 reads a file. `google`: as Google's own parser does, which accepts more. */
export type RobotsMode = 'rfc' | 'google'

/** Google reads this much of a line: 2,083 times 8 octets, less the terminator. */
const GOOGLE_MAX_LINE_BYTES = 2083 * 8 - 1

const BOM = '\xef\xbb\xbf'

interface RobotsLines {
  /** One character per octet. Line n of an editor is `lines[n - 1]`. */
  lines: readonly string[]
  truncated: boolean
}

/**
 * Splits a file into lines of octets, without its byte order mark. CR, LF and CR LF end a line. A line that is cut by the
 * 500 KiB bound is dropped: half a pattern would forbid more than its author wrote.
 */
export function splitLines(body: Uint8Array | string, mode: RobotsMode): RobotsLines {
  const bytes = typeof body === 'string' ? Buffer.from(body.slice(0, MAX_ROBOTS_BYTES + 1)) : body
  const truncated = bytes.length > MAX_ROBOTS_BYTES
  const length = Math.min(bytes.length, MAX_ROBOTS_BYTES)
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, length).toString('latin1')
  const lines = text.slice(bomLength(text, mode)).split(/\r\n|\r|\n/)
  if (truncated) lines.pop()
  return { lines: mode === 'google' ? lines.map(cutAsGoogle) : lines, truncated }
}

/** Google skips each leading octet of the mark; RFC 9309 allows only the whole mark. */
function bomLength(text: string, mode: RobotsMode): number {
  if (text.startsWith(BOM)) return BOM.length
  if (mode === 'rfc') return 0
  return text.startsWith(BOM.slice(0, 2)) ? 2 : text.startsWith(BOM.slice(0, 1)) ? 1 : 0
}

/** Cuts a line at Google's length and at a NUL, which ends a string in C. */
function cutAsGoogle(line: string): string {
  const cut = line.slice(0, GOOGLE_MAX_LINE_BYTES)
  const nul = cut.indexOf('\0')
  return nul < 0 ? cut : cut.slice(0, nul)
}

/** Removes ASCII white space at both ends. `String.trim` would also remove octets of UTF-8 sequences. */
export function trimAscii(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && isSpace(text.charCodeAt(from))) from++
  while (to > from && isSpace(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

const isSpace = (code: number) => code === 32 || (code >= 9 && code <= 13)

/** Decodes octets as UTF-8. */
export const octetsToText = (octets: string): string =>
  /[\x80-\xff]/.test(octets) ? Buffer.from(octets, 'latin1').toString('utf8') : octets
