import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import type { Observation } from '../../capture/observation.js'
import { createPacker, type PackedBatch } from '../../capture/packed-batch.js'
import { createSiteLookup } from '../../capture/site.js'
import type { IngestKeys } from '../../manage/ingest-keys.js'
import type { Sites } from '../../manage/sites.js'
import type { DropReason } from '../../storage/drops.js'
import type { WorkerClient } from '../../worker-client/worker-client.js'
import { SIGNATURE_HEADER } from '../auth.js'
import type { ByteBudget } from '../byte-budget.js'
import { errorResponse } from '../error-response.js'
import type { KeyLock } from '../key-lock.js'
import { requireSite } from '../org-access.js'
import { type Call, hasJsonType, jsonResponse, parseJsonBody, type Route, routeMaker } from '../route.js'
import { validate, validationError } from '../validation.js'
import { BodyError, readBody } from './read-body.js'
import { formatSignature, type ReplayGuard } from './replay-guard.js'
import { type DecodePayload, EdgeBody, EdgeEnvelope, readAgent, readHit, readPerson } from './rows.js'
import { isSigned, parseSignature, SIGNATURE_TOLERANCE_S, type Signature } from './signature.js'
import { type After, createDeadline, type Deadline, type Unconfirmed } from './unconfirmed.js'

/** The dependencies of the endpoint for other servers. */
export interface EdgeDeps {
  readonly workerClient: Pick<WorkerClient, 'record' | 'status'>
  readonly sites: Pick<Sites, 'get' | 'list'>
  readonly keys: Pick<IngestKeys, 'listValid'>
  readonly replay: ReplayGuard
  readonly unconfirmed: Unconfirmed
  readonly lock: KeyLock
  /** Bounds bodies, from their first byte until their rows are stored. */
  readonly budget: ByteBudget
  /** Counts a request; returns false if the address has used up its minute for the site. */
  readonly takeRequest: (site: number, address: string) => boolean
  /** Wrong signatures by address, bounded because checking one costs the server more than the sender: it reads the body. */
  readonly rejected: { spent(address: string): boolean; add(address: string): void }
  readonly decode: DecodePayload
  /** Counts hits that became no row. */
  readonly drop: (site: number, reason: DropReason, count: number) => void
  /** Counts a hostname that the site does not list. */
  readonly refuse: (site: number, hostname: string) => void
  readonly now: () => Date
  readonly after: After
}

const BODY_TIMEOUT_MS = 30_000
/** From the end of the body to the response, below the timeout of most clients. A commit takes longer only while the store stalls. */
const RESPONSE_MS = 10_000

const SiteOfBody = EdgeEnvelope.pick({ site_id: true })
const AcceptedCounts = z.object({
  agent_events: z.int().describe('Accepted rows of `agent_events`.'),
  events: z.int().describe('Accepted rows of `events`.'),
  refused: z
    .array(z.object({ row: z.string(), reason: z.enum(['foreign_host']) }))
    .optional()
    .describe('Rows that are not stored, such as `events[3]`: their hostname is not one of the site. Absent: none.'),
})
type AcceptedCounts = z.output<typeof AcceptedCounts>

/** `POST /api/log/edge`: 202 means that the rows are committed. */
export const edgeRoute = (edge: EdgeDeps): Route =>
  routeMaker('ingest')('post', '/api/log/edge', 'signed', {
    summary: 'Accept rows of another server; responds after they are stored',
    body: EdgeBody,
    data: AcceptedCounts,
    status: 202,
    mayConflict: true,
    readsOwnBody: true,
    anyOriginHeaders: ['content-type', 'authorization', SIGNATURE_HEADER],
    run: (call) => acceptDelivery(edge, call),
  })

/**
 * Checks run from cheap to expensive. A caller without a valid credential learns nothing but 401, the same for an unknown
 * site, a wrong key and a changed body.
 */
async function acceptDelivery(edge: EdgeDeps, call: Call): Promise<Response> {
  const { request, ip } = call
  const { headers } = request
  if (!hasJsonType(request)) return errorResponse('bad_request', 'The body must be application/json.', undefined, 415)
  if (!/^(identity)?$/i.test(headers.get('content-encoding') ?? ''))
    return errorResponse('bad_request', 'The body must not be compressed.', undefined, 415)
  const signature =
    call.principal.kind === 'signer' ? readSignature(edge, headers.get(SIGNATURE_HEADER) ?? '') : undefined
  // Rows that cannot be stored now are better kept by the sender than queued here.
  if (edge.workerClient.status().state !== 'ready')
    throw new ApiError('database_error', 'Rows cannot be stored at the moment.')
  const attempt = { bytes: 0, deadline: createDeadline(request.signal, RESPONSE_MS, edge.after) }
  // Goes on after a late response, because rows that were handed over may be stored at any time.
  const work = verifyDelivery(edge, call, signature, attempt)
    .then((delivery) => storeDelivery(edge, delivery, attempt.deadline.signal))
    .finally(() => {
      attempt.deadline.stop()
      edge.budget.release(attempt.bytes, ip)
    })
  try {
    return await Promise.race([work, rejectLate(attempt.deadline.signal)])
  } catch (error) {
    if (!(error instanceof BodyError)) throw error
    const response = errorResponse('bad_request', error.message, undefined, error.status)
    // The unread rest of the body would be taken for the next request.
    response.headers.set('connection', 'close')
    return response
  }
}

const rejectLate = (late: AbortSignal) =>
  new Promise<never>((_, reject) => {
    late.addEventListener('abort', () =>
      reject(new ApiError('database_error', 'The rows are not stored yet. Send this body again: it is stored once.')),
    )
  })

/** A verified delivery until it is stored. It does not hold the body and the parsed JSON, so their memory is freed. */
interface PendingDelivery {
  site: number
  signature: Signature | undefined
  batch: { sender: string; number: number } | undefined
  /** The site and the digest of the body. */
  body: string
  packed: PackedBatch
  drops: Map<DropReason, number>
  counts: AcceptedCounts
}

/**
 * Reads a body and checks it; throws if it is refused. `attempt` counts the bytes that it has of the budget, and the
 * deadline runs from the end of the body.
 */
async function verifyDelivery(
  edge: EdgeDeps,
  call: Call,
  signature: Signature | undefined,
  attempt: { bytes: number; deadline: Pick<Deadline, 'start'> },
): Promise<PendingDelivery> {
  const { budget, replay, rejected } = edge
  const { request, ip } = call
  if (signature && rejected.spent(ip))
    throw new ApiError('rate_limited', 'Too many wrong signatures from this address; try again later.')
  const bytes = await readBody(request, { budget, address: ip, timeoutMs: BODY_TIMEOUT_MS })
  attempt.bytes = bytes.length
  attempt.deadline.start()
  const value = parseJsonBody(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  const { site_id: site } = validate(SiteOfBody, value)
  if (signature === undefined) await requireSite(call, edge.sites, site, 'site_id')
  else {
    if (!isSigned(signature, bytes, await edge.keys.listValid(site))) {
      rejected.add(ip)
      throw new ApiError('unauthorized', 'The signature does not match the body.')
    }
    if (await replay.isAccepted(signature)) throw replayConflict()
  }
  if (!edge.takeRequest(site, ip))
    throw new ApiError('rate_limited', 'Too many requests for this site from this address.')
  if (signature && replay.isFull(site))
    throw new ApiError('rate_limited', 'Too many signed requests for this site within ten minutes.')
  const rows = validate(EdgeEnvelope, value)
  const { batch } = rows
  const body = `${site} ${createHash('sha256').update(bytes).digest('base64url')}`
  // A stored batch is not checked again: clock and rules may have changed since it was accepted.
  const isStored = batch ? batch.number <= (await replay.highestNumber(site, batch.sender)) : false
  const { packed, drops, refused } = isStored
    ? { packed: createPacker().take(), drops: new Map<DropReason, number>(), refused: [] }
    : await packRows(edge, rows)
  const accepted = (list: 'agent_events' | 'events') =>
    (rows[list]?.length ?? 0) - refused.filter(({ row }) => row.startsWith(`${list}[`)).length
  const counts = {
    agent_events: accepted('agent_events'),
    events: accepted('events'),
    ...(refused.length > 0 ? { refused } : {}),
  }
  return { site, signature, batch: batch ?? undefined, body, packed, drops, counts }
}

const replayConflict = () =>
  new ApiError(
    'conflict',
    'This request was accepted before, and its rows are stored. Use a new signature for other rows.',
  )

/**
 * Stores all rows or none, once. Requests with the same signature, sender or body wait for each other. `late` aborts when
 * the sender is told that nothing is known yet: what is recorded after that is confirmed to the next request with its body.
 */
async function storeDelivery(edge: EdgeDeps, delivery: PendingDelivery, late: AbortSignal): Promise<Response> {
  const { workerClient, replay, lock, unconfirmed } = edge
  const { site, signature, batch, body, packed, drops, counts } = delivery
  if (late.aborted) throw new ApiError('database_error', 'The rows were not stored in time.')
  const record = async (isStored = false) => {
    const identity = {
      site_id: site,
      signature: signature ? formatSignature(signature) : null,
      sender: batch?.sender ?? null,
      number: batch?.number ?? null,
      accepted_at: edge.now().getTime(),
    }
    await workerClient.record(isStored ? createPacker().take() : packed, identity).catch((error: unknown) => {
      // The rows crash the worker again and again; this error tells the sender not to send them again.
      if (error instanceof ApiError && error.code === 'internal_error')
        throw new ApiError('validation_error', 'These rows cannot be stored.', undefined, { cause: error })
      throw error
    })
    if (!isStored) for (const [reason, count] of drops) edge.drop(site, reason, count)
  }
  const recordNumbered = async ({ sender, number }: NonNullable<typeof batch>) => {
    const highest = await replay.highestNumber(site, sender)
    if (number > highest) await record()
    replay.raiseNumber(site, sender, Math.max(number, highest))
  }
  const recordBody = async () => {
    await record(unconfirmed.has(body))
    if (late.aborted) unconfirmed.add(body)
    else unconfirmed.delete(body)
  }
  const recordOnce = () =>
    batch ? lock(`${site} ${batch.sender}`, late, () => recordNumbered(batch)) : lock(body, late, recordBody)
  if (!signature) await recordOnce()
  else
    await lock(formatSignature(signature), late, async () => {
      if (await replay.isAccepted(signature)) throw replayConflict()
      await recordOnce()
      replay.accept(site, signature)
    })
  return jsonResponse(counts, undefined, 202)
}

/** Reads the signature header; throws `unauthorized` if it is malformed, or its time too far from the server's clock. */
export function readSignature({ now }: Pick<EdgeDeps, 'now'>, header: string): Signature {
  const signature = parseSignature(header)
  if (!signature)
    throw new ApiError('unauthorized', `${SIGNATURE_HEADER} must have the form t=<unix seconds>,v1=<64 hex digits>.`)
  if (Math.abs(Number(signature.t) - Math.floor(now().getTime() / 1000)) > SIGNATURE_TOLERANCE_S)
    throw new ApiError('unauthorized', "The signature's time is more than five minutes from the server's clock.")
  return signature
}

/**
 * Packs the rows; throws `validation_error` with the field that is wrong. A row of a hostname that is not one of the site
 * is refused alone: it would make us fetch the robots.txt of a host that its sender chose.
 */
async function packRows(
  edge: EdgeDeps,
  { site_id, agent_events, events, hits }: z.output<typeof EdgeEnvelope>,
): Promise<Pick<PendingDelivery, 'packed' | 'drops'> & { refused: NonNullable<AcceptedCounts['refused']> }> {
  const packer = createPacker()
  const now = edge.now().getTime()
  const drops = new Map<DropReason, number>()
  const drop = (reason: DropReason) => drops.set(reason, (drops.get(reason) ?? 0) + 1)
  const refuse = (hostname: string) => {
    drop('foreign_host')
    edge.refuse(site_id, hostname)
  }
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
        // The row is nested too deep to be serialised.
        if (error instanceof RangeError) throw validationError(`${name}[${i}] is nested too deep.`, at)
        throw error
      }
    })
  const siteOf = createSiteLookup(await edge.sites.list())
  const listsHostnames = ((await edge.sites.get(site_id))?.domains.length ?? 0) > 0
  const owns = (hostname: string): boolean => {
    const owner = siteOf(hostname)
    return owner?.id === site_id || (!listsHostnames && owner?.domains.length === 0)
  }
  const refused: NonNullable<AcceptedCounts['refused']> = []
  const addOwn = (observation: Observation, [list, i]: PropertyKey[]) => {
    if (owns(observation.hostname)) return packer.add(observation)
    refused.push({ row: `${String(list)}[${String(i)}]`, reason: 'foreign_host' })
    refuse(observation.hostname)
  }
  each('agent_events', agent_events, (row, at) => addOwn(readAgent(row, at, site_id, now), at))
  each('events', events, (row, at) => addOwn(readPerson(row, at, site_id, now), at))
  each('hits', hits, (row, at) => {
    const hit = readHit(row, at, edge.decode, now)
    if (hit === undefined) drop('malformed')
    else if (hit.site !== site_id) drop('unknown_site')
    else if (siteOf(hit.hostname)?.id !== site_id) refuse(hit.hostname)
    else packer.add(hit)
  })
  return { packed: packer.take(), drops, refused }
}
