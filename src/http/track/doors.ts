import { cap } from '../../capture/caps.js'
import type { Door, DropReason } from '../../capture/drop.js'
import type { Hit } from '../../capture/hit.js'
import { OBSERVED_HEADERS } from '../../capture/observation.js'
import { type Payload, parseJson, readPayload, readQuery } from '../../capture/payload.js'
import type { Site } from '../../capture/site.js'
import { type Directory, declined, directoryOf } from './accept.js'
import { ACCEPTED, type Answer, GIF, REFUSED, TOO_LARGE } from './answer.js'
import type { Limit } from './limit.js'

/** Whose request it is. */
export interface Sender {
  ip: string
  /** The hostname it was sent to, lower case, without the port. */
  host: string
  /** A header's value by its lower-case name, several joined by commas. */
  header(name: string): string | undefined
  /** What a signature may cover, asked where there is one. */
  signed(): Hit['signed']
}

/** What came in by one of the three: a body in UTF-8, why there is none, or a query string. */
export type Delivery =
  | { door: 'track' | 'batch'; body: Buffer | 'too_large' | 'encoded' }
  | { door: 'pixel'; query: string }

export interface Doors {
  /** Never rejects: what is our own fault is dropped, counted and logged, and answered as everything is. */
  take(delivery: Delivery, from: Sender): Promise<Answer>
}

/** Payloads of a batch that are taken (spec 8). */
const MOST = 200
/** No row is made of more of one header, and each hit of a batch carries them all. */
const HEADER = 1_024
/** Of a host and a target together, as of an observation's. */
const TARGET = 8_192

/** The browsers' three doors (spec 4.7, 5.6 rule 1): from payload to hit, or to a drop with its reason. */
export function createDoors(deps: {
  sites(): Promise<readonly Site[]>
  record(hit: Hit): void
  /** Counts what became no hit; `site` is absent where it is for none. */
  drop(site: number | undefined, door: Door, reason: DropReason, count?: number): void
  limit: Limit
  /** Milliseconds since 1970. */
  now(): number
  log(error: unknown): void
}): Doors {
  const { record, limit, now, log } = deps
  const known = directoryOf(deps.sites)
  const drop = (site: number | undefined, reason: DropReason, count = 1) => deps.drop(site, 'track', reason, count)

  /** The site that a payload names, where there is one: its owner is told what became of it. */
  const named = (value: unknown, sites: Directory): number | undefined => {
    const site = typeof value === 'object' && value !== null && 's' in value ? value.s : undefined
    return typeof site === 'number' ? sites.get(site)?.id : undefined
  }

  /** Takes what is a payload; whether one was for its site or none was for another, which is all that a sender is told. */
  const judge = <V>(values: readonly V[], read: (value: V) => Payload | undefined, from: Sender, sites: Directory) => {
    let refused = false
    let accepted = false
    let request: FromRequest | undefined
    for (const value of values) {
      const payload = read(value)
      const site = payload && sites.get(payload.site)
      if (payload === undefined) drop(named(value, sites), 'malformed')
      else if (site === undefined || !sites.owns(site, payload.hostname, from.host)) {
        drop(site?.id, site === undefined ? 'unknown_site' : 'foreign_host')
        refused = true
      } else {
        accepted = true
        request ??= fromRequest(from, now())
        const reason = declined(site, payload, request.headers, from.header('cookie'))
        if (reason !== undefined) drop(site.id, reason)
        else if (!limit.take(site.id, from.ip)) drop(site.id, 'rate_limited')
        else record(Object.assign(payload, request))
      }
    }
    return accepted || !refused
  }

  const answer = (delivery: Delivery, from: Sender, sites: Directory): Answer => {
    if (delivery.door === 'pixel') {
      judge([delivery.query], readQuery, from, sites)
      return GIF
    }
    if (delivery.body === 'too_large') {
      drop(undefined, 'too_large')
      return TOO_LARGE
    }
    const value = delivery.body === 'encoded' ? undefined : parseJson(textOf(delivery.body))
    const values = delivery.door === 'batch' ? listOf(value) : [value]
    for (const over of values.slice(MOST)) drop(named(over, sites), 'over_batch')
    return judge(values.slice(0, MOST), readPayload, from, sites) ? ACCEPTED : REFUSED
  }

  return {
    async take(delivery, from) {
      try {
        return answer(delivery, from, await known())
      } catch (error) {
        drop(undefined, 'fault')
        log(error)
        return delivery.door === 'pixel' ? GIF : ACCEPTED
      }
    },
  }
}

/** What each hit has of its request. */
type FromRequest = Pick<Hit, 'timestamp' | 'ip' | 'user_agent' | 'headers' | 'signed'>

export function fromRequest({ ip, header, signed }: Sender, at: number): FromRequest {
  const made: FromRequest = {
    timestamp: new Date(at).toISOString(),
    ip,
    user_agent: cap(header('user-agent') ?? '', HEADER),
  }
  let headers: Record<string, string> | undefined
  for (const name of OBSERVED_HEADERS) {
    const value = header(name)
    if (value === undefined) continue
    headers ??= {}
    headers[name] = cap(value, HEADER)
  }
  if (headers !== undefined) made.headers = headers
  if (headers?.['signature-input'] === undefined) return made
  const covered = signed()
  // What was cut would be a wrong signature; without it nobody can tell.
  if (covered !== undefined && covered.authority.length + covered.target.length <= TARGET) made.signed = covered
  return made
}

/** Without the mark that some put before UTF-8. */
const textOf = (body: Buffer): string => body.toString('utf8').replace(/^\ufeff/, '')

/** A batch is an array, or an object that holds one (spec 4.7); anything else is one payload that is none. */
function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  const events = typeof value === 'object' && value !== null && 'events' in value ? value.events : undefined
  return Array.isArray(events) ? events : [undefined]
}
