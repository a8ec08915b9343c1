import type { RequestHead } from './headers.js'

/** A request that is answered here and never reaches the origin. */
export interface Refusal {
  status: 400 | 405 | 417 | 431 | 501 | 505
  reason: string
}

export interface Target {
  /** Origin-form, byte for byte as the client sent it. */
  path: string
  /** As the client named it; undefined where an HTTP/1.0 client named none. */
  host: string | undefined
}

/** `2` comes from an HTTP/2 session; `2.0` in a request line is only words. */
const VERSIONS = new Set(['1.0', '1.1', '2'])

/** Fields in one request: no browser sends a tenth of it. */
const FIELDS = 1_000

/** RFC 3986 host and port, without the comma that would make one value of two. */
const HOST = /^(?:[a-z0-9._~!$&'()*+;=%-]*|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i

/**
 * One request or none: what two readers could take for different requests is refused, though Node's parser let it by.
 * A message has one `Host`, one length or one `chunked`, never both (RFC 9112 3.2, 6.1, 6.3).
 */
export function guard(
  request: { method: string; version: string; fields: number },
  url: string,
  head: RequestHead,
): Refusal | Target {
  const { hosts, lengths, transfers } = head
  if (request.fields > FIELDS) return refused(431, `more than ${FIELDS} header fields`)
  if (!VERSIONS.has(request.version)) return refused(505, 'HTTP version')
  if (request.method === 'TRACE') return refused(405, 'TRACE would echo what proxies added')
  if (hosts.length > 1) return refused(400, 'more than one Host')
  const host = hosts[0]
  if (host !== undefined && !HOST.test(host)) return refused(400, 'malformed Host')
  const framing = framingOf(request.version, lengths, transfers)
  return framing ?? targetOf(url, host)
}

function framingOf(version: string, lengths: readonly string[], transfers: readonly string[]): Refusal | undefined {
  if (transfers.length > 0) {
    if (version === '1.0') return refused(400, 'Transfer-Encoding in HTTP/1.0')
    if (lengths.length > 0) return refused(400, 'both Content-Length and Transfer-Encoding')
    if (transfers.length > 1) return refused(400, 'more than one Transfer-Encoding')
    if (transfers[0]?.toLowerCase() !== 'chunked') return refused(501, 'a transfer coding other than chunked')
  }
  if (lengths.length > 1) return refused(400, 'more than one Content-Length')
  if (lengths[0] !== undefined && !/^\d{1,15}$/.test(lengths[0])) return refused(400, 'malformed Content-Length')
  return undefined
}

function targetOf(url: string, host: string | undefined): Refusal | Target {
  if (url.startsWith('/')) return { path: url, host }
  const absolute = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url)
  if (absolute === null) return refused(400, 'request target')
  const authority = absolute[1] ?? ''
  const rest = absolute[2] ?? ''
  if (authority === '' || !HOST.test(authority)) return refused(400, 'malformed authority')
  // RFC 9112 3.2.2 lets the target win over Host; where the two differ, someone in between saw another request.
  if (host !== undefined && host.toLowerCase() !== authority.toLowerCase())
    return refused(400, 'the target names another host')
  return { path: rest.startsWith('/') ? rest : `/${rest}`, host: host ?? authority }
}

const refused = (status: Refusal['status'], reason: string): Refusal => ({ status, reason })
