import { ServerResponse } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import { plainAddress } from '../address.js'
import type { Observation } from '../capture/observation.js'
import { parserErrorStatus, refuseConnection } from './broken-request.js'
import { waitForClient } from './client-timeout.js'
import { sendErrorPage } from './error-page.js'
import type { Exchange } from './exchange.js'
import { toObservation } from './exchange-observation.js'
import type { ForwardedRequest, Forwarder } from './forward.js'
import type { Hop } from './hop.js'
import { type RequestHead, readRequestHead } from './message-heads.js'
import { requestBody } from './request-body.js'
import { checkRequest, toOriginForm } from './request-check.js'
import { acceptsTrailers, type Incoming, type Outgoing } from './response-writer.js'

export interface RequestHandlerOptions {
  /** Called once for each exchange, when it is over. */
  record(observation: Observation): void
  /** The client's address, through trusted hops only. */
  clientAddress(req: Incoming): string
  /** Whether a peer is a proxy whose `X-Forwarded-*` count. */
  isTrustedPeer(peer: string): boolean
  /** Paths (with their query) that are ours: they go to `handle`, not to the origin, and are not recorded. */
  isServicePath?(path: string): boolean
  serve?(req: Incoming, res: Outgoing): void
  /** Without progress at the client, ms. */
  clientTimeout: number
  /** Wall clock, epoch ms. */
  now(): number
  /** A clock that never goes back, ms. */
  monotonic(): number
}

export interface ExchangeCounters {
  /** Exchanges begun. */
  requests: number
  /** Exchanges over, by class of the recorded status: `2xx`, `4xx` ... */
  statuses: Record<string, number>
  /** Clients that left before a response. */
  left: number
  /** Requests refused as ambiguous, and those that Node's parser refused. */
  refused: number
  malformed: number
}

export interface RequestHandler {
  readonly counters: ExchangeCounters
  active(): number
  handle(req: Incoming, res: Outgoing): void
  /** A connection on which Node's parser read no request. */
  handleParserError(error: NodeJS.ErrnoException, socket: Duplex): void
  /** Resolves when no exchange runs, at the latest after `grace` ms; `idle` is called each time one ends. */
  drain(grace: number, idle: () => void): Promise<void>
}

/** What is known of one client's connection. */
interface Connection {
  hop: Hop
  /** Requests behind the one that is being answered. */
  waiting: number
  /** The exchange begun last. */
  last?: Exchange
}

/** Requests that wait behind another on their connection; more is not a client but a flood. */
const MAX_PIPELINED_REQUESTS = 1_000
/** A client that goes on sending after its answer is read for this long, ms. */
const LINGER_MS = 10_000
/** Clients that are behind are found this often, ms: looking is cheaper than a timer each time one is. */
const SWEEP_INTERVAL_MS = 5_000

/** Each request to the origin and back, noted when it is over. */
export function createRequestHandler(options: RequestHandlerOptions, origin: Forwarder): RequestHandler {
  const { now, monotonic } = options
  const counters: ExchangeCounters = { requests: 0, statuses: {}, left: 0, refused: 0, malformed: 0 }
  const { statuses } = counters
  // An array and not a Set: a Set that is filled and emptied all the time leaves its outgrown tables in the old heap,
  // each with what was in it, and so every exchange is kept until the next full collection (measured: 2.9 KB of each).
  const active: Exchange[] = []
  const connections = new WeakMap<object, Connection>()
  let draining: (() => void) | undefined
  const linger = Math.min(LINGER_MS, options.clientTimeout)

  const sweep = setInterval(
    () => {
      for (const exchange of active) {
        if (exchange.timerSet || !(exchange.ended || exchange.backpressured)) continue
        exchange.timerSet = true
        waitForClient(exchange.res, options.clientTimeout)
      }
    },
    Math.min(SWEEP_INTERVAL_MS, options.clientTimeout),
  )
  sweep.unref()

  function connectionOf(req: Incoming): Connection {
    const key = 'stream' in req ? (req.stream.session ?? req.stream) : req.socket
    let connection = connections.get(key)
    if (connection === undefined) {
      const peer = plainAddress(req.socket.remoteAddress ?? '')
      const proto = 'encrypted' in req.socket && req.socket.encrypted === true ? 'https' : 'http'
      const hop: Hop = { peer, trusted: options.isTrustedPeer(peer), proto, splitsCookies: req.httpVersionMajor === 2 }
      connection = { hop, waiting: 0 }
      connections.set(key, connection)
    }
    return connection
  }

  /** Node parses ahead: a request behind another waits its turn, or two that change things could change places. */
  function queue(req: Incoming, res: Outgoing, connection: Connection): void {
    const arrived = now()
    const started = monotonic()
    connection.waiting += 1
    if (connection.waiting > MAX_PIPELINED_REQUESTS) {
      req.socket.destroy()
      return
    }
    res.once('socket', () => {
      connection.waiting -= 1
      // Not inside Node's own hand-over of the connection.
      setImmediate(() => begin(req, res, connection, arrived, started))
    })
  }

  function begin(req: Incoming, res: Outgoing, connection: Connection, arrived: number, started: number): void {
    const method = req.method ?? 'GET'
    const head = readRequestHead(req.rawHeaders, connection.hop)
    const version = 'stream' in req ? '2' : req.httpVersion
    const target = checkRequest(method, version, req.rawHeaders.length / 2, head) ?? toOriginForm(req.url ?? '', head)
    const refused = typeof target !== 'string'
    if (!refused && options.isServicePath?.(target) && options.serve) {
      // It waits for that, and nobody else says it: Node hands over what expects before it has.
      if (req.headers.expect !== undefined && acceptsTrailers(req)) res.writeContinue()
      res.once('close', () => lingerUnread(req, res, linger))
      options.serve(req, res)
      return
    }
    counters.requests += 1
    const exchange: Exchange = {
      req,
      res,
      method,
      path: refused ? (req.url ?? '') : target,
      host: head.host ?? '',
      // Now: once its stream is gone, an HTTP/2 request has no peer.
      ip: options.clientAddress(req),
      hop: connection.hop,
      arrivedAt: arrived,
      startedAt: started,
      refused,
      status: 0,
      bytes: 0,
      content_type: '',
      observedHeaders: undefined,
      ended: false,
      backpressured: false,
      timerSet: false,
      index: active.length,
    }
    active.push(exchange)
    connection.last = exchange
    if (draining && res instanceof ServerResponse) res.shouldKeepAlive = false
    let forwarded: ForwardedRequest | undefined
    res.on('close', () => {
      // A stream of HTTP/2 that its client resets counts as finished.
      if (!exchange.ended || !res.writableFinished) forwarded?.abandon()
      finish(exchange)
    })
    if (refused) refuse(exchange, target.status)
    else forwarded = origin.forward(exchange, originFields(head), bodyFor(exchange, head))
  }

  function finish(exchange: Exchange): void {
    const { req, res } = exchange
    const last = active.pop()
    if (last !== undefined && last !== exchange) {
      active[exchange.index] = last
      last.index = exchange.index
    }
    if (exchange.status === 0) counters.left += 1
    lingerUnread(req, res, linger)
    draining?.()
    const fact = toObservation(exchange, monotonic() - exchange.startedAt)
    const kind = STATUS_CLASSES[Math.floor(fact.status / 100)] ?? '9xx'
    statuses[kind] = (statuses[kind] ?? 0) + 1
    try {
      options.record(fact)
    } catch {
      // The recorder counts its own faults; the site goes on.
    }
  }

  function refuse(exchange: Exchange, status: number): void {
    counters.refused += 1
    exchange.status = status
    exchange.ended = true
    exchange.content_type = 'text/plain; charset=utf-8'
    // Where the next request begins is what was in doubt.
    exchange.bytes = sendErrorPage(exchange.res, status, exchange.method, true)
  }

  function bodyFor({ req, res }: Exchange, head: RequestHead): Readable | null {
    const empty = 'stream' in req ? req.stream.endAfterHeaders : head.transfers === 0 && Number(head.length ?? 0) === 0
    if (empty) return null
    return requestBody(req, res, options.clientTimeout, () => {
      if (req.headers.expect !== undefined && !res.headersSent) res.writeContinue()
    })
  }

  return {
    counters,
    active: () => active.length,
    handle(req, res) {
      const connection = connectionOf(req)
      if (res instanceof ServerResponse && res.socket === null) queue(req, res, connection)
      else begin(req, res, connection, now(), monotonic())
    },
    handleParserError(error, socket) {
      const last = connections.get(socket)?.last
      const running = last !== undefined && !last.res.writableFinished
      // A client that leaves within its request is no fault of form.
      if (error.code === 'ECONNRESET' || (running && error.code === 'HPE_INVALID_EOF_STATE')) {
        socket.destroy()
        return
      }
      counters.malformed += 1
      const status = parserErrorStatus(error)
      // A request that was answered where its head ended is not answered again for its body.
      if (last?.ended && (last.refused || running)) socket.end(() => socket.destroy())
      else if (running && last.res.headersSent) socket.destroy()
      else {
        if (running) {
          last.status = status
          last.ended = true
        }
        refuseConnection(socket, status)
      }
    },
    async drain(grace, idle) {
      clearInterval(sweep)
      for (const { res } of active) if (res instanceof ServerResponse) res.shouldKeepAlive = false
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, grace)
        draining = () => {
          idle()
          if (active.length > 0) return
          clearTimeout(timer)
          resolve()
        }
        draining()
      })
    },
  }
}

const STATUS_CLASSES = ['0xx', '1xx', '2xx', '3xx', '4xx', '5xx', '6xx', '7xx', '8xx']

function originFields({ fields, host, length }: RequestHead): string[] {
  if (host !== undefined) fields.push('host', host)
  if (length !== undefined && Number(length) > 0) fields.push('content-length', length)
  return fields
}

/** Of a request that was answered before its end the rest is read, for a while: there is no other bound on it. */
function lingerUnread(req: Incoming, res: Outgoing, ms: number): void {
  if (req.complete || !res.writableFinished || !(res instanceof ServerResponse)) return
  const { socket } = req
  const timer = setTimeout(() => req.complete || socket.destroy(), ms)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}
