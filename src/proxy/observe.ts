import { OBSERVED_HEADERS, type Observation } from '../record/observation.js'
import type { Exchange } from './exchange.js'

/** An exchange that is over as a fact (contract 3): references and copies only, nothing is parsed here. */
export function observation(exchange: Exchange, duration: number): Observation {
  const { path, status } = exchange
  const { headers: sent } = exchange.req
  const at = path.indexOf('?')
  const seenBefore = sent['if-none-match'] !== undefined || sent['if-modified-since'] !== undefined
  const made: Observation = {
    timestamp: instant(exchange.arrived),
    user_agent: sent['user-agent'] ?? '',
    method: exchange.method,
    hostname: hostnameOf(exchange.host),
    pathname: at < 0 ? path : path.slice(0, at),
    status: status === 0 ? 499 : status,
    bytes: exchange.bytes,
    duration_ms: Math.max(0, Math.round(duration)),
    content_type: exchange.content_type,
    conditional: seenBefore ? 1 : 0,
    ip: exchange.ip,
  }
  if (at >= 0) made.query = path.slice(at + 1)
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

let lastMs = Number.NaN
let lastInstant = ''
/** Many exchanges come in the same millisecond: one text for all. */
function instant(ms: number): string {
  if (ms !== lastMs) {
    lastMs = ms
    lastInstant = new Date(ms).toISOString()
  }
  return lastInstant
}
