import type { Catalog } from '../../agents/catalog.js'
import { createIdentify } from '../../agents/identify.js'
import { memoize } from '../../base/cache.js'
import { MAX_CHARACTERS, truncate } from '../../base/text-limits.js'
import { OBSERVED_HEADERS, OBSERVED_RESPONSE_HEADERS, type Observation } from '../../capture/observation.js'
import { createResponseReader, isNavigation, isPrefetch } from '../../capture/response-type.js'
import type { RowList, UnshippedReason } from './row-list.js'

/** A row to ship: the array it belongs to, and its JSON. */
export interface OutgoingRow {
  readonly list: RowList
  readonly json: string
}

/** A browser's hit as the tracker endpoint accepted it: its payload and the facts of its request. */
export interface RawHit {
  /** Time of arrival, ISO-8601 UTC with milliseconds. */
  timestamp: string
  /** The client's address, which is never stored. */
  ip: string
  user_agent: string
  headers?: Observation['headers']
  payload: unknown
}

/**
 * Counts the rows of a shipper. `add` gives the row that `make` returns to `take`, or counts the reason that it returns;
 * it never throws, because the caller of an adapter may pass an invalid observation.
 */
export function createRowCounts<Loss extends string>() {
  const shipped: Record<RowList, number> = { agent_events: 0, events: 0, hits: 0 }
  const losses: Partial<Record<Loss | UnshippedReason, number>> = {}
  const lose = (why: Loss | UnshippedReason, rows = 1): void => {
    losses[why] = (losses[why] ?? 0) + rows
  }
  return {
    shipped,
    losses,
    lose,
    add(make: () => OutgoingRow | UnshippedReason | Loss, take: (row: OutgoingRow) => void): void {
      try {
        const row = make()
        if (typeof row === 'string') lose(row)
        else take(row)
      } catch {
        lose('fault')
      }
    },
  }
}

/** The bound that `src/capture/packed-batch.ts` puts on a text. */
const MAX_TEXT_CHARACTERS = 8_192
/** A larger row would make the collector refuse the whole delivery. */
const MAX_ROW_CHARACTERS = 1 << 20
const MAX_CACHED_USER_AGENTS = 8192

/**
 * Returns functions that turn an observation or hit into a row to ship, or into the reason why it is not shipped. The checks
 * are those of the write path that need no settings of the site; the collector applies excluded paths, Sec-GPC and DNT.
 * Throws if a field has the wrong type.
 */
export function createRowBuilder(catalog: Pick<Catalog, 'agents'>): {
  of(observation: Observation): OutgoingRow | UnshippedReason
  ofHit(hit: RawHit): OutgoingRow | UnshippedReason
} {
  const identify = createIdentify(catalog)
  const who = memoize(MAX_CACHED_USER_AGENTS, (userAgent) => ({ agent: identify(userAgent) !== undefined }))
  // A signed request may come from an agent whatever its user agent says; only the collector can check the signature.
  const isAgent = ({ user_agent, headers }: Observation) =>
    headers?.['signature-input'] !== undefined || who(truncate(user_agent, MAX_CHARACTERS.user_agent)).agent
  const responses = createResponseReader()
  return {
    of(observation) {
      // Asked of an agent's response too, because the answer about a 304 is that about the responses before it.
      const isPage = responses.isPage(observation)
      if (isAgent(observation)) return createRow('agent_events', agentFields(observation))
      if (!isPage || !isNavigation(observation)) return 'not_a_page'
      if (isPrefetch(observation)) return 'prefetch'
      if (observation.opted_out) return 'opted_out'
      return createRow('events', personFields(observation))
    },
    ofHit({ timestamp, ip, user_agent, headers, payload }) {
      const kept = pickHeaders(headers, OBSERVED_HEADERS)
      return createRow('hits', {
        timestamp: toInstant(timestamp),
        ip: toText(ip),
        user_agent: toText(user_agent),
        ...(kept && { headers: kept }),
        payload,
      })
    },
  }
}

function createRow(list: RowList, fields: object): OutgoingRow | UnshippedReason {
  const json = JSON.stringify(fields)
  return json.length > MAX_ROW_CHARACTERS ? 'fault' : { list, json }
}

/** The fields of `agent_events` as the interface has them, then those that only readership itself sends. */
function agentFields(seen: Observation) {
  const { signed, decided } = seen
  const response = pickHeaders(seen.response, OBSERVED_RESPONSE_HEADERS)
  return {
    ...sharedFields(seen),
    method: toText(seen.method),
    bytes: toCount(seen.bytes),
    content_type: toText(seen.content_type),
    conditional: seen.conditional === 1 ? 1 : 0,
    ...(response && { response }),
    ...(decided && { decided }),
    // A truncated value would make the signature wrong; without it the claim stays indeterminate.
    ...(signed && signed.authority.length + signed.target.length <= MAX_TEXT_CHARACTERS && { signed }),
  }
}

/** The fields of `events`, with `accept-language` and the client hints unchanged in `headers`. */
const personFields = (seen: Observation) => sharedFields(seen)

function sharedFields(seen: Observation) {
  const headers = pickHeaders(seen.headers, OBSERVED_HEADERS)
  return {
    timestamp: toInstant(seen.timestamp),
    user_agent: toText(seen.user_agent),
    hostname: toText(seen.hostname),
    pathname: toText(seen.pathname),
    status: toCount(seen.status),
    duration_ms: toCount(seen.duration_ms),
    ip: toText(seen.ip),
    ...(seen.query !== undefined && { query: toText(seen.query) }),
    ...(seen.referrer !== undefined && { referrer: toText(seen.referrer) }),
    ...(headers && { headers }),
  }
}

// A caller in JavaScript may pass anything, and the collector would refuse it.
function toText(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('a field of the observation is not a string')
  return truncate(value, MAX_TEXT_CHARACTERS)
}

function toCount(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new TypeError('a field of the observation is not a number')
  return Math.max(0, Math.round(value))
}

/** Returns an instant as ISO-8601 UTC with milliseconds; throws if the value is not an instant. */
const toInstant = (value: string): string =>
  value.length === 24 && value.endsWith('Z') && !Number.isNaN(Date.parse(value))
    ? value
    : new Date(toText(value)).toISOString()

function pickHeaders(given: Readonly<Record<string, string>> | undefined, names: readonly string[]) {
  if (given === undefined) return undefined
  const kept: Record<string, string> = {}
  let any = false
  for (const name of names) {
    const value = given[name]
    if (value === undefined) continue
    kept[name] = toText(value)
    any = true
  }
  return any ? kept : undefined
}
