import type { Catalog } from '../agents/catalog.js'
import { createIdentify, type Identified } from '../agents/identify.js'
import type { Request, Verifier } from '../agents/verdict.js'
import { memo } from '../cache.js'
import { CAPS, cap } from '../capture/caps.js'
import { createDevices } from '../capture/device.js'
import { countDrop, type Door, type DoorDrop, type DropReason, type Drops } from '../capture/drop.js'
import { type Evidence, type Hit, isHit } from '../capture/hit.js'
import type { Observation } from '../capture/observation.js'
import { evidenceOf } from '../capture/parcel.js'
import type { SiteById, SiteOf } from '../capture/site.js'
import type { Judges } from '../policy/judgement.js'
import { agentRow } from './agent.js'
import { type Browsing, createBrowsing } from './browsing.js'
import type { Classifier } from './classifier.js'
import { createHits } from './hits.js'
import { type Made, newMade } from './made.js'
import { addView, overhear, refusal } from './person.js'
import type { Places } from './place/places.js'
import type { Salts } from './salt.js'
import { createRequests, createScripts, meetScript } from './script.js'
import { see } from './seen.js'
import type { Sessions } from './session.js'
import { createSuspicion } from './suspect.js'

export interface ClassifierDeps {
  catalog: Catalog
  places: Places
  /** Asked for each observation, so that sites may change while it runs. */
  siteOf: SiteOf
  /** Absent where nothing names its site: there are no hits, and nothing is shipped. */
  siteById?: SiteById
  salts: Salts
  sessions: Sessions
  /** Absent where nothing was recorded before. */
  browsing?: Browsing
  verifier: Verifier
  judges: Judges
  /** Monotonic milliseconds. Given, a flood of new user agents may leave devices unknown; an import gives none. */
  clock?: () => number
  /** Told of faults, at most once a batch and never with an address. */
  log: (message: string, error: unknown) => void
}

/** As many user agents are remembered as `performance.md` 2 found worth it. */
const REMEMBERED = 8192

/**
 * The write path: observation or hit, site, agent or person, row. Rows come out in the order of their timestamps, since
 * responses end in another order than requests begin, and the first hit of a session decides for all.
 */
export function createClassifier(deps: ClassifierDeps): Classifier {
  const identify = createIdentify(deps.catalog)
  const who = memo(REMEMBERED, (userAgent) => ({ agent: identify(userAgent) }))
  const agentDeps = { ...deps, catalog_version: deps.catalog.version }
  const device = createDevices({ limit: REMEMBERED, ...(deps.clock && { clock: deps.clock }) })
  const suspicion = createSuspicion({ limit: REMEMBERED })
  const browsing = deps.browsing ?? createBrowsing()
  const personDeps = { ...deps, device, suspicion, browsing }
  const addHit = createHits(personDeps)
  const requests = createRequests()
  const addScript = createScripts({ ...agentDeps, browsing })

  /** Who signed, whatever the user agent says; then who the user agent says it is. */
  const identified = (request: Request & { user_agent: string }, at: number): Identified | undefined => {
    const signer = deps.verifier.signer(request, at)
    return signer === undefined ? who(cap(request.user_agent, CAPS.user_agent)).agent : { agent: signer }
  }

  const observed = (observation: Observation, at: number, made: Made): DropReason | undefined => {
    const { shipped } = observation
    const site = shipped === undefined ? deps.siteOf(observation.hostname.toLowerCase()) : deps.siteById?.(shipped.site)
    if (site === undefined) return 'unknown_host'
    const found = identified(observation, at) ?? (shipped?.as === 'agent' ? {} : undefined)
    if (found !== undefined) {
      const seen = see(observation, site, at)
      const { now, later } = deps.verifier.check(found.agent, observation, at)
      const row = agentRow(seen, found, now, agentDeps)
      if (row.is_pageview && !meetScript(row, browsing, made)) return 'same_view'
      made.rows.agent_events.push(row)
      if (later !== undefined) made.open.push({ row, later })
      return undefined
    }
    // Most of what a browser asks for is no page: it is refused before anything is computed for it.
    const reason = refusal(observation, site)
    if (reason === undefined) return addView(see(observation, site, at), made, personDeps)
    overhear(observation, site, at, personDeps)
    return reason
  }

  const told = (hit: Hit, at: number, made: Made): DropReason | undefined => {
    const site = deps.siteById?.(hit.site)
    if (site === undefined || deps.siteOf(hit.hostname)?.id !== site.id) return 'unknown_host'
    const request = requests.of(hit)
    const found = identified(request, at)
    return found === undefined ? addHit(hit, site, at, made) : addScript(hit, request, found, site, at, made)
  }

  return {
    classify(batch) {
      const made = newMade()
      const drops: Drops = {}
      const dropped: DoorDrop[] = []
      requests.age()
      let faults = 0
      let fault: unknown
      // Of a site's first hit the store knows what was before this batch; what is in it must be remembered from its start.
      for (const one of batch)
        if (one?.timestamp !== undefined && 'kind' in one && deps.siteById?.(one.site) !== undefined)
          browsing.hear(one.site)
      for (const { one, at } of inOrder(batch)) {
        let evidence: Evidence | undefined
        let reason: DropReason | undefined
        try {
          evidence = evidenceOf(one)
          reason = isHit(evidence) ? told(evidence, at, made) : observed(evidence, at, made)
        } catch (error) {
          reason = 'fault'
          faults++
          fault = error
        }
        if (reason === undefined) continue
        drops[reason] = (drops[reason] ?? 0) + 1
        const from = cameIn(evidence)
        if (from !== undefined && deps.siteById?.(from.site) !== undefined)
          countDrop(dropped, from.site, from.door, reason)
      }
      if (faults > 0) report(deps.log, faults, fault)
      const { rows, open, unplaced, additions, unsure } = made
      return { rows, drops, dropped, open, unplaced, additions, unsure: [...unsure.values()] }
    },
  }
}

/** For which site, and at which door; undefined where we saw it ourselves. */
function cameIn(evidence: Evidence | undefined): { site: number; door: Door } | undefined {
  if (evidence?.timestamp === undefined) return undefined
  if (isHit(evidence)) return { site: evidence.site, door: 'track' }
  return evidence.shipped && { site: evidence.shipped.site, door: 'edge' }
}

function inOrder<One extends { timestamp: string }>(batch: readonly One[]): { one: One; at: number }[] {
  const timed = batch.map((one) => ({ one, at: Date.parse(one?.timestamp) }))
  // A timestamp that is none sorts first and fails alone.
  return timed.sort((a, b) => (a.at || 0) - (b.at || 0))
}

function report(log: ClassifierDeps['log'], faults: number, fault: unknown): void {
  try {
    log(`${faults} observations could not be classified; the last fault follows`, fault)
  } catch {
    // A log that fails must not cost the batch its rows.
  }
}
