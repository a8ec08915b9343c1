import { OBSERVED_HEADERS, type Observation } from '../record/observation.js'
import type { Seen } from './forward.js'
import type { Incoming } from './respond.js'

/** What one exchange was, from when it came to when it was over. */
export interface Exchange {
  req: Incoming
  /** Wall clock at arrival, epoch ms. */
  arrived: number
  /** Of a clock that never goes back, ms. */
  duration: number
  /** As the client named it, with or without port. */
  host: string
  /** As requested, with the query. */
  target: string
  ip: string
  seen: Seen
}

/** The exchange as a fact (contract 3): references and copies only, nothing is parsed here. */
export function observation({ req, arrived, duration, host, target, ip, seen }: Exchange): Observation {
  const { headers: sent } = req
  const at = target.indexOf('?')
  const seenBefore = sent['if-none-match'] !== undefined || sent['if-modified-since'] !== undefined
  const made: Observation = {
    timestamp: new Date(arrived).toISOString(),
    user_agent: sent['user-agent'] ?? '',
    method: req.method ?? 'GET',
    hostname: hostnameOf(host),
    pathname: at < 0 ? target : target.slice(0, at),
    status: seen.status === 0 ? 499 : seen.status,
    bytes: seen.bytes,
    duration_ms: Math.max(0, Math.round(duration)),
    content_type: seen.content_type,
    conditional: seenBefore ? 1 : 0,
    ip,
  }
  if (at >= 0) made.query = target.slice(at + 1)
  if (sent.referer !== undefined) made.referrer = sent.referer
  let observed: Record<string, string> | undefined
  for (const name of OBSERVED_HEADERS) {
    const value = sent[name]
    if (typeof value !== 'string') continue
    observed ??= {}
    observed[name] = value
  }
  if (observed !== undefined) made.headers = observed
  return made
}

function hostnameOf(host: string): string {
  const colon = host.indexOf(':', host.startsWith('[') ? host.indexOf(']') : 0)
  return (colon < 0 ? host : host.slice(0, colon)).toLowerCase()
}
