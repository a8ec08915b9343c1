import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { Agent, type buildConnector } from 'undici'
import { OutboundError, type OutboundResponse } from './outbound.js'

export interface SingleRequest {
  /** What is asked for. */
  url: URL
  /** Where it is dialled, as in `https://127.0.0.1:3000`; absent: where the URL says. */
  origin?: string
  headers: Readonly<Record<string, string>>
  /** Sent by POST; absent: a GET. */
  body?: string
  /** Bytes of body after decoding. */
  limit: number
  /** Ends everything. */
  signal: AbortSignal
  /** A redirect is answered without its body. */
  followsRedirects: boolean
  connect: (signal: AbortSignal) => buildConnector.connector
}

const MAX_HEADER_BYTES = 16_384
/** Bytes on the wire beyond `limit` that an encoding may need: more is a flood that decodes to nothing. */
const MAX_ENCODING_OVERHEAD_BYTES = 65_536
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308])

/** Where an answer sends on to, as it says so; undefined where it is the answer. */
export const redirectLocation = ({
  status,
  headers,
}: Pick<OutboundResponse, 'status' | 'headers'>): string | undefined =>
  REDIRECT_STATUSES.has(status) ? headers.location : undefined

/**
 * One request on a connection of its own, redirects not followed. The connection ends with the call, whatever comes: an
 * answer that is cut at `limit`, or the signal. Throws `OutboundError`.
 */
export async function sendOnce({
  url,
  origin,
  headers,
  body: sends,
  limit,
  signal,
  followsRedirects: following,
  connect,
}: SingleRequest): Promise<OutboundResponse> {
  const over = new AbortController()
  // Ends also a connection that is only being made, which undici would leave to a time-out of its own.
  const either = AbortSignal.any([signal, over.signal])
  const agent = new Agent({
    connect: connect(either),
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  try {
    const answer = await agent.request({
      origin: origin ?? url.origin,
      path: `${url.pathname}${url.search}`,
      ...(sends === undefined ? { method: 'GET' } : { method: 'POST', body: sends }),
      headers: { ...headers, host: url.host, 'accept-encoding': 'gzip, br' },
      signal: either,
    })
    const fields: Record<string, string> = {}
    for (const [name, value] of Object.entries(answer.headers))
      if (value !== undefined) fields[name] = typeof value === 'string' ? value : value.join(', ')
    const head = { url: url.href, status: answer.statusCode, headers: fields }
    if (following && redirectLocation(head) !== undefined) return { ...head, body: new Uint8Array(), truncated: false }
    const reading = readBody(answer.body, fields['content-encoding'], limit)
    // What was posted is taken with the head of the answer: a body that breaks must not have it sent again.
    const nothing = { body: new Uint8Array(), truncated: true }
    return { ...head, ...(await (sends === undefined ? reading : reading.catch(() => nothing))) }
  } catch (error) {
    throw asOutboundError(error, url, signal)
  } finally {
    over.abort()
    await agent.destroy()
  }
}

const DECODERS = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
])

async function readBody(
  body: Readable,
  encoding: string | undefined,
  limit: number,
): Promise<Pick<OutboundResponse, 'body' | 'truncated'>> {
  const coding = encoding?.trim().toLowerCase() ?? ''
  const decoder = DECODERS.get(coding)
  if (!decoder && coding !== '' && coding !== 'identity')
    throw new OutboundError(
      'malformed',
      `its Content-Encoding ${JSON.stringify(coding.slice(0, 64))} was not asked for`,
    )
  const wire = { bytes: 0 }
  const parts = decoder
    ? pipeline(limitBytes(body, wire, limit + MAX_ENCODING_OVERHEAD_BYTES), decoder(), () => {})
    : body
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of parts) {
      if (!(chunk instanceof Uint8Array)) continue
      chunks.push(chunk)
      size += chunk.length
      // Leaving the loop ends the stream, and the decoder with it.
      if (size > limit) break
    }
  } catch (error) {
    // Nothing at all is no broken gzip: 304 and many a 404 name a coding that they have no body for.
    if (!decoder || wire.bytes > 0 || !isTruncation(error)) throw error
  }
  return { body: Buffer.concat(chunks).subarray(0, limit), truncated: size > limit }
}

async function* limitBytes(body: Readable, wire: { bytes: number }, most: number) {
  for await (const chunk of body) {
    wire.bytes += chunk.length
    if (wire.bytes > most) throw new OutboundError('malformed', 'it sends far more than it decodes to')
    yield chunk
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')
const isTruncation = (error: unknown): boolean => codeOf(error) === 'Z_BUF_ERROR'
const MALFORMED = /^(HPE_|Z_|ERR__ERROR_|ERR_PADDING|UND_ERR_(HEADERS_OVERFLOW|RES_CONTENT_LENGTH|INVALID))/

function asOutboundError(error: unknown, { origin }: URL, signal: AbortSignal): OutboundError {
  const failed = (reason: OutboundError['reason'], says: string) =>
    new OutboundError(reason, `${origin} ${says}`, { cause: error })
  if (signal.aborted) return failed('timeout', 'took too long')
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof OutboundError) return cause
  const code = codeOf(error)
  if (MALFORMED.test(code) || (error instanceof Error && error.name === 'HTTPParserError'))
    return failed('malformed', `sent what cannot be read (${code})`)
  return failed('unreachable', `cannot be reached (${code || error})`)
}
