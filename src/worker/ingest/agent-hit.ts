import type { Verifier } from '../../agents/claim-check.js'
import type { Identification } from '../../agents/identify.js'
import type { VerifiableRequest } from '../../agents/verdict.js'
import { createRecentCache } from '../../base/cache.js'
import { withoutFragmentRoute } from '../../capture/fragment-route.js'
import type { Hit } from '../../capture/hit.js'
import type { Observation } from '../../capture/observation.js'
import type { SiteSettings } from '../../capture/site.js'
import type { DropReason } from '../../storage/drops.js'
import type { AgentEventRow } from '../../storage/rows.js'
import { type AgentDeps, createAgentRow } from './agent-fetch.js'
import type { BatchDraft } from './classified-batch.js'
import { readObservedRequest } from './request-context.js'
import { type PendingView, SAME_VIEW_MS, type ViewMemory } from './view-memory.js'

/** The HTTP request that brought a hit, as far as a signature covers it. */
export type HitRequest = VerifiableRequest & { user_agent: string }

const MAX_SIGNED_REQUESTS = 256

/**
 * Creates the memory of signed requests. All hits that one signed request brought share its object: verified one by one,
 * each would use the request's nonce again, as a replay does.
 */
export function createHitRequests() {
  const signed = createRecentCache<string, HitRequest>(MAX_SIGNED_REQUESTS)
  return {
    requestOf(hit: Hit): HitRequest {
      const input = hit.headers?.['signature-input']
      if (input === undefined) return readHitRequest(hit)
      const { ip, user_agent, headers } = hit
      const key = JSON.stringify([ip, user_agent, input, headers?.signature, hit.signed])
      const request = signed.get(key) ?? readHitRequest(hit)
      signed.set(key, request)
      return request
    },
    /** Forgets requests that brought nothing since the previous call, because they contain addresses. */
    rotate: signed.rotate,
  }
}

function readHitRequest({ hostname, ip, user_agent, headers, signed }: Hit): HitRequest {
  const [pathname = '/', query] = signed?.target.split(/\?(.*)/s) ?? []
  return {
    method: signed?.method ?? 'POST',
    hostname,
    pathname,
    ip,
    user_agent,
    ...(query !== undefined && { query }),
    ...(headers && { headers }),
    ...(signed && { signed }),
  }
}

/** Returns the key of an agent's view: agent and page alone, because the agent may fetch and render from different addresses. */
const agentPageKey = (row: AgentEventRow): string =>
  `${row.site_id}\n${row.agent_id}\n${row.agent_id === 'other' ? row.user_agent : ''}\n${row.hostname}\n${withoutFragmentRoute(row.pathname)}`

const pendingView = (row: AgentEventRow): PendingView => ({
  at: row.timestamp.getTime(),
  visitor_id: row.ip_hash,
  pathname: row.pathname,
  session: undefined,
  isMatched: false,
})

/** Every response is a fetch of its own, so only a fetch that began before the script ran is the same view. */
function fetchDistance(fetch: number, script: number): number {
  const ms = script - fetch
  return ms >= 0 && ms < SAME_VIEW_MS ? ms : Number.POSITIVE_INFINITY
}

/** Returns whether an agent's fetch of a page becomes a row: not if the agent ran its script before the fetch had ended. */
export function matchAgentFetch(
  row: AgentEventRow,
  { agentFetches, agentScripts }: Pick<ViewMemory, 'agentFetches' | 'agentScripts'>,
  draft: BatchDraft,
): boolean {
  const key = agentPageKey(row)
  const at = row.timestamp.getTime()
  const script = agentScripts.take([key], (script) => fetchDistance(at, script))
  if (script === undefined) {
    agentFetches.add(key, pendingView(row))
    return true
  }
  // The server's row says more: it replaces the script's row if that is still in this batch.
  const { agent_events } = draft.rows
  const index = agent_events.findIndex((one) => one.timestamp.getTime() === script.at && agentPageKey(one) === key)
  if (index >= 0) agent_events.splice(index, 1)
  return index >= 0
}

/**
 * Adds a hit of an agent, which is never a person's event. A pageview becomes a fetch, unless the fetch that it belongs to is
 * known: the page may come from the agent's cache, or from a server that is not recorded here.
 */
export function addAgentHit(
  { hit, site, at }: { hit: Hit; site: SiteSettings; at: number },
  request: HitRequest,
  identification: Identification,
  draft: BatchDraft,
  deps: AgentDeps & { verifier: Verifier; viewMemory: Pick<ViewMemory, 'agentFetches' | 'agentScripts'> },
): DropReason | undefined {
  if (hit.kind !== 'pageview') return 'agent'
  const { now, later } = deps.verifier.check(identification.agent, request, at)
  const row = createAgentRow(readObservedRequest(toObservation(hit), site, at, true), identification, now, deps)
  const key = agentPageKey(row)
  if (hit.engaged_ms === undefined && hit.scroll === undefined) {
    const { agentFetches, agentScripts } = deps.viewMemory
    if (agentFetches.take([key], (fetch) => fetchDistance(fetch, at))) return 'same_view'
    agentScripts.add(key, pendingView(row))
  }
  draft.rows.agent_events.push(row)
  if (later !== undefined) draft.pendingVerifications.push({ row, verdict: later })
  return undefined
}

/** Returns the fetch that a script's pageview stands for. All that is known of its response is that it was a page. */
function toObservation({ timestamp, user_agent, hostname, pathname, ip, query, referrer, headers }: Hit): Observation {
  return {
    timestamp,
    user_agent,
    method: 'GET',
    hostname,
    pathname,
    status: 200,
    bytes: 0,
    duration_ms: 0,
    content_type: 'text/html',
    conditional: 0,
    ip,
    ...(query !== undefined && { query }),
    ...(referrer !== undefined && { referrer }),
    ...(headers && { headers }),
  }
}
