import type { Agent } from '../agents/catalog.js'
import type { Identified } from '../agents/identify.js'
import type { Request, Verifier } from '../agents/verdict.js'
import { createRecent } from '../cache.js'
import type { DropReason } from '../capture/drop.js'
import type { Hit } from '../capture/hit.js'
import type { Observation } from '../capture/observation.js'
import { askedPath } from '../capture/route.js'
import type { Site } from '../capture/site.js'
import type { Judges } from '../policy/judgement.js'
import type { AgentEventRow } from '../rows.js'
import { agentRow } from './agent.js'
import { type Browsing, SAME_VIEW, type Waiting } from './browsing.js'
import type { Made } from './made.js'
import type { Places } from './place/places.js'
import type { Salts } from './salt.js'
import { see } from './seen.js'

type Brought = Request & { user_agent: string }

/** The requests that brought hits. */
export interface Requests {
  of(hit: Hit): Brought
  /** Forgets those that brought nothing since it was called before: they have addresses. */
  age(): void
}

/** Signed requests that are remembered. */
const REMEMBERED = 256

/** All hits that one signed request brought have that request: each by itself would use its nonce again, as a replay does. */
export function createRequests(): Requests {
  const signed = createRecent<string, Brought>(REMEMBERED)
  return {
    of(hit) {
      const input = hit.headers?.['signature-input']
      if (input === undefined) return requestOf(hit)
      const { timestamp, ip, user_agent, headers } = hit
      const key = JSON.stringify([timestamp, ip, user_agent, input, headers?.signature, hit.signed])
      const request = signed.get(key) ?? requestOf(hit)
      signed.set(key, request)
      return request
    },
    age: signed.age,
  }
}

/** As far as its signature covers it. */
function requestOf(hit: Hit): Brought {
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
const nameOf = (row: AgentEventRow): string =>
  `${row.site_id}\n${row.agent_id}\n${row.agent_id === 'other' ? row.user_agent : ''}\n${row.hostname}\n${askedPath(row.pathname)}`

const waiting = (row: AgentEventRow): Waiting => ({
  at: row.timestamp.getTime(),
  visitor_id: row.ip_hash,
  pathname: row.pathname,
  session: undefined,
  taken: false,
})

/** Every response is a fetch, so only one that was asked for before the script ran is of the same view. */
function apart(fetch: number, script: number): number {
  const ms = script - fetch
  return ms >= 0 && ms < SAME_VIEW ? ms : Number.POSITIVE_INFINITY
}

/** Whether a fetch of a page by an agent is to be a row: not where the agent ran its script before it had ended. */
export function meetScript(row: AgentEventRow, { fetches, scripts }: Browsing, made: Made): boolean {
  const name = nameOf(row)
  const at = row.timestamp.getTime()
  const told = scripts.take([name], (script) => apart(at, script))
  if (told === undefined) {
    fetches.add(name, waiting(row))
    return true
  }
  // What the server says of it is more, where it can still be said.
  const { agent_events } = made.rows
  const mine = agent_events.findIndex((one) => one.timestamp.getTime() === told.at && nameOf(one) === name)
  if (mine >= 0) agent_events.splice(mine, 1)
  return mine >= 0
}

/**
 * Hits of agents, which are nothing of people: a pageview is a fetch, if none is known that it is part of (the page came
 * from the agent's own cache, or from a server of which nothing is recorded here).
 */
export function createScripts(deps: {
  places: Places
  salts: Salts
  judges: Judges
  verifier: Verifier
  catalog_version: string
  browsing: Browsing
}) {
  const { fetches, scripts } = deps.browsing
  return (
    hit: Hit,
    request: Request,
    found: Identified & { agent?: Agent },
    site: Site,
    at: number,
    made: Made,
  ): DropReason | undefined => {
    if (hit.kind !== 'pageview') return 'agent'
    const { now, later } = deps.verifier.check(found.agent, request, at)
    const row = agentRow(see(fetchOf(hit), site, at), found, now, deps)
    const name = nameOf(row)
    if (hit.engaged_ms === undefined && hit.scroll === undefined) {
      if (fetches.take([name], (fetch) => apart(fetch, at))) return 'same_view'
      scripts.add(name, waiting(row))
    }
    made.rows.agent_events.push(row)
    if (later !== undefined) made.open.push({ row, later })
    return undefined
  }
}

/** The fetch that a script stands for: of its response nothing is known but that it was a page. */
function fetchOf(hit: Hit): Observation {
  const { timestamp, user_agent, hostname, pathname, ip, query, referrer, headers } = hit
  return {
    ...{ timestamp, user_agent, method: 'GET', hostname, pathname, status: 200, bytes: 0, duration_ms: 0 },
    ...{ content_type: 'text/html', conditional: 0, ip },
    ...(query !== undefined && { query }),
    ...(referrer !== undefined && { referrer }),
    ...(headers && { headers }),
  }
}
