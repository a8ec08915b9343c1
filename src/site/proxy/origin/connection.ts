import type { Socket } from 'node:net'
import type { Upload } from '../upload.js'
import type { Deadlines, Timed } from './deadlines.js'
import { type OriginFailure, originFailure } from './failure.js'
import { keepOpenAfterWriteError, type OpenSocket } from './open-socket.js'
import { closesAfter } from './request-head.js'
import type { OriginHead } from './response-head.js'
import { type ResponseParts, ResponseReader } from './response-reader.js'

/**
 * A request for the origin, and the receiver of its response. What `onInformation`, `onHead` and `onBody` throw becomes a
 * failure; the others must not throw.
 */
export interface OriginRequest {
  readonly method: string
  /** Request line and fields with their framing, as latin1 text. */
  readonly head: string
  readonly upload: Upload | null
  /** Its client has left, so it need not be sent. */
  readonly isAbandoned: boolean
  /** The connection that carries the request. */
  connection: OriginConnection | undefined
  onInformation(head: OriginHead): void
  onHead(head: OriginHead): void
  /** The packet that completed the head is read, and the response is not complete. */
  onHeadRead(): void
  /** A part of the body, only valid during the call. Returns false if no more may come until `resume`. */
  onBody(part: Buffer): boolean
  /** The response is complete with this last part of its body, only valid during the call. */
  onEnd(last: Buffer, trailers: readonly string[]): void
  /** `stale`: the connection had served another request, and ended before a byte of the response. */
  onFailure(failure: OriginFailure, stale: boolean): void
}

export interface ConnectionOptions {
  open: OpenSocket
  /** Time to connect, ms. */
  connectTimeout: number
  /** Time from the complete request to the response's head, ms. */
  headersTimeout: number
  /** Time between two parts of a response's body, ms. */
  bodyIdleTimeout: number
  /** Largest head or trailer section of a response, bytes. */
  maxHeaderSize: number
  deadlines: Deadlines
}

/** Receives connections that can carry another request, and those that have ended. */
interface ConnectionOwner {
  /** `idleMs`: the time for which the origin keeps it, if it says so. */
  onIdle(connection: OriginConnection, idleMs: number | undefined): void
  onGone(connection: OriginConnection): void
}

/** Bytes that are read at once. Only the pages of memory that responses fill are used. */
const READ_BUFFER_BYTES = 65_536
const TCP_KEEP_ALIVE_MS = 60_000

/** One connection to the origin, which carries one request at a time. */
export class OriginConnection implements Timed, ResponseParts {
  #phase: 'connecting' | 'idle' | 'head' | 'body' = 'connecting'
  #request: OriginRequest | undefined
  #reader: ResponseReader | undefined
  /** The tick at which the phase has taken too long. */
  #deadline: number
  #uploading = false
  /** The origin reads no more of the upload; its response may have arrived. */
  #uploadFailed = false
  /** Bytes written when the upload was last looked at. */
  #written = 0
  /** Responses that are complete. */
  #served = 0
  /** The origin has sent a byte of the response. */
  #responded = false
  #paused = false
  /** The response's head allows another request. */
  #keepAlive = false
  /** The response is complete, and another request may follow. */
  #reusable = false
  #idleMs: number | undefined
  #gone = false
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES)
  readonly #socket: Socket

  /** Opens the connection and sends a request on it. */
  constructor(
    readonly options: ConnectionOptions,
    readonly owner: ConnectionOwner,
    request: OriginRequest,
  ) {
    const { open, deadlines, connectTimeout } = options
    const onread = { buffer: this.#buffer, callback: (size: number): boolean => this.#onRead(size) }
    const socket = open(onread, () => this.#request && this.send(this.#request))
    this.#socket = socket
    this.#request = request
    request.connection = this
    this.#deadline = deadlines.after(connectTimeout)
    deadlines.add(this)
    socket.setNoDelay(true)
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS)
    socket.on('error', (error) => this.#fail(originFailure(error)))
    socket.on('end', () => {
      // libuv reports a reset with unread bytes as an end. A connection that was reset has no peer any more, one that
      // the peer closed still has. Do not read `remoteAddress` earlier: Node caches it.
      const reset = socket.remoteAddress === undefined
      if (reset || !this.#reader?.end()) this.#fail('closed')
      this.destroy()
    })
    socket.on('close', () => {
      this.#fail('closed')
      this.destroy()
    })
  }

  /** Sends a request; the connection must be idle. */
  send(request: OriginRequest): void {
    const { deadlines, headersTimeout, maxHeaderSize } = this.options
    const { method, upload, head } = request
    const socket = this.#socket
    this.#request = request
    request.connection = this
    this.#phase = 'head'
    this.#responded = false
    this.#reusable = false
    this.#reader = new ResponseReader(method, maxHeaderSize, this)
    this.#deadline = deadlines.after(headersTimeout)
    if (upload === null) {
      socket.write(head, 'latin1')
      return
    }
    // The head leaves at once, because a client may wait for a 401 before it sends anything; with it, in one packet,
    // what has come of the body.
    this.#uploading = true
    keepOpenAfterWriteError(socket, () => this.#onUploadFailed(request))
    socket.cork()
    socket.write(head, 'latin1')
    upload.send(socket, (complete) => this.#onUploaded(request, complete))
    process.nextTick(() => socket.uncork())
  }

  /** Returns whether the failed write was of this upload. The connection then goes on until the response is read. */
  #onUploadFailed(request: OriginRequest): boolean {
    if (this.#request !== request || !(this.#uploading || this.#uploadFailed)) return false
    if (this.#uploading) request.upload?.stop()
    this.#uploading = false
    this.#uploadFailed = true
    return true
  }

  #onUploaded(request: OriginRequest, complete: boolean): void {
    if (this.#request !== request) return
    if (!complete) {
      this.#fail('other')
      return
    }
    this.#uploading = false
    if (this.#phase === 'head') this.#deadline = this.options.deadlines.after(this.options.headersTimeout)
  }

  /** Reads a packet from the buffer. Returns whether to go on reading. */
  #onRead(size: number): boolean {
    const reader = this.#reader
    if (reader === undefined) {
      // Not requested: it must not become the response to the next request.
      this.destroy()
      return false
    }
    const waitsForHead = this.#phase === 'head'
    this.#responded = true
    let surplus = 0
    try {
      surplus = reader.read(this.#buffer.subarray(0, size))
      if (waitsForHead && this.#phase === 'body') this.#request?.onHeadRead()
    } catch (error) {
      this.#fail(originFailure(error))
    }
    if (this.#request !== undefined) return !this.#paused
    if (this.#reusable && surplus === 0 && !this.#gone) this.owner.onIdle(this, this.#idleMs)
    else this.destroy()
    return true
  }

  onInformation(head: OriginHead): void {
    this.#deadline = this.options.deadlines.after(this.options.headersTimeout)
    this.#request?.onInformation(head)
  }

  onHead(head: OriginHead): void {
    const request = this.#request
    if (request === undefined) return
    this.#phase = 'body'
    this.#deadline = this.options.deadlines.after(this.options.bodyIdleTimeout)
    this.#keepAlive = head.keepAlive && !closesAfter(request.method, request.upload !== null)
    this.#idleMs = head.idleMs
    request.onHead(head)
  }

  onBody(part: Buffer): void {
    this.#deadline = this.options.deadlines.after(this.options.bodyIdleTimeout)
    if (this.#request?.onBody(part) === false) this.#paused = true
  }

  onEnd(last: Buffer, trailers: readonly string[]): void {
    const request = this.#request
    if (request === undefined) return
    // The origin would read the next request as a part of an upload that is not complete.
    this.#reusable = this.#keepAlive && !this.#uploading && !this.#uploadFailed
    this.#served += 1
    this.#release(request)
    request.onEnd(last, trailers)
  }

  /** Detaches the request: nothing that happens to the connection from now on concerns it. */
  #release(request: OriginRequest): void {
    if (this.#uploading) request.upload?.stop()
    this.#uploading = false
    this.#request = undefined
    this.#reader = undefined
    this.#paused = false
    this.#phase = 'idle'
    request.connection = undefined
  }

  #fail(failure: OriginFailure): void {
    const request = this.#request
    if (request !== undefined) this.#release(request)
    this.destroy()
    request?.onFailure(failure, failure === 'closed' && this.#served > 0 && !this.#responded)
  }

  /** Lets a paused response go on. */
  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#deadline = this.options.deadlines.after(this.options.bodyIdleTimeout)
    this.#socket.resume()
  }

  /** Gives a request up, if the connection still carries it. The origin sees the connection end. */
  abort(request: OriginRequest): void {
    if (this.#request !== request) return
    this.#release(request)
    this.destroy()
  }

  /** Closes the connection at this tick if it is still idle. */
  expireAt(tick: number): void {
    this.#deadline = tick
  }

  onTick(tick: number): void {
    if (this.#phase === 'head' && this.#uploading) this.#extendForUpload()
    if (tick < this.#deadline || this.#paused) return
    if (this.#phase === 'connecting') this.#fail('connect_timeout')
    else this.#fail(this.#phase === 'head' ? 'headers_timeout' : 'body_timeout')
  }

  /** Moves the deadline while the client is to send more, or the origin takes what it sends. */
  #extendForUpload(): void {
    const { bytesWritten, writableNeedDrain } = this.#socket
    if (writableNeedDrain && bytesWritten === this.#written) return
    this.#written = bytesWritten
    this.#deadline = this.options.deadlines.after(this.options.headersTimeout)
  }

  destroy(): void {
    if (this.#gone) return
    this.#gone = true
    this.options.deadlines.remove(this)
    this.owner.onGone(this)
    this.#socket.destroy()
  }
}
