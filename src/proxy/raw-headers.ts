/** Fields that belong to one connection and never to the message behind it (RFC 9110 7.6.1, RFC 9112 C.2.2). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Fields that `Connection` may not name away: they frame or address the message itself. */
const NEVER_NOMINATED = new Set(['content-length', 'host'])

/**
 * The end-to-end fields of a message: without the hop-by-hop ones and those that `Connection` names. Takes and gives
 * Node's raw form, `[name, value, name, value]`; case, order and duplicates stay.
 */
export function endToEndHeaders(raw: readonly string[]): string[] {
  const named = new Set<string>()
  forEachHeader(raw, (name, value) => {
    if (name.toLowerCase() === 'connection') for (const token of parseTokens(value)) named.add(token)
  })
  const kept: string[] = []
  forEachHeader(raw, (name, value) => {
    const lower = name.toLowerCase()
    if (!HOP_BY_HOP.has(lower) && (!named.has(lower) || NEVER_NOMINATED.has(lower))) kept.push(name, value)
  })
  return kept
}

/** The lower-case members of a comma list. */
export const parseTokens = (value: string): string[] =>
  value
    .toLowerCase()
    .split(',')
    .map((token) => token.trim())
    .filter((token) => token !== '')

/** Calls `visit` for each field of a raw list. */
export function forEachHeader(raw: readonly string[], visit: (name: string, value: string) => void): void {
  for (let i = 0; i + 1 < raw.length; i += 2) visit(raw[i] ?? '', raw[i + 1] ?? '')
}

/** The last value of a field, or the empty string; `wanted` in lower case. */
export function lastHeader(raw: readonly string[], wanted: string): string {
  let found = ''
  forEachHeader(raw, (name, value) => {
    if (name.toLowerCase() === wanted) found = value
  })
  return found
}

/**
 * A message's head as bytes-to-be (latin1): start line, fields, empty line. What a parser refused must never get here.
 */
export function formatHead(startLine: string, raw: readonly string[]): string {
  const lines = [startLine]
  forEachHeader(raw, (name, value) => lines.push(`${name}: ${value}`))
  return `${lines.join('\r\n')}\r\n\r\n`
}
