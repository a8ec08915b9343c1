import type { RequestHead } from './message-heads.js'

/** A request that is answered here and never reaches the origin. */
export interface Refusal {
  status: 400 | 405 | 417 | 431 | 501 | 505
  reason: string
}

/** `2` comes from an HTTP/2 session; `2.0` in a request line is only words. */
const VERSIONS = new Set(['1.0', '1.1', '2'])

/** Fields in one request: no browser sends a tenth of it. */
const MAX_HEADER_FIELDS = 1_000

/** RFC 3986 host and port, without the comma that would make one value of two. */
const HOST = /^(?:[a-z0-9._~!$&'()*+;=%-]*|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i

/**
 * One request or none: what two readers could take for different requests is refused, though Node's parser let it by.
 * A message has one `Host`, one length or one `chunked`, never both (RFC 9112 3.2, 6.1, 6.3).
 */
export function checkRequest(method: string, version: string, fields: number, head: RequestHead): Refusal | undefined {
  if (fields > MAX_HEADER_FIELDS) return refusal(431, `more than ${MAX_HEADER_FIELDS} header fields`)
  if (!VERSIONS.has(version)) return refusal(505, 'HTTP version')
  if (method === 'TRACE') return refusal(405, 'TRACE would echo what proxies added')
  if (head.hosts > 1) return refusal(400, 'more than one Host')
  if (head.host !== undefined && !HOST.test(head.host)) return refusal(400, 'malformed Host')
  if (head.transfers > 0) {
    if (version === '1.0') return refusal(400, 'Transfer-Encoding in HTTP/1.0')
    if (head.lengths > 0) return refusal(400, 'both Content-Length and Transfer-Encoding')
    if (head.transfers > 1) return refusal(400, 'more than one Transfer-Encoding')
    if (head.transfer?.toLowerCase() !== 'chunked') return refusal(501, 'a transfer coding other than chunked')
  }
  if (head.lengths > 1) return refusal(400, 'more than one Content-Length')
  if (head.length !== undefined && !/^\d{1,15}$/.test(head.length)) return refusal(400, 'malformed Content-Length')
  return undefined
}

/**
 * The request target in origin-form, byte for byte as the client sent it; `head.host` is filled from an absolute form
 * where there was none.
 */
export function toOriginForm(url: string, head: RequestHead): string | Refusal {
  if (url.startsWith('/')) return url
  const absolute = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url)
  if (absolute === null) return refusal(400, 'request target')
  const authority = absolute[1] ?? ''
  const rest = absolute[2] ?? ''
  if (authority === '' || !HOST.test(authority)) return refusal(400, 'malformed authority')
  head.host ??= authority
  // RFC 9112 3.2.2 lets the target win over Host; where the two differ, someone in between saw another request.
  if (head.host.toLowerCase() !== authority.toLowerCase()) return refusal(400, 'the target names another host')
  return rest.startsWith('/') ? rest : `/${rest}`
}

const refusal = (status: Refusal['status'], reason: string): Refusal => ({ status, reason })
