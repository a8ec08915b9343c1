import { MINUTE_MS } from '../../base/time-units.js'
import type { Observation } from '../../capture/observation.js'
import type { AgentEventRow } from '../../storage/rows.js'
import { type AssetName, readAssetName } from './asset-name.js'

/** Responses of one site in one minute. */
interface ActivityMinute {
  /** Start of the minute, milliseconds since 1970. */
  readonly at: number
  responses: number
  /** Responses with a status of 500 or more, by status. */
  readonly statuses: Record<string, number>
}

/** Responses with one script or style whose name changes with its content. */
interface AssetActivity extends AssetName {
  readonly pathname: string
  /** The first of them, epoch ms. */
  readonly at: number
  readonly count: number
}

/** Responses and agents of one site since the last call of `take`; most responses become no row. */
export interface SiteActivity {
  readonly site: number
  readonly minutes: readonly ActivityMinute[]
  /** Ids of agents whose fetches were stored, without claims that are spoofed or not yet decided. */
  readonly agents: readonly string[]
  readonly assets: readonly AssetActivity[]
}

/** Older responses, which other servers deliver late, say nothing about the present. */
const MAX_AGE_MS = 10 * MINUTE_MS
/** Bounds memory if no one takes. */
const MAX_AGENTS = 1_000
/** Bounds memory whatever names a client thinks up; those beyond it are counted after the next `take`. */
const MAX_ASSETS = 200
const SCRIPT_OR_STYLE = /^(?:text|application)\/(?:javascript|css)\b/

export type SiteActivityCounter = ReturnType<typeof createSiteActivityCounter>

interface Counts {
  readonly minutes: Map<number, ActivityMinute>
  readonly agents: Set<string>
  /** By path. */
  readonly assets: Map<string, { at: number; count: number }>
}

/** Counts a script or style with a hash in its name. An origin that has no such file responds with another status or type. */
function addAsset(assets: Counts['assets'], pathname: string, at: number): void {
  const asset = assets.get(pathname)
  if (asset !== undefined) {
    asset.count += 1
    if (at < asset.at) asset.at = at
  } else if (assets.size < MAX_ASSETS && readAssetName(pathname) !== undefined)
    // A copy, because a part of a longer text keeps all of that in memory.
    assets.set(Buffer.from(pathname).toString(), { at, count: 1 })
}

/** Counts responses and agents of each site, from which automatic notes are made. It costs a few additions per response. */
export function createSiteActivityCounter(now: () => number) {
  let sites = new Map<number, Counts>()
  const activityOf = (site: number) => {
    let activity = sites.get(site)
    if (activity === undefined) {
      activity = { minutes: new Map(), agents: new Set(), assets: new Map() }
      sites.set(site, activity)
    }
    return activity
  }
  return {
    /** Counts a response whose request arrived at `at`, epoch ms. */
    addResponse(
      site: number,
      { status, pathname, content_type }: Pick<Observation, 'status' | 'pathname' | 'content_type'>,
      at: number,
    ): void {
      const age = now() - at
      if (!(age < MAX_AGE_MS && age > -MAX_AGE_MS)) return
      const { minutes, assets } = activityOf(site)
      if (status === 200 && SCRIPT_OR_STYLE.test(content_type)) addAsset(assets, pathname, at)
      const start = Math.floor(at / MINUTE_MS) * MINUTE_MS
      let minute = minutes.get(start)
      if (minute === undefined) {
        if (minutes.size * MINUTE_MS > 3 * MAX_AGE_MS) minutes.clear()
        minute = { at: start, responses: 0, statuses: {} }
        minutes.set(start, minute)
      }
      minute.responses += 1
      if (status >= 500 && status < 600) minute.statuses[status] = (minute.statuses[status] ?? 0) + 1
    },
    /** Notes the agents of rows that were stored, or that have got their verdict since. */
    addAgents(rows: readonly Pick<AgentEventRow, 'site_id' | 'agent_id' | 'verification'>[]): void {
      for (const { site_id, agent_id, verification } of rows) {
        // A client that claims names in vain must not have them looked up in all rows of the site, every ten seconds.
        if (verification === 'spoofed' || verification === 'indeterminate') continue
        const { agents } = activityOf(site_id)
        if (agents.size < MAX_AGENTS) agents.add(agent_id)
      }
    },
    /** Returns the activity since the last call, and forgets it. */
    take(): SiteActivity[] {
      const taken = [...sites].map(([site, { minutes, agents, assets }]) => ({
        site,
        minutes: [...minutes.values()],
        agents: [...agents],
        assets: [...assets].flatMap(([pathname, counted]) => {
          const name = readAssetName(pathname)
          return name === undefined ? [] : [{ pathname, ...name, ...counted }]
        }),
      }))
      sites = new Map()
      return taken
    },
  }
}
