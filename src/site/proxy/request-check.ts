import type { RequestHead } from './message-heads.js'

/** The status with which the proxy refuses a request that must not reach the origin. */
type Refusal = 400 | 405 | 417 | 431 | 501 | 505

/** `2` comes from an HTTP/2 session; `2.0` in a request line is not HTTP/2. */
const VERSIONS = new Set(['1.0', '1.1', '2'])

/** Browsers send less than a tenth of this. */
const MAX_HEADER_FIELDS = 1_000

/** Host and port of RFC 3986, without the comma that could make one value of two. */
const HOST = /^(?:[a-z0-9._~!$&'()*+;=%-]*|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i

/**
 * Refuses a request that two servers could read differently, even if Node's parser accepts it. A request has one `Host`,
 * and either one length or one `chunked`, never both (RFC 9112 3.2, 6.1, 6.3). Returns undefined for a good request.
 */
export function checkRequest(method: string, version: string, fields: number, head: RequestHead): Refusal | undefined {
  if (fields > MAX_HEADER_FIELDS) return 431
  if (!VERSIONS.has(version)) return 505
  // TRACE would echo the fields that proxies added.
  if (method === 'TRACE') return 405
  if (head.hosts > 1) return 400
  if (head.host !== undefined && !HOST.test(head.host)) return 400
  if (head.transfers > 0) {
    if (version === '1.0' || head.lengths > 0 || head.transfers > 1) return 400
    if (head.transfer?.toLowerCase() !== 'chunked') return 501
  }
  if (head.lengths > 1 || (head.length !== undefined && !/^\d{1,15}$/.test(head.length))) return 400
  return undefined
}

/**
 * Returns the request target in origin-form, byte for byte as the client sent it, or a refusal. Fills `head.host` from
 * an absolute form if the request has no `Host`.
 */
export function toOriginForm(url: string, head: RequestHead): string | Refusal {
  if (url.startsWith('/')) return url
  const absolute = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url)
  if (absolute === null) return 400
  const authority = absolute[1] ?? ''
  const rest = absolute[2] ?? ''
  if (authority === '' || !HOST.test(authority)) return 400
  head.host ??= authority
  // RFC 9112 3.2.2 lets the target win over Host. If they differ, a server in between may have seen another request.
  if (head.host.toLowerCase() !== authority.toLowerCase()) return 400
  return rest.startsWith('/') ? rest : `/${rest}`
}
