import * as zlib from 'node:zlib'
import type { TagTarget } from './head-inspector.js'
import type { Page, PageClient } from './page.js'
import { type Coding, changedFields, changedTrailers, contentLength } from './page-head.js'
import { TagInserter } from './tag-inserter.js'

/** Decoded bytes to hold until it is known whether the page gets the tag; after more, the head is sent as if it did. */
const MAX_WAITING_BYTES = 64 * 1024

/** A body that decodes to more than this, and to this many times its size, is a decompression bomb. */
const MAX_DECODED_BYTES = 32 * 1024 * 1024
const MAX_EXPANSION = 250

/**
 * A page with a content coding: decoded, given the tag, and encoded again. What the origin has flushed is sent as soon as
 * there is nothing else to read. Until the head is sent the origin's bytes are kept, and are sent unchanged if the page
 * gets no tag or its coding is broken.
 */
export class CompressedPage implements Page {
  readonly #inserter: TagInserter
  #recoder: Recoder | undefined
  /** Until the head is sent: the origin's bytes, and their decoded content. */
  #raw: Buffer[] = []
  #waiting: Buffer[] = []
  #headSent = false
  /** The page passes as the origin sends it. */
  #unchanged = false
  #abandoned = false
  /** Parts that the decoder has not read completely. */
  #pendingWrites = 0
  #takenBytes = 0
  #decodedBytes = 0
  #flushWhenRead = false
  /** The origin is paused. */
  #originPaused = false
  /** The coded content has ended; later bytes do not belong to it. */
  #contentEnded = false
  #trailers: [string, string][] | undefined
  /** The client has everything: the response ends when the origin's body does. */
  #allSent = false
  /** The origin's coding breaks off, and so will ours. */
  #truncated = false

  constructor(
    readonly fields: readonly string[],
    target: TagTarget,
    readonly client: PageClient,
    readonly coding: Exclude<Coding, ''>,
    readonly onFree: () => void,
    readonly makeRecoder = createRecoder,
  ) {
    this.#inserter = new TagInserter(target)
  }

  flushHead(): void {
    if (this.#headSent || this.#abandoned) return
    this.#headSent = true
    this.client.sendHead(changedFields(this.fields, undefined), false)
    const waiting = this.#waiting
    this.#waiting = []
    this.#raw = []
    for (const part of waiting) this.#encode(part)
  }

  write(part: Buffer): boolean {
    if (this.#unchanged) return this.client.sendBody(part)
    if (this.#contentEnded || this.#abandoned || part.length === 0) return true
    const recoder = this.#recoder ?? this.#start(part[0] ?? 0)
    if (recoder === undefined) {
      this.#sendUnchanged()
      return this.client.sendBody(part)
    }
    if (!this.#headSent) this.#raw.push(part)
    this.#takenBytes += part.length
    this.#pendingWrites += 1
    const ready = recoder.decoder.write(part, (error) => {
      this.#pendingWrites -= 1
      if (!error) this.#onAllDecoded()
    })
    this.#originPaused = !ready
    return ready
  }

  end(trailers: [string, string][]): void {
    this.#trailers = trailers
    if (this.#unchanged) this.client.end(trailers)
    else if (this.#recoder === undefined) {
      if (!this.#headSent) this.#sendUnchanged()
      else this.#finish()
    } else if (this.#allSent) this.#finish()
    else if (!this.#contentEnded) this.#recoder.decoder.end()
  }

  onClientDrain(): void {
    if (this.#unchanged) this.client.resumeOrigin()
    else this.#recoder?.encoder.resume()
  }

  abandon(): void {
    if (this.#abandoned) return
    this.#abandoned = true
    this.#raw = []
    this.#waiting = []
    this.#recoder?.decoder.destroy()
    this.#recoder?.encoder.destroy()
    this.onFree()
  }

  /** Creates the coders. Returns undefined if there is no memory for them. */
  #start(firstByte: number): Recoder | undefined {
    let recoder: Recoder
    try {
      recoder = this.makeRecoder(this.coding, firstByte)
    } catch {
      return undefined
    }
    const { decoder, encoder } = recoder
    this.#recoder = recoder
    decoder.on('data', (part: Buffer) => this.#onDecoded(part))
    decoder.on('drain', () => this.#resumeOrigin())
    decoder.on('end', () => {
      this.#contentEnded = true
      this.#send(this.#inserter.end())
      if (this.#unchanged || this.#abandoned) return
      this.flushHead()
      encoder.end()
      this.#resumeOrigin()
    })
    decoder.on('error', (error: NodeJS.ErrnoException) => this.#onBrokenCoding(error))
    encoder.on('data', (part: Buffer) => {
      if (!this.client.sendBody(part)) encoder.pause()
      if (this.#truncated && encoder.readableLength === 0) this.#finish()
    })
    encoder.on('drain', () => decoder.resume())
    encoder.on('end', () => {
      this.#allSent = true
      if (this.#trailers !== undefined) this.#finish()
    })
    encoder.on('error', (error) => this.client.fail(error))
    return recoder
  }

  #onDecoded(part: Buffer): void {
    if (this.#abandoned) return
    this.#decodedBytes += part.length
    if (this.#decodedBytes > MAX_DECODED_BYTES && this.#decodedBytes > MAX_EXPANSION * this.#takenBytes) {
      this.client.fail(new Error(`${this.#takenBytes} bytes of the origin decode to more than ${this.#decodedBytes}`))
      return
    }
    this.#send(this.#inserter.push(part))
    if (this.#flushWhenRead && this.#recoder?.decoder.readableLength === 0) this.#flush()
  }

  #send(part: Buffer): void {
    if (this.#headSent) {
      this.#encode(part)
      return
    }
    this.#waiting.push(part)
    const { inserted } = this.#inserter
    if (inserted === false) this.#sendUnchanged()
    else if (inserted || this.#decodedBytes > MAX_WAITING_BYTES) this.flushHead()
  }

  #encode(part: Buffer): void {
    if (part.length === 0 || this.#recoder === undefined || this.#abandoned) return
    if (!this.#recoder.encoder.write(part)) this.#recoder.decoder.pause()
  }

  /** Flushes when all input so far is decoded: the origin sends nothing at the moment, or has ended. */
  #onAllDecoded(): void {
    if (this.#pendingWrites > 0 || this.#abandoned || this.#contentEnded || this.#trailers !== undefined) return
    this.flushHead()
    if (this.#recoder?.decoder.readableLength === 0) this.#flush()
    else this.#flushWhenRead = true
  }

  #flush(): void {
    this.#flushWhenRead = false
    if (!this.#contentEnded) this.#recoder?.flush(() => {})
  }

  #resumeOrigin(): void {
    if (!this.#originPaused) return
    this.#originPaused = false
    this.client.resumeOrigin()
  }

  #onBrokenCoding(error: NodeJS.ErrnoException): void {
    if (this.#abandoned) return
    if (!this.#headSent) this.#sendUnchanged()
    // The message is complete but its coding breaks off: the client gets the same content, broken off in the same way.
    else if (this.#trailers !== undefined && error.code === 'Z_BUF_ERROR') {
      this.#recoder?.flush(() => {
        this.#truncated = true
        if (this.#recoder?.encoder.readableLength === 0) this.#finish()
      })
    } else this.client.fail(error)
  }

  #sendUnchanged(): void {
    const raw = this.#raw
    this.abandon()
    this.#unchanged = true
    if (!this.#headSent) this.client.sendHead(this.fields, contentLength(this.fields) !== undefined)
    const ready = raw.length === 0 || this.client.sendBody(Buffer.concat(raw))
    if (this.#trailers !== undefined) this.client.end(this.#trailers)
    else if (ready) this.#resumeOrigin()
  }

  #finish(): void {
    if (this.#abandoned) return
    this.abandon()
    this.client.end(changedTrailers(this.#trailers ?? []))
  }
}

type Coder = zlib.Gzip | zlib.Gunzip | zlib.Deflate | zlib.Inflate | zlib.BrotliCompress | zlib.BrotliDecompress
interface Recoder {
  decoder: Coder
  encoder: Coder
  /** Makes the encoder emit everything that it holds. */
  flush(done: () => void): void
}

/**
 * Levels at which a page of 30 KB takes a quarter of a millisecond: a third of the default level's time, for a tenth more
 * bytes. Brotli's window holds such a page, instead of its default of four megabytes.
 */
const GZIP_OPTIONS = { level: 3 }
const BROTLI_OPTIONS = {
  params: {
    [zlib.constants.BROTLI_PARAM_QUALITY]: 3,
    [zlib.constants.BROTLI_PARAM_LGWIN]: 18,
    [zlib.constants.BROTLI_PARAM_MODE]: zlib.constants.BROTLI_MODE_TEXT,
  },
}

/** Creates the coders for a coding. The body's first byte distinguishes the two forms of deflate. */
function createRecoder(coding: Exclude<Coding, ''>, firstByte: number): Recoder {
  const pair = (decoder: Coder, encoder: Coder, kind = zlib.constants.Z_SYNC_FLUSH): Recoder => ({
    decoder,
    encoder,
    flush: (done) => encoder.flush(kind, done),
  })
  if (coding === 'br') {
    const kind = zlib.constants.BROTLI_OPERATION_FLUSH
    return pair(zlib.createBrotliDecompress(), zlib.createBrotliCompress(BROTLI_OPTIONS), kind)
  }
  if (coding === 'gzip') return pair(zlib.createGunzip(), zlib.createGzip(GZIP_OPTIONS))
  // The coding is the zlib format (RFC 9110 8.4.1.2); some servers send the bare stream, and browsers accept both.
  if ((firstByte & 15) === 8) return pair(zlib.createInflate(), zlib.createDeflate(GZIP_OPTIONS))
  return pair(zlib.createInflateRaw(), zlib.createDeflateRaw(GZIP_OPTIONS))
}
