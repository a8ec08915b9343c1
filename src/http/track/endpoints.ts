import type { DropReason, IngestEndpoint } from '../../capture/drops.js'
import type { Hit } from '../../capture/hit.js'
import { OBSERVED_HEADERS } from '../../capture/observation.js'
import { type Payload, parseJson, readPayload, readQueryPayload } from '../../capture/payload.js'
import type { Site } from '../../capture/site.js'
import { truncate } from '../../capture/text-limits.js'
import type { RateLimit } from '../rate-limit.js'
import { ACCEPTED, PIXEL, REFUSED, TOO_LARGE, type TrackResponse } from './responses.js'
import { createSiteDirectory, type SiteDirectory, siteDropReason } from './site-directory.js'

/** Whose request it is. */
export interface TrackSender {
  ip: string
  /** The hostname it was sent to, lower case, without the port. */
  host: string
  /** A header's value by its lower-case name, several joined by commas. */
  header(name: string): string | undefined
  /** What a signature may cover, asked where there is one. */
  signed(): Hit['signed']
}

/** What came in by one of the three: a body in UTF-8, why there is none, or a query string. */
export type TrackRequest =
  | { door: 'track' | 'batch'; body: Buffer | 'too_large' | 'encoded' }
  | { door: 'pixel'; query: string }

export interface TrackEndpoints {
  /** Never rejects: what is our own fault is dropped, counted and logged, and answered as everything is. */
  take(delivery: TrackRequest, from: TrackSender): Promise<TrackResponse>
}

/** Payloads of a batch that are taken (spec 8). */
const MAX_BATCH_PAYLOADS = 200
/** No row is made of more of one header, and each hit of a batch carries them all. */
const MAX_HEADER_CHARS = 1_024
/** Of a host and a target together, as of an observation's. */
const MAX_TARGET_CHARS = 8_192

/** The browsers' three doors (spec 4.7, 5.6 rule 1): from payload to hit, or to a drop with its reason. */
export function createTrackEndpoints(deps: {
  sites(): Promise<readonly Site[]>
  record(hit: Hit): void
  /** Counts what became no hit; `site` is absent where it is for none. */
  drop(site: number | undefined, door: IngestEndpoint, reason: DropReason, count?: number): void
  limit: RateLimit
  /** Milliseconds since 1970. */
  now(): number
  log(error: unknown): void
}): TrackEndpoints {
  const { record, limit, now, log } = deps
  const known = createSiteDirectory(deps.sites)
  const drop = (site: number | undefined, reason: DropReason, count = 1) => deps.drop(site, 'track', reason, count)

  /** The site that a payload names, where there is one: its owner is told what became of it. */
  const named = (value: unknown, sites: SiteDirectory): number | undefined => {
    const site = typeof value === 'object' && value !== null && 's' in value ? value.s : undefined
    return typeof site === 'number' ? sites.get(site)?.id : undefined
  }

  /** Takes what is a payload; whether one was for its site or none was for another, which is all that a sender is told. */
  const judge = <V>(
    values: readonly V[],
    read: (value: V) => Payload | undefined,
    from: TrackSender,
    sites: SiteDirectory,
  ) => {
    let refused = false
    let accepted = false
    let request: RequestFields | undefined
    for (const value of values) {
      const payload = read(value)
      const site = payload && sites.get(payload.site)
      if (payload === undefined) drop(named(value, sites), 'malformed')
      else if (site === undefined || !sites.owns(site, payload.hostname, from.host)) {
        drop(site?.id, site === undefined ? 'unknown_site' : 'foreign_host')
        refused = true
      } else {
        accepted = true
        request ??= requestFields(from, now())
        const reason = siteDropReason(site, payload, request.headers, from.header('cookie'))
        if (reason !== undefined) drop(site.id, reason)
        else if (!limit.take(site.id, from.ip)) drop(site.id, 'rate_limited')
        else record(Object.assign(payload, request))
      }
    }
    return accepted || !refused
  }

  const answer = (delivery: TrackRequest, from: TrackSender, sites: SiteDirectory): TrackResponse => {
    if (delivery.door === 'pixel') {
      judge([delivery.query], readQueryPayload, from, sites)
      return PIXEL
    }
    if (delivery.body === 'too_large') {
      drop(undefined, 'too_large')
      return TOO_LARGE
    }
    const value = delivery.body === 'encoded' ? undefined : parseJson(decodeUtf8(delivery.body))
    const values = delivery.door === 'batch' ? payloadList(value) : [value]
    for (const over of values.slice(MAX_BATCH_PAYLOADS)) drop(named(over, sites), 'over_batch')
    return judge(values.slice(0, MAX_BATCH_PAYLOADS), readPayload, from, sites) ? ACCEPTED : REFUSED
  }

  return {
    async take(delivery, from) {
      try {
        return answer(delivery, from, await known())
      } catch (error) {
        drop(undefined, 'fault')
        log(error)
        return delivery.door === 'pixel' ? PIXEL : ACCEPTED
      }
    },
  }
}

/** What each hit has of its request. */
type RequestFields = Pick<Hit, 'timestamp' | 'ip' | 'user_agent' | 'headers' | 'signed'>

export function requestFields({ ip, header, signed }: TrackSender, at: number): RequestFields {
  const made: RequestFields = {
    timestamp: new Date(at).toISOString(),
    ip,
    user_agent: truncate(header('user-agent') ?? '', MAX_HEADER_CHARS),
  }
  let headers: Record<string, string> | undefined
  for (const name of OBSERVED_HEADERS) {
    const value = header(name)
    if (value === undefined) continue
    headers ??= {}
    headers[name] = truncate(value, MAX_HEADER_CHARS)
  }
  if (headers !== undefined) made.headers = headers
  if (headers?.['signature-input'] === undefined) return made
  const covered = signed()
  // What was cut would be a wrong signature; without it nobody can tell.
  if (covered !== undefined && covered.authority.length + covered.target.length <= MAX_TARGET_CHARS)
    made.signed = covered
  return made
}

/** Without the mark that some put before UTF-8. */
const decodeUtf8 = (body: Buffer): string => body.toString('utf8').replace(/^\ufeff/, '')

/** A batch is an array, or an object that holds one (spec 4.7); anything else is one payload that is none. */
function payloadList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  const events = typeof value === 'object' && value !== null && 'events' in value ? value.events : undefined
  return Array.isArray(events) ? events : [undefined]
}
