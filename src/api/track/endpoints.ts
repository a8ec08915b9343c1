import { setImmediate as turn } from 'node:timers/promises'
import { truncate } from '../../base/text-limits.js'
import type { Hit } from '../../capture/hit.js'
import { OBSERVED_HEADERS } from '../../capture/observation.js'
import { type Payload, parseJson, readPayload, readQueryPayload } from '../../capture/payload.js'
import type { SiteSettings } from '../../capture/site.js'
import type { DropReason, IngestEndpoint } from '../../storage/drops.js'
import { createByteBudget } from '../byte-budget.js'
import type { RateLimit } from '../rate-limit.js'
import { type BodyLimits, MAX_PAYLOAD_BYTES, ONE_PAYLOAD, type TrackBody } from './body-collector.js'
import {
  ACCEPTED,
  BUSY,
  PIXEL,
  REFUSED,
  type Refusal,
  TOO_LARGE,
  type TrackResponse,
  withRefusals,
} from './responses.js'
import { createSiteDirectory, type SiteDirectory, siteDropReason } from './site-directory.js'
import { splitPayloads } from './split-payloads.js'

/** The sender of a track request. */
export interface TrackSender {
  ip: string
  /** The hostname that the request was sent to, in lower case, without port. */
  host: string
  /** Returns a header's value by its lower-case name; several are joined by commas. */
  header(name: string): string | undefined
  /** The parts of the request that an HTTP signature may cover; called only if there is a signature. */
  signed(): Omit<NonNullable<Hit['signed']>, 'at'> | undefined
}

/** A request to one of the three endpoints: with a body, or with a query string. */
export type TrackRequest = { endpoint: 'track' | 'batch'; body: TrackBody } | { endpoint: 'pixel'; query: string }

const MAX_BATCH_PAYLOADS = 200
/** As many payloads as a batch may have, each as large as it may be, and what is between them. */
const MAX_BATCH_BYTES = (MAX_BATCH_PAYLOADS + 1) * MAX_PAYLOAD_BYTES
/** Bytes of batches over 64 KB that may be in memory together, and those of one address: a little more than one batch. */
const BATCH_BUDGET = { total: 3 * MAX_BATCH_BYTES, each: MAX_BATCH_BYTES + MAX_PAYLOAD_BYTES }
/** Other requests get their turn after this many characters of a batch: some 2 ms of work. */
const CHARS_PER_TURN = 256 * 1024
/** Payloads after the 200th that are counted as drops; a body could have millions. */
const MAX_COUNTED_EXCESS = 1_000
/** The reasons that a response names: they are about the payload alone, and tell nothing about the site or the visitor. */
const NAMED_REASONS: readonly DropReason[] = ['malformed', 'too_large', 'over_batch', 'unknown_site', 'foreign_host']
/** Rows keep no more of a header, and each hit of a batch carries all headers. */
const MAX_HEADER_CHARS = 1_024
/** Bounds host and target of a signed request together, as for observations. */
const MAX_TARGET_CHARS = 8_192

export type TrackEndpoints = ReturnType<typeof createTrackEndpoints>

interface TrackDeps {
  sites(): Promise<readonly SiteSettings[]>
  record(hit: Hit): void
  /** Counts dropped hits; `site` is undefined if the payload names no existing site. */
  drop(site: number | undefined, endpoint: IngestEndpoint, reason: DropReason, count?: number): void
  /** Counts a hostname that the site does not list. Absent where a collector decides. */
  refuse?(site: number, hostname: string): void
  limit: RateLimit
  /** Milliseconds since 1970. */
  now(): number
  log(error: unknown): void
}

/** The three endpoints for browsers: each payload becomes a hit, or is dropped and counted by reason. */
export function createTrackEndpoints(deps: TrackDeps) {
  const directory = createSiteDirectory(deps.sites)
  const budget = createByteBudget(BATCH_BUDGET)
  const drop = (site: number | undefined, reason: DropReason) => deps.drop(site, 'track', reason, 1)

  const respond = async (request: TrackRequest, sender: TrackSender, sites: SiteDirectory): Promise<TrackResponse> => {
    if (request.endpoint === 'pixel') {
      const intake = createIntake(deps, sender, sites)
      intake.takeQuery(request.query)
      return PIXEL
    }
    const { body, endpoint } = request
    if (body === 'too_large' || body === 'busy') {
      drop(undefined, body === 'busy' ? 'queue_full' : body)
      return body === 'busy' ? BUSY : TOO_LARGE
    }
    if (endpoint === 'batch' && body !== 'encoded')
      return takeBatch(body, (payloads) => createIntake(deps, sender, sites, payloads))
    const intake = createIntake(deps, sender, sites)
    intake.take(body === 'encoded' ? undefined : parseJson(decodeUtf8(body)))
    return intake.response()
  }

  return {
    /** The limits for a body from an address. Only a batch over 64 KB takes from the budget. */
    bodyLimits: (endpoint: 'track' | 'batch', ip: string): BodyLimits =>
      endpoint === 'track'
        ? ONE_PAYLOAD
        : {
            maxBytes: MAX_BATCH_BYTES,
            reserve: (bytes) => budget.reserve(bytes, ip),
            release: (bytes) => budget.release(bytes, ip),
          },
    /** Never rejects: an internal error is logged and counted as a drop, and the response is the usual one. */
    async take(request: TrackRequest, sender: TrackSender): Promise<TrackResponse> {
      try {
        return await respond(request, sender, await directory())
      } catch (error) {
        drop(undefined, 'fault')
        deps.log(error)
        return request.endpoint === 'pixel' ? PIXEL : ACCEPTED
      }
    },
  }
}

/** The existing site that a payload names, even if the payload is malformed: its owner sees the drop. */
function namedSite(value: unknown, sites: SiteDirectory): number | undefined {
  const site = typeof value === 'object' && value !== null && 's' in value ? value.s : undefined
  return typeof site === 'number' ? sites.get(site)?.id : undefined
}

/** Creates the state of one request: it records or drops its payloads one by one, and knows the response to all. */
function createIntake(deps: TrackDeps, sender: TrackSender, sites: SiteDirectory, payloads = 1) {
  const drop = (site: number | undefined, reason: DropReason) => deps.drop(site, 'track', reason, 1)
  const refusals: Refusal[] = []
  const arrived = deps.now()
  const last = Math.min(payloads, MAX_BATCH_PAYLOADS) - 1
  let count = 0
  let isForeign = false
  let accepted = false
  let fields: RequestFields | undefined
  const refuse = (site: number | undefined, reason: DropReason) => {
    drop(site, reason)
    if (refusals.length < MAX_BATCH_PAYLOADS && NAMED_REASONS.includes(reason)) refusals.push({ index: count, reason })
  }
  const add = (value: unknown, payload: Payload | undefined) => {
    const site = payload && sites.get(payload.site)
    if (payload === undefined) refuse(namedSite(value, sites), 'malformed')
    else if (site === undefined || !sites.owns(site, payload.hostname, sender.host)) {
      if (site !== undefined) deps.refuse?.(site.id, payload.hostname)
      refuse(site?.id, site === undefined ? 'unknown_site' : 'foreign_host')
      isForeign = true
    } else {
      accepted = true
      fields ??= requestFields(sender, arrived)
      // A millisecond apart, because the order of a batch is that of what happened.
      const timestamp = new Date(arrived - (last - count)).toISOString()
      const reason = siteDropReason(site, payload, fields.headers, sender.header('cookie'))
      if (reason !== undefined) drop(site.id, reason)
      else if (!deps.limit.take(site.id, sender.ip)) drop(site.id, 'rate_limited')
      else deps.record(Object.assign(payload, fields, { timestamp }))
    }
  }
  return {
    /** Takes the next payload as parsed JSON; `tooLarge` says that its text was over the limit. */
    take(value: unknown, tooLarge = false) {
      if (count >= MAX_BATCH_PAYLOADS) refuse(namedSite(value, sites), 'over_batch')
      else if (tooLarge) refuse(undefined, 'too_large')
      else add(value, readPayload(value))
      count++
    },
    takeQuery: (query: string) => add(query, readQueryPayload(query)),
    /** 403 if a payload was for an unknown site or foreign hostname, and none was accepted. */
    response: () => (accepted || !isForeign ? ACCEPTED : REFUSED),
    refusals,
  }
}

async function takeBatch(
  body: Buffer,
  intakeOf: (payloads: number) => ReturnType<typeof createIntake>,
): Promise<TrackResponse> {
  const text = decodeUtf8(body)
  const value = body.length > MAX_PAYLOAD_BYTES ? undefined : parseJson(text)
  const pieces: readonly unknown[] = value === undefined ? await splitText(text) : payloadList(value)
  const intake = intakeOf(pieces.length)
  let chars = 0
  for (const [i, piece] of pieces.entries()) {
    if (value !== undefined) intake.take(piece)
    else {
      const read = i < MAX_BATCH_PAYLOADS ? parsePiece(piece) : undefined
      intake.take(read, read === TOO_LARGE_PIECE)
      chars += typeof piece === 'string' ? piece.length : 0
      if (chars < CHARS_PER_TURN) continue
      chars = 0
      await turn()
    }
  }
  return withRefusals(intake.response(), intake.refusals)
}

/** Splits a batch that is too large to be parsed at once, or that is not JSON as a whole; other requests get their turn. */
async function splitText(text: string): Promise<(string | undefined)[]> {
  const pieces: (string | undefined)[] = []
  let chars = 0
  for (const piece of splitPayloads(text)) {
    if (pieces.length === MAX_BATCH_PAYLOADS + MAX_COUNTED_EXCESS) break
    pieces.push(piece)
    chars += piece?.length ?? 0
    if (chars < CHARS_PER_TURN) continue
    chars = 0
    await turn()
  }
  return pieces
}

const TOO_LARGE_PIECE = Symbol('too large')

/** Parses one payload of a batch; undefined if it is not JSON. A character takes at most three bytes. */
function parsePiece(text: unknown): unknown {
  if (typeof text !== 'string') return undefined
  const isSmall = text.length * 3 <= MAX_PAYLOAD_BYTES || Buffer.byteLength(text) <= MAX_PAYLOAD_BYTES
  return isSmall ? parseJson(text) : TOO_LARGE_PIECE
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
    fields.signed = { ...covered, at: fields.timestamp }
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
