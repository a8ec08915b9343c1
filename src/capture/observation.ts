/**
 * What the wire saw of one exchange. The first block is exactly a row of the edge payload (spec 2.5);
 * the rest is what people's rows and verification need. The proxy, every adapter and `/api/log/edge` produce it.
 */
export interface Observation {
  /** When the request arrived: ISO-8601 UTC with milliseconds. */
  timestamp: string
  /** The `User-Agent` header, empty when there was none. */
  user_agent: string
  method: string
  /** Lower case, without the port. */
  hostname: string
  /** Byte for byte as requested, without the query. */
  pathname: string
  /** 499 where the client left before the response; 502 and 504 where the origin failed (contract 3). */
  status: number
  /** Body bytes sent to the client. */
  bytes: number
  /** From the request's arrival to the last byte sent; never negative. */
  duration_ms: number
  /** Of the response, empty when there was none. */
  content_type: string
  /** 1 when the request carried `If-None-Match` or `If-Modified-Since`. */
  conditional: 0 | 1
  /** Transport only: resolved, hashed and dropped before any row is made. */
  ip: string

  /** The query string without its question mark. */
  query?: string
  referrer?: string
  /** The request headers below as sent, by lower-case name; only those of `OBSERVED_HEADERS`. */
  headers?: Readonly<Record<string, string>>
  /** The request had the first-party opt-out among its cookies; nothing else is ever taken from those. */
  opted_out?: true
  /**
   * Of a request with `Signature-Input` only: what else a signature may cover (RFC 9421 2.2). The scheme the client
   * used as far as we know, its `Host` or `:authority` with the port, and the request target byte for byte.
   */
  signed?: { scheme: 'http' | 'https'; authority: string; target: string }
  /**
   * From another server that records for a site of ours: the site, whatever the hostname, and which of its lists it was in
   * (spec 2.5). `props` are a person's row's own.
   */
  shipped?: { site: number; as: 'agent' | 'human'; props?: Readonly<Record<string, unknown>> }
  /** The response headers below as sent, by lower-case name; only those of `OBSERVED_RESPONSE_HEADERS`. */
  response?: Readonly<Record<string, string>>
}

/** What a response asks of those who read it: shown, never judged (reference/agents.md 3.6). */
export const OBSERVED_RESPONSE_HEADERS = ['x-robots-tag', 'content-usage'] as const

/** The request headers an observation carries when the request had them. */
export const OBSERVED_HEADERS = [
  'accept',
  'accept-language',
  'accept-encoding',
  'dnt',
  'purpose',
  'sec-ch-ua',
  'sec-ch-ua-mobile',
  'sec-ch-ua-platform',
  'sec-ch-ua-platform-version',
  'sec-ch-ua-full-version-list',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'sec-gpc',
  'sec-purpose',
  'signature',
  'signature-agent',
  'signature-input',
  'x-moz',
] as const

const OPT_OUT_COOKIE = /(?:^|;)\s*readership-opt-out=1\s*(?:;|$)/

/** Whether a `Cookie` header has the first-party opt-out in it, which is all that is ever read of one. */
export const hasOptOutCookie = (cookie: string | undefined): boolean =>
  cookie !== undefined && OPT_OUT_COOKIE.test(cookie)
