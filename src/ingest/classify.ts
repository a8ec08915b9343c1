import type { Catalog } from '../agents/catalog.js'
import { createIdentify, type Identification } from '../agents/identify.js'
import type { VerifiableRequest, Verifier } from '../agents/verdict.js'
import { memoize } from '../cache.js'
import { createDeviceReader } from '../capture/device.js'
import {
  countEndpointDrop,
  type DropCounts,
  type DropReason,
  type EndpointDrop,
  type IngestEndpoint,
} from '../capture/drops.js'
import { type Evidence, type Hit, isHit } from '../capture/hit.js'
import type { Observation } from '../capture/observation.js'
import { readEvidence } from '../capture/packed-batch.js'
import type { SiteByHostname, SiteById } from '../capture/site.js'
import { MAX_CHARACTERS, truncate } from '../capture/text-limits.js'
import type { PolicyJudge } from '../policy/judgement.js'
import { createAgentRow } from './agent-fetch.js'
import { createAgentHits, createHitRequests, matchAgentFetch } from './agent-hit.js'
import { type BatchDraft, createBatchDraft } from './batch-draft.js'
import type { Classifier } from './classified-batch.js'
import { createPersonHits } from './person-hit.js'
import { addPersonView, dropReason, notePolicyRequest } from './person-view.js'
import type { PlaceLookup } from './place/place-lookup.js'
import { readObservedRequest } from './request-context.js'
import type { SaltStore } from './salts.js'
import type { SessionMemory } from './session-memory.js'
import { createSuspicion } from './suspicion.js'
import { createViewMemory, type ViewMemory } from './view-memory.js'

export interface ClassifierDeps {
  catalog: Catalog
  places: PlaceLookup
  /** Asked for each observation, so that sites may change while it runs. */
  siteOf: SiteByHostname
  /** Absent where nothing names its site: there are no hits, and nothing is shipped. */
  siteById?: SiteById
  salts: SaltStore
  sessions: SessionMemory
  /** Absent where nothing was recorded before. */
  browsing?: ViewMemory
  verifier: Verifier
  judges: PolicyJudge
  /** Monotonic milliseconds. Given, a flood of new user agents may leave devices unknown; an import gives none. */
  clock?: () => number
  /** Told of faults, at most once a batch and never with an address. */
  log: (message: string, error: unknown) => void
}

/** As many user agents are remembered as `performance.md` 2 found worth it. */
const MAX_CACHED_USER_AGENTS = 8192

/**
 * The write path: observation or hit, site, agent or person, row. Rows come out in the order of their timestamps, since
 * responses end in another order than requests begin, and the first hit of a session decides for all.
 */
export function createClassifier(deps: ClassifierDeps): Classifier {
  const identify = createIdentify(deps.catalog)
  const who = memoize(MAX_CACHED_USER_AGENTS, (userAgent) => ({ agent: identify(userAgent) }))
  const agentDeps = { ...deps, catalog_version: deps.catalog.version }
  const device = createDeviceReader({ limit: MAX_CACHED_USER_AGENTS, ...(deps.clock && { clock: deps.clock }) })
  const suspicion = createSuspicion({ limit: MAX_CACHED_USER_AGENTS })
  const browsing = deps.browsing ?? createViewMemory()
  const personDeps = { ...deps, device, suspicion, browsing }
  const addHit = createPersonHits(personDeps)
  const requests = createHitRequests()
  const addScript = createAgentHits({ ...agentDeps, browsing })

  /** Who signed, whatever the user agent says; then who the user agent says it is. */
  const identified = (request: VerifiableRequest & { user_agent: string }, at: number): Identification | undefined => {
    const signer = deps.verifier.signer(request, at)
    return signer === undefined ? who(truncate(request.user_agent, MAX_CHARACTERS.user_agent)).agent : { agent: signer }
  }

  const observed = (observation: Observation, at: number, made: BatchDraft): DropReason | undefined => {
    const { shipped } = observation
    const site = shipped === undefined ? deps.siteOf(observation.hostname.toLowerCase()) : deps.siteById?.(shipped.site)
    if (site === undefined) return 'unknown_host'
    const found = identified(observation, at) ?? (shipped?.as === 'agent' ? {} : undefined)
    if (found !== undefined) {
      const seen = readObservedRequest(observation, site, at)
      const { now, later } = deps.verifier.check(found.agent, observation, at)
      const row = createAgentRow(seen, found, now, agentDeps)
      if (row.is_pageview && !matchAgentFetch(row, browsing, made)) return 'same_view'
      made.rows.agent_events.push(row)
      if (later !== undefined) made.pendingVerifications.push({ row, later })
      return undefined
    }
    // Most of what a browser asks for is no page: it is refused before anything is computed for it.
    const reason = dropReason(observation, site)
    if (reason === undefined) return addPersonView(readObservedRequest(observation, site, at), made, personDeps)
    notePolicyRequest(observation, site, at, personDeps)
    return reason
  }

  const told = (hit: Hit, at: number, made: BatchDraft): DropReason | undefined => {
    const site = deps.siteById?.(hit.site)
    if (site === undefined || deps.siteOf(hit.hostname)?.id !== site.id) return 'unknown_host'
    const request = requests.of(hit)
    const found = identified(request, at)
    return found === undefined ? addHit(hit, site, at, made) : addScript(hit, request, found, site, at, made)
  }

  return {
    classify(batch) {
      const made = createBatchDraft()
      const drops: DropCounts = {}
      const dropped: EndpointDrop[] = []
      requests.rotate()
      let faults = 0
      let fault: unknown
      // Of a site's first hit the store knows what was before this batch; what is in it must be remembered from its start.
      for (const one of batch)
        if (one?.timestamp !== undefined && 'kind' in one && deps.siteById?.(one.site) !== undefined)
          browsing.noteBrowserHits(one.site)
      for (const { one, at } of sortByTime(batch)) {
        let evidence: Evidence | undefined
        let reason: DropReason | undefined
        try {
          evidence = readEvidence(one)
          reason = isHit(evidence) ? told(evidence, at, made) : observed(evidence, at, made)
        } catch (error) {
          reason = 'fault'
          faults++
          fault = error
        }
        if (reason === undefined) continue
        drops[reason] = (drops[reason] ?? 0) + 1
        const from = ingestOrigin(evidence)
        if (from !== undefined && deps.siteById?.(from.site) !== undefined)
          countEndpointDrop(dropped, from.site, from.door, reason)
      }
      if (faults > 0) reportFaults(deps.log, faults, fault)
      const { rows, pendingVerifications: open, unplaced, additions, unsure } = made
      return {
        rows,
        drops,
        endpointDrops: dropped,
        pendingVerifications: open,
        unplaced,
        additions,
        unsure: [...unsure.values()],
      }
    },
  }
}

/** For which site, and at which door; undefined where we saw it ourselves. */
function ingestOrigin(evidence: Evidence | undefined): { site: number; door: IngestEndpoint } | undefined {
  if (evidence?.timestamp === undefined) return undefined
  if (isHit(evidence)) return { site: evidence.site, door: 'track' }
  return evidence.shipped && { site: evidence.shipped.site, door: 'edge' }
}

function sortByTime<One extends { timestamp: string }>(batch: readonly One[]): { one: One; at: number }[] {
  const timed = batch.map((one) => ({ one, at: Date.parse(one?.timestamp) }))
  // A timestamp that is none sorts first and fails alone.
  return timed.sort((a, b) => (a.at || 0) - (b.at || 0))
}

function reportFaults(log: ClassifierDeps['log'], faults: number, fault: unknown): void {
  try {
    log(`${faults} observations could not be classified; the last fault follows`, fault)
  } catch {
    // A log that fails must not cost the batch its rows.
  }
}
