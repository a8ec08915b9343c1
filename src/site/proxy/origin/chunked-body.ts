import { ProtocolError, parseFields } from './response-head.js'

/** Bytes of a chunk's extensions, which are read and dropped (RFC 9112 7.1.1). */
const MAX_EXTENSION_BYTES = 4_096
const MAX_SIZE_DIGITS = 16

/** Extensions, each `;name`, `;name=token` or `;name="quoted"`. */
const EXTENSIONS =
  /^(?:;[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)+$/

const CR = 13
const LF = 10
const SEMICOLON = 59

/** Value of each hexadecimal digit by its byte; 255 for all other bytes. */
const DIGITS = Uint8Array.from({ length: 256 }, (_, code) =>
  /^[0-9a-f]$/i.test(String.fromCharCode(code)) ? Number.parseInt(String.fromCharCode(code), 16) : 255,
)

/** Reads one body in chunks (RFC 9112 7.1) from packets that may end anywhere. */
export class ChunkedBody {
  #state: 'size' | 'extensions' | 'size end' | 'data' | 'data cr' | 'data lf' | 'trailers' = 'size'
  /** Bytes of the current chunk that are still to come. */
  #left = 0
  #digits = 0
  /** Text that is read as a whole: the chunk's extensions, then the trailer section. */
  #text = ''
  /** Trailer fields: name, value, name, value. */
  trailers: string[] = []

  constructor(
    readonly maxTrailerBytes: number,
    readonly parts: { onBody(part: Buffer): void },
  ) {}

  /** Reads bytes from `at`. Returns the position after the body, or -1 if it goes on. Throws `ProtocolError`. */
  read(bytes: Buffer, at: number): number {
    while (at < bytes.length) {
      if (this.#state === 'data') {
        const end = Math.min(bytes.length, at + this.#left)
        this.#left -= end - at
        if (this.#left === 0) this.#state = 'data cr'
        this.parts.onBody(bytes.subarray(at, end))
        at = end
      } else if (this.#state === 'trailers') {
        const lf = bytes.indexOf(LF, at)
        const end = lf < 0 ? bytes.length : lf + 1
        if (this.#readTrailerText(bytes.toString('latin1', at, end))) return end
        at = end
      } else {
        this.#readFrame(bytes[at] ?? 0)
        at++
      }
    }
    return -1
  }

  /** Reads a byte between chunks. */
  #readFrame(byte: number): void {
    switch (this.#state) {
      case 'size': {
        const digit = DIGITS[byte] ?? 255
        if (digit < 16) this.#addDigit(digit)
        else if (this.#digits === 0) throw new ProtocolError('no chunk size')
        else if (byte === CR) this.#state = 'size end'
        else if (byte === SEMICOLON) this.#startExtensions()
        else throw new ProtocolError('a bad chunk size')
        return
      }
      case 'extensions':
        if (byte !== CR) {
          this.#text += String.fromCharCode(byte)
          if (this.#text.length > MAX_EXTENSION_BYTES) throw new ProtocolError('long chunk extensions')
        } else if (EXTENSIONS.test(this.#text)) this.#state = 'size end'
        else throw new ProtocolError('bad chunk extensions')
        return
      case 'size end':
        expect(byte, LF)
        this.#state = this.#left === 0 ? 'trailers' : 'data'
        this.#digits = 0
        this.#text = ''
        return
      case 'data cr':
        expect(byte, CR)
        this.#state = 'data lf'
        return
      case 'data lf':
        expect(byte, LF)
        this.#state = 'size'
    }
  }

  #addDigit(digit: number): void {
    this.#digits++
    this.#left = this.#left * 16 + digit
    if (this.#digits > MAX_SIZE_DIGITS || this.#left > Number.MAX_SAFE_INTEGER)
      throw new ProtocolError('a chunk size beyond any body')
  }

  #startExtensions(): void {
    this.#state = 'extensions'
    this.#text = ';'
  }

  /** Returns whether the trailer section is complete. */
  #readTrailerText(more: string): boolean {
    this.#text += more
    if (this.#text.length > this.maxTrailerBytes) throw new ProtocolError('long trailers')
    if (/(?:^|[^\r])\n$/.test(this.#text)) throw new ProtocolError('a bare LF')
    if (this.#text !== '\r\n' && !this.#text.endsWith('\r\n\r\n')) return false
    this.trailers = parseFields(this.#text.slice(0, -2), 0)
    for (let i = 0; i < this.trailers.length; i += 2) {
      if (/^(?:content-length|transfer-encoding)$/i.test(this.trailers[i] ?? ''))
        throw new ProtocolError('framing in a trailer')
    }
    return true
  }
}

function expect(byte: number, expected: number): void {
  if (byte !== expected) throw new ProtocolError('no line end in chunked framing')
}
