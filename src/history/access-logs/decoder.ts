/** Turns the bytes of a file into the bytes of its text, one piece after the other. */
export interface Decoder {
  /** Yields the text of a piece in chunks, each when it is asked for: a piece of 256 KB may unpack to gigabytes. */
  decode(piece: Buffer): AsyncIterable<Buffer>
  /** Tells why the text ends early; undefined if it is complete. */
  end(): Promise<DecodeFault | undefined>
}

export interface DecodeFault {
  readonly reason: string
  /** The bytes of the file before the fault. */
  readonly at: number
}
