import { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FetchDecision, SubstituteResponse } from '../../capture/decision.js'
import type { Observation } from '../../capture/observation.js'
import type { LiveRules } from '../rules/live-rules.js'
import { toArrivingRequest } from './arriving-request.js'
import { type Exchange, toObservation } from './exchange.js'
import type { ForwardedRequest, Forwarder } from './forward.js'
import { type Hop, hopOf } from './hop.js'
import { type RequestHead, readRequestHead } from './message-heads.js'
import { checkRequest, toOriginForm } from './request-check.js'
import {
  acceptsTrailers,
  type Incoming,
  type Outgoing,
  refuseConnection,
  sendErrorPage,
  sendWholeResponse,
  startClientTimeout,
} from './response-writer.js'
import { Upload } from './upload.js'

export interface RequestHandlerOptions {
  /** Called once for each exchange, when it is over. */
  record(observation: Observation): void
  /** Returns the client's address, through trusted proxies only. */
  clientAddress(req: Incoming): string
  /** Returns whether a peer is a proxy whose `X-Forwarded-*` are believed. */
  isTrustedPeer(peer: string): boolean
  /** Returns whether a path (with its query) belongs to the service: such requests go to `serve` and are not recorded. */
  isServicePath?(path: string): boolean
  serve?(req: Incoming, res: Outgoing): void
  /** The rules for agents; without any, every request is forwarded. */
  rules?: Pick<LiveRules, 'decide'>
  /** Time without progress at the client, ms. */
  clientTimeout: number
  /** Wall clock, epoch ms. */
  now(): number
  /** Monotonic clock, ms. */
  monotonic(): number
}

export interface ExchangeCounters {
  /** Exchanges begun. */
  requests: number
  /** Finished exchanges by class of the recorded status: `2xx`, `4xx` ... */
  statuses: Record<string, number>
  /** Clients that left before a response. */
  left: number
  /** Requests refused as ambiguous. */
  refused: number
  /** Requests that Node's parser refused. */
  malformed: number
}

interface ClientConnection {
  hop: Hop
  /** Pipelined requests that wait for earlier responses. */
  waiting: number
  /** The exchange that began last. */
  last?: Exchange
  /** The response to the request that arrived last; it may still wait for earlier ones. */
  newest?: ServerResponse
  /** The status for a request that the parser could not read to its end. */
  malformed?: number | undefined
}

const MAX_PIPELINED_REQUESTS = 1_000
/** Time for which the rest of an upload is read after its response, ms. */
const LINGER_MS = 10_000
/** Interval at which slow clients are looked for, ms: cheaper than a timer for each pause. */
const SWEEP_INTERVAL_MS = 5_000

/** Takes each request to the origin and back, and records it when it is over. */
export class RequestHandler {
  readonly counters: ExchangeCounters = { requests: 0, statuses: {}, left: 0, refused: 0, malformed: 0 }
  readonly #options: RequestHandlerOptions
  readonly #forwarder: Forwarder
  // An array and not a Set: a Set that is filled and emptied all the time leaves its outgrown tables in the old heap,
  // each with its entries, so that every exchange stays until the next full collection (measured: 2.9 KB of each).
  readonly #active: Exchange[] = []
  readonly #connections = new WeakMap<object, ClientConnection>()
  readonly #lingerMs: number
  readonly #sweep: NodeJS.Timeout
  #onFinish: (() => void) | undefined

  constructor(options: RequestHandlerOptions, forwarder: Forwarder) {
    this.#options = options
    this.#forwarder = forwarder
    this.#lingerMs = Math.min(LINGER_MS, options.clientTimeout)
    this.#sweep = setInterval(
      () => this.#startClientTimeouts(),
      Math.min(SWEEP_INTERVAL_MS, options.clientTimeout),
    ).unref()
  }

  /** Exchanges that are not over. */
  get active(): number {
    return this.#active.length
  }

  /** Handles a request of any server: node:http, a TLS server, or the compatibility API of node:http2. */
  readonly handle = (req: Incoming, res: Outgoing): void => {
    // After a response that closes the connection, requests on it must not be processed (RFC 9112 9.6). Node may still parse
    // one that arrives before it has closed the socket.
    if (res instanceof ServerResponse && !req.socket.writable) return
    const connection = this.#connectionOf(req)
    const { now, monotonic } = this.#options
    if (res instanceof ServerResponse) connection.newest = res
    if (res instanceof ServerResponse && res.socket === null) this.#queue(req, res, connection, now(), monotonic())
    else this.#begin(req, res, connection, now(), monotonic())
  }

  /**
   * Handles a connection on which Node's parser found no valid request. The valid requests before it get their responses
   * first, in order (RFC 9112 9.3.2): the parser reads ahead, so they may not even have begun.
   */
  readonly handleParserError = (error: NodeJS.ErrnoException, socket: Duplex): void => {
    const connection = this.#connections.get(socket)
    const newest = connection?.newest
    const running = newest !== undefined && !newest.writableFinished
    // A client that leaves during its request did not send a malformed one.
    if (error.code === 'ECONNRESET' || (running && error.code === 'HPE_INVALID_EOF_STATE')) {
      socket.destroy()
      return
    }
    // Node reports each further packet of such a connection.
    if (connection?.malformed !== undefined) return
    this.counters.malformed += 1
    const status = STATUS_BY_PARSER_ERROR[error.code ?? ''] ?? 400
    if (connection === undefined || newest === undefined) {
      refuseConnection(socket, status)
      return
    }
    connection.malformed = status
    if (!newest.req.complete) this.#refuseBody(connection, newest, socket, status)
    else if (running) newest.once('close', () => refuseAfter(newest, connection, socket, status))
    else refuseAfter(newest, connection, socket, status)
  }

  /** Ends a connection whose last request has a body that cannot be read. */
  #refuseBody({ last }: ClientConnection, newest: ServerResponse, socket: Duplex, status: number): void {
    // Its turn has not come: then it is refused as any request is, without the origin.
    if (newest.socket === null && !newest.writableFinished) return
    // A request that got its response after its head gets no second one for its body.
    if (newest.writableEnded) socket.end(() => socket.destroy())
    else if (newest.headersSent) socket.destroy()
    else {
      if (last?.res === newest) {
        last.status = status
        last.ended = true
      }
      refuseConnection(socket, status)
    }
  }

  /** Resolves when no exchange runs, at the latest after `grace` ms. Calls `onFinish` each time one ends. */
  async drain(grace: number, onFinish: () => void): Promise<void> {
    clearInterval(this.#sweep)
    for (const { res } of this.#active) if (res instanceof ServerResponse) res.shouldKeepAlive = false
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, grace)
      this.#onFinish = () => {
        onFinish()
        if (this.#active.length > 0) return
        clearTimeout(timer)
        resolve()
      }
      this.#onFinish()
    })
  }

  #startClientTimeouts(): void {
    for (const exchange of this.#active) {
      if (exchange.timerSet || !(exchange.ended || exchange.backpressured)) continue
      exchange.timerSet = true
      startClientTimeout(exchange.res, this.#options.clientTimeout)
    }
  }

  #connectionOf(req: Incoming): ClientConnection {
    const key = 'stream' in req ? (req.stream.session ?? req.stream) : req.socket
    let connection = this.#connections.get(key)
    if (connection === undefined) {
      connection = { hop: hopOf(req, this.#options.isTrustedPeer), waiting: 0 }
      this.#connections.set(key, connection)
    }
    return connection
  }

  /**
   * Delays a pipelined request until the responses before it are sent. Node parses ahead, and two requests that change
   * something could otherwise reach the origin in the wrong order.
   */
  #queue(req: Incoming, res: Outgoing, connection: ClientConnection, arrivedAt: number, startedAt: number): void {
    connection.waiting += 1
    if (connection.waiting > MAX_PIPELINED_REQUESTS) {
      req.socket.destroy()
      return
    }
    res.once('socket', () => {
      connection.waiting -= 1
      // Not while Node hands the connection over.
      setImmediate(() => this.#begin(req, res, connection, arrivedAt, startedAt))
    })
  }

  #begin(req: Incoming, res: Outgoing, connection: ClientConnection, arrivedAt: number, startedAt: number): void {
    const options = this.#options
    const method = req.method ?? 'GET'
    const head = readRequestHead(req.rawHeaders, connection.hop)
    const version = 'stream' in req ? '2' : req.httpVersion
    const broken = req.complete ? undefined : connection.malformed
    const target =
      broken ?? checkRequest(method, version, req.rawHeaders.length / 2, head) ?? toOriginForm(req.url ?? '', head)
    const refused = typeof target !== 'string'
    if (!refused && options.isServicePath?.(target) && options.serve) {
      this.#serve(req, res, options.serve)
      return
    }
    this.counters.requests += 1
    const exchange: Exchange = {
      req,
      res,
      method,
      path: refused ? (req.url ?? '') : target,
      host: head.host ?? '',
      // Read now: once its stream is gone, an HTTP/2 request has no peer.
      ip: options.clientAddress(req),
      hop: connection.hop,
      arrivedAt,
      startedAt,
      refused,
      status: 0,
      bytes: 0,
      content_type: '',
      observedHeaders: undefined,
      decision: undefined,
      ended: false,
      backpressured: false,
      timerSet: false,
      index: this.#active.length,
    }
    this.#active.push(exchange)
    connection.last = exchange
    if (this.#onFinish && res instanceof ServerResponse) res.shouldKeepAlive = false
    let forwarded: ForwardedRequest | undefined
    let isClosed = false
    res.on('close', () => {
      isClosed = true
      // An HTTP/2 stream that its client resets counts as finished.
      if (!exchange.ended || !res.writableFinished) forwarded?.abandon()
      this.#finish(exchange)
    })
    const proceed = (decision: FetchDecision | undefined) => {
      exchange.decision = decision
      if (decision?.response) this.#substitute(exchange, decision.response)
      else forwarded = this.#forwarder.forward(exchange, head, this.#bodyFor(exchange, head))
    }
    if (refused) {
      this.#refuse(exchange, target)
      return
    }
    const decision = options.rules?.decide?.(toArrivingRequest(exchange, options.now(), true))
    if (decision?.later === undefined) proceed(decision)
    // Meanwhile the client may have left, or its body may have been refused.
    else void decision.later.then((made) => isClosed || exchange.ended || proceed(made))
  }

  /** Sends the response of a rule in place of the origin's; the rest of an upload is discarded, as after any early response. */
  #substitute(exchange: Exchange, response: SubstituteResponse): void {
    const { req, res, method } = exchange
    exchange.status = response.status
    exchange.ended = true
    exchange.content_type = response.headers.find(([name]) => name === 'content-type')?.[1] ?? ''
    // A client that waits for `100 Continue` sends no body now: what comes next on the connection would be uncertain.
    exchange.bytes = sendWholeResponse(res, response, method, req.headers.expect !== undefined && !req.complete)
  }

  #serve(req: Incoming, res: Outgoing, serve: NonNullable<RequestHandlerOptions['serve']>): void {
    // The client waits for it, and Node leaves it to the `checkContinue` listener, which the proxy has taken.
    if (req.headers.expect !== undefined && acceptsTrailers(req)) res.writeContinue()
    res.once('close', () => lingerUnread(req, res, this.#lingerMs))
    serve(req, res)
  }

  #finish(exchange: Exchange): void {
    const { req, res } = exchange
    const last = this.#active.pop()
    if (last !== undefined && last !== exchange) {
      this.#active[exchange.index] = last
      last.index = exchange.index
    }
    if (exchange.status === 0) this.counters.left += 1
    lingerUnread(req, res, this.#lingerMs)
    this.#onFinish?.()
    const observation = toObservation(exchange, this.#options.monotonic() - exchange.startedAt)
    exchange.decision?.countBytes?.(observation.bytes)
    const { statuses } = this.counters
    const statusClass = STATUS_CLASSES[Math.floor(observation.status / 100)] ?? '9xx'
    statuses[statusClass] = (statuses[statusClass] ?? 0) + 1
    try {
      this.#options.record(observation)
    } catch {
      // The recorder counts its own faults; the site goes on.
    }
  }

  #refuse(exchange: Exchange, status: number): void {
    this.counters.refused += 1
    exchange.status = status
    exchange.ended = true
    exchange.content_type = 'text/plain; charset=utf-8'
    // Closes the connection, because the start of the next request is uncertain.
    exchange.bytes = sendErrorPage(exchange.res, status, exchange.method, true)
  }

  #bodyFor({ req, res }: Exchange, head: RequestHead): Upload | null {
    const empty = 'stream' in req ? req.stream.endAfterHeaders : head.transfers === 0 && Number(head.length ?? 0) === 0
    if (empty) return null
    return new Upload(req, res, head.length, this.#options.clientTimeout, () => {
      if (req.headers.expect !== undefined && !res.headersSent) res.writeContinue()
    })
  }
}

/** Refuses the bytes after the last request, if the connection goes on after its response. */
function refuseAfter(newest: ServerResponse, connection: ClientConnection, socket: Duplex, status: number): void {
  // A request whose head was too slow (408) may have arrived meanwhile.
  if (connection.newest !== newest) connection.malformed = undefined
  else if (socket.writable) refuseConnection(socket, status)
}

const STATUS_BY_PARSER_ERROR: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

const STATUS_CLASSES = ['0xx', '1xx', '2xx', '3xx', '4xx', '5xx', '6xx', '7xx', '8xx']

/** Reads the rest of a request that got its response early, for `ms`: nothing else bounds that rest. */
function lingerUnread(req: Incoming, res: Outgoing, ms: number): void {
  if (req.complete || !res.writableFinished || !(res instanceof ServerResponse)) return
  const { socket } = req
  const timer = setTimeout(() => req.complete || socket.destroy(), ms)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}
