import { type Identification, UNKNOWN_AGENT } from '../agents/identify.js'
import type { Verdict } from '../agents/verdict.js'
import { isPage, mediaType } from '../capture/page-response.js'
import { MAX_CHARACTERS, truncate } from '../capture/text-limits.js'
import type { PolicyJudge } from '../policy/judgement.js'
import type { AgentEventRow } from '../rows.js'
import type { PlaceLookup } from './place/place-lookup.js'
import type { ObservedRequest } from './request-context.js'
import type { SaltStore } from './salts.js'
import { hashAddress } from './visitor-ids.js'

/** The row of one fetch by an agent: every response makes one (contract 3). */
export function createAgentRow(
  seen: ObservedRequest,
  { agent }: Identification,
  { verified, verification }: Verdict,
  deps: { places: PlaceLookup; salts: SaltStore; judges: PolicyJudge; catalog_version: string },
): AgentEventRow {
  const { id, operator, purpose } = agent ?? UNKNOWN_AGENT
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
    method: truncate(seen.observation.method, MAX_CHARACTERS.method),
    hostname: seen.hostname,
    pathname: seen.pathname,
    status: seen.status,
    bytes: seen.bytes,
    duration_ms: seen.duration_ms,
    content_type: type === null ? null : truncate(type, MAX_CHARACTERS.content_type),
    conditional: seen.observation.conditional === 1 ? 1 : 0,
    is_pageview: isPage(seen.observation) || seen.observation.shipped?.as === 'human',
    country,
    asn,
    ip_hash: hashAddress(secret, seen.site.id, seen.address_key),
    ...deps.judges.judge(seen.hostname, agent, target, seen.at),
    x_robots_tag: headerText(response?.['x-robots-tag']),
    content_usage: headerText(response?.['content-usage']),
  }
}

const headerText = (value: string | undefined): string | null =>
  value === undefined ? null : truncate(value, MAX_CHARACTERS.text)
