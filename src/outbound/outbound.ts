/** An answer from outside, read whole within its limits. */
export interface OutboundResponse {
  /** Where it came from in the end, redirects followed. */
  url: string
  status: number
  /** By lower-case name; a repeated one joined by comma. */
  headers: Readonly<Record<string, string>>
  /** Decoded as `Content-Encoding` says; at most `limit` bytes. */
  body: Uint8Array
  /** There was more than `limit` bytes. */
  truncated: boolean
}

export interface OutboundOptions {
  headers?: Readonly<Record<string, string>>
  /** Bytes of body that are read, after decoding. */
  limit: number
  /** Milliseconds for the whole of it, redirects included. */
  timeout: number
  /** Redirects that are followed; the answer to the next is the redirect itself. */
  redirects: number
}

/** Asks for `url` by GET. Throws `OutboundError` where there is no answer, whatever the reason. */
export type Outbound = (url: string, options: OutboundOptions) => Promise<OutboundResponse>

/** `refused`: the address or scheme may not be asked (private, loopback, link-local); nothing was sent there. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'
  constructor(
    readonly reason: 'refused' | 'timeout' | 'unreachable' | 'malformed' | 'offline',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
