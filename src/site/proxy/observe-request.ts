import type { IncomingHttpHeaders } from 'node:http'
import { OBSERVED_HEADERS, type Observation } from '../../capture/observation.js'
import { hasOptOutCookie } from '../../capture/opt-out.js'
import type { Hop } from './hop.js'

/** The part of an Observation that the request alone gives. */
export type RequestObservation = Omit<Observation, 'status' | 'bytes' | 'duration_ms' | 'content_type'>

/** A request as Node hands it over, in HTTP/1.1 or the compatibility form of HTTP/2. */
interface RequestLike {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly socket?: object
}

/** Facts that a framework or proxy knows better than the request object. */
export interface RequestOverrides {
  /** The URL before routing rewrote it. */
  url?: string
  /** The public host, where a trusted proxy named it. */
  host?: string
  /** The request target as it came, if `url` is another form of it. */
  target?: string
  hop?: Pick<Hop, 'proto' | 'trusted'>
  /**
   * For `mount`: called at once if a strict rule for agents lets the request wait; `passes` resolves with whether the site is
   * to respond. Without it no request waits.
   */
  onWait?: (passes: Promise<boolean>) => void
}

/**
 * Collects the request's part of an Observation: references and slices, nothing parsed and nothing hashed, because this
 * runs for every request. `at` is the arrival in epoch ms.
 */
export function observeRequest(
  req: RequestLike,
  ip: string,
  at: number,
  overrides: RequestOverrides = {},
): RequestObservation {
  const { headers } = req
  const host = overrides.host ?? headers.host ?? firstValue(headers[':authority']) ?? ''
  const [pathname, query] = splitTarget(overrides.url ?? req.url ?? '/')
  const observation: RequestObservation = {
    timestamp: isoTimestamp(at),
    user_agent: headers['user-agent'] ?? '',
    method: req.method ?? 'GET',
    hostname: hostnameOf(host),
    pathname,
    conditional: headers['if-none-match'] !== undefined || headers['if-modified-since'] !== undefined ? 1 : 0,
    ip,
  }
  if (query !== undefined) observation.query = query
  if (headers.referer !== undefined) observation.referrer = headers.referer
  let observed: Record<string, string> | undefined
  for (const name of OBSERVED_HEADERS) {
    const value = headers[name]
    if (value === undefined) continue
    observed ??= {}
    observed[name] = typeof value === 'string' ? value : value.join(', ')
  }
  if (observed !== undefined) observation.headers = observed
  if (hasOptOutCookie(headers.cookie)) observation.opted_out = true
  if (headers['signature-input'] !== undefined) {
    observation.signed = { authority: host, ...schemeAndTarget(req, overrides) }
  }
  return observation
}

/** Returns the parts of a request, besides the host, that an HTTP message signature may cover. */
export const schemeAndTarget = (
  req: RequestLike,
  { hop, target, url }: RequestOverrides,
): { scheme: 'http' | 'https'; target: string } => ({
  scheme: schemeOf(req, hop),
  target: target ?? url ?? req.url ?? '/',
})

/** Returns `https` if TLS ends at this process, or at a trusted proxy according to its `X-Forwarded-Proto`. */
export function schemeOf({ socket, headers }: RequestLike, hop: RequestOverrides['hop']): 'http' | 'https' {
  const encrypted = socket !== undefined && 'encrypted' in socket && socket.encrypted === true
  const proto = hop?.proto ?? (encrypted ? 'https' : 'http')
  if (hop?.trusted !== true) return proto
  const claimed = firstValue(headers['x-forwarded-proto'])?.trim().toLowerCase()
  return claimed === 'http' || claimed === 'https' ? claimed : proto
}

let lastMs = Number.NaN
let lastTimestamp = ''
/** Formats a time; requests of the same millisecond share one string. */
function isoTimestamp(ms: number): string {
  if (ms !== lastMs) {
    lastMs = ms
    lastTimestamp = new Date(ms).toISOString()
  }
  return lastTimestamp
}

/** Converts `Host` or `:authority` to a hostname: lower case, without the port; an IPv6 literal keeps its brackets. */
export const hostnameOf = (host: string): string => host.replace(/:\d*$/, '').toLowerCase()

/**
 * Splits a request target (RFC 9112 3.2) at its first question mark, byte for byte. `//x` is a path here, where a URL
 * parser would read a host. The authority of an absolute form is left out.
 */
export function splitTarget(target: string): [pathname: string, query: string | undefined] {
  const relative = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '')
  const mark = relative.indexOf('?')
  const pathname = mark < 0 ? relative : relative.slice(0, mark)
  return [pathname === '' ? '/' : pathname, mark < 0 ? undefined : relative.slice(mark + 1)]
}

const firstValue = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : value?.[0]
