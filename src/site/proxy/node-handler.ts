import type { IncomingMessage, ServerResponse } from 'node:http'
import { clientAddress, parseTrust } from '../../base/address.js'
import { describeUnknownOption } from '../../base/option-names.js'
import type { Readership, TrackTarget } from '../../capture/readership-interface.js'
import { decideAndObserve } from './decide-node.js'
import { forEachHeader, readResponseHead } from './message-heads.js'
import { type RequestOverrides, schemeAndTarget, schemeOf, splitTarget } from './observe-request.js'
import type { Incoming, Outgoing } from './response-writer.js'

/** Options of `mount` and of every adapter that serves the API. */
export interface MountOptions {
  /** Path under which the service responds, without a trailing slash (default `/_readership`); empty for the root. */
  basePath?: string
}
/** The default path under which the service responds. */
export const BASE_PATH = '/_readership'

const NO_TRUST = parseTrust([])

/** Returns the address of the socket's other end, IPv4 in dotted form. No header can change it. */
export const peerAddress = (req: Incoming): string => clientAddress(req.socket.remoteAddress, undefined, NO_TRUST)

/**
 * Returns the one function that an adapter calls for each exchange. For a request under the base path, the service
 * responds and the function returns true. Any other request belongs to the site: the function returns false, and the
 * exchange is recorded when it is over. If a rule for agents refuses the request, the function responds and returns true, also
 * while a request waits (`RequestOverrides.onWait`). `more` names the options that the adapter has beside `MountOptions`. Throws a
 * `TypeError` of one line that names an unknown option.
 */
export function mount(readership: Readership, options: MountOptions = {}, more: readonly string[] = []) {
  const unknown = describeUnknownOption('the adapter', options, ['basePath', ...more])
  if (unknown !== undefined) throw new TypeError(`readership: ${unknown}`)
  const basePath = options.basePath ?? BASE_PATH
  const serve = toNodeHandler(readership, options)
  let isNoted = false
  return (req: IncomingMessage, res: ServerResponse, ip: string, overrides: RequestOverrides = {}): boolean => {
    if (!isNoted) {
      isNoted = true
      const scheme = schemeOf(req, overrides.hop)
      readership.mounted?.({ scheme, host: hostOf(req, overrides), port: req.socket.localPort, basePath })
    }
    if (isUnderBasePath(basePath, overrides.url ?? req.url ?? '/')) {
      void serve(req, res, ip, overrides)
      return true
    }
    return decideAndObserve(readership, req, res, { ip, host: hostOf(req, overrides), overrides })
  }
}

/** Returns whether a request target is the base path or below it, compared byte for byte. */
export function isUnderBasePath(basePath: string, target: string): boolean {
  const [pathname] = splitTarget(target)
  return pathname === basePath || pathname.startsWith(`${basePath}/`)
}

/**
 * Returns the service as a Node handler, for HTTP/1.1 and the compatibility form of HTTP/2. Bodies stream both ways with
 * backpressure. A client that leaves aborts the request's signal and cancels the response's body. The base path is
 * removed before `fetch` sees the URL. The handler never rejects: an error from `fetch` becomes a bare 500, and a body
 * that breaks off closes the connection.
 */
export function toNodeHandler(app: Pick<Readership, 'fetch' | 'hit'>, options: MountOptions = {}) {
  const basePath = options.basePath ?? BASE_PATH
  return async (
    req: Incoming,
    res: Outgoing,
    ip: string = peerAddress(req),
    overrides: RequestOverrides = {},
  ): Promise<void> => {
    const url = overrides.url ?? req.url ?? '/'
    const to = trackTarget(req, ip, basePath, overrides)
    if (app.hit?.(req, res, to)) return
    const { target, host } = to
    const left = new AbortController()
    const end: ResponseEnd = { closed: false, whenClosed: new Promise((resolve) => res.once('close', resolve)) }
    res.once('close', () => {
      end.closed = true
      // An HTTP/2 stream that its client resets counts as finished.
      if (!res.writableEnded || !res.writableFinished) left.abort()
    })
    let response: Response
    try {
      const request = toWebRequest(req, res, `${schemeOf(req, overrides.hop)}://${host}${target}`, left.signal)
      const lacksSlash = basePath !== '' && splitTarget(url)[0] === basePath
      if (request === undefined) response = textResponse(400, 'Bad Request\n')
      else response = lacksSlash ? slashRedirect(basePath, target) : await app.fetch(request, { ip })
    } catch {
      response = textResponse(500, 'Internal Server Error\n')
    }
    try {
      await sendWebResponse(response, req, res, end)
    } catch {
      res.destroy()
    }
    // Reads the part of the body that the service did not read, or the connection could not be used again.
    req.resume()
  }
}

/** Returns the facts about a request under the base path that `hit` needs. */
export const trackTarget = (
  req: Incoming,
  ip: string,
  basePath: string,
  overrides: RequestOverrides = {},
): TrackTarget => ({
  target: stripBasePath(basePath, overrides.url ?? req.url ?? '/'),
  host: hostOf(req, overrides),
  ip,
  asked: schemeAndTarget(req, overrides),
  body: parsedBody(req),
})

const textResponse = (status: number, text: string): Response =>
  new Response(text, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } })

/**
 * Adds the slash after the base path, because links of the service's pages are relative. So is this one: a proxy may serve
 * the site under another path.
 */
const slashRedirect = (basePath: string, target: string): Response =>
  new Response(null, { status: 302, headers: { location: basePath.slice(basePath.lastIndexOf('/') + 1) + target } })

/**
 * Returns undefined if a web Request cannot express the request: a forbidden method, an invalid host, a target without a
 * path. `url` is concatenated, not resolved, because a URL parser would take `//x` for a host.
 */
function toWebRequest(req: Incoming, res: Outgoing, url: string, signal: AbortSignal): Request | undefined {
  const method = req.method ?? 'GET'
  const hasBody = method !== 'GET' && method !== 'HEAD'
  try {
    const headers = new Headers()
    forEachHeader(req.rawHeaders, (name, value) => {
      if (!name.startsWith(':')) headers.append(name, value)
    })
    return new Request(url, {
      method,
      headers,
      signal,
      ...(hasBody ? { body: parsedBody(req) ?? toWebBody(req, res), duplex: 'half' } : {}),
    })
  } catch {
    return undefined
  }
}

/** Returns a request target in origin-form, without the base path. */
function stripBasePath(basePath: string, target: string): string {
  const [pathname, query] = splitTarget(target)
  const path = pathname.startsWith(basePath) ? pathname.slice(basePath.length) : pathname
  return `${path.startsWith('/') ? path : `/${path}`}${query === undefined ? '' : `?${query}`}`
}

function hostOf(req: Incoming, overrides: RequestOverrides): string {
  const authority = req.headers[':authority']
  return overrides.host || (typeof authority === 'string' ? authority : req.headers.host) || 'localhost'
}

/**
 * Returns a body that an earlier body parser consumed: its bytes if they were kept as `rawBody`, else the value of
 * `body`, as JSON unless it is text. A signature over the original bytes then no longer matches. Returns undefined if
 * the body is still unread.
 */
function parsedBody(req: Incoming): Uint8Array<ArrayBuffer> | undefined {
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

/** Replaces `Readable.toWeb`, whose cancellation would destroy the connection before the response is sent. */
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
          // After the response the rest is only discarded.
          if (over || res.writableEnded) return
          controller.enqueue(chunk)
          if ((controller.desiredSize ?? 0) <= 0) req.pause()
        })
        const close = end(() => controller.close())
        const fail = end(() => controller.error(new Error('the client left')))
        req.once('end', close)
        req.once('error', fail)
        req.once('close', fail)
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

/** Whether the response is closed; HTTP/2 responses have no `destroyed` property. */
interface ResponseEnd {
  closed: boolean
  readonly whenClosed: Promise<unknown>
}

async function sendWebResponse(response: Response, req: Incoming, res: Outgoing, end: ResponseEnd): Promise<void> {
  const { body, status } = response
  if (end.closed) {
    await body?.cancel()
    return
  }
  res.statusCode = status
  // Iterating yields each Set-Cookie separately. Fields of the connection are the server's to write.
  forEachHeader(readResponseHead([...response.headers].flat(), status, false).fields, (name, value) => {
    res.appendHeader(name, value)
  })
  if (body === null || req.method === 'HEAD') {
    res.end()
    await body?.cancel()
    return
  }
  const reader = body.getReader()
  void end.whenClosed.then(() => reader.cancel()).catch(() => {})
  let next = reader.read()
  // If the body has no chunk ready, the head goes out at once; otherwise head and chunk share a packet.
  const ready = await Promise.race([
    next.then(() => true),
    new Promise<false>((resolve) => setImmediate(resolve, false)),
  ])
  if (!ready && 'flushHeaders' in res) res.flushHeaders()
  for (;;) {
    const { done, value } = await next
    if (done || end.closed) break
    if (!writeChunk(res, value))
      await Promise.race([end.whenClosed, new Promise((resolve) => res.once('drain', resolve))])
    next = reader.read()
  }
  res.end()
}

// The two types of response declare `write` incompatibly. `sendBody` of response-writer.ts needs node:http, which web
// runtimes lack.
const writeChunk = (res: Outgoing, chunk: Uint8Array): boolean =>
  'stream' in res ? res.write(chunk) : res.write(chunk)
