import { createHash } from 'node:crypto'
import { type Outbound, OutboundError } from '../../base/outbound/outbound.js'
import { POLICY_PATHS, type PolicyKind, type PolicyVersion, standingOf } from './version.js'

/** Either file is read up to this length (RFC 9309 2.5: at least 500 KiB). */
const MAX_FILE_BYTES = 512 * 1024
const FETCH_TIMEOUT_MS = 10_000
/** RFC 9309 2.3.1.2. */
export const MAX_REDIRECTS = 5
/** Longer validators are dropped, since they would be sent back with each request. */
const MAX_VALIDATOR_CHARS = 512

interface PolicyFetch {
  hostname: string
  kind: PolicyKind
  /** When the fetch begins, in milliseconds since 1970. A new version is active from then on. */
  at: number
  /** The last served version, for a conditional request. */
  previous?: PolicyVersion | undefined
  /** A URL other than the usual one; for the terminal. */
  url?: string
}

/**
 * Fetches a hostname's robots.txt or llms.txt. Returns undefined if `previous` is unchanged. `outbound` leads to the
 * origin; redirects to other hosts are guarded. A failure is a version with status 0 and a reason. Never rejects.
 */
export async function fetchPolicy(outbound: Outbound, options: PolicyFetch): Promise<PolicyVersion | undefined> {
  const { hostname, kind, at, previous } = options
  const start = options.url ?? `http://${hostname}${POLICY_PATHS[kind]}`
  const version = (url: string, status: number, reason?: string): PolicyVersion => ({
    hostname,
    kind,
    url: url.slice(0, 2_000),
    status,
    reason: reason?.slice(0, 300),
    sha256: '',
    body: undefined,
    truncated: false,
    content_type: '',
    first_seen: at,
    last_seen: at,
  })
  const conditions: Record<string, string> = {}
  if (previous?.etag !== undefined) conditions['if-none-match'] = previous.etag
  if (previous?.last_modified !== undefined) conditions['if-modified-since'] = previous.last_modified
  try {
    const { url, status, headers, body, truncated } = await outbound(start, {
      headers: conditions,
      limit: MAX_FILE_BYTES,
      timeout: FETCH_TIMEOUT_MS,
      redirects: MAX_REDIRECTS,
    })
    if (status === 304 && previous !== undefined) {
      // A redirect may have changed and lead to another file with the same tag: 304 then says nothing about `previous`.
      return previous.url === url ? undefined : await fetchPolicy(outbound, { hostname, kind, at, url: start })
    }
    if (status < 200 || status === 304) return version(url, 0, `unexpected status ${status}`)
    const standing = standingOf(status)
    if (standing === 'unreachable') return version(url, status, `status ${status}`)
    if (standing === 'unavailable') return version(url, status)
    const validator = (text: string | undefined) =>
      text !== undefined && text.length <= MAX_VALIDATOR_CHARS ? text : undefined
    return {
      ...version(url, status),
      sha256: createHash('sha256').update(body).digest('hex'),
      body: new TextDecoder().decode(body),
      truncated,
      content_type: (headers['content-type'] ?? '').slice(0, 127),
      etag: validator(headers.etag),
      last_modified: validator(headers['last-modified']),
    }
  } catch (error) {
    return version(start, 0, error instanceof OutboundError ? error.message : String(error))
  }
}

/** Returns the version of a robots.txt that readership serves itself: the origin is not asked for it. */
export const managedVersion = (hostname: string, text: string, at: number): PolicyVersion => ({
  hostname,
  kind: 'robots',
  url: `http://${hostname}${POLICY_PATHS.robots}`,
  status: 200,
  sha256: createHash('sha256').update(text).digest('hex'),
  body: text,
  truncated: false,
  content_type: 'text/plain',
  first_seen: at,
  last_seen: at,
})
