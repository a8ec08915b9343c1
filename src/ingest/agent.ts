import { type Identified, UNKNOWN } from '../agents/identify.js'
import type { Verdict } from '../agents/verdict.js'
import { CAPS, cap } from '../capture/caps.js'
import { isPage, mediaType } from '../capture/document.js'
import type { Judges } from '../policy/judgement.js'
import type { AgentEventRow } from '../rows.js'
import type { Places } from './place/places.js'
import type { Salts } from './salt.js'
import type { Seen } from './seen.js'
import { addressHash } from './visitor.js'

/** The row of one fetch by an agent: every response makes one (contract 3). */
export function agentRow(
  seen: Seen,
  { agent }: Identified,
  { verified, verification }: Verdict,
  deps: { places: Places; salts: Salts; judges: Judges; catalog_version: string },
): AgentEventRow {
  const { id, operator, purpose } = agent ?? UNKNOWN
  const { country, asn } = deps.places.locate(seen.address)
  const { secret } = deps.salts.at(seen.site.visitor_salt, seen.at)
  const { pathname, query, content_type, response } = seen.observation
  const type = mediaType(content_type)
  const target = query === undefined ? pathname : `${pathname}?${query}`
  return {
    site_id: seen.site.id,
    timestamp: new Date(seen.at),
    agent_id: id,
    operator,
    purpose,
    catalog_version: deps.catalog_version,
    user_agent: seen.user_agent,
    verified,
    verification,
    method: cap(seen.observation.method, CAPS.method),
    hostname: seen.hostname,
    pathname: seen.pathname,
    status: seen.status,
    bytes: seen.bytes,
    duration_ms: seen.duration_ms,
    content_type: type === null ? null : cap(type, CAPS.content_type),
    conditional: seen.observation.conditional === 1 ? 1 : 0,
    is_pageview: isPage(seen.observation) || seen.observation.shipped?.as === 'human',
    country,
    asn,
    ip_hash: addressHash(secret, seen.site.id, seen.address_key),
    ...deps.judges.judge(seen.hostname, agent, target, seen.at),
    x_robots_tag: textOf(response?.['x-robots-tag']),
    content_usage: textOf(response?.['content-usage']),
  }
}

const textOf = (value: string | undefined): string | null => (value === undefined ? null : cap(value, CAPS.text))
