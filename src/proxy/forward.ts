import { ServerResponse } from 'node:http'
import { isIP, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { buildConnector, type Dispatcher, type Pool } from 'undici'
import { stopWaiting } from './client-timeout.js'
import { sendErrorPage } from './error-page.js'
import type { Exchange } from './exchange.js'
import { createInjection, type Injection, type ScriptFor } from './inject/injection.js'
import type { Page, PageClient } from './inject/page.js'
import { type ResponseHead, readResponseHead, readTrailers } from './message-heads.js'
import { type OriginFailure, originFailure } from './origin-failure.js'
import { createOriginPools } from './origin-pools.js'
import {
  createPolicyChangeDetector,
  isPolicyPath,
  type OnPolicyChange,
  type PolicyBodyHash,
  type PolicyChangeDetector,
} from './policy-change.js'
import {
  acceptsTrailers,
  cutResponse,
  endResponse,
  type Outgoing,
  sendBody,
  sendHead,
  sendInformation,
} from './response-writer.js'

export interface ForwarderOptions {
  /** Scheme, host and port; a path is not part of it. */
  origin: URL
  /** For an https origin whose certificate the system does not know. */
  originTls?: { ca?: string; rejectUnauthorized?: boolean }
  /** Until a connection stands, ms. */
  connectTimeout: number
  /** From the whole request to the response's head, ms. */
  headersTimeout: number
  /** Between two parts of a response's body, ms. */
  bodyIdleTimeout: number
  /** Largest head of a response, bytes. */
  maxHeaderSize: number
  /** Told where a robots.txt or llms.txt went to a client whose bytes are not those that went before. */
  onPolicyChange?: OnPolicyChange
  /** Where given, pages get the tag of this script. */
  scriptFor?: ScriptFor
}

export interface ForwardedRequest {
  /** The client has left: give the request up. */
  abandon(): void
}

export interface OriginCounters {
  retries: number
  failures: Partial<Record<OriginFailure, number>>
}

export interface Forwarder {
  /**
   * Ask the origin and answer the client. `fields` is name, value, name, value; a body has its `Content-Length` there,
   * or is sent chunked.
   */
  forward(exchange: Exchange, fields: string[], body: Readable | null): ForwardedRequest
  counters(): OriginCounters
  /** Close the connections, also those in use. */
  destroy(): Promise<void>
}

/** RFC 9110 9.2.2, of the methods that a request without a body has. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** An origin that sends more 1xx responses than this before a final one is not going to send one. */
const MAX_INFORMATIONAL_RESPONSES = 100

/** Between the packets of an origin that does not pause, ms. */
const HEAD_FLUSH_DELAY_MS = 25

export function createForwarder(options: ForwarderOptions): Forwarder {
  const { origin } = options
  const counters: OriginCounters = { retries: 0, failures: {} }
  const ends: ConnectionEnds = { byReset: false, reading: undefined, resume: new WeakMap() }
  const pools = createOriginPools(origin.origin, {
    connect: createConnector(options, ends),
    headersTimeout: options.headersTimeout,
    bodyTimeout: options.bodyIdleTimeout,
    maxHeaderSize: options.maxHeaderSize,
  })
  const policies = options.onPolicyChange && createPolicyChangeDetector(options.onPolicyChange)
  const injection = options.scriptFor && createInjection(options.scriptFor)
  const way: ForwardContext = { servername: origin.hostname, counters, ends, policies, injection }
  return {
    forward(exchange, fields, body) {
      injection?.restoreValidators(exchange, fields)
      const relay = new OriginExchange(exchange, fields, body, pools.poolFor(exchange.req), way)
      relay.dispatch()
      return relay
    },
    counters: () => counters,
    destroy: pools.destroy,
  }
}

/** How connections to the origin end, of which undici says too little. */
interface ConnectionEnds {
  /** While undici is told that one ended: whether it was a reset. */
  byReset: boolean
  /** The one that is being read. */
  reading: Socket | undefined
  /** What goes on with one whose answer is held back. */
  readonly resume: WeakMap<Socket, () => void>
}

/** undici's connector, with one name for the origin and with resets as failures. */
function createConnector(options: ForwarderOptions, ends: ConnectionEnds): buildConnector.connector {
  const hostname = options.origin.hostname.replace(/^\[|\]$/g, '')
  const connect = buildConnector({ timeout: options.connectTimeout, ...options.originTls })
  return (request, callback) => {
    // The name in the certificate is the configured origin's, not what a client wrote in `Host`; an address is no name.
    connect({ ...request, servername: isIP(hostname) ? '' : hostname }, (...args) => {
      const [error, socket] = args
      if (error !== null) return callback(error, null)
      // Before undici's listeners: they take a reset for the end of a body that only the close would end (a truncated
      // success), and an assertion of theirs throws where the parser is paused. As a socket error it does neither,
      // and what was not yet written to a stale connection goes to a new one.
      socket.on('error', (reset: NodeJS.ErrnoException) => {
        if (reset.code !== 'ECONNRESET' && reset.code !== 'EPIPE') return
        Object.assign(reset, { code: 'UND_ERR_SOCKET', socket: { bytesRead: socket.bytesRead } })
      })
      socket.on('readable', () => {
        ends.reading = socket
      })
      // libuv tells a reset that comes with unread bytes as an end. A connection that is reset has no peer any more,
      // one that the peer closed has; nobody may ask before, for Node remembers the answer.
      socket.on('end', () => {
        // Of an answer that is held back undici 7 does not take the end (an assertion throws, and its client waits for
        // ever); all of it has been read by now.
        ends.resume.get(socket)?.()
        ends.byReset = socket.remoteAddress === undefined
      })
      callback(null, socket)
      socket.on('end', () => {
        ends.byReset = false
      })
    })
  }
}

/** What every exchange's relay has in common. */
interface ForwardContext {
  servername: string
  counters: OriginCounters
  ends: ConnectionEnds
  policies: PolicyChangeDetector | undefined
  injection: Injection | undefined
}

/**
 * undici's handler of one exchange: the origin's answer to the client, part by part. In the older of undici 7's two
 * shapes, which hands over the fields as bytes: the newer one first builds an object of them that nobody here reads
 * (15 % of the CPU of a request of 1 KB, measured). undici 8, which needs Node 22, will want the newer.
 */
class OriginExchange implements Dispatcher.DispatchHandler, ForwardedRequest, PageClient {
  #abort: ((reason: Error) => void) | undefined
  #again: (() => void) | undefined
  #begun = false
  #sized = false
  #left = false
  #retried = false
  #information = 0
  #drained: (() => void) | undefined
  #digest: PolicyBodyHash | undefined
  #page: Page | undefined
  #message = ''

  constructor(
    readonly exchange: Exchange,
    readonly fields: string[],
    readonly upload: Readable | null,
    readonly pool: Pool,
    readonly way: ForwardContext,
  ) {}

  dispatch(): void {
    const { path, method } = this.exchange
    const { servername } = this.way
    const request = { path, method, headers: this.fields, body: this.upload, idempotent: false, servername }
    this.pool.dispatch(request, this)
  }

  abandon(): void {
    this.#left = true
    this.upload?.destroy()
    this.#page?.abandon()
    if (!this.exchange.ended) this.#abort?.(new Error('the client left'))
  }

  onConnect(abort: (reason?: Error) => void): void {
    this.#abort = abort
    if (this.#left) abort(new Error('the client left'))
  }

  onResponseStarted(): void {
    this.#begun = true
  }

  onHeaders(status: number, raw: Buffer[], again: () => void, message: string): boolean {
    const { exchange } = this
    const { req, res, method } = exchange
    this.#again = again
    const { reading, resume } = this.way.ends
    if (reading !== undefined) resume.set(reading, again)
    const modern = acceptsTrailers(req)
    const trailers = modern && method !== 'HEAD' && status !== 304 && status !== 204
    const head = readResponseHead(raw, status, trailers)
    if (status < 200) {
      this.#information += 1
      // Nobody asked for 101, whose sender no longer speaks HTTP; and 0 to 99 are no statuses.
      if (status <= 101 || this.#information > MAX_INFORMATIONAL_RESPONSES) throw new Error(`the origin sent ${status}`)
      if (modern) sendInformation(res, status, message, head.fields)
      return true
    }
    this.#message = message
    this.#page = this.#injected(status, head)
    if (this.#page === undefined) {
      sendHead(res, status, message, head.fields)
      this.#sized = head.sized
    }
    exchange.status = status
    exchange.content_type = head.content_type
    exchange.observedHeaders = head.observed
    if (status === 200 && isPolicyPath(exchange.path)) this.#digest = this.way.policies?.hashBody(exchange, head.fields)
    else if ((status === 404 || status === 410) && isPolicyPath(exchange.path))
      this.way.policies?.reportMissing(exchange)
    this.#paused(res)
    // undici takes a length that such a response only quotes (RFC 9110 8.6) for a body that is missing.
    if (head.sized && (status === 304 || status === 204)) this.end([])
    return true
  }

  /**
   * An origin that pauses behind its head wants it to be there: an event stream is open then, and what it links to is
   * fetched. HTTP/1.1 would send it with the body's first part.
   */
  #paused(res: Outgoing): void {
    if (!(res instanceof ServerResponse)) {
      if (this.#page !== undefined) setImmediate(() => this.#page?.flushHead())
    } else if (this.#page === undefined) setImmediate(flushHead, this.exchange)
    else {
      // Some send the head of a page in a packet of its own, and as long as there is nothing of it its length is not known.
      setTimeout(() => {
        this.#page?.flushHead()
        flushHead(this.exchange)
      }, HEAD_FLUSH_DELAY_MS)
    }
  }

  /** A fault of ours there is a page without the tag. */
  #injected(status: number, head: ResponseHead): Page | undefined {
    try {
      return this.way.injection?.createPage(this.exchange, status, head, this)
    } catch {
      return undefined
    }
  }

  onData(chunk: Buffer): boolean {
    // So undici goes on where it was held back at the end of what there was.
    if (chunk.length === 0) return true
    this.#digest?.update(chunk)
    return this.#page === undefined ? this.sendBody(chunk) : this.#page.write(chunk)
  }

  sendHead(fields: readonly string[], sized: boolean): void {
    const { res, status, ended } = this.exchange
    if (ended || this.#left) return
    this.#sized = sized
    try {
      sendHead(res, status, this.#message, [...fields])
    } catch (error) {
      this.fail(error instanceof Error ? error : new Error(String(error)))
    }
  }

  /** A part of the body for the client; false where it is behind. */
  sendBody(part: Buffer): boolean {
    const { exchange } = this
    if (exchange.ended) return true
    exchange.bytes += part.length
    if (sendBody(exchange.res, part)) return true
    exchange.backpressured = true
    this.#drained ??= () => {
      exchange.backpressured = false
      if (exchange.timerSet) {
        exchange.timerSet = false
        stopWaiting(exchange.res)
      }
      if (this.#page === undefined) this.resumeOrigin()
      else this.#page.onClientDrain()
    }
    exchange.res.once('drain', this.#drained)
    return false
  }

  onComplete(raw: readonly (Buffer | string)[] | null): void {
    if (this.exchange.ended) return
    if (this.way.ends.byReset) {
      this.#fail('closed')
      return
    }
    const trailers = raw !== null && raw.length > 0 && acceptsTrailers(this.exchange.req) ? readTrailers(raw) : []
    if (this.#page === undefined) this.end(trailers)
    else this.#page.end(trailers)
  }

  onError(error: Error): void {
    if (this.#left || this.exchange.ended) return
    if (this.#mayRetry(error)) {
      this.#retried = true
      this.way.counters.retries += 1
      setImmediate(() => (this.#left ? undefined : this.dispatch()))
      return
    }
    this.#fail(originFailure(error))
  }

  resumeOrigin(): void {
    this.#again?.()
  }

  fail(error: Error): void {
    if (this.#left || this.exchange.ended) return
    this.#fail('protocol')
    this.#abort?.(error)
  }

  #fail(failure: OriginFailure): void {
    const { exchange } = this
    const { req, res } = exchange
    const { failures } = this.way.counters
    failures[failure] = (failures[failure] ?? 0) + 1
    exchange.ended = true
    this.#page?.abandon()
    if (res.headersSent) {
      cutResponse(res, this.#sized)
      return
    }
    const slow = failure === 'headers_timeout' || failure === 'connect_timeout'
    exchange.status = slow ? 504 : 502
    exchange.content_type = 'text/plain; charset=utf-8'
    exchange.observedHeaders = undefined
    // A client still sending would have to be read to the end for its next request to be found.
    exchange.bytes += sendErrorPage(res, exchange.status, exchange.method, !req.complete)
  }

  /** Only what the origin cannot have begun to answer, on a connection that had answered before: a stale one. */
  #mayRetry(error: Error): boolean {
    if (this.#retried || this.#begun || this.upload !== null || !IDEMPOTENT.has(this.exchange.method)) return false
    return 'code' in error && error.code === 'UND_ERR_SOCKET' && servedBefore(error)
  }

  end(trailers: [string, string][]): void {
    const { exchange } = this
    if (exchange.ended) return
    exchange.ended = true
    try {
      endResponse(exchange.res, trailers)
    } catch {
      // Trailers that cannot be sent: the client hears that it is not whole.
      cutResponse(exchange.res, this.#sized)
    }
    this.#digest?.end()
  }
}

/** By a part with nothing in it: Node's `flushHeaders` would write latin1 as UTF-8. */
function flushHead({ res, bytes, ended }: Exchange): void {
  if (bytes === 0 && !ended && res.headersSent) sendBody(res, EMPTY)
}
const EMPTY = Buffer.alloc(0)

function servedBefore(error: Error): boolean {
  if (!('socket' in error) || typeof error.socket !== 'object' || error.socket === null) return false
  return 'bytesRead' in error.socket && typeof error.socket.bytesRead === 'number' && error.socket.bytesRead > 0
}
