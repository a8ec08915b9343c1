import { createHash } from 'node:crypto'
import { type Outbound, OutboundError } from '../outbound/outbound.js'
import { POLICY_PATHS, type PolicyKind, type PolicyVersion, standingOf } from './version.js'

/** Bytes of either file that are read (RFC 9309 2.5: at least 500 KiB). */
const MAX_FILE_BYTES = 512 * 1024
const FETCH_TIMEOUT_MS = 10_000
/** RFC 9309 2.3.1.2. */
export const MAX_REDIRECTS = 5
/** Validators that are longer are somebody's mischief: they would be sent back each time. */
const MAX_VALIDATOR_CHARS = 512

export interface PolicyFetch {
  hostname: string
  kind: PolicyKind
  /** When it is asked, epoch ms: from then on what is found is in force. */
  at: number
  /** The last version where it was served: asked for conditionally. */
  previous?: PolicyVersion | undefined
  /** Another place than the usual one; for the terminal. */
  url?: string
}

/**
 * A hostname's robots.txt or llms.txt as it is now, as a version of it; undefined: `known` is unchanged. `ask` is the
 * way to the origin, with redirects elsewhere through the guard. What fails is a version too, with status 0 and the
 * reason. Never rejects.
 */
export async function fetchPolicy(ask: Outbound, question: PolicyFetch): Promise<PolicyVersion | undefined> {
  const { hostname, kind, at, previous: known } = question
  const start = question.url ?? `http://${hostname}${POLICY_PATHS[kind]}`
  const version = (url: string, status: number, reason?: string): PolicyVersion => ({
    hostname,
    kind,
    url: url.slice(0, 2_000),
    status,
    ...(reason === undefined ? {} : { reason: reason.slice(0, 300) }),
    sha256: '',
    body: undefined,
    truncated: false,
    content_type: '',
    first_seen: at,
    last_seen: at,
  })
  const conditions: Record<string, string> = {}
  if (known?.etag !== undefined) conditions['if-none-match'] = known.etag
  if (known?.last_modified !== undefined) conditions['if-modified-since'] = known.last_modified
  try {
    const options = { headers: conditions, limit: MAX_FILE_BYTES, timeout: FETCH_TIMEOUT_MS, redirects: MAX_REDIRECTS }
    const answered = await ask(start, options)
    const { url, status, headers, body, truncated } = answered
    if (status === 304 && known !== undefined) {
      // It speaks of what was served at another place: a redirect was changed, and one of the two used the same tag.
      return known.url === url ? undefined : await fetchPolicy(ask, { hostname, kind, at, url: start })
    }
    if (status < 200 || status === 304) return version(url, 0, `it answered ${status} unasked`)
    const standing = standingOf(status)
    if (standing === 'unreachable') return version(url, status, `it answered ${status}`)
    if (standing === 'unavailable') return version(url, status)
    const { etag, 'last-modified': last_modified } = headers
    return {
      ...version(url, status),
      sha256: createHash('sha256').update(body).digest('hex'),
      body: new TextDecoder().decode(body),
      truncated,
      content_type: (headers['content-type'] ?? '').slice(0, 127),
      ...(etag !== undefined && etag.length <= MAX_VALIDATOR_CHARS ? { etag } : {}),
      ...(last_modified !== undefined && last_modified.length <= MAX_VALIDATOR_CHARS ? { last_modified } : {}),
    }
  } catch (error) {
    if (!(error instanceof OutboundError)) return version(start, 0, String(error))
    return version(start, 0, error.message)
  }
}
