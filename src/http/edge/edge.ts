import { z } from 'zod'
import type { DropReason } from '../../capture/drop.js'
import { createPacker, type Parcel } from '../../capture/parcel.js'
import { createSiteOf } from '../../capture/site.js'
import type { Engine } from '../../engine/engine.js'
import { ApiError } from '../../errors.js'
import type { IngestKeys } from '../../manage/ingest-keys.js'
import type { Sites } from '../../manage/sites.js'
import { reaches, SIGNATURE } from '../auth.js'
import { check, failure, invalid } from '../error.js'
import { answer, type Call, type Route } from '../route.js'
import type { Turns } from '../turns.js'
import { BodyFault, readBody } from './body.js'
import { type Replay, textOf } from './replay.js'
import type { Room } from './room.js'
import { type Decode, EdgeBody, EdgeHead, readAgent, readHit, readPerson } from './rows.js'
import { isSigned, parseSignature, type Signature, TOLERANCE } from './signature.js'

/** What the door for other servers works with. */
export interface Edge {
  readonly engine: Pick<Engine, 'record' | 'status'>
  readonly sites: Pick<Sites, 'get' | 'list'>
  readonly keys: Pick<IngestKeys, 'valid'>
  readonly replay: Replay
  readonly turns: Turns
  /** For bodies from their first byte until what they brought is stored. */
  readonly room: Room
  /** Counts a request; false beyond what a site takes from one address in a minute (spec 8). */
  readonly within: (site: number, address: string) => boolean
  /** Signatures of an address that did not fit: reading bodies to find that out costs us more than whoever sends them. */
  readonly misfits: { spent(address: string): boolean; add(address: string): void }
  readonly decode: Decode
  /** Counts what made no row. */
  readonly drop: (site: number, reason: DropReason, count: number) => void
  readonly now: () => Date
}

/** A whole body within this, ms. */
const PATIENCE = 30_000

const OfSite = EdgeHead.pick({ site_id: true })
const Accepted = z.object({
  agent_events: z.int().describe('Rows of that list which were taken.'),
  events: z.int().describe('The same of people.'),
})

/** `POST /api/log/edge` (spec 4.7, 4.8, 5.6): accepted is committed. */
export const edgeRoute = (edge: Edge): Route => ({
  method: 'post',
  path: '/api/log/edge',
  access: 'signed',
  tag: 'ingest',
  summary: 'Rows of a server that stands elsewhere; answered when they are stored',
  body: EdgeBody,
  data: Accepted,
  status: 202,
  conflicts: true,
  reads_body: true,
  open_to_pages: ['content-type', 'authorization', SIGNATURE],
  run: (call) => take(edge, call),
})

/**
 * What costs nothing is asked first, and who has no credential learns nothing but that: which sites there are, and whether
 * it was the site, the key or the body that did not fit, is the same 401.
 */
async function take(edge: Edge, call: Call): Promise<Response> {
  const { request, ip } = call
  const { headers } = request
  if (!/^application\/json *(;|$)/i.test(headers.get('content-type') ?? ''))
    return failure('bad_request', 'The body must be application/json.', undefined, 415)
  if (!/^(identity)?$/i.test(headers.get('content-encoding') ?? ''))
    return failure('bad_request', 'The body must not be compressed.', undefined, 415)
  const signature = call.principal.kind === 'signer' ? claimed(edge, headers.get(SIGNATURE) ?? '') : undefined
  // What cannot be stored now is better off where it is than piling up here.
  if (edge.engine.status().state !== 'ready')
    throw new ApiError('database_error', 'Rows are not being stored just now.')
  const taken = { bytes: 0 }
  try {
    const admitted = await admit(edge, call, signature, taken)
    return await store(edge, call, admitted)
  } catch (error) {
    if (!(error instanceof BodyFault)) throw error
    const response = failure('bad_request', error.message, undefined, error.status)
    // What was not read is in the way of the next request.
    response.headers.set('connection', 'close')
    return response
  } finally {
    edge.room.give(taken.bytes, ip)
  }
}

/** What is left of a request while it waits to be stored: its body and what that was parsed to are gone. */
interface Admitted {
  site: number
  signature: Signature | undefined
  batch: { sender: string; number: number } | undefined
  parcel: Parcel
  drops: Map<DropReason, number>
  counts: z.output<typeof Accepted>
}

/** Reads a body and lets it in, or throws; `taken` counts the room that it has. */
async function admit(
  edge: Edge,
  call: Call,
  signature: Signature | undefined,
  taken: { bytes: number },
): Promise<Admitted> {
  const { room, replay, misfits } = edge
  const { request, ip } = call
  if (signature && misfits.spent(ip))
    throw new ApiError('rate_limited', 'Too many signatures from this address that did not fit.')
  const bytes = await readBody(request, { room, address: ip, patience: PATIENCE })
  taken.bytes = bytes.length
  const value = parsed(bytes)
  const { site_id: site } = check(OfSite, value)
  if (signature === undefined) {
    const found = await edge.sites.get(site)
    if (!found || !reaches(call, found)) throw new ApiError('not_found', 'There is no such site.', 'site_id')
  } else {
    if (!isSigned(signature, bytes, await edge.keys.valid(site))) {
      misfits.add(ip)
      throw new ApiError('unauthorized', 'The signature does not fit.')
    }
    if (await replay.isAccepted(signature)) throw repeated()
  }
  if (!edge.within(site, ip)) throw new ApiError('rate_limited', 'Too many requests for this site from this address.')
  if (signature && replay.isFull(site)) throw new ApiError('rate_limited', 'Too many signatures within ten minutes.')
  const body = check(EdgeHead, value)
  const { agent_events, events, batch } = body
  // What is stored is not judged again: the clock, and what a row may be, need not be as they were then.
  const isStored = batch ? batch.number <= (await replay.highest(site, batch.sender)) : false
  const packed = isStored
    ? { parcel: createPacker().take(), drops: new Map<DropReason, number>() }
    : await pack(edge, body)
  return {
    ...{ site, signature, batch: batch ?? undefined, ...packed },
    counts: { agent_events: agent_events?.length ?? 0, events: events?.length ?? 0 },
  }
}

const repeated = () => new ApiError('conflict', 'This request was accepted before; sign each attempt afresh.')

/** All of it or nothing, once: the same signature and the same sender wait for one another. */
async function store(edge: Edge, { request }: Call, admitted: Admitted): Promise<Response> {
  const { engine, replay, turns } = edge
  const { site, signature, batch, parcel, drops, counts } = admitted
  const record = async () => {
    const delivery = {
      site_id: site,
      signature: signature ? textOf(signature) : null,
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
    const highest = await replay.highest(site, sender)
    if (number > highest) await record()
    replay.raise(site, sender, Math.max(number, highest))
  }
  const once = () => (batch ? turns(`${site} ${batch.sender}`, request.signal, () => numbered(batch)) : record())
  if (!signature) await once()
  else
    await turns(textOf(signature), request.signal, async () => {
      if (await replay.isAccepted(signature)) throw repeated()
      await once()
      replay.accept(site, signature)
    })
  return answer(counts, undefined, 202)
}

/** The signature that a header claims. Throws `unauthorized` where it is none, or too far from our clock. */
function claimed({ now }: Edge, header: string): Signature {
  const signature = parseSignature(header)
  if (!signature) throw new ApiError('unauthorized', `${SIGNATURE} is t=<unix seconds>,v1=<64 hex digits>.`)
  if (Math.abs(Number(signature.t) - Math.floor(now().getTime() / 1000)) > TOLERANCE)
    throw new ApiError('unauthorized', "The signature's time is more than five minutes from the server's clock.")
  return signature
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new ApiError('bad_request', 'The body is not JSON.', undefined, { cause })
  }
}

/** Throws `validation_error` with the field that is wrong. */
async function pack(
  edge: Edge,
  { site_id, agent_events, events, hits }: z.output<typeof EdgeHead>,
): Promise<Pick<Admitted, 'parcel' | 'drops'>> {
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
        if (error instanceof RangeError) throw invalid('It is nested too deep.', at)
        throw error
      }
    })
  each('agent_events', agent_events, (row, at) => packer.add(readAgent(row, at, site_id, now)))
  each('events', events, (row, at) => packer.add(readPerson(row, at, site_id, now)))
  const siteOf = createSiteOf(hits?.length ? await edge.sites.list() : [])
  each('hits', hits, (row, at) => {
    const hit = readHit(row, at, edge.decode, now)
    if (hit === undefined) drop('malformed')
    else if (hit.site !== site_id) drop('unknown_site')
    else if (siteOf(hit.hostname)?.id !== site_id) drop('foreign_host')
    else packer.add(hit)
  })
  return { parcel: packer.take(), drops }
}
