/**
 * One HTTP exchange as a server saw it. The proxy, every adapter and `/api/log/edge` produce it. The first block equals a
 * row of the edge payload; people's rows and the verification of agents need the rest.
 */
export interface Observation {
  /** When the request arrived: ISO-8601 UTC with milliseconds. */
  timestamp: string
  /** The `User-Agent` header; empty if the request had none. */
  user_agent: string
  method: string
  /** Lower case, without the port. */
  hostname: string
  /** Byte for byte as requested, without the query. */
  pathname: string
  /** 499 if the client left before the response; 502 or 504 if the origin failed. */
  status: number
  /** Body bytes sent to the client. */
  bytes: number
  /** From the request's arrival to the last byte sent; never negative. */
  duration_ms: number
  /** The response's content type; empty if it had none. */
  content_type: string
  /** 1 if the request carried `If-None-Match` or `If-Modified-Since`. */
  conditional: 0 | 1
  /** Transport only: resolved, hashed and dropped before any row is made. */
  ip: string

  /** The query string without its question mark. */
  query?: string
  referrer?: string
  /** Request headers as sent, by lower-case name; only those in `OBSERVED_HEADERS`. */
  headers?: Readonly<Record<string, string>>
  /**
   * For a page that a client with the name of a Chromium got: how its request was written, if this listener saw the
   * client itself. First `1`, `s` (HTTP/1.x, plain or over TLS that offered HTTP/2) or `2` (HTTP/2), then a letter for each
   * of these fields in their order: Host, User-Agent, Accept, Accept-Encoding (`HUAE` if spelt so, else `huae`), and
   * HTTP/2's :method, :authority, :scheme, :path (`myzp`).
   */
  head_form?: string
  /** The request's cookies contained the first-party opt-out. No other cookie is ever read. */
  opted_out?: true
  /**
   * For a request with `Signature-Input` only: what else a signature may cover (RFC 9421 2.2). The client's scheme as far
   * as it is known, its `Host` or `:authority` with the port, and the request target byte for byte.
   */
  signed?: { scheme: 'http' | 'https'; authority: string; target: string }
  /**
   * For a row that another server recorded for one of our sites: the site, whatever the hostname, and the list of the
   * payload that it was in. `props` belong to a person's row.
   */
  shipped?: { site: number; as: 'agent' | 'human'; props?: Readonly<Record<string, unknown>> }
  /**
   * For a line of an access log: the import and the line's key, which the row gets, whether the response was a page, and
   * what the log does not say.
   */
  imported?: { import: number; key: bigint; isPage: boolean; lacksDuration: boolean }
  /** The operator's rule that decided an agent's fetch, with its action: `allow`, `block`, `pay`, `limit` or `gone`. */
  decided?: { rule: number; action: string }
  /** The origin answered 404 or 410, and a redirect of the operator's was sent instead. */
  redirected?: true
  /** Response headers as sent, by lower-case name; only those in `OBSERVED_RESPONSE_HEADERS`. */
  response?: Readonly<Record<string, string>>
}

/** Response headers that state a site's wishes to its readers. They are stored and shown, never used as a verdict. */
export const OBSERVED_RESPONSE_HEADERS = ['x-robots-tag', 'content-usage'] as const

/** The request headers that an observation carries if the request had them. */
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
