import { DAY_MS } from '../../base/time-units.js'
/** The two files of a site's policy. */
export const POLICY_KINDS = ['robots', 'llms'] as const
export type PolicyKind = (typeof POLICY_KINDS)[number]
export const POLICY_PATHS: { readonly [K in PolicyKind]: string } = { robots: '/robots.txt', llms: '/llms.txt' }

/** The content of a hostname's file during a period. Times are milliseconds since 1970. */
export interface PolicyVersion {
  readonly hostname: string
  readonly kind: PolicyKind
  /** The URL of the response, after redirects. */
  url: string
  /** 0 if there was no response. */
  status: number
  /** Why there was no response, in a few words. */
  reason?: string | undefined
  /** Digest of the response's bytes in hex; empty if the status is not 2xx. */
  readonly sha256: string
  /** The response as text; undefined if the status is not 2xx or the version is too old to stay in memory. */
  body: string | undefined
  /** True if the file is longer than the part that is read. */
  readonly truncated: boolean
  content_type: string
  etag?: string | undefined
  last_modified?: string | undefined
  readonly first_seen: number
  /** When the file was last fetched and still had this content. */
  last_seen: number
}

/**
 * `served`: the text applies. `unavailable`: the file does not exist, and everything is allowed (RFC 9309 2.3.1.3).
 * `unreachable`: crawlers have to assume that nothing is allowed (RFC 9309 2.3.1.4).
 */
export const standingOf = (status: number): 'served' | 'unavailable' | 'unreachable' =>
  status >= 200 && status < 300 ? 'served' : status >= 300 && status < 500 ? 'unavailable' : 'unreachable'

/** A copy may be used this long without fetching it again (RFC 9309 2.4). */
const MAX_CACHE_AGE_MS = DAY_MS
/** A file that is unreachable for longer counts as non-existent (RFC 9309 2.3.1.4). */
const ASSUMED_GONE_AFTER_MS = 30 * DAY_MS

/** Returns the index of the last version that began at `at` or before, or -1. */
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
 * Returns the version of a file that was active at `at`; `versions` begins with the oldest. A version is active until the
 * next one begins, and for at most a day after it was last fetched.
 */
export function activeVersion(versions: readonly PolicyVersion[], at: number): PolicyVersion | undefined {
  const version = versions[indexAt(versions, at)]
  return version !== undefined && at <= version.last_seen + MAX_CACHE_AGE_MS ? version : undefined
}

/**
 * Returns when a version ceased to be active: when the next one began, or a day after it was last fetched. The last version
 * of a file that is still fetched has an end in the future.
 */
export const endOfForce = ({ last_seen }: PolicyVersion, next: PolicyVersion | undefined): number =>
  Math.min(next?.first_seen ?? Number.POSITIVE_INFINITY, last_seen + MAX_CACHE_AGE_MS)

const isAnswer = ({ status }: PolicyVersion): boolean => standingOf(status) !== 'unreachable'

/** Returns when the first version began that was not unreachable; undefined if all were. */
export const firstAnswerTime = (versions: readonly PolicyVersion[]): number | undefined =>
  versions.find(isAnswer)?.first_seen

/** The first known version counts for so long before it: a file seldom changes within an hour. */
export const MAX_BACKDATING_MS = 3_600_000

/**
 * Returns the time whose version judges a request of `at`. Where nothing was known of the file then, that is the beginning of
 * the next version that is not unreachable, if it came soon enough.
 */
export function judgedTime(versions: readonly PolicyVersion[], at: number): number {
  const index = indexAt(versions, at)
  for (let i = index; i >= 0; i--) {
    const version = versions[i]
    if (version === undefined || at > version.last_seen + MAX_CACHE_AGE_MS) break
    if (isAnswer(version)) return at
  }
  for (let i = index + 1; i < versions.length; i++) {
    const version = versions[i]
    if (version === undefined || version.first_seen - at > MAX_BACKDATING_MS) break
    if (isAnswer(version)) return version.first_seen
  }
  return at
}

/** Yields the earlier versions, newest first, of which a crawler may have a cached copy at `at`: at most a day old. */
export function* recentVersions(versions: readonly PolicyVersion[], at: number): Generator<PolicyVersion> {
  let index = indexAt(versions, at)
  for (let next = versions[index]; next !== undefined; ) {
    const version: PolicyVersion | undefined = versions[--index]
    if (version === undefined || next.first_seen <= at - DAY_MS) return
    if (version.last_seen + MAX_CACHE_AGE_MS > at - DAY_MS) yield version
    next = version
  }
}

/** Returns true if a file that became unreachable with `version` counts as non-existent at `at`. */
export const isAssumedGone = (version: PolicyVersion, at: number): boolean =>
  at - version.first_seen >= ASSUMED_GONE_AFTER_MS

/** Returns true if the fetched version has the content of `version`, so that it extends `version` and is not a new one. */
export function isSameVersion(version: PolicyVersion, fetched: PolicyVersion): boolean {
  const standing = standingOf(fetched.status)
  if (standing !== standingOf(version.status) || version.sha256 !== fetched.sha256) return false
  // After a day without a fetch it is not known that the file was unreachable all the time.
  return standing !== 'unreachable' || fetched.first_seen - version.last_seen <= MAX_CACHE_AGE_MS
}
