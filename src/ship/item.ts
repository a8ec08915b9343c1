import type { Catalog } from '../agents/catalog.js'
import { createIdentify } from '../agents/identify.js'
import { memoize } from '../cache.js'
import { OBSERVED_HEADERS, OBSERVED_RESPONSE_HEADERS, type Observation } from '../capture/observation.js'
import { isNavigation, isPage, isPrefetch } from '../capture/page-response.js'
import { MAX_CHARACTERS, truncate } from '../capture/text-limits.js'

/** The arrays of an edge delivery (spec 2.5; `hits` are what a sidecar's own track door took). */
export type List = 'agent_events' | 'events' | 'hits'

/** One row on its way: which array it goes into, and its JSON. */
export interface Item {
  readonly list: List
  readonly json: string
}

/** A browser's hit as a track door took it: its payload (spec 2.4), and what the request adds. */
export interface RawHit {
  /** When it came in: ISO-8601 UTC with milliseconds. */
  timestamp: string
  /** Transport only. */
  ip: string
  user_agent: string
  headers?: Observation['headers']
  payload: unknown
}

/** Why something is not shipped; the same words as in the store's drops, as the same things make no row there (contract 3). */
export type Unshipped = 'not_a_page' | 'prefetch' | 'opted_out' | 'fault'

/** As much of one text as is read of it where it is stored (src/capture/packed-batch.ts). */
const TEXT = 8_192
/** A larger row would be refused with every row beside it. */
const LARGEST = 1 << 20
const REMEMBERED = 8192

/**
 * What of an observation goes to the collector, or why nothing does. The gates are those of the write path, as far as they
 * need no settings of the site: excluded paths and browsers' wishes (Sec-GPC, DNT) are the collector's to apply. Throws for what is no observation.
 */
export function createItems(catalog: Pick<Catalog, 'agents'>): {
  of(observation: Observation): Item | Unshipped
  ofHit(hit: RawHit): Item | Unshipped
} {
  const identify = createIdentify(catalog)
  const who = memoize(REMEMBERED, (userAgent) => ({ agent: identify(userAgent) !== undefined }))
  // Whoever signs may be an agent whatever its user agent says, and only the collector holds the keys to tell.
  const isAgent = ({ user_agent, headers }: Observation) =>
    headers?.['signature-input'] !== undefined || who(truncate(user_agent, MAX_CHARACTERS.user_agent)).agent
  return {
    of(observation) {
      if (isAgent(observation)) return item('agent_events', agentFields(observation))
      if (!isPage(observation) || !isNavigation(observation)) return 'not_a_page'
      if (isPrefetch(observation)) return 'prefetch'
      if (observation.opted_out) return 'opted_out'
      return item('events', personFields(observation))
    },
    ofHit({ timestamp, ip, user_agent, headers, payload }) {
      const kept = chosen(headers, OBSERVED_HEADERS)
      return item('hits', {
        timestamp: instant(timestamp),
        ip: text(ip),
        user_agent: text(user_agent),
        ...(kept && { headers: kept }),
        payload,
      })
    },
  }
}

function item(list: List, fields: object): Item | Unshipped {
  const json = JSON.stringify(fields)
  return json.length > LARGEST ? 'fault' : { list, json }
}

/** Exactly what spec 2.5 has, then what only our own deliveries carry. */
function agentFields(seen: Observation) {
  const { signed } = seen
  const response = chosen(seen.response, OBSERVED_RESPONSE_HEADERS)
  return {
    ...common(seen),
    method: text(seen.method),
    bytes: whole(seen.bytes),
    content_type: text(seen.content_type),
    conditional: seen.conditional === 1 ? 1 : 0,
    ...(response && { response }),
    // What was cut would be a wrong signature; without it nobody can tell.
    ...(signed && signed.authority.length + signed.target.length <= TEXT && { signed }),
  }
}

/** What contract 6 has, with `accept-language` and the client hints in `headers`, as they came. */
const personFields = (seen: Observation) => common(seen)

function common(seen: Observation) {
  const headers = chosen(seen.headers, OBSERVED_HEADERS)
  return {
    timestamp: instant(seen.timestamp),
    user_agent: text(seen.user_agent),
    hostname: text(seen.hostname),
    pathname: text(seen.pathname),
    status: whole(seen.status),
    duration_ms: whole(seen.duration_ms),
    ip: text(seen.ip),
    ...(seen.query !== undefined && { query: text(seen.query) }),
    ...(seen.referrer !== undefined && { referrer: text(seen.referrer) }),
    ...(headers && { headers }),
  }
}

// A caller in JavaScript may hand over anything: what the collector would refuse must not get as far.
function text(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('a field of the observation is no text')
  return truncate(value, TEXT)
}

function whole(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new TypeError('a field of the observation is no number')
  return Math.max(0, Math.round(value))
}

/** As the interface writes it, or made so; throws for what is no instant. */
const instant = (value: string): string =>
  value.length === 24 && value.endsWith('Z') && !Number.isNaN(Date.parse(value))
    ? value
    : new Date(text(value)).toISOString()

function chosen(given: Readonly<Record<string, string>> | undefined, names: readonly string[]) {
  if (given === undefined) return undefined
  const kept: Record<string, string> = {}
  let any = false
  for (const name of names) {
    const value = given[name]
    if (value === undefined) continue
    kept[name] = text(value)
    any = true
  }
  return any ? kept : undefined
}
