import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { TrackTarget } from '../../capture/readership-interface.js'
import { type BodyLimits, createBodyCollector, type TrackBody } from './body-collector.js'
import type { TrackEndpoints, TrackRequest } from './endpoints.js'
import { PIXEL, PREFLIGHT_GET, PREFLIGHT_POST, type TrackResponse } from './responses.js'

type Incoming = IncomingMessage | Http2ServerRequest
type Outgoing = ServerResponse | Http2ServerResponse

/** A body has to arrive within this time, or its connection is closed: slow senders must not hold connections. */
const BODY_TIMEOUT_MS = 15_000

/**
 * Serves the track endpoints on Node's own requests, of HTTP/1.1 and of the compatible form of HTTP/2. Returns false, and
 * leaves the request alone, if it is not for a track endpoint. Web-standard requests would cost over four times as much,
 * and no other request is as frequent.
 */
export const createNodeTrackHandler =
  (endpoints: TrackEndpoints, bodyTimeoutMs = BODY_TIMEOUT_MS) =>
  (req: Incoming, res: Outgoing, { target, host, ip, asked, body: parsed }: TrackTarget): boolean => {
    const mark = target.indexOf('?')
    const path = mark < 0 ? target : target.slice(0, mark)
    const endpoint = path === '/api/track' ? 'track' : path === '/api/track/batch' ? 'batch' : undefined
    const pixel = path === '/api/track/pixel.gif'
    if (endpoint === undefined && !pixel) return false
    const sender = {
      ip,
      host: host.replace(/:\d*$/, '').toLowerCase(),
      header: (name: string) => {
        const value = req.headers[name]
        return typeof value === 'string' ? value : value?.join(', ')
      },
      signed: () => ({
        method: req.method ?? '',
        scheme: asked?.scheme ?? ('encrypted' in req.socket ? ('https' as const) : ('http' as const)),
        authority: host,
        target: asked?.target ?? req.url ?? target,
      }),
    }
    /** The client may be gone already; an error while responding closes that connection only. */
    const take = (request: TrackRequest) =>
      endpoints
        .take(request, sender)
        .then((response) => sendResponse(req, res, response))
        .catch(() => void res.destroy())
    const { method } = req
    if (method === 'OPTIONS') sendResponse(req, res, pixel ? PREFLIGHT_GET : PREFLIGHT_POST)
    else if (endpoint !== undefined && method === 'POST')
      readBody(req, parsed, { timeoutMs: bodyTimeoutMs, limits: endpoints.bodyLimits(endpoint, ip) }, (body) =>
        take({ endpoint, body }),
      )
    else if (pixel && method === 'GET') void take({ endpoint: 'pixel', query: mark < 0 ? '' : target.slice(mark + 1) })
    else if (pixel && method === 'HEAD') sendResponse(req, res, { ...PIXEL, body: null })
    else return false
    return true
  }

/**
 * Calls `done` once, with the body or the reason that it was not read, and not at all if the client disconnects meanwhile.
 * `parsed` is the body if the application in front has read it already.
 */
function readBody(
  req: Incoming,
  parsed: Uint8Array | undefined,
  { timeoutMs, limits }: { timeoutMs: number; limits: BodyLimits },
  done: (body: TrackBody) => Promise<void>,
): void {
  if (parsed !== undefined) {
    // Its length and encoding are no longer those of the headers.
    const collector = createBodyCollector(undefined, undefined, limits)
    collector.add(Buffer.from(parsed))
    void done(collector.body()).finally(collector.release)
    return
  }
  const source = 'stream' in req ? req.stream : req.socket
  const timeout = setTimeout(() => source.destroy(), timeoutMs).unref()
  const collector = createBodyCollector(req.headers['content-length'], req.headers['content-encoding'], limits)
  let isTaken = false
  const finish = () => {
    clearTimeout(timeout)
    source.off('close', finish)
    // The client disconnected before the end of the body.
    if (!isTaken) collector.release()
  }
  req.on('error', finish)
  req.once('close', finish)
  let refused = collector.body() === 'too_large'
  const takeBody = () => {
    isTaken = true
    void done(collector.body()).finally(collector.release)
  }
  /** The rest of the body is read and discarded, so that the connection can be used again. */
  const refuse = () => {
    refused = true
    // A request that was answered before its end no longer emits `close`; its connection does.
    source.once('close', finish)
    takeBody()
  }
  req.on('data', (chunk: Buffer) => {
    if (!refused && !collector.add(chunk)) refuse()
  })
  req.once('end', () => {
    const isRead = !refused
    if (isRead) takeBody()
    finish()
  })
  if (refused) refuse()
}

function sendResponse(req: Incoming, res: Outgoing, { status, headers, body }: TrackResponse): void {
  res.writeHead(status, headers)
  if (body === null) res.end()
  else res.end(body)
  req.resume()
}
