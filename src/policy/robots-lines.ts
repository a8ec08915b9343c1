/** What is read of a robots.txt: 500 KiB (RFC 9309 2.5). What stands beyond is not seen. */
const MAX_ROBOTS_BYTES = 500 * 1024

/** The RFC's reading (default), or Google's own parser's, which forgives more (reference/agents.md 3.2). */
export type RobotsMode = 'rfc' | 'google'

/** Google reads this much of a line: 2083 times 8 octets, less the terminator. */
const GOOGLE_MAX_LINE_BYTES = 2083 * 8 - 1

const BOM = '\xef\xbb\xbf'

export interface Lines {
  /** One string character an octet; line n of an editor is `lines[n - 1]`. */
  lines: readonly string[]
  truncated: boolean
}

/**
 * A file as lines of octets, without its byte order mark, at most 500 KiB of it. A line that the bound cuts is left out:
 * half a pattern would forbid more than its author wrote. CR, LF and CR LF end a line.
 */
export function splitLines(body: Uint8Array | string, mode: RobotsMode): Lines {
  const bytes = typeof body === 'string' ? Buffer.from(body.slice(0, MAX_ROBOTS_BYTES + 1)) : body
  const truncated = bytes.length > MAX_ROBOTS_BYTES
  const length = Math.min(bytes.length, MAX_ROBOTS_BYTES)
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, length).toString('latin1')
  const lines = text.slice(bomLength(text, mode)).split(/\r\n|\r|\n/)
  if (truncated) lines.pop()
  return { lines: mode === 'google' ? lines.map(cutAsGoogle) : lines, truncated }
}

/** Google skips each octet of the mark that stands where it should, the RFC's reader only the whole. */
function bomLength(text: string, mode: RobotsMode): number {
  if (text.startsWith(BOM)) return BOM.length
  if (mode === 'rfc') return 0
  return text.startsWith(BOM.slice(0, 2)) ? 2 : text.startsWith(BOM.slice(0, 1)) ? 1 : 0
}

/** A NUL ends the line there, as in C. */
function cutAsGoogle(line: string): string {
  const cut = line.length > GOOGLE_MAX_LINE_BYTES ? line.slice(0, GOOGLE_MAX_LINE_BYTES) : line
  const nul = cut.indexOf('\0')
  return nul < 0 ? cut : cut.slice(0, nul)
}

/** Without the white space of ASCII around it; `trim` would take octets of UTF-8 sequences too. */
export function trimAscii(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && isSpace(text.charCodeAt(from))) from++
  while (to > from && isSpace(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

const isSpace = (code: number) => code === 32 || (code >= 9 && code <= 13)

/** Octets as the text their author saw. */
export const octetsToText = (octets: string): string =>
  /[\x80-\xff]/.test(octets) ? Buffer.from(octets, 'latin1').toString('utf8') : octets
