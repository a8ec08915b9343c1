import { type ClientRequest, request } from 'node:http'
import { connect as connectTcp, isIP } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'

const MAX_HEAD_BYTES = 65_536

/**
 * A GET to the origin, not yet ended, on a connection of its own: never pooled, so nothing is left on it for a later
 * exchange, and resolved anew. `path` goes out byte for byte: a URL parser would make a host of `//x` and lose what it
 * takes for dot segments. The connection can be half-closed. Throws where Node refuses a header or the path.
 */
export function openOriginRequest(
  origin: URL,
  path: string,
  headers: readonly string[],
  tls: ConnectionOptions = {},
): ClientRequest {
  const host = origin.hostname.replace(/^\[|\]$/g, '')
  const secure = origin.protocol === 'https:'
  const to = { host, port: Number(origin.port) || (secure ? 443 : 80), allowHalfOpen: true }
  return request({
    method: 'GET',
    path,
    headers,
    maxHeaderSize: MAX_HEAD_BYTES,
    createConnection: () =>
      secure
        ? connectTls({ servername: isIP(host) ? '' : host, ...tls, ...to, ALPNProtocols: ['http/1.1'] })
        : connectTcp(to),
  })
}
