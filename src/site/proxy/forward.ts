import { ServerResponse } from 'node:http'
import type { Redirection } from '../../capture/decision.js'
import type { OnSampledPage } from '../../capture/sampled-page.js'
import { redirectionHeaders } from '../../rules/redirect.js'
import type { LiveRules } from '../rules/live-rules.js'
import type { Exchange } from './exchange.js'
import { createInjection, type Injection, type ScriptFor } from './inject/injection.js'
import type { Page, PageClient } from './inject/page.js'
import { type RequestHead, type ResponseHead, readResponseHead, readTrailers } from './message-heads.js'
import type { OriginConnection, OriginRequest } from './origin/connection.js'
import { Deadlines } from './origin/deadlines.js'
import type { OriginFailure } from './origin/failure.js'
import { createOpenSocket } from './origin/open-socket.js'
import type { OriginPool } from './origin/pool.js'
import { formatRequestHead } from './origin/request-head.js'
import type { OriginHead } from './origin/response-head.js'
import { createOriginPools } from './origin-pools.js'
import { createPageSampler, type PageCopy, type PageSampler } from './page-sampler.js'
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
  sendBody,
  sendErrorPage,
  sendHead,
  sendInformation,
  sendWholeResponse,
  stopClientTimeout,
} from './response-writer.js'
import type { Upload } from './upload.js'

export interface ForwarderOptions {
  /** Scheme, host and port; a path is ignored. */
  origin: URL
  /** For an https origin whose certificate the system does not know. */
  originTls?: { ca?: string; rejectUnauthorized?: boolean }
  /** Time to connect, ms. */
  connectTimeout: number
  /** Time from the complete request to the response's head, ms. */
  headersTimeout: number
  /** Time between two parts of a response's body, ms. */
  bodyIdleTimeout: number
  /** Largest head of a response, bytes. */
  maxHeaderSize: number
  /** Called when a robots.txt or llms.txt went to a client with other bytes than before. */
  onPolicyChange?: OnPolicyChange
  /** Called with copies of few pages; without it none is copied. */
  onSampledPage?: OnSampledPage
  /** Returns the script whose tag a page gets; without it no page is changed. */
  scriptFor?: ScriptFor
  /** The redirects of missing pages; without any, no response is looked at. */
  rules?: Pick<LiveRules, 'redirect'>
}

export interface ForwardedRequest {
  /** Gives the request up, because the client has left. */
  abandon(): void
}

export interface OriginCounters {
  retries: number
  failures: Partial<Record<OriginFailure, number>>
}

export type Forwarder = ReturnType<typeof createForwarder>

/** The idempotent methods (RFC 9110 9.2.2) of requests without a body. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** Time between the packets of an origin that does not pause, ms. */
const HEAD_FLUSH_DELAY_MS = 25

/** A discarded body is read this far, and for this long, before the connection is closed. */
const MAX_DISCARDED_BYTES = 262_144
const MAX_DISCARD_MS = 5_000

/** Largest interval between two looks at the timeouts, ms; shorter timeouts are looked at eight times. */
const MAX_TICK_MS = 1_000

/** Creates the part of the proxy that sends requests to the origin and its responses to the clients. */
export function createForwarder(options: ForwarderOptions) {
  const { origin, connectTimeout, headersTimeout, bodyIdleTimeout, maxHeaderSize } = options
  const counters: OriginCounters = { retries: 0, failures: {} }
  const shortest = Math.min(connectTimeout, headersTimeout, bodyIdleTimeout)
  const pools = createOriginPools({
    open: createOpenSocket(origin, options.originTls ?? {}),
    connectTimeout,
    headersTimeout,
    bodyIdleTimeout,
    maxHeaderSize,
    deadlines: new Deadlines(Math.min(MAX_TICK_MS, Math.ceil(shortest / 8))),
  })
  const policyChanges = options.onPolicyChange && createPolicyChangeDetector(options.onPolicyChange)
  const injection = options.scriptFor && createInjection(options.scriptFor)
  const sampler = options.onSampledPage && createPageSampler(options.onSampledPage)
  const { rules } = options
  const context: ForwarderState = { host: origin.host, counters, policyChanges, sampler, injection, rules }
  return {
    /** Sends a request to the origin and its response to the client. */
    forward(exchange: Exchange, head: RequestHead, body: Upload | null): ForwardedRequest {
      injection?.restoreValidators(exchange, head.fields)
      const request = new OriginExchange(exchange, body, pools.poolFor(exchange.req), context)
      request.dispatch(head)
      return request
    },
    counters: () => counters,
    /** Closes the connections, also those in use. */
    destroy: pools.destroy,
  }
}

/** The state that all exchanges share. */
interface ForwarderState {
  /** The origin's own name, for clients that name no host. */
  host: string
  counters: OriginCounters
  policyChanges: PolicyChangeDetector | undefined
  sampler: PageSampler | undefined
  injection: Injection | undefined
  rules: ForwarderOptions['rules']
}

/** Handles one exchange with the origin: sends the response to the client part by part. */
class OriginExchange implements OriginRequest, ForwardedRequest, PageClient {
  connection: OriginConnection | undefined
  isAbandoned = false
  head = ''
  #sized = false
  #retried = false
  #onDrain: (() => void) | undefined
  #policyHash: PolicyBodyHash | undefined
  #copy: PageCopy | undefined
  #page: Page | undefined
  #message = ''
  /** Bytes of the origin's body that were discarded; undefined unless a redirect took its place. */
  #discarded: number | undefined
  #discardTimer: NodeJS.Timeout | undefined

  constructor(
    readonly exchange: Exchange,
    readonly upload: Upload | null,
    readonly pool: OriginPool,
    readonly context: ForwarderState,
  ) {}

  get method(): string {
    return this.exchange.method
  }

  dispatch({ fields, host = this.context.host }: RequestHead): void {
    const { path, method } = this.exchange
    const length = this.upload === null ? undefined : (this.upload.length ?? 'chunked')
    try {
      this.head = formatRequestHead({ method, path, host, fields }, length)
    } catch {
      this.#fail('other')
      return
    }
    this.pool.send(this)
  }

  abandon(): void {
    this.isAbandoned = true
    this.#page?.abandon()
    this.connection?.abort(this)
  }

  onInformation({ status, message, fields }: OriginHead): void {
    const { req, res } = this.exchange
    if (acceptsTrailers(req)) sendInformation(res, status, message, readResponseHead(fields, status, false).fields)
  }

  onHead({ status, message, fields }: OriginHead): void {
    const { exchange } = this
    const { req, res, method } = exchange
    const { policyChanges, sampler, rules } = this.context
    const redirect = rules?.redirect?.({ status, method, target: exchange.path, host: exchange.host })
    if (redirect !== undefined) {
      this.#redirect(redirect)
      return
    }
    const trailers = acceptsTrailers(req) && method !== 'HEAD' && status !== 304 && status !== 204
    const head = readResponseHead(fields, status, trailers)
    this.#message = message
    this.#page = this.#createPage(status, head)
    if (this.#page === undefined) {
      sendHead(res, status, message, head.fields)
      this.#sized = head.sized
    }
    exchange.status = status
    exchange.content_type = head.content_type
    exchange.observedHeaders = head.observed
    this.#copy = sampler?.begin(exchange, status, head.content_type, fields)
    if (policyChanges !== undefined && isPolicyPath(exchange.path)) {
      if (status === 200) this.#policyHash = policyChanges.hashBody(exchange, head.fields)
      else if (status === 404 || status === 410) policyChanges.reportMissing(exchange)
    }
  }

  /** Sends a redirect in place of the origin's response, whose body is read and discarded, so that its connection stays usable. */
  #redirect(redirection: Redirection): void {
    const { exchange } = this
    const { req, res, method } = exchange
    const { status } = redirection
    exchange.status = status
    exchange.redirected = true
    exchange.ended = true
    this.#discarded = 0
    sendWholeResponse(res, { status, headers: redirectionHeaders(redirection), body: '' }, method, !req.complete)
    this.#discardTimer = setTimeout(() => this.connection?.abort(this), MAX_DISCARD_MS)
  }

  /** Counts a part of a body that is discarded; of a long one the connection is closed. */
  #discard(bytes: number): boolean {
    this.#discarded = (this.#discarded ?? 0) + bytes
    if (this.#discarded > MAX_DISCARDED_BYTES) this.connection?.abort(this)
    return true
  }

  /**
   * Sends the head while the origin pauses after it: an event stream is then open, and the client fetches what the head
   * links to. Without this, HTTP/1.1 would send the head with the first part of the body.
   */
  onHeadRead(): void {
    const { res, bytes } = this.exchange
    if (bytes > 0) return
    if (!(res instanceof ServerResponse)) {
      if (this.#page !== undefined) setImmediate(() => this.#page?.flushHead())
    } else if (this.#page === undefined) setImmediate(flushHead, this.exchange)
    else {
      // Some origins send a page's head in a packet of its own; until the body begins, the page's length is unknown.
      setTimeout(() => {
        this.#page?.flushHead()
        flushHead(this.exchange)
      }, HEAD_FLUSH_DELAY_MS)
    }
  }

  /** Returns the page that gets the script tag. A fault of the injection leaves the page as it is. */
  #createPage(status: number, head: ResponseHead): Page | undefined {
    try {
      return this.context.injection?.createPage(this.exchange, status, head, this)
    } catch {
      return undefined
    }
  }

  onBody(part: Buffer): boolean {
    if (this.#discarded !== undefined) return this.#discard(part.length)
    this.#policyHash?.update(part)
    this.#copy?.update(part)
    return this.#page === undefined ? this.#send(own(part), part.length) : this.#page.write(Buffer.from(part))
  }

  sendHead(fields: readonly string[], sized: boolean): void {
    const { res, status, ended } = this.exchange
    if (ended || this.isAbandoned) return
    this.#sized = sized
    try {
      sendHead(res, status, this.#message, [...fields])
    } catch (error) {
      this.fail(error instanceof Error ? error : new Error(String(error)))
    }
  }

  sendBody(part: Buffer): boolean {
    return this.#send(part, part.length)
  }

  #send(part: Buffer | string, bytes: number): boolean {
    const { exchange } = this
    if (exchange.ended) return true
    exchange.bytes += bytes
    if (sendBody(exchange.res, part)) return true
    // A packet may have many chunks, and all of them are read.
    if (exchange.backpressured) return false
    exchange.backpressured = true
    this.#onDrain ??= () => {
      exchange.backpressured = false
      if (exchange.timerSet) {
        exchange.timerSet = false
        stopClientTimeout(exchange.res)
      }
      if (this.#page === undefined) this.resumeOrigin()
      else this.#page.onClientDrain()
    }
    exchange.res.once('drain', this.#onDrain)
    return false
  }

  onEnd(last: Buffer, raw: readonly string[]): void {
    const { exchange } = this
    clearTimeout(this.#discardTimer)
    if (exchange.ended) return
    const trailers = raw.length > 0 && acceptsTrailers(exchange.req) ? readTrailers(raw) : []
    if (last.length > 0) this.#policyHash?.update(last)
    if (last.length > 0) this.#copy?.update(last)
    this.#copy?.end()
    if (this.#page === undefined) {
      exchange.bytes += last.length
      this.end(trailers, last.length === 0 ? undefined : own(last))
      return
    }
    if (last.length > 0) this.#page.write(Buffer.from(last))
    this.#page.end(trailers)
  }

  onFailure(failure: OriginFailure, stale: boolean): void {
    clearTimeout(this.#discardTimer)
    if (this.isAbandoned || this.exchange.ended) return
    // Retries only a request that the origin cannot have begun to process, on a connection of its own.
    if (stale && !this.#retried && this.upload === null && IDEMPOTENT.has(this.method)) {
      this.#retried = true
      this.context.counters.retries += 1
      this.pool.connect(this)
      return
    }
    this.#fail(failure)
  }

  resumeOrigin(): void {
    this.connection?.resume()
  }

  fail(_error: Error): void {
    if (this.isAbandoned || this.exchange.ended) return
    this.#fail('protocol')
    this.connection?.abort(this)
  }

  #fail(failure: OriginFailure): void {
    const { exchange } = this
    const { req, res } = exchange
    const { failures } = this.context.counters
    failures[failure] = (failures[failure] ?? 0) + 1
    flushHead(exchange)
    exchange.ended = true
    this.#page?.abandon()
    if (res.headersSent) {
      cutResponse(res, this.#sized)
      return
    }
    const timedOut = failure === 'headers_timeout' || failure === 'connect_timeout'
    exchange.status = timedOut ? 504 : 502
    exchange.content_type = 'text/plain; charset=utf-8'
    exchange.observedHeaders = undefined
    // A client that is still uploading would have to be read to the end to find its next request.
    exchange.bytes += sendErrorPage(res, exchange.status, exchange.method, !req.complete)
  }

  end(trailers: [string, string][], last?: Buffer | string): void {
    const { exchange } = this
    if (exchange.ended) return
    exchange.ended = true
    try {
      endResponse(exchange.res, trailers, last)
    } catch {
      // The trailers cannot be sent, so the client must see that the response is incomplete.
      cutResponse(exchange.res, this.#sized)
    }
    this.#policyHash?.end()
  }
}

/** Sends the head with an empty part of the body, because Node's `flushHeaders` would encode latin1 as UTF-8. */
function flushHead({ res, bytes, ended }: Exchange): void {
  if (bytes === 0 && !ended && res.headersSent) sendBody(res, EMPTY)
}
const EMPTY = Buffer.alloc(0)

/** Parts up to this size are sent as text, which Node writes together with the head at a third of the cost. */
const MAX_TEXT_BYTES = 16_384

/** Copies a part of the body, which is only valid during the call that brought it. */
const own = (part: Buffer): Buffer | string =>
  part.length <= MAX_TEXT_BYTES ? part.toString('latin1') : Buffer.from(part)
