import type { Catalog } from '../../agents/catalog.js'
import type { Verifier } from '../../agents/claim-check.js'
import { createIdentify, type Identification, isBuildingBlock } from '../../agents/identify.js'
import type { PolicyJudge } from '../../agents/policy/policy-judge.js'
import { memoize } from '../../base/cache.js'
import { MAX_CHARACTERS, truncate } from '../../base/text-limits.js'
import { createDeviceReader } from '../../capture/device.js'
import { type Evidence, type Hit, isHit } from '../../capture/hit.js'
import type { Observation } from '../../capture/observation.js'
import { type PackedObservation, readEvidence } from '../../capture/packed-batch.js'
import { createResponseReader } from '../../capture/response-type.js'
import type { SiteByHostname, SiteById } from '../../capture/site.js'
import { countEndpointDrop, type DropCounts, type DropReason, type EndpointDrop } from '../../storage/drops.js'
import { createAgentRow } from './agent-fetch.js'
import { addAgentHit, createHitRequests, type HitRequest, matchAgentFetch } from './agent-hit.js'
import { type BatchDraft, type ClassifiedBatch, createBatchDraft } from './classified-batch.js'
import { isMissingPage } from './missing-page.js'
import { addPersonHit } from './person-hit.js'
import { addMissingPage, addPersonView, dropReason, noteOtherRequest, type PersonDeps } from './person-view.js'
import type { PlaceLookup } from './place/place-lookup.js'
import { createReferrerSpam, type ReferrerSpamSettings } from './referrer-spam.js'
import { readObservedRequest } from './request-context.js'
import type { SaltStore } from './salts.js'
import type { SessionMemory } from './session-memory.js'
import type { SiteActivityCounter } from './site-activity.js'
import { createSuspicion } from './suspicion.js'
import { createViewMemory, type ViewMemory } from './view-memory.js'

export interface ClassifierDeps {
  catalog: Catalog
  places: Pick<PlaceLookup, 'locate'>
  /** Called for each observation, so sites may change at any time. */
  siteOf: SiteByHostname
  /** Absent if no evidence names its site: no hits, and no rows of other servers. */
  siteById?: SiteById
  salts: Pick<SaltStore, 'at'>
  sessions: SessionMemory
  /** Absent if nothing was recorded before. */
  viewMemory?: ViewMemory
  verifier: Verifier
  policyJudge: PolicyJudge
  /** Absent if no notes are written: an import. */
  activity?: Pick<SiteActivityCounter, 'addResponse'>
  describePage?: PersonDeps['describePage']
  /** Absent: the shipped list as it is. */
  referrerSpam?: ReferrerSpamSettings
  /** Monotonic milliseconds. With a clock, a flood of new user agents may leave devices unknown; an import has none. */
  clock?: () => number
  /** Reports faults, at most once a batch and never with an address. */
  log: (message: string, error: unknown) => void
}

/** Beyond this many user agents, a larger cache gained nothing in measurements. */
const MAX_CACHED_USER_AGENTS = 8192

/** Creates the paths of one observation and of one hit to rows of a draft; both share one set of caches. */
function createPaths(deps: ClassifierDeps, viewMemory: ViewMemory) {
  const { siteOf, siteById, verifier } = deps
  const identify = createIdentify(deps.catalog)
  const identifyCached = memoize(MAX_CACHED_USER_AGENTS, (userAgent) => ({ identification: identify(userAgent) }))
  const readDevice = createDeviceReader({ limit: MAX_CACHED_USER_AGENTS, ...(deps.clock && { clock: deps.clock }) })
  const personDeps = {
    ...deps,
    viewMemory,
    readDevice,
    suspicion: createSuspicion({ limit: MAX_CACHED_USER_AGENTS }),
    isReferrerSpam: createReferrerSpam(deps.referrerSpam ?? { spam_referrers: [], trusted_referrers: [] }),
  }
  const agentDeps = { ...deps, viewMemory, catalogVersion: deps.catalog.version }
  const requests = createHitRequests()
  const responses = createResponseReader()

  /** Identifies the agent by its valid signature, else by its user agent, else by the directory that a signature names. */
  const identifyAgent = (request: HitRequest, at: number): Identification | undefined => {
    const signer = verifier.signer(request, at)
    if (signer?.proven) return { agent: signer.agent }
    const { identification } = identifyCached(truncate(request.user_agent, MAX_CHARACTERS.user_agent))
    const isNamed = identification?.agent !== undefined && !isBuildingBlock(identification.agent)
    return signer === undefined || isNamed ? identification : { agent: signer.agent }
  }

  const addObservation = (observation: Observation, at: number, draft: BatchDraft): DropReason | undefined => {
    const { shipped, imported } = observation
    const site = shipped === undefined ? siteOf(observation.hostname.toLowerCase()) : siteById?.(shipped.site)
    if (site === undefined) return 'unknown_host'
    deps.activity?.addResponse(site.id, observation, at)
    // Asked of each response, because the answer about a 304 is that about the responses before it.
    const isPage = shipped?.as === 'human' || (imported?.isPage ?? responses.isPage(observation, site.id))
    const identification = identifyAgent(observation, at) ?? (shipped?.as === 'agent' ? {} : undefined)
    if (identification !== undefined) {
      const observed = readObservedRequest(observation, site, at, isPage)
      const { now, later } = verifier.check(identification.agent, observation, at)
      const row = createAgentRow(observed, identification, now, agentDeps)
      // An import has no hits that a fetch could be the same view as.
      const mayMatch = isPage && imported === undefined
      if (mayMatch && !matchAgentFetch(row, viewMemory, draft)) return 'same_view'
      draft.rows.agent_events.push(row)
      if (later !== undefined) draft.pendingVerifications.push({ row, verdict: later })
      return undefined
    }
    // Most of a browser's requests are not for pages: they are dropped before anything is computed for them.
    const reason = dropReason(observation, site, isPage)
    if (reason === undefined) {
      // Rows of other servers name hostnames that this server's origin may not have.
      if (shipped === undefined) deps.policyJudge.observe(observation.hostname.toLowerCase())
      return addPersonView(readObservedRequest(observation, site, at, isPage), draft, personDeps)
    }
    noteOtherRequest(observation, site, at, personDeps)
    if (isMissingPage(observation, site))
      addMissingPage(readObservedRequest(observation, site, at, false), draft, personDeps)
    return reason
  }

  const addHit = (hit: Hit, at: number, draft: BatchDraft): DropReason | undefined => {
    const site = siteById?.(hit.site)
    if (site === undefined || siteOf(hit.hostname)?.id !== site.id) return 'unknown_host'
    const request = requests.requestOf(hit)
    const identification = identifyAgent(request, at)
    if (identification === undefined) return addPersonHit({ hit, site, at }, draft, personDeps)
    return addAgentHit({ hit, site, at }, request, identification, draft, agentDeps)
  }

  return { addObservation, addHit, rotate: requests.rotate }
}

export type Classifier = ReturnType<typeof createClassifier>

/**
 * Creates the write path from observation or hit to row: find the site, tell agents from people, make the row. Rows come
 * out in the order of their timestamps, because responses end in another order than requests begin, and the first hit of
 * a session decides for all.
 */
export function createClassifier(deps: ClassifierDeps) {
  const { siteById } = deps
  const viewMemory = deps.viewMemory ?? createViewMemory()
  const paths = createPaths(deps, viewMemory)

  return {
    /**
     * Classifies a batch. Never throws: evidence that fails is dropped as `fault`, and the log gets the last error. The
     * previous batch must be committed, because its rows no longer change.
     */
    classify(batch: readonly (Evidence | PackedObservation)[]): ClassifiedBatch {
      const draft = createBatchDraft()
      const drops: DropCounts = {}
      const endpointDrops: EndpointDrop[] = []
      paths.rotate()
      let faults = 0
      let fault: unknown
      // From a site's first browser hit on, the server's views are remembered. If that hit is in this batch, they are
      // remembered from the batch's start, because the store knows only the views of earlier batches.
      for (const one of batch)
        if (one?.timestamp !== undefined && 'kind' in one && siteById?.(one.site) !== undefined)
          viewMemory.noteBrowserHits(one.site)
      for (const { one, at } of sortByTime(batch)) {
        let evidence: Evidence | undefined
        let reason: DropReason | undefined
        try {
          evidence = readEvidence(one)
          reason = isHit(evidence) ? paths.addHit(evidence, at, draft) : paths.addObservation(evidence, at, draft)
        } catch (error) {
          reason = 'fault'
          faults++
          fault = error
        }
        if (reason === undefined) continue
        drops[reason] = (drops[reason] ?? 0) + 1
        const origin = ingestOrigin(evidence)
        if (origin !== undefined && siteById?.(origin.site) !== undefined)
          countEndpointDrop(endpointDrops, origin.site, origin.door, reason)
      }
      if (faults > 0) reportFaults(deps.log, faults, fault)
      const { rows, pendingVerifications, unplacedRows, additions, missingPages } = draft
      const unmatchedViews = [...draft.unmatchedViews.values()]
      return {
        ...{ rows, drops, endpointDrops, pendingVerifications, unplacedRows, additions, unmatchedViews, missingPages },
      }
    },
  }
}

/** Returns the site and endpoint that evidence came in at; undefined if this server saw it itself. */
function ingestOrigin(evidence: Evidence | undefined): Pick<EndpointDrop, 'site' | 'door'> | undefined {
  if (evidence?.timestamp === undefined) return undefined
  if (isHit(evidence)) return { site: evidence.site, door: 'track' }
  return evidence.shipped && { site: evidence.shipped.site, door: 'edge' }
}

function sortByTime<One extends { timestamp: string | number }>(batch: readonly One[]): { one: One; at: number }[] {
  const timed = batch.map((one) => ({ one, at: timeOf(one?.timestamp) }))
  // An invalid timestamp sorts first and fails alone.
  return timed.sort((a, b) => (a.at || 0) - (b.at || 0))
}

const timeOf = (timestamp: string | number): number =>
  typeof timestamp === 'number' ? timestamp : Date.parse(timestamp)

function reportFaults(log: ClassifierDeps['log'], faults: number, fault: unknown): void {
  try {
    log(`${faults} observations could not be classified; the last fault follows`, fault)
  } catch {
    // A log that fails must not cost the batch its rows.
  }
}
