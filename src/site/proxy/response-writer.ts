import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http'
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SubstituteResponse } from '../../capture/decision.js'

/** A request and its response from either server: node:http, or node:http2 through its compatibility API. */
export type Incoming = IncomingMessage | Http2ServerRequest
export type Outgoing = ServerResponse | Http2ServerResponse

/** Returns whether this client understands trailers and 1xx responses. */
export const acceptsTrailers = (req: Incoming): boolean => req.httpVersionMajor > 1 || req.httpVersionMinor > 0

/** Sends a final head. `fields` is name, value, name, value. Throws if a name or value cannot be sent. */
export function sendHead(res: Outgoing, status: number, message: string, fields: string[]): void {
  if (res instanceof ServerResponse) {
    res.writeHead(status, message, fields)
    return
  }
  try {
    res.writeHead(status, toHttp2Fields(fields))
  } catch (error) {
    // The response keeps the fields before the one at fault, and would send them with the error page.
    if (!res.headersSent) for (const name of res.getHeaderNames()) res.removeHeader(name)
    throw error
  }
}

/** Sends a 1xx head, which precedes the response. */
export function sendInformation(res: Outgoing, status: number, message: string, fields: string[]): void {
  if (!(res instanceof ServerResponse)) {
    if (!res.stream.destroyed) res.stream.additionalHeaders({ ':status': status, ...toHttp2Fields(fields) })
    return
  }
  let head = `HTTP/1.1 ${status} ${message}\r\n`
  for (let i = 0; i + 1 < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`
  res.socket?.write(`${head}\r\n`, 'latin1')
}

/** Sends a part of the body; text is latin1. Returns false if the client has to drain first; `drain` follows. */
export const sendBody = (res: Outgoing, part: Buffer | string): boolean =>
  res instanceof ServerResponse ? res.write(part, 'latin1') : res.write(part, 'latin1')

/** Ends a response with the last part of its body. `trailers` only reach a client whose framing has room for them. */
export function endResponse(res: Outgoing, trailers: [string, string][], last?: Buffer | string): void {
  if (trailers.length > 0) {
    if (res instanceof ServerResponse) res.addTrailers(trailers)
    else res.addTrailers(toHttp2Fields(trailers.flat()))
  }
  if (last === undefined) res.end()
  else if (typeof last === 'string') res.end(last, 'latin1')
  else res.end(last)
}

/**
 * Breaks off a response that has begun, so that its client sees that it is incomplete: buffered bytes are sent, then the
 * connection closes before the end that the framing announced. A body that only the close would end is reset.
 */
export function cutResponse(res: Outgoing, sized: boolean): void {
  if (!(res instanceof ServerResponse)) {
    res.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    return
  }
  const socket = res.socket
  if (socket === null) res.destroy()
  else if (!sized && !res.chunkedEncoding && Object.getPrototypeOf(socket) === Socket.prototype)
    socket.resetAndDestroy()
  else socket.destroySoon()
}

/** Sends a small plain error page that names the status and nothing of the cause. Returns its body's length in bytes. */
export function sendErrorPage(res: Outgoing, status: number, method: string, close = false): number {
  const body = `${status} ${STATUS_CODES[status] ?? 'Error'}\n`
  const fields = ['Content-Type', 'text/plain; charset=utf-8', 'Content-Length', String(body.length)]
  fields.push('Cache-Control', 'no-store')
  if (status === 405) fields.push('Allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
  if (close && 'shouldKeepAlive' in res) fields.push('Connection', 'close')
  sendHead(res, status, STATUS_CODES[status] ?? 'Error', fields)
  if (method !== 'HEAD') sendBody(res, body)
  res.end()
  return method === 'HEAD' ? 0 : body.length
}

/** Sends a response that takes the place of the origin's. Returns its body's length in bytes; for HEAD it has none. */
export function sendWholeResponse(
  res: Outgoing,
  { status, headers, body }: SubstituteResponse,
  method: string,
  close = false,
): number {
  const bytes = Buffer.from(body)
  // The length of a 304 would be that of the whole text (RFC 9110 8.6).
  const fields = [...headers.flat(), ...(status === 304 ? [] : ['content-length', String(bytes.length)])]
  if (close && 'shouldKeepAlive' in res) fields.push('Connection', 'close')
  sendHead(res, status, STATUS_CODES[status] ?? '', fields)
  const isSent = method !== 'HEAD'
  if (isSent) sendBody(res, bytes)
  res.end()
  return isSent ? bytes.length : 0
}

/** Responds on a connection that has no response object, and closes it: its next byte has no meaning. */
export function refuseConnection(socket: Duplex, status: number): void {
  if (!socket.writable) return void socket.destroy()
  const body = `${status} ${STATUS_CODES[status]}\n`
  socket.on('error', () => {})
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}

/**
 * Runs `go` after the responses to requests before it: a client may pipeline an upgrade or a CONNECT, at which Node
 * releases the socket.
 */
export function afterPendingResponses(socket: Socket, go: () => void): void {
  const pending = Reflect.get(socket, '_httpMessage')
  if (!(pending instanceof ServerResponse)) {
    go()
    return
  }
  const drain = () => pending.emit('drain')
  socket.on('drain', drain)
  pending.once('close', () => {
    socket.off('drain', drain)
    socket.setTimeout(0)
    afterPendingResponses(socket, go)
  })
}

/** Closes the client's connection after `ms` without a byte of progress in either direction. */
export function startClientTimeout(res: Outgoing, ms: number): void {
  if (res.listenerCount('timeout') === 0) {
    res.on('timeout', () => {
      if (res instanceof ServerResponse) res.socket?.destroy()
      else res.stream.close(constants.NGHTTP2_CANCEL)
    })
  }
  res.setTimeout(ms)
}

/** Stops the timeout, because the origin is to act next and the client may be silent for as long as it likes. */
export const stopClientTimeout = (res: Outgoing): void => void res.setTimeout(0)

/**
 * Fields that Node's HTTP/2 refuses to send twice, although the protocol carries them and origins do send them (a server
 * and the application after it both say `nosniff`). The value chosen is the one that browsers use over HTTP/1.1.
 */
const SINGLE_VALUE_FIELDS: ReadonlyMap<string, 'first' | 'last' | 'joined'> = new Map([
  ...'access-control-max-age access-control-request-method age authorization content-length content-location'
    .concat(' content-md5 content-range date dnt etag expires from host if-match if-modified-since if-none-match')
    .concat(' if-range if-unmodified-since last-modified location max-forwards proxy-authorization range referer')
    .concat(' retry-after tk upgrade-insecure-requests user-agent x-content-type-options')
    .split(' ')
    .map((name): [string, 'first'] => [name, 'first']),
  // The last valid one counts (Fetch, "extract a MIME type").
  ['content-type', 'last'],
  // Lists: each coding was applied (RFC 9110 8.4). Credentials that are allowed twice are not allowed (Fetch 4.9).
  ['content-encoding', 'joined'],
  ['content-language', 'joined'],
  ['access-control-allow-credentials', 'joined'],
])

/** Converts name, value, name, value to the form of Node's HTTP/2: lower-case names, the values of each in order. */
function toHttp2Fields(fields: readonly string[]): Record<string, string | string[]> {
  const groups: Record<string, string | string[]> = Object.create(null)
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = (fields[i] ?? '').toLowerCase()
    const value = fields[i + 1] ?? ''
    const before = groups[name]
    // HTTP/2 has no Upgrade (RFC 9113 8.6), even where a 426 names one.
    if (name === 'upgrade') continue
    if (before === undefined) groups[name] = value
    else if (Array.isArray(before)) before.push(value)
    else {
      const kept = SINGLE_VALUE_FIELDS.get(name)
      if (kept === undefined) groups[name] = [before, value]
      else if (kept === 'last') groups[name] = value
      else if (kept === 'joined') groups[name] = `${before}, ${value}`
    }
  }
  return groups
}
