import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Observation } from '../record/observation.js'
import { requestBody } from './body.js'
import { refuseConnection, statusOf } from './broken-request.js'
import { errorPage } from './error-page.js'
import { createOrigin, type OriginCounters, type OriginOptions, type Seen } from './forward.js'
import { guard, type Refusal, type Target } from './guard.js'
import { requestHead } from './headers.js'
import { type Hop, plainAddress } from './hop.js'
import { observation } from './observe.js'
import { waitForClient } from './patience.js'
import type { Incoming, Outgoing } from './respond.js'

export interface ProxyOptions extends Partial<Omit<OriginOptions, 'origin'>>, Pick<OriginOptions, 'origin'> {
  /** Called once for each exchange, when it is over. */
  record(observation: Observation): void
  /** The client's address, through trusted hops only. */
  clientAddress(req: Incoming): string
  /** Whether a peer is a proxy whose `X-Forwarded-*` count. */
  trusts(peer: string): boolean
  /** Paths that are ours: they go to `handle`, not to the origin, and are not recorded. */
  own?(path: string): boolean
  handle?(req: Incoming, res: Outgoing): void
  /** Requests that ask to leave HTTP/1.1; without it they are forwarded as if they had not asked. */
  upgrade?(req: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Wall clock, epoch ms. */
  now?(): number
  /** A clock that never goes back, ms. */
  monotonic?(): number
  /** From the first byte of a request to the end of its head, ms. */
  requestHeadTimeout?: number
  /** An idle connection is kept for this long, ms. */
  keepAliveTimeout?: number
  maxConnections?: number
}

export interface ProxyCounters extends OriginCounters {
  /** Exchanges begun, and those that are not over. */
  requests: number
  active: number
  /** Exchanges over, by class of the recorded status: `2xx`, `4xx` ... */
  statuses: Record<string, number>
  /** Clients that left before a response. */
  left: number
  /** Requests refused as ambiguous, and those Node's parser refused. */
  refused: number
  malformed: number
  /** Connections not taken because there were too many. */
  connections_dropped: number
}

export interface Proxy {
  readonly server: Server
  /** The same for any other server: node:http2's compatible API, a TLS server. */
  handler(req: Incoming, res: Outgoing): void
  stats(): ProxyCounters
  /** Take nothing new, let what runs finish for at most `grace` ms, then cut it. */
  close(grace: number): Promise<void>
}

const DEFAULTS = {
  connectTimeout: 10_000,
  headersTimeout: 60_000,
  bodyIdleTimeout: 300_000,
  clientTimeout: 60_000,
  requestHeadTimeout: 20_000,
  /** Above the 60 s that balancers in front keep theirs, so that they never meet one that we are closing. */
  keepAliveTimeout: 75_000,
  maxHeaderSize: 64 * 1024,
  maxConnections: 20_000,
}

/** What is known of one client's connection. */
interface Connection {
  hop: Hop
  /** Requests behind the one that is being answered. */
  waiting: number
  /** The exchange begun last. */
  last?: { res: Outgoing; seen: Seen; refused: boolean }
}

/** Requests that wait behind another on their connection; more is not a client but a flood. */
const PIPELINE = 1_000
/** A client that goes on sending after its answer is read for this long, ms. */
const LINGER = 10_000
const SWEEP = 5_000

/** The public listener: every request to the origin and back, each exchange noted when it is over. */
export function createProxy(given: ProxyOptions): Proxy {
  const options = { ...DEFAULTS, ...given }
  const now = given.now ?? Date.now
  const monotonic = given.monotonic ?? (() => performance.now())
  const origin = createOrigin(options)
  const counters = { requests: 0, statuses: {}, left: 0, refused: 0, malformed: 0, connections_dropped: 0 }
  const statuses: Record<string, number> = counters.statuses
  const active = new Map<Outgoing, Seen>()
  /** Answered in full by us, not yet taken in full by their clients, and told that they must. */
  const flushing = new WeakSet<Outgoing>()
  const connections = new WeakMap<object, Connection>()
  let draining = false
  let drained: (() => void) | undefined

  function connectionOf(req: Incoming): Connection {
    const key = 'stream' in req ? (req.stream.session ?? req.stream) : req.socket
    let connection = connections.get(key)
    if (connection === undefined) {
      const peer = plainAddress(req.socket.remoteAddress ?? '')
      const proto = 'encrypted' in req.socket && req.socket.encrypted === true ? 'https' : 'http'
      const hop: Hop = { peer, trusted: options.trusts(peer), proto, crumbs: req.httpVersionMajor === 2 }
      connection = { hop, waiting: 0 }
      connections.set(key, connection)
    }
    return connection
  }

  function handler(req: Incoming, res: Outgoing): void {
    const arrived = now()
    const started = monotonic()
    // Node parses ahead: a request behind another waits its turn, or two that change things could change places.
    const turn = () => run(req, res, arrived, started)
    if (res instanceof ServerResponse && res.socket === null) queue(req, res, turn)
    else turn()
  }

  function queue(req: Incoming, res: ServerResponse, turn: () => void): void {
    const connection = connectionOf(req)
    connection.waiting += 1
    if (connection.waiting > PIPELINE) {
      req.socket.destroy()
      return
    }
    res.once('socket', () => {
      connection.waiting -= 1
      // Not inside Node's own hand-over of the connection.
      setImmediate(turn)
    })
  }

  function run(req: Incoming, res: Outgoing, arrived: number, started: number): void {
    const connection = connectionOf(req)
    const head = requestHead(req.rawHeaders, connection.hop)
    const url = req.url ?? '/'
    const method = req.method ?? 'GET'
    const version = 'stream' in req ? '2' : req.httpVersion
    const facts = { method, version, fields: req.rawHeaders.length / 2 }
    const target: Refusal | Target = guard(facts, url, head)
    const path = 'path' in target ? target.path : url
    if ('path' in target && options.own?.(path) && options.handle) {
      options.handle(req, res)
      return
    }

    counters.requests += 1
    // Now: once its stream is gone, an HTTP/2 request has no peer.
    const ip = options.clientAddress(req)
    const seen: Seen = { status: 0, bytes: 0, content_type: '', ended: false }
    const host = ('path' in target ? target.host : head.hosts[0]) ?? ''
    let leave: (() => void) | undefined
    active.set(res, seen)
    connection.last = { res, seen, refused: !('path' in target) }
    if (draining && res instanceof ServerResponse) res.shouldKeepAlive = false
    res.once('close', () => {
      active.delete(res)
      if (!res.writableFinished) leave?.()
      if (!seen.ended && seen.status === 0) counters.left += 1
      const duration = monotonic() - started
      const fact = observation({ req, arrived, duration, host, target: path, ip, seen })
      const kind = `${Math.floor(fact.status / 100)}xx`
      statuses[kind] = (statuses[kind] ?? 0) + 1
      if (!req.complete && res.writableFinished && res instanceof ServerResponse) linger(req)
      if (draining) drain()
      try {
        options.record(fact)
      } catch {
        // The recorder counts its own faults; the site goes on.
      }
    })
    if (!('path' in target)) {
      counters.refused += 1
      refuse(target, seen, req, res)
      return
    }
    const length = head.lengths[0]
    const hasBody =
      'stream' in req
        ? !req.stream.endAfterHeaders
        : head.transfers.length > 0 || (length !== undefined && Number(length) > 0)
    const body = hasBody
      ? requestBody(req, res, options.clientTimeout, () => {
          if (req.headers.expect !== undefined && !res.headersSent) res.writeContinue()
        })
      : null
    const { fields } = head
    if (target.host !== undefined) fields.push('host', target.host)
    if (body !== null && length !== undefined) fields.push('content-length', length)
    leave = origin.forward({ req, res, path, fields, body, seen })
  }

  function refuse(refusal: Refusal, seen: Seen, req: Incoming, res: Outgoing): void {
    seen.status = refusal.status
    seen.ended = true
    seen.content_type = 'text/plain; charset=utf-8'
    // Where the next request begins is what was in doubt.
    seen.bytes = errorPage(res, refusal.status, req.method ?? 'GET', true)
  }

  function drain(): void {
    server.closeIdleConnections()
    if (active.size === 0) drained?.()
  }

  const server = createServer(
    {
      maxHeaderSize: options.maxHeaderSize,
      headersTimeout: options.requestHeadTimeout,
      // An upload may take hours as long as it moves: `clientTimeout` watches that.
      requestTimeout: 0,
      keepAliveTimeout: options.keepAliveTimeout,
      connectionsCheckingInterval: Math.min(SWEEP, options.requestHeadTimeout),
    },
    handler,
  )
  // Node would leave further fields out without a word, one that frames the body among them.
  server.maxHeadersCount = 0
  server.maxConnections = options.maxConnections
  server.on('checkContinue', handler)
  server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) => {
    counters.refused += 1
    errorPage(res, 417, req.method ?? 'GET', true)
  })
  server.on('connect', (_, socket) => refuseConnection(socket, 501))
  server.on('drop', () => {
    counters.connections_dropped += 1
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const last = connections.get(socket)?.last
    const running = last !== undefined && !last.res.writableFinished
    // A client that leaves within its request is no fault of form.
    if (error.code === 'ECONNRESET' || (running && error.code === 'HPE_INVALID_EOF_STATE')) return void socket.destroy()
    counters.malformed += 1
    const status = statusOf(error)
    // A request that was answered where its head ended is not answered again for its body.
    if (last?.seen.ended && (last.refused || !last.res.writableFinished)) return void socket.end(() => socket.destroy())
    if (running) {
      if (last.res.headersSent) return void socket.destroy()
      last.seen.status = status
      last.seen.ended = true
    }
    refuseConnection(socket, status)
  })
  const { upgrade } = options
  if (upgrade) server.on('upgrade', (req, socket, head) => upgrade.call(options, req, socket, head))
  const sweep = setInterval(() => {
    for (const [res, seen] of active) {
      if (!seen.ended || flushing.has(res)) continue
      flushing.add(res)
      waitForClient(res, options.clientTimeout)
    }
  }, SWEEP)
  sweep.unref()

  return {
    server,
    handler,
    stats: () => ({ ...counters, ...origin.counters(), statuses: { ...statuses }, active: active.size }),
    async close(grace) {
      draining = true
      clearInterval(sweep)
      for (const res of active.keys()) if (res instanceof ServerResponse) res.shouldKeepAlive = false
      const closed = server.listening
        ? new Promise<void>((resolve) => server.close(() => resolve()))
        : Promise.resolve()
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, grace)
        drained = () => {
          clearTimeout(timer)
          resolve()
        }
        drain()
      })
      server.closeAllConnections()
      await Promise.all([closed, origin.destroy()])
    },
  }
}

function linger(req: Incoming): void {
  const { socket } = req
  const timer = setTimeout(() => req.complete || socket.destroy(), LINGER)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}
