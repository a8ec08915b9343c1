import { ChunkedBody } from './chunked-body.js'
import { type OriginHead, ProtocolError, parseResponseHead } from './response-head.js'

/** Receives the parts of a response. A part of a body is only valid during the call. */
export interface ResponseParts {
  /** A 1xx head, which precedes the response. */
  onInformation(head: OriginHead): void
  onHead(head: OriginHead): void
  onBody(part: Buffer): void
  /** The response is complete with this last part of its body, which may be empty. */
  onEnd(last: Buffer, trailers: readonly string[]): void
}

/** An origin that sends more 1xx responses than this will not send a final one. */
const MAX_INFORMATIONAL_RESPONSES = 100

const HEAD_END = Buffer.from('\r\n\r\n')
const STATUS_LINE_START = 'HTTP/1.'
const EMPTY = Buffer.alloc(0)
const NO_TRAILERS: readonly string[] = []

/** Reads one response from packets that may end anywhere. */
export class ResponseReader {
  #state: 'head' | 'length' | 'chunked' | 'close' | 'done' = 'head'
  /** The part of a head that has come so far. */
  #pending: Buffer | undefined
  /** Bytes of the body that are still to come. */
  #left = 0
  #chunked: ChunkedBody | undefined
  #informationalResponses = 0

  constructor(
    readonly method: string,
    readonly maxHeadBytes: number,
    readonly parts: ResponseParts,
  ) {}

  /** Reads a packet. Returns the number of bytes after the response, which belong to none. Throws `ProtocolError`. */
  read(packet: Buffer): number {
    const bytes = this.#pending === undefined ? packet : Buffer.concat([this.#pending, packet])
    this.#pending = undefined
    let at = 0
    while (this.#state === 'head' && at < bytes.length) at = this.#readHead(bytes, at)
    if (at === bytes.length) return 0
    if (this.#state === 'length') return bytes.length - this.#readLength(bytes, at)
    if (this.#state === 'chunked') return bytes.length - this.#readChunks(bytes, at)
    if (this.#state === 'done') return bytes.length - at
    this.parts.onBody(bytes.subarray(at))
    return 0
  }

  /** The connection has ended. Returns whether that completes the response. */
  end(): boolean {
    if (this.#state !== 'close') return false
    this.#finish(EMPTY, NO_TRAILERS)
    return true
  }

  /** Returns the position after the head, or the end of the bytes if the head goes on. */
  #readHead(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(HEAD_END, at)
    const size = (end < 0 ? bytes.length : end + HEAD_END.length) - at
    if (size > this.maxHeadBytes) throw new ProtocolError('a long head')
    if (end < 0) {
      checkBeginning(bytes.toString('latin1', at))
      this.#pending = Buffer.from(bytes.subarray(at))
      return bytes.length
    }
    const head = parseResponseHead(bytes.toString('latin1', at, end + 2), this.method)
    if (head.status >= 200) this.#startBody(head)
    else if (++this.#informationalResponses <= MAX_INFORMATIONAL_RESPONSES) this.parts.onInformation(head)
    else throw new ProtocolError('a flood of 1xx responses')
    return end + HEAD_END.length
  }

  #startBody(head: OriginHead): void {
    this.parts.onHead(head)
    if (head.body === 'chunked') {
      this.#state = 'chunked'
      this.#chunked = new ChunkedBody(this.maxHeadBytes, this.parts)
    } else if (head.body === 'close') this.#state = 'close'
    else if (head.body === 0) this.#finish(EMPTY, NO_TRAILERS)
    else {
      this.#state = 'length'
      this.#left = head.body
    }
  }

  #readLength(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    const part = at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end)
    this.#left -= part.length
    if (this.#left > 0) this.parts.onBody(part)
    else this.#finish(part, NO_TRAILERS)
    return end
  }

  #readChunks(bytes: Buffer, at: number): number {
    const end = this.#chunked?.read(bytes, at) ?? -1
    if (end < 0) return bytes.length
    this.#finish(EMPTY, this.#chunked?.trailers ?? NO_TRAILERS)
    return end
  }

  #finish(last: Buffer, trailers: readonly string[]): void {
    this.#state = 'done'
    this.parts.onEnd(last, trailers)
  }
}

/** Refuses what cannot become a head, so that its client need not wait for a timeout. */
function checkBeginning(text: string): void {
  if (!STATUS_LINE_START.startsWith(text.slice(0, STATUS_LINE_START.length)))
    throw new ProtocolError('no HTTP/1 response')
  if (/(?:^|[^\r])\n|\r[^\n]/.test(text)) throw new ProtocolError('a bare CR or LF')
}
