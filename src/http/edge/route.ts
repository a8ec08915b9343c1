import { z } from 'zod'
import type { DropReason } from '../../capture/drops.js'
import { createPacker, type PackedBatch } from '../../capture/packed-batch.js'
import { createSiteLookup } from '../../capture/site.js'
import type { Engine } from '../../engine/engine.js'
import { ApiError } from '../../errors.js'
import type { IngestKeys } from '../../manage/ingest-keys.js'
import type { Sites } from '../../manage/sites.js'
import { canReachSite, SIGNATURE_HEADER } from '../auth.js'
import { errorResponse } from '../error-response.js'
import type { KeyLock } from '../key-lock.js'
import { type Call, jsonResponse, type Route } from '../route.js'
import { validate, validationError } from '../validation.js'
import type { ByteBudget } from './byte-budget.js'
import { BodyError, readBody } from './read-body.js'
import { formatSignature, type ReplayGuard } from './replay-guard.js'
import { type DecodePayload, EdgeBody, EdgeEnvelope, readAgent, readHit, readPerson } from './rows.js'
import { isSigned, parseSignature, SIGNATURE_TOLERANCE_S, type Signature } from './signature.js'

/** What the door for other servers works with. */
export interface EdgeDeps {
  readonly engine: Pick<Engine, 'record' | 'status'>
  readonly sites: Pick<Sites, 'get' | 'list'>
  readonly keys: Pick<IngestKeys, 'listValid'>
  readonly replay: ReplayGuard
  readonly lock: KeyLock
  /** For bodies from their first byte until what they brought is stored. */
  readonly budget: ByteBudget
  /** Counts a request; false beyond what a site takes from one address in a minute (spec 8). */
  readonly takeRequest: (site: number, address: string) => boolean
  /** Signatures of an address that did not fit: reading bodies to find that out costs us more than whoever sends them. */
  readonly rejected: { spent(address: string): boolean; add(address: string): void }
  readonly decode: DecodePayload
  /** Counts what made no row. */
  readonly drop: (site: number, reason: DropReason, count: number) => void
  readonly now: () => Date
}

/** A whole body within this, ms. */
const BODY_TIMEOUT_MS = 30_000

const SiteOfBody = EdgeEnvelope.pick({ site_id: true })
const AcceptedCounts = z.object({
  agent_events: z.int().describe('Rows of that list which were taken.'),
  events: z.int().describe('The same of people.'),
})

/** `POST /api/log/edge` (spec 4.7, 4.8, 5.6): accepted is committed. */
export const edgeRoute = (edge: EdgeDeps): Route => ({
  method: 'post',
  path: '/api/log/edge',
  access: 'signed',
  tag: 'ingest',
  summary: 'Rows of a server that stands elsewhere; answered when they are stored',
  body: EdgeBody,
  data: AcceptedCounts,
  status: 202,
  mayConflict: true,
  readsOwnBody: true,
  anyOriginHeaders: ['content-type', 'authorization', SIGNATURE_HEADER],
  run: (call) => acceptDelivery(edge, call),
})

/**
 * What costs nothing is asked first, and who has no credential learns nothing but that: which sites there are, and whether
 * it was the site, the key or the body that did not fit, is the same 401.
 */
async function acceptDelivery(edge: EdgeDeps, call: Call): Promise<Response> {
  const { request, ip } = call
  const { headers } = request
  if (!/^application\/json *(;|$)/i.test(headers.get('content-type') ?? ''))
    return errorResponse('bad_request', 'The body must be application/json.', undefined, 415)
  if (!/^(identity)?$/i.test(headers.get('content-encoding') ?? ''))
    return errorResponse('bad_request', 'The body must not be compressed.', undefined, 415)
  const signature =
    call.principal.kind === 'signer' ? readSignature(edge, headers.get(SIGNATURE_HEADER) ?? '') : undefined
  // What cannot be stored now is better off where it is than piling up here.
  if (edge.engine.status().state !== 'ready')
    throw new ApiError('database_error', 'Rows are not being stored just now.')
  const taken = { bytes: 0 }
  try {
    const admitted = await verifyDelivery(edge, call, signature, taken)
    return await storeDelivery(edge, call, admitted)
  } catch (error) {
    if (!(error instanceof BodyError)) throw error
    const response = errorResponse('bad_request', error.message, undefined, error.status)
    // What was not read is in the way of the next request.
    response.headers.set('connection', 'close')
    return response
  } finally {
    edge.budget.release(taken.bytes, ip)
  }
}

/** What is left of a request while it waits to be stored: its body and what that was parsed to are gone. */
interface PendingDelivery {
  site: number
  signature: Signature | undefined
  batch: { sender: string; number: number } | undefined
  parcel: PackedBatch
  drops: Map<DropReason, number>
  counts: z.output<typeof AcceptedCounts>
}

/** Reads a body and lets it in, or throws; `taken` counts the room that it has. */
async function verifyDelivery(
  edge: EdgeDeps,
  call: Call,
  signature: Signature | undefined,
  taken: { bytes: number },
): Promise<PendingDelivery> {
  const { budget: room, replay, rejected: misfits } = edge
  const { request, ip } = call
  if (signature && misfits.spent(ip))
    throw new ApiError('rate_limited', 'Too many signatures from this address that did not fit.')
  const bytes = await readBody(request, { room, address: ip, patience: BODY_TIMEOUT_MS })
  taken.bytes = bytes.length
  const value = parseJsonBody(bytes)
  const { site_id: site } = validate(SiteOfBody, value)
  if (signature === undefined) {
    const found = await edge.sites.get(site)
    if (!found || !canReachSite(call, found)) throw new ApiError('not_found', 'There is no such site.', 'site_id')
  } else {
    if (!isSigned(signature, bytes, await edge.keys.listValid(site))) {
      misfits.add(ip)
      throw new ApiError('unauthorized', 'The signature does not fit.')
    }
    if (await replay.isAccepted(signature)) throw replayConflict()
  }
  if (!edge.takeRequest(site, ip))
    throw new ApiError('rate_limited', 'Too many requests for this site from this address.')
  if (signature && replay.isFull(site)) throw new ApiError('rate_limited', 'Too many signatures within ten minutes.')
  const body = validate(EdgeEnvelope, value)
  const { agent_events, events, batch } = body
  // What is stored is not judged again: the clock, and what a row may be, need not be as they were then.
  const isStored = batch ? batch.number <= (await replay.highestNumber(site, batch.sender)) : false
  const packed = isStored
    ? { parcel: createPacker().take(), drops: new Map<DropReason, number>() }
    : await packRows(edge, body)
  return {
    ...{ site, signature, batch: batch ?? undefined, ...packed },
    counts: { agent_events: agent_events?.length ?? 0, events: events?.length ?? 0 },
  }
}

const replayConflict = () => new ApiError('conflict', 'This request was accepted before; sign each attempt afresh.')

/** All of it or nothing, once: the same signature and the same sender wait for one another. */
async function storeDelivery(edge: EdgeDeps, { request }: Call, admitted: PendingDelivery): Promise<Response> {
  const { engine, replay, lock: turns } = edge
  const { site, signature, batch, parcel, drops, counts } = admitted
  const record = async () => {
    const delivery = {
      site_id: site,
      signature: signature ? formatSignature(signature) : null,
      sender: batch?.sender ?? null,
      number: batch?.number ?? null,
      accepted_at: edge.now().getTime(),
    }
    await engine.record(parcel, delivery).catch((error: unknown) => {
      // The store is ended by them again and again: they must not be sent again as they are.
      if (error instanceof ApiError && error.code === 'internal_error')
        throw new ApiError('validation_error', 'These rows cannot be stored.', undefined, { cause: error })
      throw error
    })
    for (const [reason, count] of drops) edge.drop(site, reason, count)
  }
  const numbered = async ({ sender, number }: NonNullable<typeof batch>) => {
    const highest = await replay.highestNumber(site, sender)
    if (number > highest) await record()
    replay.raiseNumber(site, sender, Math.max(number, highest))
  }
  const once = () => (batch ? turns(`${site} ${batch.sender}`, request.signal, () => numbered(batch)) : record())
  if (!signature) await once()
  else
    await turns(formatSignature(signature), request.signal, async () => {
      if (await replay.isAccepted(signature)) throw replayConflict()
      await once()
      replay.accept(site, signature)
    })
  return jsonResponse(counts, undefined, 202)
}

/** The signature that a header claims. Throws `unauthorized` where it is none, or too far from our clock. */
function readSignature({ now }: EdgeDeps, header: string): Signature {
  const signature = parseSignature(header)
  if (!signature) throw new ApiError('unauthorized', `${SIGNATURE_HEADER} is t=<unix seconds>,v1=<64 hex digits>.`)
  if (Math.abs(Number(signature.t) - Math.floor(now().getTime() / 1000)) > SIGNATURE_TOLERANCE_S)
    throw new ApiError('unauthorized', "The signature's time is more than five minutes from the server's clock.")
  return signature
}

function parseJsonBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new ApiError('bad_request', 'The body is not JSON.', undefined, { cause })
  }
}

/** Throws `validation_error` with the field that is wrong. */
async function packRows(
  edge: EdgeDeps,
  { site_id, agent_events, events, hits }: z.output<typeof EdgeEnvelope>,
): Promise<Pick<PendingDelivery, 'parcel' | 'drops'>> {
  const packer = createPacker()
  const now = edge.now().getTime()
  const drops = new Map<DropReason, number>()
  const drop = (reason: DropReason) => drops.set(reason, (drops.get(reason) ?? 0) + 1)
  const each = (
    name: string,
    rows: readonly unknown[] | null | undefined,
    add: (row: unknown, at: PropertyKey[]) => void,
  ) =>
    rows?.forEach((row, i) => {
      const at = [name, i]
      try {
        add(row, at)
      } catch (error) {
        // Nested deeper than can be written down.
        if (error instanceof RangeError) throw validationError('It is nested too deep.', at)
        throw error
      }
    })
  each('agent_events', agent_events, (row, at) => packer.add(readAgent(row, at, site_id, now)))
  each('events', events, (row, at) => packer.add(readPerson(row, at, site_id, now)))
  const siteOf = createSiteLookup(hits?.length ? await edge.sites.list() : [])
  each('hits', hits, (row, at) => {
    const hit = readHit(row, at, edge.decode, now)
    if (hit === undefined) drop('malformed')
    else if (hit.site !== site_id) drop('unknown_site')
    else if (siteOf(hit.hostname)?.id !== site_id) drop('foreign_host')
    else packer.add(hit)
  })
  return { parcel: packer.take(), drops }
}
