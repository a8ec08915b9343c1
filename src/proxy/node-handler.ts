import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { clientAddress, parseTrust } from '../address.js'
import type { Readership } from '../readership.js'
import { observe } from './observe-node.js'
import { type RequestOverrides, schemeAndTarget, schemeOf, splitTarget } from './observe-request.js'
import { endToEndHeaders, forEachHeader } from './raw-headers.js'

type Incoming = IncomingMessage | Http2ServerRequest
type Outgoing = ServerResponse | Http2ServerResponse

export interface MountOptions {
  /**
   * Where the service is reached, without a slash at its end (default `/_readership`); the empty string is the root.
   */
  basePath?: string
}
export const BASE_PATH = '/_readership'

/** The address of the socket's other end, IPv4 in its own form: nobody's word is taken for it. */
export const peerAddress = (req: Incoming): string => clientAddress(req.socket.remoteAddress, undefined, NO_TRUST)
const NO_TRUST = parseTrust([])

/**
 * For adapters: one function to call for each exchange. A request under the base path is answered by the service and
 * gives true; any other is watched, recorded when it is over, and gives false: it is the site's.
 */
export function mount(readership: Readership, options: MountOptions = {}) {
  const basePath = options.basePath ?? BASE_PATH
  const serve = toNodeHandler(readership, options)
  return (req: IncomingMessage, res: ServerResponse, ip: string, seen: RequestOverrides = {}): boolean => {
    if (isUnderBasePath(basePath, seen.url ?? req.url ?? '/')) {
      void serve(req, res, ip, seen)
      return true
    }
    observe(req, res, ip, (observation) => readership.record(observation), seen)
    return false
  }
}

/** Whether a request target is the base path or below it, byte for byte. */
export function isUnderBasePath(basePath: string, target: string): boolean {
  const [pathname] = splitTarget(target)
  return pathname === basePath || pathname.startsWith(`${basePath}/`)
}

/**
 * The service as a Node handler, for HTTP/1.1 and Node's compatible form of HTTP/2. Bodies stream both ways with
 * backpressure; a client that leaves aborts the request's signal and cancels the response's body. The base path is
 * taken off before `fetch` sees the URL. Never rejects: what `fetch` throws is a bare 500, a body that breaks off a cut
 * connection.
 */
export function toNodeHandler(app: Pick<Readership, 'fetch' | 'hit'>, options: MountOptions = {}) {
  const basePath = options.basePath ?? BASE_PATH
  return async (
    req: Incoming,
    res: Outgoing,
    ip: string = peerAddress(req),
    seen: RequestOverrides = {},
  ): Promise<void> => {
    if (app.hit) {
      const target = stripBasePath(basePath, seen.url ?? req.url ?? '/')
      const taken = {
        target,
        host: hostOf(req, seen),
        ip,
        asked: schemeAndTarget(req, seen),
        body: bodyReadEarlier(req),
      }
      if (app.hit(req, res, taken)) return
    }
    const gone = new AbortController()
    const over: ResponseClose = { closed: false, close: new Promise((resolve) => res.once('close', resolve)) }
    res.once('close', () => {
      over.closed = true
      // A stream of HTTP/2 that its client resets counts as finished.
      if (!res.writableEnded || !res.writableFinished) gone.abort()
    })
    let response: Response
    try {
      const request = toWebRequest(req, res, basePath, seen, gone.signal)
      response = request === undefined ? textResponse(400, 'Bad Request\n') : await app.fetch(request, { ip })
    } catch {
      response = textResponse(500, 'Internal Server Error\n')
    }
    try {
      await sendWebResponse(response, req, res, over)
    } catch {
      res.destroy()
    }
    // What the service did not read of the body is read off, or the connection could not be used again.
    req.resume()
  }
}

const textResponse = (status: number, text: string): Response =>
  new Response(text, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } })

/**
 * Undefined where there is no such web request: a method it may not have, a host that is none, a target without a path.
 */
function toWebRequest(
  req: Incoming,
  res: Outgoing,
  basePath: string,
  seen: RequestOverrides,
  signal: AbortSignal,
): Request | undefined {
  const method = req.method ?? 'GET'
  const host = hostOf(req, seen)
  const scheme = schemeOf(req, seen.hop)
  const hasBody = method !== 'GET' && method !== 'HEAD'
  try {
    const headers = new Headers()
    forEachHeader(req.rawHeaders, (name, value) => {
      if (!name.startsWith(':')) headers.append(name, value)
    })
    // Put together, not resolved: for a URL parser `//x` would be a host.
    return new Request(`${scheme}://${host}${stripBasePath(basePath, seen.url ?? req.url ?? '/')}`, {
      method,
      headers,
      signal,
      ...(hasBody ? { body: bodyReadEarlier(req) ?? toWebBody(req, res), duplex: 'half' } : {}),
    })
  } catch {
    return undefined
  }
}

/** A request target in origin form, without the base path. */
function stripBasePath(basePath: string, target: string): string {
  const [pathname, query] = splitTarget(target)
  const path = pathname.startsWith(basePath) ? pathname.slice(basePath.length) : pathname
  return `${path.startsWith('/') ? path : `/${path}`}${query === undefined ? '' : `?${query}`}`
}

function hostOf(req: Incoming, seen: RequestOverrides): string {
  const authority = req.headers[':authority']
  return seen.host || (typeof authority === 'string' ? authority : req.headers.host) || 'localhost'
}

/**
 * A body that a parser before us has read off the request, which is never to be had from there again: its bytes where
 * they were kept as `rawBody`, else what is in `body`, as JSON unless it is text. What was signed is so no more.
 */
function bodyReadEarlier(req: Incoming): Uint8Array<ArrayBuffer> | undefined {
  if (!req.readableEnded) return undefined
  const raw = 'rawBody' in req ? req.rawBody : undefined
  const body = raw ?? ('body' in req ? req.body : undefined)
  if (body instanceof Uint8Array) return Uint8Array.from(body)
  try {
    return Uint8Array.from(Buffer.from(typeof body === 'string' ? body : (JSON.stringify(body) ?? '')))
  } catch {
    return new Uint8Array()
  }
}

/** Not `Readable.toWeb`: cancelling that would destroy the connection before the answer is out. */
function toWebBody(req: Incoming, res: Outgoing): ReadableStream<Uint8Array> {
  let over = false
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const end = (act: () => void) => () => {
          if (over) return
          over = true
          act()
        }
        req.on('data', (chunk: Buffer) => {
          // After the answer what is left only flows off.
          if (over || res.writableEnded) return
          controller.enqueue(chunk)
          if ((controller.desiredSize ?? 0) <= 0) req.pause()
        })
        req.once(
          'end',
          end(() => controller.close()),
        )
        const cut = end(() => controller.error(new Error('the client left')))
        req.once('error', cut)
        req.once('close', cut)
        req.pause()
      },
      pull() {
        req.resume()
      },
      cancel() {
        over = true
        req.resume()
      },
    },
    { highWaterMark: 65_536, size: (chunk) => chunk?.byteLength ?? 0 },
  )
}

/** Whether the exchange's response is closed; HTTP/2's has no `destroyed` to ask. */
interface ResponseClose {
  closed: boolean
  readonly close: Promise<unknown>
}

async function sendWebResponse(response: Response, req: Incoming, res: Outgoing, over: ResponseClose): Promise<void> {
  const { body } = response
  if (over.closed) {
    await body?.cancel()
    return
  }
  res.statusCode = response.status
  // Iterating gives each Set-Cookie by itself. A connection's own fields are the server's to write.
  forEachHeader(endToEndHeaders([...response.headers].flat()), (name, value) => {
    res.appendHeader(name, value)
  })
  if (body === null || req.method === 'HEAD') {
    res.end()
    await body?.cancel()
    return
  }
  const reader = body.getReader()
  void over.close.then(() => reader.cancel()).catch(() => {})
  let next = reader.read()
  // A stream that has nothing to say yet has said that it begins; one that has goes out with its head in one piece.
  const ready = await Promise.race([
    next.then(() => true),
    new Promise<false>((resolve) => setImmediate(resolve, false)),
  ])
  if (!ready && 'flushHeaders' in res) res.flushHeaders()
  for (;;) {
    const { done, value } = await next
    if (done || over.closed) break
    if (!writeChunk(res, value)) await Promise.race([over.close, new Promise((resolve) => res.once('drain', resolve))])
    next = reader.read()
  }
  res.end()
}

// The two kinds of response type their `write` in ways that do not meet.
const writeChunk = (res: Outgoing, chunk: Uint8Array): boolean =>
  'stream' in res ? res.write(chunk) : res.write(chunk)
