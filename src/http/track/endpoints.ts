import type { DropReason, IngestEndpoint } from '../../capture/drops.js'
import type { Hit } from '../../capture/hit.js'
import { OBSERVED_HEADERS } from '../../capture/observation.js'
import { type Payload, parseJson, readPayload, readQueryPayload } from '../../capture/payload.js'
import type { Site } from '../../capture/site.js'
import { truncate } from '../../capture/text-limits.js'
import type { RateLimit } from '../rate-limit.js'
import type { TrackBody } from './body-collector.js'
import { ACCEPTED, PIXEL, REFUSED, TOO_LARGE, type TrackResponse } from './responses.js'
import { createSiteDirectory, type SiteDirectory, siteDropReason } from './site-directory.js'

/** The sender of a track request. */
export interface TrackSender {
  ip: string
  /** The hostname that the request was sent to, in lower case, without port. */
  host: string
  /** Returns a header's value by its lower-case name; several are joined by commas. */
  header(name: string): string | undefined
  /** The parts of the request that an HTTP signature may cover; called only if there is a signature. */
  signed(): Hit['signed']
}

/** A request to one of the three endpoints: with a body, or with a query string. */
export type TrackRequest = { endpoint: 'track' | 'batch'; body: TrackBody } | { endpoint: 'pixel'; query: string }

const MAX_BATCH_PAYLOADS = 200
/** Rows keep no more of a header, and each hit of a batch carries all headers. */
const MAX_HEADER_CHARS = 1_024
/** Bounds host and target of a signed request together, as for observations. */
const MAX_TARGET_CHARS = 8_192

export type TrackEndpoints = ReturnType<typeof createTrackEndpoints>

/** The three endpoints for browsers: each payload becomes a hit, or is dropped and counted by reason. */
export function createTrackEndpoints(deps: {
  sites(): Promise<readonly Site[]>
  record(hit: Hit): void
  /** Counts dropped hits; `site` is undefined if the payload names no existing site. */
  drop(site: number | undefined, endpoint: IngestEndpoint, reason: DropReason, count?: number): void
  limit: RateLimit
  /** Milliseconds since 1970. */
  now(): number
  log(error: unknown): void
}) {
  const { record, limit, now, log } = deps
  const directory = createSiteDirectory(deps.sites)
  const drop = (site: number | undefined, reason: DropReason) => deps.drop(site, 'track', reason, 1)

  /** The existing site that a payload names, even if the payload is malformed: its owner sees the drop. */
  const namedSite = (value: unknown, sites: SiteDirectory): number | undefined => {
    const site = typeof value === 'object' && value !== null && 's' in value ? value.s : undefined
    return typeof site === 'number' ? sites.get(site)?.id : undefined
  }

  /** Records the payloads. Returns false if a payload was for an unknown site or foreign hostname, and none was accepted. */
  const recordAll = <V>(
    values: readonly V[],
    read: (value: V) => Payload | undefined,
    sender: TrackSender,
    sites: SiteDirectory,
  ): boolean => {
    let refused = false
    let accepted = false
    let fields: RequestFields | undefined
    const arrived = now()
    for (const [i, value] of values.entries()) {
      const payload = read(value)
      const site = payload && sites.get(payload.site)
      if (payload === undefined) drop(namedSite(value, sites), 'malformed')
      else if (site === undefined || !sites.owns(site, payload.hostname, sender.host)) {
        drop(site?.id, site === undefined ? 'unknown_site' : 'foreign_host')
        refused = true
      } else {
        accepted = true
        fields ??= requestFields(sender, arrived)
        // A millisecond apart, because the order of a batch is that of what happened.
        const timestamp = new Date(arrived - (values.length - 1 - i)).toISOString()
        const reason = siteDropReason(site, payload, fields.headers, sender.header('cookie'))
        if (reason !== undefined) drop(site.id, reason)
        else if (!limit.take(site.id, sender.ip)) drop(site.id, 'rate_limited')
        else record(Object.assign(payload, fields, { timestamp }))
      }
    }
    return accepted || !refused
  }

  const respond = (request: TrackRequest, sender: TrackSender, sites: SiteDirectory): TrackResponse => {
    if (request.endpoint === 'pixel') {
      recordAll([request.query], readQueryPayload, sender, sites)
      return PIXEL
    }
    if (request.body === 'too_large') {
      drop(undefined, 'too_large')
      return TOO_LARGE
    }
    const value = request.body === 'encoded' ? undefined : parseJson(decodeUtf8(request.body))
    const values = request.endpoint === 'batch' ? payloadList(value) : [value]
    for (const excess of values.slice(MAX_BATCH_PAYLOADS)) drop(namedSite(excess, sites), 'over_batch')
    return recordAll(values.slice(0, MAX_BATCH_PAYLOADS), readPayload, sender, sites) ? ACCEPTED : REFUSED
  }

  return {
    /** Never rejects: an internal error is logged and counted as a drop, and the response is the usual one. */
    async take(request: TrackRequest, sender: TrackSender): Promise<TrackResponse> {
      try {
        return respond(request, sender, await directory())
      } catch (error) {
        drop(undefined, 'fault')
        log(error)
        return request.endpoint === 'pixel' ? PIXEL : ACCEPTED
      }
    },
  }
}

/** The fields of a hit that come from its request. */
type RequestFields = Pick<Hit, 'timestamp' | 'ip' | 'user_agent' | 'headers' | 'signed'>

export function requestFields({ ip, header, signed }: TrackSender, at: number): RequestFields {
  const fields: RequestFields = {
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
  if (headers !== undefined) fields.headers = headers
  if (headers?.['signature-input'] === undefined) return fields
  const covered = signed()
  // A truncated target would make the signature look wrong; without it the signature is merely not checked.
  if (covered !== undefined && covered.authority.length + covered.target.length <= MAX_TARGET_CHARS)
    fields.signed = covered
  return fields
}

/** Decodes a body, without the byte order mark that some clients send. */
const decodeUtf8 = (body: Buffer): string => body.toString('utf8').replace(/^\ufeff/, '')

/** A batch is an array, or an object with an array in `events`; anything else counts as one malformed payload. */
function payloadList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  const events = typeof value === 'object' && value !== null && 'events' in value ? value.events : undefined
  return Array.isArray(events) ? events : [undefined]
}
