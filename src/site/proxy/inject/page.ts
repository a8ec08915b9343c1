/** The way from a page to its client. */
export interface PageClient {
  /** Sends the final head, once, before anything else. `sized`: it announces the body's length. */
  sendHead(fields: readonly string[], sized: boolean): void
  /** Sends a part of the body. Returns false if the client has to drain first; `Page.onClientDrain` follows. */
  sendBody(part: Buffer): boolean
  /** Ends the response. */
  end(trailers: [string, string][]): void
  /** Lets the origin send more, after a `write` that returned false. */
  resumeOrigin(): void
  /** Breaks off a page that cannot be completed. */
  fail(error: Error): void
}

/** The body of a response that may get the script tag. The page also sends the head, as soon as it is known. */
export interface Page {
  /** Sends the head now, because the origin pauses after its own. */
  flushHead(): void
  /** Takes a part from the origin. Returns false if no more may come until `PageClient.resumeOrigin`. */
  write(part: Buffer): boolean
  /** The origin's body is complete. */
  end(trailers: [string, string][]): void
  /** The client has taken what was sent. */
  onClientDrain(): void
  /** The exchange is over; frees what the page holds. */
  abandon(): void
}
