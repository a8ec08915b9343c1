import type { Agent } from '../agents/catalog.js'
import type { Identification } from '../agents/identify.js'
import type { VerifiableRequest, Verifier } from '../agents/verdict.js'
import { createRecentCache } from '../cache.js'
import type { DropReason } from '../capture/drops.js'
import { withoutFragmentRoute } from '../capture/fragment-route.js'
import type { Hit } from '../capture/hit.js'
import type { Observation } from '../capture/observation.js'
import type { Site } from '../capture/site.js'
import type { PolicyJudge } from '../policy/judgement.js'
import type { AgentEventRow } from '../rows.js'
import { createAgentRow } from './agent-fetch.js'
import type { BatchDraft } from './batch-draft.js'
import type { PlaceLookup } from './place/place-lookup.js'
import { readObservedRequest } from './request-context.js'
import type { SaltStore } from './salts.js'
import { type PendingView, SAME_VIEW_MS, type ViewMemory } from './view-memory.js'

type HitRequest = VerifiableRequest & { user_agent: string }

/** The requests that brought hits. */
export interface HitRequests {
  of(hit: Hit): HitRequest
  /** Forgets those that brought nothing since it was called before: they have addresses. */
  rotate(): void
}

/** Signed requests that are remembered. */
const MAX_SIGNED_REQUESTS = 256

/** All hits that one signed request brought have that request: each by itself would use its nonce again, as a replay does. */
export function createHitRequests(): HitRequests {
  const signed = createRecentCache<string, HitRequest>(MAX_SIGNED_REQUESTS)
  return {
    of(hit) {
      const input = hit.headers?.['signature-input']
      if (input === undefined) return hitRequest(hit)
      const { timestamp, ip, user_agent, headers } = hit
      const key = JSON.stringify([timestamp, ip, user_agent, input, headers?.signature, hit.signed])
      const request = signed.get(key) ?? hitRequest(hit)
      signed.set(key, request)
      return request
    },
    rotate: signed.rotate,
  }
}

/** As far as its signature covers it. */
function hitRequest(hit: Hit): HitRequest {
  const { ip, user_agent, headers, signed } = hit
  const [pathname = '/', query] = signed?.target.split(/\?(.*)/s) ?? []
  return {
    ...{ method: signed?.method ?? 'POST', hostname: hit.hostname, pathname, ip, user_agent },
    ...(query !== undefined && { query }),
    ...(headers && { headers }),
    ...(signed && { signed }),
  }
}

/** What an agent renders it may have fetched from another address, so a view is told by agent and page alone. */
const agentPageKey = (row: AgentEventRow): string =>
  `${row.site_id}\n${row.agent_id}\n${row.agent_id === 'other' ? row.user_agent : ''}\n${row.hostname}\n${withoutFragmentRoute(row.pathname)}`

const pendingFetch = (row: AgentEventRow): PendingView => ({
  at: row.timestamp.getTime(),
  visitor_id: row.ip_hash,
  pathname: row.pathname,
  session: undefined,
  taken: false,
})

/** Every response is a fetch, so only one that was asked for before the script ran is of the same view. */
function fetchDistance(fetch: number, script: number): number {
  const ms = script - fetch
  return ms >= 0 && ms < SAME_VIEW_MS ? ms : Number.POSITIVE_INFINITY
}

/** Whether a fetch of a page by an agent is to be a row: not where the agent ran its script before it had ended. */
export function matchAgentFetch(
  row: AgentEventRow,
  { agentFetches: fetches, agentScripts: scripts }: ViewMemory,
  made: BatchDraft,
): boolean {
  const name = agentPageKey(row)
  const at = row.timestamp.getTime()
  const told = scripts.take([name], (script) => fetchDistance(at, script))
  if (told === undefined) {
    fetches.add(name, pendingFetch(row))
    return true
  }
  // What the server says of it is more, where it can still be said.
  const { agent_events } = made.rows
  const mine = agent_events.findIndex((one) => one.timestamp.getTime() === told.at && agentPageKey(one) === name)
  if (mine >= 0) agent_events.splice(mine, 1)
  return mine >= 0
}

/**
 * Hits of agents, which are nothing of people: a pageview is a fetch, if none is known that it is part of (the page came
 * from the agent's own cache, or from a server of which nothing is recorded here).
 */
export function createAgentHits(deps: {
  places: PlaceLookup
  salts: SaltStore
  judges: PolicyJudge
  verifier: Verifier
  catalog_version: string
  browsing: ViewMemory
}) {
  const { agentFetches: fetches, agentScripts: scripts } = deps.browsing
  return (
    hit: Hit,
    request: VerifiableRequest,
    found: Identification & { agent?: Agent },
    site: Site,
    at: number,
    made: BatchDraft,
  ): DropReason | undefined => {
    if (hit.kind !== 'pageview') return 'agent'
    const { now, later } = deps.verifier.check(found.agent, request, at)
    const row = createAgentRow(readObservedRequest(fetchOfHit(hit), site, at), found, now, deps)
    const name = agentPageKey(row)
    if (hit.engaged_ms === undefined && hit.scroll === undefined) {
      if (fetches.take([name], (fetch) => fetchDistance(fetch, at))) return 'same_view'
      scripts.add(name, pendingFetch(row))
    }
    made.rows.agent_events.push(row)
    if (later !== undefined) made.pendingVerifications.push({ row, later })
    return undefined
  }
}

/** The fetch that a script stands for: of its response nothing is known but that it was a page. */
function fetchOfHit(hit: Hit): Observation {
  const { timestamp, user_agent, hostname, pathname, ip, query, referrer, headers } = hit
  return {
    ...{ timestamp, user_agent, method: 'GET', hostname, pathname, status: 200, bytes: 0, duration_ms: 0 },
    ...{ content_type: 'text/html', conditional: 0, ip },
    ...(query !== undefined && { query }),
    ...(referrer !== undefined && { referrer }),
    ...(headers && { headers }),
  }
}
