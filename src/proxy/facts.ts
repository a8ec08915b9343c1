import type { IncomingHttpHeaders } from 'node:http'
import { OBSERVED_HEADERS, type Observation } from '../record/observation.js'

/** What an Observation says of the request alone. */
export type RequestFacts = Omit<Observation, 'status' | 'bytes' | 'duration_ms' | 'content_type'>

/** The request as Node hands it over, HTTP/1.1 or HTTP/2's compatibility form. */
export interface RequestLike {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
}

/**
 * Notes the request's part of an Observation: references and slices, nothing parsed, nothing hashed (contract 3). `at`
 * is the arrival in milliseconds since 1970. `seen` stands in where a framework rewrote the URL or knows the public
 * host.
 */
export function requestFacts(
  req: RequestLike,
  ip: string,
  at: number,
  seen: { url?: string; host?: string } = {},
): RequestFacts {
  const { headers } = req
  const [pathname, query] = splitTarget(seen.url ?? req.url ?? '/')
  const made: RequestFacts = {
    timestamp: instant(at),
    user_agent: headers['user-agent'] ?? '',
    method: req.method ?? 'GET',
    hostname: hostnameOf(seen.host ?? headers.host ?? one(headers[':authority']) ?? ''),
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
  return made
}

let lastMs = Number.NaN
let lastInstant = ''
/** Many requests come in the same millisecond: one text for all. */
function instant(ms: number): string {
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

const one = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : value?.[0]
