/** A response's head as the origin sent it, and its framing (RFC 9112 6). */
export interface OriginHead {
  status: number
  /** The reason phrase; latin1, as the names and values. */
  message: string
  /** Name, value, name, value, in the original order and case; without the spaces around values. */
  fields: string[]
  /** Bytes of the body, `chunked`, or `close` for a body that the end of the connection ends. */
  body: number | 'chunked' | 'close'
  /** The connection can carry another request after this response. */
  keepAlive: boolean
  /** Time for which the origin keeps an idle connection, ms (`Keep-Alive: timeout`); undefined if it does not say. */
  idleMs: number | undefined
}

/** The origin sent bytes that are not HTTP/1.1, or that two readers could read differently. They are never repaired. */
export class ProtocolError extends Error {}

const CR = 13
const LF = 10
const SPACE = 32
const TAB = 9
const COLON = 58
const ZERO = 48

/** Bytes of a field name (RFC 9110 5.6.2), and those of a value or reason phrase (RFC 9110 5.5). */
const IN_NAME = byteSet((text) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]$/.test(text))
const IN_VALUE = byteSet((text) => /^[\t\x20-\x7e\x80-\xff]$/.test(text))

function byteSet(contains: (text: string) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (contains(String.fromCharCode(code)) ? 1 : 0))
}

/**
 * Parses a head from its first byte to the line end of its last line, as latin1 text, for the response to a `method`
 * request. Throws `ProtocolError`.
 */
export function parseResponseHead(text: string, method: string): OriginHead {
  const minor = text.charCodeAt(7) - ZERO
  if (!text.startsWith('HTTP/1.') || (minor !== 0 && minor !== 1) || text.charCodeAt(8) !== SPACE)
    throw new ProtocolError('no HTTP/1 status line')
  let status = 0
  for (let i = 9; i < 12; i++) {
    const digit = text.charCodeAt(i) - ZERO
    if (!(digit >= 0 && digit <= 9)) throw new ProtocolError('no status')
    status = status * 10 + digit
  }
  // After an unrequested 101 the origin no longer speaks HTTP; 0 to 99 are not statuses.
  if (status < 100 || status === 101) throw new ProtocolError(`unexpected status ${status}`)
  let at = 12
  if (text.charCodeAt(at) === SPACE) at++
  const from = at
  at = endOfText(text, at)
  const message = text.slice(from, at)
  if (from === 12 && message !== '') throw new ProtocolError('no space after the status')
  const fields = parseFields(text, at + 2)
  return { status, message, fields, ...readFraming(fields, status, method, minor) }
}

/** Parses field lines from `at` to the end of the text: name, value, name, value. Throws `ProtocolError`. */
export function parseFields(text: string, at: number): string[] {
  const fields: string[] = []
  while (at < text.length) {
    const from = at
    while (IN_NAME[text.charCodeAt(at)] === 1) at++
    // Also a folded line, which begins with space (RFC 9112 5.2), and space before the colon.
    if (at === from || text.charCodeAt(at) !== COLON) throw new ProtocolError('no field name')
    const name = text.slice(from, at)
    at++
    while (isSpace(text.charCodeAt(at))) at++
    const start = at
    at = endOfText(text, at)
    let end = at
    while (end > start && text.charCodeAt(end - 1) === SPACE) end--
    fields.push(name, text.slice(start, end))
    at += 2
  }
  return fields
}

const isSpace = (code: number): boolean => code === SPACE || code === TAB

/** Returns the end of the line that goes on at `at`; no byte before it may be a control character. */
function endOfText(text: string, at: number): number {
  let end = at
  while (IN_VALUE[text.charCodeAt(end)] === 1) end++
  if (text.charCodeAt(end) !== CR || text.charCodeAt(end + 1) !== LF) throw new ProtocolError('a control character')
  return end
}

/** Reads the fields that frame the body and the connection. */
function readFraming(
  fields: readonly string[],
  status: number,
  method: string,
  minor: number,
): Pick<OriginHead, 'body' | 'keepAlive' | 'idleMs'> {
  let length: string | undefined
  let coding: string | undefined
  let connection = ''
  let idleMs: number | undefined
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] ?? ''
    // Most names are left out by their length.
    if (name.length !== 10 && name.length !== 14 && name.length !== 17) continue
    const value = fields[i + 1] ?? ''
    switch (name.toLowerCase()) {
      case 'connection':
        connection = connection === '' ? value.toLowerCase() : `${connection},${value.toLowerCase()}`
        break
      case 'keep-alive':
        idleMs ??= keepAliveTimeout(value)
        break
      case 'content-length':
        // Nor one with a tab after it, which llhttp refuses.
        if (length !== undefined || !/^\d{1,15}$/.test(value)) throw new ProtocolError('an unclear Content-Length')
        length = value
        break
      case 'transfer-encoding':
        if (coding !== undefined || !/^(?:chunked|identity)$/i.test(value))
          throw new ProtocolError('a transfer coding other than chunked')
        coding = value.toLowerCase()
    }
  }
  if (length !== undefined && coding !== undefined) throw new ProtocolError('Content-Length and Transfer-Encoding')
  const closes = hasToken(connection, 'close')
  // Some origins send the body that such a head announces. It must not become the response to the next request.
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304)
    return { body: 0, keepAlive: !closes && minor === 1 && coding === undefined && Number(length ?? 0) === 0, idleMs }
  const body = coding === 'chunked' ? 'chunked' : length === undefined ? 'close' : Number(length)
  // HTTP/1.0 has no chunks: after such a response the framing is in doubt (RFC 9112 6.1).
  const keepAlive = body !== 'close' && (minor === 1 || (body !== 'chunked' && hasToken(connection, 'keep-alive')))
  return { body, keepAlive: keepAlive && !closes, idleMs }
}

/** Returns whether a list in lower case has a member. */
const hasToken = (list: string, token: string): boolean =>
  list === token || (list.includes(token) && list.split(',').some((part) => part.trim() === token))

function keepAliveTimeout(value: string): number | undefined {
  const seconds = /(?:^|[\s,])timeout\s*=\s*(\d{1,9})/i.exec(value)?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1_000
}
