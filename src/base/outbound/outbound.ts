/** A response from a server outside, read completely within its limits. */
export interface OutboundResponse {
  /** The URL that gave it, after redirects. */
  url: string
  status: number
  /** By lower-case name; repeated fields are joined by commas. */
  headers: Readonly<Record<string, string>>
  /** Decoded as `Content-Encoding` says; at most `limit` bytes. */
  body: Uint8Array
  /** Whether the body was longer than `limit` bytes. */
  truncated: boolean
}

export interface OutboundOptions {
  headers?: Readonly<Record<string, string>>
  /** Bytes of body to read, after decoding. */
  limit: number
  /** Milliseconds for the whole request, redirects included. */
  timeout: number
  /** Redirects to follow; after that many, the next redirect is itself the response. */
  redirects: number
}

/** Sends a GET request to `url`. Throws `OutboundError` if there is no response. */
export type Outbound = (url: string, options: OutboundOptions) => Promise<OutboundResponse>

/** `refused`: the guard does not allow the address, port or scheme (private, loopback, …); nothing was sent there. */
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
