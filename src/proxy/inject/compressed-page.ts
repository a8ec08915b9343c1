import { type Recoder, recoderFor } from './coding.js'
import type { TagTarget } from './head-inspector.js'
import type { Page, PageClient } from './page.js'
import { type Coding, changedFields, changedTrailers, contentLength } from './page-response.js'
import { TagInserter } from './tag-inserter.js'

/** Decoded bytes that wait for whether the page gets the tag; beyond, its head goes out as if it did. */
const MAX_WAITING_BYTES = 64 * 1024

/** What no page comes to: a body that unpacks to more than this, and to this many times what came of it, is a bomb. */
const MAX_DECODED_BYTES = 32 * 1024 * 1024
const MAX_EXPANSION = 250

/**
 * A page with a content coding: undone, looked at, and done again. What the origin has flushed goes out as soon as
 * there is nothing else to read. While nothing is sent the origin's own bytes are kept, and go out untouched where the
 * page gets no tag or they are not what they say.
 */
export class CompressedPage implements Page {
  readonly #placement: TagInserter
  #recoder: Recoder | undefined
  /** Until the head is sent: the origin's bytes, and what they say. */
  #raw: Buffer[] = []
  #early: Buffer[] = []
  #begun = false
  /** It passes as the origin sends it. */
  #untouched = false
  #left = false
  /** Parts that the decoder has not read to their end. */
  #pending = 0
  #taken = 0
  #decoded = 0
  #flushing = false
  /** The origin waits for us. */
  #waiting = false
  /** The coded content has ended; what follows is none. */
  #over = false
  #trailers: [string, string][] | undefined
  /** All that will be sent is in the client's hands: to be ended when the origin's body is whole. */
  #sent = false
  /** Its coding breaks off, and so will ours. */
  #torn = false

  constructor(
    readonly fields: readonly string[],
    target: TagTarget,
    readonly client: PageClient,
    readonly coding: Exclude<Coding, ''>,
    readonly free: () => void,
    readonly make = recoderFor,
  ) {
    this.#placement = new TagInserter(target)
  }

  flushHead(): void {
    if (this.#begun || this.#left) return
    this.#begun = true
    this.client.sendHead(changedFields(this.fields, undefined), false)
    const early = this.#early
    this.#early = []
    this.#raw = []
    for (const part of early) this.#encode(part)
  }

  write(part: Buffer): boolean {
    if (this.#untouched) return this.client.sendBody(part)
    if (this.#over || this.#left || part.length === 0) return true
    const recoder = this.#recoder ?? this.#start(part[0] ?? 0)
    if (recoder === undefined) {
      this.#asItWas()
      return this.client.sendBody(part)
    }
    if (!this.#begun) this.#raw.push(part)
    this.#taken += part.length
    this.#pending += 1
    const room = recoder.decoder.write(part, (error) => {
      this.#pending -= 1
      if (!error) this.#idle()
    })
    this.#waiting = !room
    return room
  }

  end(trailers: [string, string][]): void {
    this.#trailers = trailers
    if (this.#untouched) this.client.end(trailers)
    else if (this.#recoder === undefined) {
      if (!this.#begun) this.#asItWas()
      else this.#finish()
    } else if (this.#sent) this.#finish()
    else if (!this.#over) this.#recoder.decoder.end()
  }

  onClientDrain(): void {
    if (this.#untouched) this.client.resumeOrigin()
    else this.#recoder?.encoder.resume()
  }

  abandon(): void {
    if (this.#left) return
    this.#left = true
    this.#raw = []
    this.#early = []
    this.#recoder?.decoder.destroy()
    this.#recoder?.encoder.destroy()
    this.free()
  }

  /** Undefined where there is no memory for it. */
  #start(first: number): Recoder | undefined {
    const recoder = this.#made(first)
    if (recoder === undefined) return undefined
    const { decoder, encoder } = recoder
    this.#recoder = recoder
    decoder.on('data', (part: Buffer) => this.#read(part))
    decoder.on('drain', () => this.#more())
    decoder.on('end', () => {
      this.#over = true
      this.#take(this.#placement.end())
      if (this.#untouched || this.#left) return
      this.flushHead()
      encoder.end()
      this.#more()
    })
    decoder.on('error', (error: NodeJS.ErrnoException) => this.#broken(error))
    encoder.on('data', (part: Buffer) => {
      if (!this.client.sendBody(part)) encoder.pause()
      if (this.#torn && encoder.readableLength === 0) this.#finish()
    })
    encoder.on('drain', () => decoder.resume())
    encoder.on('end', () => {
      this.#sent = true
      if (this.#trailers !== undefined) this.#finish()
    })
    encoder.on('error', (error) => this.client.fail(error))
    return recoder
  }

  #made(first: number): Recoder | undefined {
    try {
      return this.make(this.coding, first)
    } catch {
      return undefined
    }
  }

  /** A part of the content, decoded. */
  #read(part: Buffer): void {
    if (this.#left) return
    this.#decoded += part.length
    if (this.#decoded > MAX_DECODED_BYTES && this.#decoded > MAX_EXPANSION * this.#taken) {
      this.client.fail(new Error(`the origin sent ${this.#taken} bytes that are more than ${this.#decoded}`))
      return
    }
    this.#take(this.#placement.push(part))
    if (this.#flushing && this.#recoder?.decoder.readableLength === 0) this.#flush()
  }

  #take(part: Buffer): void {
    if (this.#begun) {
      this.#encode(part)
      return
    }
    this.#early.push(part)
    const { placed } = this.#placement
    if (placed === false) this.#asItWas()
    else if (placed || this.#decoded > MAX_WAITING_BYTES) this.flushHead()
  }

  #encode(part: Buffer): void {
    if (part.length === 0 || this.#recoder === undefined || this.#left) return
    if (!this.#recoder.encoder.write(part)) this.#recoder.decoder.pause()
  }

  /** All that came is decoded: the origin pauses, or has ended. */
  #idle(): void {
    if (this.#pending > 0 || this.#left || this.#over || this.#trailers !== undefined) return
    this.flushHead()
    if (this.#recoder?.decoder.readableLength === 0) this.#flush()
    else this.#flushing = true
  }

  #flush(): void {
    this.#flushing = false
    if (!this.#over) this.#recoder?.flush(() => {})
  }

  #more(): void {
    if (!this.#waiting) return
    this.#waiting = false
    this.client.resumeOrigin()
  }

  #broken(error: NodeJS.ErrnoException): void {
    if (this.#left) return
    if (!this.#begun) this.#asItWas()
    // It ends in the midst of its coding, though whole as a message: the client gets as much, in the same way.
    else if (this.#trailers !== undefined && error.code === 'Z_BUF_ERROR') {
      this.#recoder?.flush(() => {
        this.#torn = true
        if (this.#recoder?.encoder.readableLength === 0) this.#finish()
      })
    } else this.client.fail(error)
  }

  #asItWas(): void {
    const raw = this.#raw
    this.abandon()
    this.#untouched = true
    if (!this.#begun) this.client.sendHead(this.fields, contentLength(this.fields) !== undefined)
    const room = raw.length === 0 || this.client.sendBody(Buffer.concat(raw))
    if (this.#trailers !== undefined) this.client.end(this.#trailers)
    else if (room) this.#more()
  }

  #finish(): void {
    if (this.#left) return
    this.abandon()
    this.client.end(changedTrailers(this.#trailers ?? []))
  }
}
