/** The two files of a site's policy. */
export const POLICY_KINDS = ['robots', 'llms'] as const
export type PolicyKind = (typeof POLICY_KINDS)[number]
export const POLICY_PATHS: { readonly [K in PolicyKind]: string } = { robots: '/robots.txt', llms: '/llms.txt' }

/** What a hostname's file was for a time. Times are milliseconds since 1970. */
export interface PolicyVersion {
  readonly hostname: string
  readonly kind: PolicyKind
  /** Where it came from in the end, redirects followed. */
  url: string
  /** 0: nothing answered. */
  status: number
  /** Why nothing answered, in a few words; absent where something did. */
  reason?: string
  /** Of the bytes as they came, in hex; empty where they are no policy. */
  readonly sha256: string
  /** The bytes as text; undefined where they are no policy, or too old to be held in memory. */
  body: string | undefined
  /** There was more than is read. */
  readonly truncated: boolean
  content_type: string
  etag?: string
  last_modified?: string
  readonly first_seen: number
  /** It was still the same then. */
  last_seen: number
}

/**
 * `served`: its text applies. `unavailable`: it is not there, and everything is allowed (RFC 9309 2.3.1.3).
 * `unreachable`: nobody can say, and crawlers are to assume that nothing is allowed (2.3.1.4).
 */
type Standing = 'served' | 'unavailable' | 'unreachable'

export const standingOf = (status: number): Standing =>
  status >= 200 && status < 300 ? 'served' : status >= 300 && status < 500 ? 'unavailable' : 'unreachable'

const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
/** For so long a copy may be used without asking again (RFC 9309 2.4). */
const MAX_CACHE_AGE_MS = DAY_MS
/** A file that cannot be reached for longer is treated as one that is not there (RFC 9309 2.3.1.4). */
const ASSUMED_GONE_AFTER_MS = 30 * DAY_MS

/** Place of the last version that began at `at` or before; -1: none did. */
function indexAt(versions: readonly PolicyVersion[], at: number): number {
  let low = 0
  let high = versions.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((versions[middle]?.first_seen ?? 0) <= at) low = middle + 1
    else high = middle
  }
  return low - 1
}

/**
 * Of one file's versions, oldest first, the one in force at `at`: until the next begins, and without being seen again
 * for no longer than a copy may be kept. Undefined: none is known.
 */
export function activeVersion(versions: readonly PolicyVersion[], at: number): PolicyVersion | undefined {
  const version = versions[indexAt(versions, at)]
  return version !== undefined && at <= version.last_seen + MAX_CACHE_AGE_MS ? version : undefined
}

/** The versions, newest first, of which a crawler may hold a copy at `at`, but for the one in force: a day old at most. */
export function* recentVersions(versions: readonly PolicyVersion[], at: number): Generator<PolicyVersion> {
  let place = indexAt(versions, at)
  for (let next = versions[place]; next !== undefined; ) {
    const version: PolicyVersion | undefined = versions[--place]
    if (version === undefined || next.first_seen <= at - DAY_MS) return
    if (version.last_seen + MAX_CACHE_AGE_MS > at - DAY_MS) yield version
    next = version
  }
}

/** Whether a file that was unreachable from `first_seen` on is by `at` as good as not there. */
export const isAssumedGone = (version: PolicyVersion, at: number): boolean =>
  at - version.first_seen >= ASSUMED_GONE_AFTER_MS

/** Whether what was found now is what `version` is: then it goes on, and is no new version. */
export function isSameVersion(version: PolicyVersion, found: PolicyVersion): boolean {
  const standing = standingOf(found.status)
  if (standing !== standingOf(version.status) || version.sha256 !== found.sha256) return false
  // Nobody looked for longer than a copy lasts: that it could not be reached all that time is not known.
  return standing !== 'unreachable' || found.first_seen - version.last_seen <= MAX_CACHE_AGE_MS
}
