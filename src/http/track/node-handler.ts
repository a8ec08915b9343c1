import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { TrackTarget } from '../../readership.js'
import { createBodyCollector, type TrackBody } from './body-collector.js'
import type { TrackEndpoints, TrackRequest } from './endpoints.js'
import { PIXEL, PREFLIGHT_GET, PREFLIGHT_POST, type TrackResponse } from './responses.js'

type Incoming = IncomingMessage | Http2ServerRequest
type Outgoing = ServerResponse | Http2ServerResponse

/** A body is whole within this, or its sender is cut off: a place at a door is not to be held. */
const BODY_TIMEOUT_MS = 15_000

/**
 * The doors for Node's own requests, of HTTP/1.1 and of its compatible form of HTTP/2: what is a hit is answered and gives
 * true, anything else is left as it is and gives false. As web requests the same would cost over four times as much, and
 * nothing comes as often.
 */
export const createNodeTrackHandler =
  (doors: TrackEndpoints, patience = BODY_TIMEOUT_MS) =>
  (req: Incoming, res: Outgoing, { target, host, ip, asked, body: before }: TrackTarget): boolean => {
    const mark = target.indexOf('?')
    const path = mark < 0 ? target : target.slice(0, mark)
    const door = path === '/api/track' ? 'track' : path === '/api/track/batch' ? 'batch' : undefined
    const pixel = path === '/api/track/pixel.gif'
    if (door === undefined && !pixel) return false
    const from = {
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
    /** A client that is gone takes no answer; what fails on the way to it must end nothing but its connection. */
    const take = (delivery: TrackRequest) =>
      void doors
        .take(delivery, from)
        .then((answer) => sendResponse(req, res, answer))
        .catch(() => res.destroy())
    const { method } = req
    if (method === 'OPTIONS') sendResponse(req, res, pixel ? PREFLIGHT_GET : PREFLIGHT_POST)
    else if (door !== undefined && method === 'POST') readBody(req, before, patience, (body) => take({ door, body }))
    else if (pixel && method === 'GET') take({ door: 'pixel', query: mark < 0 ? '' : target.slice(mark + 1) })
    else if (pixel && method === 'HEAD') sendResponse(req, res, { ...PIXEL, body: null })
    else return false
    return true
  }

/** Hands the body on once, as soon as it is known: whole, or why not. Of a client that leaves within it there is none. */
function readBody(
  req: Incoming,
  before: Uint8Array | undefined,
  patience: number,
  done: (body: TrackBody) => void,
): void {
  if (before !== undefined) {
    // Whoever read it has undone what its headers say of it.
    const collector = createBodyCollector(undefined, undefined)
    collector.add(Buffer.from(before))
    done(collector.body())
    return
  }
  const source = 'stream' in req ? req.stream : req.socket
  const cut = setTimeout(() => source.destroy(), patience).unref()
  const over = () => {
    clearTimeout(cut)
    source.off('close', over)
  }
  req.on('error', over)
  req.once('close', over)
  const collector = createBodyCollector(req.headers['content-length'], req.headers['content-encoding'])
  let large = collector.body() === 'too_large'
  /** What is left of it is read off: the connection is used again. */
  const refuse = () => {
    large = true
    // A request that is answered before its end hears of nothing that comes later: its connection does.
    source.once('close', over)
    done('too_large')
  }
  req.on('data', (chunk: Buffer) => {
    if (!large && !collector.add(chunk)) refuse()
  })
  req.once('end', () => {
    over()
    if (!large) done(collector.body())
  })
  if (large) refuse()
}

function sendResponse(req: Incoming, res: Outgoing, { status, headers, body }: TrackResponse): void {
  res.writeHead(status, headers)
  if (body === null) res.end()
  else res.end(body)
  req.resume()
}
