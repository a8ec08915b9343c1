import { Readable } from 'node:stream'
import type { App } from './app.js'
import { errorResponse } from './error-response.js'
import type { Peer } from './route.js'

/** GET requests for the writer: for rows as they are stored, and those that record a hit or an exposure. */
const READ_AT_WRITER = new Set([
  '/api/stats/realtime/stream',
  '/control/tail',
  '/api/track/pixel.gif',
  '/api/flags/evaluate',
])
/** A POST that only reads. */
const BATCH_PATH = '/api/batch'
/** Three heartbeats of a stream of rows. */
const MAX_SILENCE_MS = 45_000
/** Headers of one connection, which the next one has of its own (RFC 9110 7.6.1). */
const CONNECTION_HEADERS = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
/** Marks a request that was passed on: who gets it and is not the writer either does not pass it on again. */
const PASSED = 'x-readership-passed'
const CHANGING_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'] as const

/** The method of a request that only the writer can answer: it changes something, records, or asks for rows as they are stored. */
function methodForWriter({ method, url }: Request): 'GET' | (typeof CHANGING_METHODS)[number] | undefined {
  if (new URL(url).pathname === BATCH_PATH) return undefined
  const changing = CHANGING_METHODS.find((one) => one === method)
  return changing ?? (method === 'GET' && READ_AT_WRITER.has(new URL(url).pathname) ? 'GET' : undefined)
}

/**
 * Wraps the service of a process that may not be the writer: what needs the writer is passed on to it, and is `database_error`
 * (503, with `Retry-After`) while none writes. Requests of the operator are not passed on, because only this process
 * knows that they are the operator's.
 */
export function passToWriter(
  app: App,
  {
    isWriter,
    writerAddress,
    log,
    silence_ms = MAX_SILENCE_MS,
  }: {
    isWriter(): boolean
    writerAddress(): string | undefined
    log(reason: string): void
    /** A response that is silent for longer has lost its writer. */
    silence_ms?: number
  },
): App {
  /** Logged once until a request is passed on: all requests fail alike while the writer is away. */
  let failure: string | undefined
  return async (request, peer) => {
    const method = isWriter() ? undefined : methodForWriter(request)
    if (method === undefined) return app(request, peer)
    const address = writerAddress()
    if (address === undefined || request.headers.has(PASSED))
      return errorResponse('database_error', 'No process writes at present. Try again soon.')
    if (peer.operator)
      return errorResponse('conflict', `This process only reads. Run the command where the writer runs, at ${address}.`)
    try {
      const response = await send(request, method, peer, { address, silence_ms })
      failure = undefined
      return response
    } catch (cause) {
      if (request.signal.aborted) return errorResponse('database_error', 'The client has left.')
      const reason = `${address}: ${cause instanceof Error ? cause.message || cause.name : cause}`
      if (reason !== failure) log(reason)
      failure = reason
      return errorResponse('database_error', 'The writer cannot be reached.')
    }
  }
}

async function send(
  request: Request,
  method: NonNullable<ReturnType<typeof methodForWriter>>,
  { ip }: Peer,
  { address, silence_ms }: { address: string; silence_ms: number },
): Promise<Response> {
  const { request: ask } = await import('undici')
  const { pathname, search, host, protocol } = new URL(request.url)
  const headers: Record<string, string> = Object.fromEntries(request.headers)
  for (const name of [...CONNECTION_HEADERS, 'content-length', 'expect']) delete headers[name]
  const {
    statusCode,
    headers: answered,
    body,
  } = await ask(`${address.replace(/\/$/, '')}${pathname}${search}`, {
    method,
    headers: {
      ...headers,
      // The writer checks `Origin` against it, and takes the address and the scheme from peers that it trusts.
      host,
      [PASSED]: '1',
      'x-forwarded-for': ip,
      'x-forwarded-proto': protocol.replace(':', ''),
    },
    ...(request.body ? { body: Readable.from(request.body) } : {}),
    signal: request.signal,
    bodyTimeout: silence_ms,
  })
  const response = new Headers()
  for (const [name, value] of Object.entries(answered))
    if (!CONNECTION_HEADERS.includes(name)) for (const each of [value ?? []].flat()) response.append(name, each)
  const isEmpty = statusCode === 204 || statusCode === 304
  if (isEmpty) await body.dump()
  return new Response(isEmpty ? null : toWebStream(body), { status: statusCode, headers: response })
}

/** The chunks of a body as they come, and no faster than the client takes them. */
function toWebStream(body: Readable): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    cancel: () => void body.destroy(),
  })
}
