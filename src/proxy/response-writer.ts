import { type IncomingMessage, ServerResponse } from 'node:http'
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import { Socket } from 'node:net'
import { toHttp2Fields } from './http2-fields.js'

/** A request and its response from either server: node:http, or node:http2 in its compatible form. */
export type Incoming = IncomingMessage | Http2ServerRequest
export type Outgoing = ServerResponse | Http2ServerResponse

/** Whether this client can be told of trailers and 1xx responses. */
export const acceptsTrailers = (req: Incoming): boolean => req.httpVersionMajor > 1 || req.httpVersionMinor > 0

/** Send a final head. `fields` is name, value, name, value. Throws when a name or value cannot be sent. */
export function sendHead(res: Outgoing, status: number, message: string, fields: string[]): void {
  if (res instanceof ServerResponse) {
    res.writeHead(status, toLatin1(message), fields)
    return
  }
  try {
    res.writeHead(status, toHttp2Fields(fields))
  } catch (error) {
    // The fields before the one at fault are kept by the response, and would go out with the error page.
    if (!res.headersSent) for (const name of res.getHeaderNames()) res.removeHeader(name)
    throw error
  }
}

/** Send a 1xx head, which says nothing of the response to come. */
export function sendInformation(res: Outgoing, status: number, message: string, fields: string[]): void {
  if (!(res instanceof ServerResponse)) {
    if (!res.stream.destroyed) res.stream.additionalHeaders({ ':status': status, ...toHttp2Fields(fields) })
    return
  }
  let head = `HTTP/1.1 ${status} ${toLatin1(message)}\r\n`
  for (let i = 0; i + 1 < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`
  res.socket?.write(`${head}\r\n`, 'latin1')
}

/** Send a part of the body; false where the client is behind, and `drain` will tell. */
export const sendBody = (res: Outgoing, part: Buffer | string): boolean =>
  res instanceof ServerResponse ? res.write(part) : res.write(part)

/** End a response; `trailers` only reach a client whose framing has room for them. */
export function endResponse(res: Outgoing, trailers: [string, string][]): void {
  if (trailers.length > 0) {
    if (res instanceof ServerResponse) res.addTrailers(trailers)
    else res.addTrailers(toHttp2Fields(trailers.flat()))
  }
  res.end()
}

/**
 * Break a response that has begun, so that its client sees that it is not whole: what is there is sent, then the
 * connection closes before the end that its framing announced. A body that only the close would end is reset.
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

/** undici reads the reason phrase as UTF-8; on the wire it is bytes. */
const toLatin1 = (message: string): string =>
  /^[\t\x20-\x7e]*$/.test(message) ? message : Buffer.from(message).toString('latin1')
