import { type Identification, UNKNOWN_AGENT } from '../../agents/identify.js'
import type { PolicyJudge } from '../../agents/policy/policy-judge.js'
import type { Verdict } from '../../agents/verdict.js'
import { MAX_CHARACTERS, truncate } from '../../base/text-limits.js'
import { mediaType } from '../../capture/response-type.js'
import type { AgentEventRow } from '../../storage/rows.js'
import { acceptedFormat } from './accepted-format.js'
import type { PlaceLookup } from './place/place-lookup.js'
import type { ObservedRequest } from './request-context.js'
import type { SaltStore } from './salts.js'
import { hashAddress } from './visitor-ids.js'

export interface AgentDeps {
  places: Pick<PlaceLookup, 'locate'>
  salts: Pick<SaltStore, 'at'>
  policyJudge: PolicyJudge
  catalogVersion: string
}

/** Creates the row of one fetch by an agent. Every response to an agent becomes a row. */
export function createAgentRow(
  { request, observation, is_page, status, bytes, duration_ms }: ObservedRequest,
  { agent }: Identification,
  { verified, verification, proof, proof_at }: Verdict,
  deps: AgentDeps,
): AgentEventRow {
  const { site, at, hostname } = request
  const { id, operator, purpose } = agent ?? UNKNOWN_AGENT
  const { country, asn } = deps.places.locate(request.address)
  const { secret } = deps.salts.at(site.visitor_salt, at)
  const { pathname, query, response } = observation
  const type = mediaType(observation.content_type)
  const target = query === undefined ? pathname : `${pathname}?${query}`
  return {
    site_id: site.id,
    timestamp: new Date(at),
    agent_id: id,
    operator,
    purpose,
    catalog_version: deps.catalogVersion,
    user_agent: request.user_agent,
    verified,
    verification,
    proof: proof ?? null,
    proof_at: proof_at ?? null,
    method: truncate(observation.method, MAX_CHARACTERS.method),
    hostname,
    pathname: request.pathname,
    status,
    bytes,
    duration_ms,
    content_type: type === null ? null : truncate(type, MAX_CHARACTERS.content_type),
    conditional: observation.conditional === 1 ? 1 : 0,
    is_pageview: is_page,
    country,
    asn,
    ip_hash: hashAddress(secret, site.id, request.address_key),
    ...deps.policyJudge.judge(hostname, agent, target, at),
    x_robots_tag: headerText(response?.['x-robots-tag']),
    content_usage: headerText(response?.['content-usage']),
    action: observation.decided?.action ?? null,
    rule: observation.decided?.rule ?? null,
    accepts: acceptedFormat(observation.headers?.accept),
    import_id: observation.imported?.import ?? null,
    import_key: observation.imported?.key ?? null,
  }
}

const headerText = (value: string | undefined): string | null =>
  value === undefined ? null : truncate(value, MAX_CHARACTERS.text)
