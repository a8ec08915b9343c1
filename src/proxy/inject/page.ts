/** The way to a page's client. */
export interface PageClient {
  /** Sends the final head, once, before anything else. `sized`: it says how long the body is. */
  sendHead(fields: readonly string[], sized: boolean): void
  /** A part of the body; false where the client is behind, and `drained` of the page will tell. */
  sendBody(part: Buffer): boolean
  /** The body is whole. */
  end(trailers: [string, string][]): void
  /** The origin may send more, after a `write` that said false. */
  resumeOrigin(): void
  /** The page cannot be sent to its end. */
  fail(error: Error): void
}

/** The body of an answer on its way through our hands; it sends the answer's head as well, as soon as it is known. */
export interface Page {
  /** The origin pauses behind its head: ours goes out now. */
  flushHead(): void
  /** A part from the origin; false: no more until `Client.more`. */
  write(part: Buffer): boolean
  /** The origin's body is whole. */
  end(trailers: [string, string][]): void
  /** The client has taken what it had. */
  onClientDrain(): void
  /** Nobody waits for it any more. */
  abandon(): void
}
