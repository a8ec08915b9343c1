import type { Catalog } from '../agents/catalog.js'
import { createIdentify, type Identified } from '../agents/identify.js'
import type { Verifier } from '../agents/verdict.js'
import type { Judges } from '../policy/judgement.js'
import { agentRow } from './agent.js'
import { CAPS, cap } from './caps.js'
import type { Classifier, Open } from './classifier.js'
import { createDevices } from './device.js'
import type { DropReason, Drops } from './drop.js'
import { type Evidence, isHit } from './hit.js'
import type { Unplaced } from './late.js'
import { memo } from './memo.js'
import type { Observation } from './observation.js'
import { overhear, personRow, refusal } from './person.js'
import type { Places } from './place/places.js'
import type { Rows } from './row.js'
import type { Salts } from './salt.js'
import { see } from './seen.js'
import type { Sessions } from './session.js'
import type { SiteOf } from './site.js'
import { createSuspicion } from './suspect.js'

export interface ClassifierDeps {
  catalog: Catalog
  places: Places
  /** Asked for each observation, so that sites may change while it runs. */
  siteOf: SiteOf
  salts: Salts
  sessions: Sessions
  verifier: Verifier
  judges: Judges
  /** Monotonic milliseconds. Given, a flood of new user agents may leave devices unknown; an import gives none. */
  clock?: () => number
  /** Told of faults, at most once a batch and never with an address. */
  log: (message: string, error: unknown) => void
}

interface Made {
  rows: Rows
  open: Open[]
  unplaced: Unplaced[]
}

/** As many user agents are remembered as `performance.md` 2 found worth it. */
const REMEMBERED = 8192

/**
 * The write path: observation, site, agent or person, row. Rows come out in the order of their timestamps, since
 * responses end in another order than requests begin, and the first hit of a session decides for all.
 */
export function createClassifier(deps: ClassifierDeps): Classifier {
  const identify = createIdentify(deps.catalog)
  const who = memo(REMEMBERED, (userAgent) => ({ agent: identify(userAgent) }))
  const agentDeps = { ...deps, catalog_version: deps.catalog.version }
  const device = createDevices({ limit: REMEMBERED, ...(deps.clock && { clock: deps.clock }) })
  const suspicion = createSuspicion({ limit: REMEMBERED })
  const personDeps = { ...deps, device, suspicion }

  /** Who signed, whatever the user agent says; then who the user agent says it is. */
  const identified = (observation: Observation, at: number): Identified | undefined => {
    const signer = deps.verifier.signer(observation, at)
    return signer === undefined ? who(cap(observation.user_agent, CAPS.user_agent)).agent : { agent: signer }
  }

  /** Adds the row of one observation, or says why there is none. */
  const step = (observation: Evidence, at: number, made: Made): DropReason | undefined => {
    if (isHit(observation)) return 'fault'
    const { rows, open, unplaced } = made
    const site = deps.siteOf(observation.hostname.toLowerCase())
    if (site === undefined) return 'unknown_host'
    const found = identified(observation, at)
    if (found !== undefined) {
      const seen = see(observation, site, at)
      const { now, later } = deps.verifier.check(found.agent, observation, at)
      const row = agentRow(seen, found, now, agentDeps)
      rows.agent_events.push(row)
      if (later !== undefined) open.push({ row, later })
      return undefined
    }
    // Most of what a browser asks for is no page: it is refused before anything is computed for it.
    const reason = refusal(observation, site)
    if (reason === undefined) rows.events.push(personRow(see(observation, site, at), unplaced, personDeps))
    else overhear(observation, site, at, personDeps)
    return reason
  }

  return {
    classify(batch) {
      const made: Made = { rows: { events: [], agent_events: [] }, open: [], unplaced: [] }
      const drops: Drops = {}
      let faults = 0
      let fault: unknown
      for (const { observation, at } of inOrder(batch)) {
        let reason: DropReason | undefined
        try {
          reason = step(observation, at, made)
        } catch (error) {
          reason = 'fault'
          faults++
          fault = error
        }
        if (reason !== undefined) drops[reason] = (drops[reason] ?? 0) + 1
      }
      if (faults > 0) report(deps.log, faults, fault)
      return { ...made, drops }
    },
  }
}

function inOrder(batch: readonly Evidence[]): { observation: Evidence; at: number }[] {
  const timed = batch.map((observation) => ({ observation, at: Date.parse(observation?.timestamp) }))
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
