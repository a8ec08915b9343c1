import type { IncomingHttpHeaders } from 'node:http'
import { OBSERVED_HEADERS, type Observation } from '../capture/observation.js'
import { hasOptOutCookie } from '../capture/opt-out.js'
import type { Hop } from './hop.js'

/** What an Observation says of the request alone. */
export type RequestObservation = Omit<Observation, 'status' | 'bytes' | 'duration_ms' | 'content_type'>

/** The request as Node hands it over, HTTP/1.1 or HTTP/2's compatibility form. */
export interface RequestLike {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly socket?: object
}

/**
 * What somebody knows better than the request in hand: the URL before routing rewrote it, the host before a trusted
 * proxy, and the connection it came on.
 */
export interface RequestOverrides {
  url?: string
  host?: string
  /** The request target as it came, where `url` is another form of it. */
  target?: string
  hop?: Pick<Hop, 'proto' | 'trusted'>
}

/**
 * Notes the request's part of an Observation: references and slices, nothing parsed, nothing hashed (contract 3). `at`
 * is the arrival in milliseconds since 1970.
 */
export function observeRequest(
  req: RequestLike,
  ip: string,
  at: number,
  seen: RequestOverrides = {},
): RequestObservation {
  const { headers } = req
  const host = seen.host ?? headers.host ?? firstValue(headers[':authority']) ?? ''
  const [pathname, query] = splitTarget(seen.url ?? req.url ?? '/')
  const made: RequestObservation = {
    timestamp: isoTimestamp(at),
    user_agent: headers['user-agent'] ?? '',
    method: req.method ?? 'GET',
    hostname: hostnameOf(host),
    pathname,
    conditional: headers['if-none-match'] !== undefined || headers['if-modified-since'] !== undefined ? 1 : 0,
    ip,
  }
  if (query !== undefined) made.query = query
  if (headers.referer !== undefined) made.referrer = headers.referer
  let observed: Record<string, string> | undefined
  for (const name of OBSERVED_HEADERS) {
    const value = headers[name]
    if (value === undefined) continue
    observed ??= {}
    observed[name] = typeof value === 'string' ? value : value.join(', ')
  }
  if (observed !== undefined) made.headers = observed
  if (hasOptOutCookie(headers.cookie)) made.opted_out = true
  if (headers['signature-input'] !== undefined) {
    made.signed = { authority: host, ...schemeAndTarget(req, seen) }
  }
  return made
}

/** How a client asked: what a signature may cover beside the host. */
export const schemeAndTarget = (
  req: RequestLike,
  { hop, target, url }: RequestOverrides,
): { scheme: 'http' | 'https'; target: string } => ({
  scheme: schemeOf(req, hop),
  target: target ?? url ?? req.url ?? '/',
})

/** `https` where TLS ends here, or where a trusted proxy says that it ended there. */
export function schemeOf({ socket, headers }: RequestLike, hop: RequestOverrides['hop']): 'http' | 'https' {
  const encrypted = socket !== undefined && 'encrypted' in socket && socket.encrypted === true
  const proto = hop?.proto ?? (encrypted ? 'https' : 'http')
  if (hop?.trusted !== true) return proto
  const claimed = firstValue(headers['x-forwarded-proto'])?.trim().toLowerCase()
  return claimed === 'http' || claimed === 'https' ? claimed : proto
}

let lastMs = Number.NaN
let lastInstant = ''
/** Many requests come in the same millisecond: one text for all. */
function isoTimestamp(ms: number): string {
  if (ms !== lastMs) {
    lastMs = ms
    lastInstant = new Date(ms).toISOString()
  }
  return lastInstant
}

/** `Host` or `:authority` to a name: lower case, without the port; an IPv6 literal keeps its brackets. */
export const hostnameOf = (host: string): string => host.replace(/:\d*$/, '').toLowerCase()

/**
 * A request target (RFC 9112 3.2) cut at its first question mark, byte for byte. `//x` is a path, not a host: a URL
 * parser would say otherwise. Of the absolute form the authority is left out.
 */
export function splitTarget(target: string): [pathname: string, query: string | undefined] {
  const relative = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '')
  const mark = relative.indexOf('?')
  const pathname = mark < 0 ? relative : relative.slice(0, mark)
  return [pathname === '' ? '/' : pathname, mark < 0 ? undefined : relative.slice(mark + 1)]
}

const firstValue = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : value?.[0]
