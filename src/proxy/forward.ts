import { ServerResponse } from 'node:http'
import type { Dispatcher, Pool } from 'undici'
import type { Exchange } from './exchange.js'
import { createInjection, type Injection, type ScriptFor } from './inject/injection.js'
import type { Page, PageClient } from './inject/page.js'
import { type ResponseHead, readResponseHead, readTrailers } from './message-heads.js'
import { type ConnectionState, createConnector, type OriginFailure, originFailure } from './origin-connector.js'
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
  sendErrorPage,
  sendHead,
  sendInformation,
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
  /** Returns the script whose tag a page gets; without it no page is changed. */
  scriptFor?: ScriptFor
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

/** An origin that sends more 1xx responses than this will not send a final one. */
const MAX_INFORMATIONAL_RESPONSES = 100

/** Time between the packets of an origin that does not pause, ms. */
const HEAD_FLUSH_DELAY_MS = 25

/** Creates the part of the proxy that sends requests to the origin and its responses to the clients. */
export function createForwarder(options: ForwarderOptions) {
  const { origin } = options
  const counters: OriginCounters = { retries: 0, failures: {} }
  const connections: ConnectionState = {
    endedByReset: false,
    continued: false,
    reading: undefined,
    resume: new WeakMap(),
  }
  const pools = createOriginPools(origin.origin, {
    connect: createConnector(origin, { timeout: options.connectTimeout, ...options.originTls }, connections),
    headersTimeout: options.headersTimeout,
    bodyTimeout: options.bodyIdleTimeout,
    maxHeaderSize: options.maxHeaderSize,
  })
  const policyChanges = options.onPolicyChange && createPolicyChangeDetector(options.onPolicyChange)
  const injection = options.scriptFor && createInjection(options.scriptFor)
  const context: ForwarderState = { servername: origin.hostname, counters, connections, policyChanges, injection }
  return {
    /**
     * Sends a request to the origin and its response to the client. `fields` is name, value, name, value. A body has its
     * `Content-Length` among them, or is sent chunked.
     */
    forward(exchange: Exchange, fields: string[], body: Upload | null): ForwardedRequest {
      injection?.restoreValidators(exchange, fields)
      const request = new OriginExchange(exchange, fields, body, pools.poolFor(exchange.req), context)
      request.dispatch()
      return request
    },
    counters: () => counters,
    /** Closes the connections, also those in use. */
    destroy: pools.destroy,
  }
}

/** The state that all exchanges share. */
interface ForwarderState {
  servername: string
  counters: OriginCounters
  connections: ConnectionState
  policyChanges: PolicyChangeDetector | undefined
  injection: Injection | undefined
}

/**
 * Handles one exchange with the origin as undici's dispatch handler: sends the response to the client part by part. It
 * uses the older of undici 7's two handler shapes, which delivers the fields as bytes. The newer one first builds an
 * object of them that nothing here reads (15 % of the CPU of a request of 1 KB, measured). undici 8, which needs Node 22,
 * will need the newer.
 */
class OriginExchange implements Dispatcher.DispatchHandler, ForwardedRequest, PageClient {
  #abort: ((reason: Error) => void) | undefined
  #resume: (() => void) | undefined
  #responseStarted = false
  #sized = false
  #abandoned = false
  #retried = false
  #informationalResponses = 0
  #onDrain: (() => void) | undefined
  #policyHash: PolicyBodyHash | undefined
  #page: Page | undefined
  #message = ''

  constructor(
    readonly exchange: Exchange,
    readonly fields: string[],
    readonly upload: Upload | null,
    readonly pool: Pool,
    readonly context: ForwarderState,
  ) {}

  dispatch(): void {
    const { path, method } = this.exchange
    const { servername } = this.context
    const request = { path, method, headers: this.fields, body: this.upload, idempotent: false, servername }
    this.pool.dispatch(request, this)
  }

  abandon(): void {
    this.#abandoned = true
    this.upload?.destroy()
    this.#page?.abandon()
    if (!this.exchange.ended) this.#abort?.(new Error('the client left'))
  }

  onConnect(abort: (reason?: Error) => void): void {
    this.#abort = abort
    if (this.#abandoned) abort(new Error('the client left'))
  }

  onResponseStarted(): void {
    this.#responseStarted = true
  }

  onHeaders(parsedStatus: number, raw: Buffer[], resume: () => void, message: string): boolean {
    const { exchange } = this
    const { req, res, method } = exchange
    this.#resume = resume
    const { connections, policyChanges } = this.context
    const status = connections.continued ? 100 : parsedStatus
    if (connections.reading !== undefined) connections.resume.set(connections.reading, resume)
    const modern = acceptsTrailers(req)
    const trailers = modern && method !== 'HEAD' && status !== 304 && status !== 204
    const head = readResponseHead(raw, status, trailers)
    if (status < 200) {
      this.#informationalResponses += 1
      // After an unrequested 101 the origin no longer speaks HTTP; 0 to 99 are not statuses.
      if (status < 100 || status === 101 || this.#informationalResponses > MAX_INFORMATIONAL_RESPONSES)
        throw new Error(`unexpected status ${status} from the origin`)
      if (modern) sendInformation(res, status, message, head.fields)
      return true
    }
    this.#message = message
    this.#page = this.#createPage(status, head)
    if (this.#page === undefined) {
      sendHead(res, status, message, head.fields)
      this.#sized = head.sized
    }
    exchange.status = status
    exchange.content_type = head.content_type
    exchange.observedHeaders = head.observed
    if (policyChanges !== undefined && isPolicyPath(exchange.path)) {
      if (status === 200) this.#policyHash = policyChanges.hashBody(exchange, head.fields)
      else if (status === 404 || status === 410) policyChanges.reportMissing(exchange)
    }
    this.#flushHeadIfOriginPauses(res)
    // Such a response only quotes a length (RFC 9110 8.6); undici takes it for a body that is missing.
    if (head.sized && (status === 304 || status === 204)) this.end([])
    return true
  }

  /**
   * Sends the head while the origin pauses after it: an event stream is then open, and the client fetches what the head
   * links to. Without this, HTTP/1.1 would send the head with the first part of the body.
   */
  #flushHeadIfOriginPauses(res: Outgoing): void {
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

  onData(chunk: Buffer): boolean {
    // undici resumes a response that was paused at the end of its data with an empty chunk.
    if (chunk.length === 0) return true
    this.#policyHash?.update(chunk)
    return this.#page === undefined ? this.sendBody(chunk) : this.#page.write(chunk)
  }

  sendHead(fields: readonly string[], sized: boolean): void {
    const { res, status, ended } = this.exchange
    if (ended || this.#abandoned) return
    this.#sized = sized
    try {
      sendHead(res, status, this.#message, [...fields])
    } catch (error) {
      this.fail(error instanceof Error ? error : new Error(String(error)))
    }
  }

  sendBody(part: Buffer): boolean {
    const { exchange } = this
    if (exchange.ended) return true
    exchange.bytes += part.length
    if (sendBody(exchange.res, part)) return true
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

  onComplete(raw: readonly (Buffer | string)[] | null): void {
    if (this.exchange.ended) return
    if (this.context.connections.endedByReset) {
      this.#fail('closed')
      return
    }
    const trailers = raw !== null && raw.length > 0 && acceptsTrailers(this.exchange.req) ? readTrailers(raw) : []
    if (this.#page === undefined) this.end(trailers)
    else this.#page.end(trailers)
  }

  onError(error: Error): void {
    if (this.#abandoned || this.exchange.ended) return
    if (this.#mayRetry(error)) {
      this.#retried = true
      this.context.counters.retries += 1
      setImmediate(() => (this.#abandoned ? undefined : this.dispatch()))
      return
    }
    this.#fail(originFailure(error))
  }

  resumeOrigin(): void {
    this.#resume?.()
  }

  fail(error: Error): void {
    if (this.#abandoned || this.exchange.ended) return
    this.#fail('protocol')
    this.#abort?.(error)
  }

  #fail(failure: OriginFailure): void {
    const { exchange } = this
    const { req, res } = exchange
    const { failures } = this.context.counters
    failures[failure] = (failures[failure] ?? 0) + 1
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

  /** Retries only a request that the origin cannot have begun to process, on a stale connection that worked before. */
  #mayRetry(error: Error): boolean {
    if (this.#retried || this.#responseStarted || this.upload !== null) return false
    if (!IDEMPOTENT.has(this.exchange.method)) return false
    return 'code' in error && error.code === 'UND_ERR_SOCKET' && hasReadBytes(error)
  }

  end(trailers: [string, string][]): void {
    const { exchange } = this
    if (exchange.ended) return
    exchange.ended = true
    try {
      endResponse(exchange.res, trailers)
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

function hasReadBytes(error: Error): boolean {
  if (!('socket' in error) || typeof error.socket !== 'object' || error.socket === null) return false
  return 'bytesRead' in error.socket && typeof error.socket.bytesRead === 'number' && error.socket.bytesRead > 0
}
