import { type Identified, UNKNOWN } from '../agents/identify.js'
import { waysToVerify } from '../agents/verify.js'
import { CAPS, cap } from './caps.js'
import { isPage, mediaType } from './document.js'
import type { Places } from './place/places.js'
import type { AgentEventRow } from './row.js'
import type { Salts } from './salt.js'
import type { Seen } from './seen.js'
import { addressHash } from './visitor.js'

/** The row of one fetch by an agent: every response makes one (contract 3). */
export function agentRow(
  seen: Seen,
  { agent }: Identified,
  deps: { places: Places; salts: Salts; catalog_version: string },
): AgentEventRow {
  const { id, operator, purpose } = agent ?? UNKNOWN
  const { country, asn } = deps.places.locate(seen.address)
  const { secret } = deps.salts.at(seen.site.visitor_salt, seen.at)
  const type = mediaType(seen.observation.content_type)
  return {
    site_id: seen.site.id,
    timestamp: new Date(seen.at),
    agent_id: id,
    operator,
    purpose,
    catalog_version: deps.catalog_version,
    user_agent: seen.user_agent,
    // Ranges, reverse DNS and signatures are not checked yet: where there is something to check, the answer is open.
    verified: null,
    verification: agent !== undefined && waysToVerify(agent).length > 0 ? 'indeterminate' : 'unverifiable',
    method: cap(seen.observation.method, CAPS.method),
    hostname: seen.hostname,
    pathname: seen.pathname,
    status: seen.status,
    bytes: seen.bytes,
    duration_ms: seen.duration_ms,
    content_type: type === null ? null : cap(type, CAPS.content_type),
    conditional: seen.observation.conditional === 1 ? 1 : 0,
    is_pageview: isPage(seen.observation),
    country,
    asn,
    ip_hash: addressHash(secret, seen.site.id, seen.address_key),
    robots_allowed: null,
    robots_rule: null,
    robots_line: null,
    robots_grace: null,
    llms_listed: null,
    x_robots_tag: null,
    content_usage: null,
  }
}
