import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { buildConnector } from 'undici'
import { OutboundError, type OutboundResponse } from './outbound.js'

export interface SingleRequest {
  url: URL
  /** Server to connect to, as in `https://127.0.0.1:3000`; default: the URL's. */
  origin?: string
  headers: Readonly<Record<string, string>>
  /** Sent by POST; without it the method is GET. */
  body?: string
  /** Bytes of body to read, after decoding. */
  limit: number
  /** Aborts the request at any point. */
  signal: AbortSignal
  /** Returns a redirect without reading its body. */
  skipsRedirectBody: boolean
  connect: (signal: AbortSignal, build: typeof buildConnector) => buildConnector.connector
}

const MAX_HEADER_BYTES = 16_384
/** Bytes on the wire that an encoding may need beyond `limit`; a larger excess decodes to nothing. */
const MAX_ENCODING_OVERHEAD_BYTES = 65_536
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308])

/** Returns the `Location` of a redirect; undefined if the response is not a redirect. */
export const redirectLocation = ({ status, headers }: Pick<OutboundResponse, 'status' | 'headers'>) =>
  REDIRECT_STATUSES.has(status) ? headers.location : undefined

/**
 * Sends one request on a connection of its own and does not follow redirects. The connection ends with the call, also
 * when the body is cut at `limit` or the signal aborts. Throws `OutboundError`.
 */
export async function sendOnce(request: SingleRequest): Promise<OutboundResponse> {
  const { url, origin, headers, body, limit, signal, skipsRedirectBody, connect } = request
  // Loaded by the first request: it is the largest module of all, and a site's process may never send one.
  const undici = await import('undici')
  const finished = new AbortController()
  // Also ends a connection that is still being made, which undici would leave to a timeout of its own.
  const either = AbortSignal.any([signal, finished.signal])
  const agent = new undici.Agent({
    connect: connect(either, undici.buildConnector),
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  try {
    const response = await agent.request({
      origin: origin ?? url.origin,
      path: `${url.pathname}${url.search}`,
      ...(body === undefined ? { method: 'GET' } : { method: 'POST', body }),
      headers: { ...headers, host: url.host, 'accept-encoding': 'gzip, br' },
      signal: either,
    })
    const fields: Record<string, string> = {}
    for (const [name, value] of Object.entries(response.headers))
      if (value !== undefined) fields[name] = typeof value === 'string' ? value : value.join(', ')
    const head = { url: url.href, status: response.statusCode, headers: fields }
    if (skipsRedirectBody && redirectLocation(head) !== undefined)
      return { ...head, body: new Uint8Array(), truncated: false }
    const reading = readBody(response.body, fields['content-encoding'], limit)
    // A POST counts as delivered once its response begins: a body that breaks off must not cause a second delivery.
    const content = await (body === undefined
      ? reading
      : reading.catch(() => ({ body: new Uint8Array(), truncated: true })))
    return { ...head, ...content }
  } catch (error) {
    throw toOutboundError(error, origin ?? url.origin, signal)
  } finally {
    finished.abort()
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
    throw new OutboundError('malformed', `Content-Encoding ${JSON.stringify(coding.slice(0, 64))} is not supported`)
  const wire = { bytes: 0 }
  const maxWireBytes = limit + MAX_ENCODING_OVERHEAD_BYTES
  const parts = decoder ? pipeline(countBytes(body, wire, maxWireBytes), decoder(), () => {}) : body
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
    // An empty body is not broken gzip: 304 and many 404 responses name a coding for a body that they do not have.
    if (!decoder || wire.bytes > 0 || codeOf(error) !== 'Z_BUF_ERROR') throw error
  }
  return { body: Buffer.concat(chunks).subarray(0, limit), truncated: size > limit }
}

async function* countBytes(body: Readable, wire: { bytes: number }, max: number) {
  for await (const chunk of body) {
    wire.bytes += chunk.length
    if (wire.bytes > max) throw new OutboundError('malformed', 'the response is far larger than its decoded content')
    yield chunk
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')
const MALFORMED = /^(HPE_|Z_|ERR__ERROR_|ERR_PADDING|UND_ERR_(HEADERS_OVERFLOW|RES_CONTENT_LENGTH|INVALID))/

/** `origin` is where the request went, which the host of its URL need not be. */
function toOutboundError(error: unknown, origin: string, signal: AbortSignal): OutboundError {
  const failed = (reason: OutboundError['reason'], problem: string) =>
    new OutboundError(reason, `${origin} ${problem}`, { cause: error })
  if (signal.aborted) return failed('timeout', 'took too long')
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof OutboundError) return cause
  const code = codeOf(error)
  if (MALFORMED.test(code) || (error instanceof Error && error.name === 'HTTPParserError'))
    return failed('malformed', `sent a malformed response (${code})`)
  return failed('unreachable', `cannot be reached (${code || error})`)
}
