import { isSameVersion, type PolicyKind, type PolicyVersion, standingOf } from './version.js'
import { MAX_VERSIONS } from './version-store.js'

/** Each file is fetched this often, plus or minus a tenth, so that not all installations fetch at the same second. */
const FETCH_INTERVAL_MS = 600_000
/** First wait after a failure; it doubles with each further failure. */
const FIRST_RETRY_MS = 30_000
/** First wait between two fetches because of responses that pass the proxy; it doubles while that goes on. */
const FIRST_RECHECK_WAIT_MS = 1_000

/** One file of one hostname: its versions, and when it is fetched next. */
export interface PolicyFileState {
  readonly hostname: string
  readonly kind: PolicyKind
  /** Begins with the oldest. */
  readonly versions: PolicyVersion[]
  /** Milliseconds since 1970. */
  due: number
  /** True once the origin gave a response other than 5xx in this process. */
  answered: boolean
  failures: number
  /** When the proxy served a changed body, if that happened after the last fetch. */
  changeNoticedAt: number | undefined
  /** Earliest time of the next fetch because of a changed body, and the wait after that fetch. */
  recheckNotBefore: number
  recheckWaitMs: number
}

export const createFileState = (hostname: string, kind: PolicyKind, due: number): PolicyFileState => ({
  hostname,
  kind,
  versions: [],
  due,
  answered: false,
  failures: 0,
  changeNoticedAt: undefined,
  recheckNotBefore: 0,
  recheckWaitMs: FIRST_RECHECK_WAIT_MS,
})

/** Makes the file due as soon as allowed, because the proxy served a changed body at `at`. */
export function recheckSoon(file: PolicyFileState, at: number, now: number): void {
  file.changeNoticedAt ??= at
  file.due = Math.min(file.due, Math.max(now, file.recheckNotBefore))
}

/**
 * Sets the time of the next fetch when a fetch begins. `spread` is between -1 and 1. Returns when a changed body was
 * noticed, if that is the reason for this fetch.
 */
export function scheduleNext(file: PolicyFileState, now: number, spread: number): number | undefined {
  const { changeNoticedAt } = file
  file.due = now + FETCH_INTERVAL_MS * (1 + spread / 10)
  file.changeNoticedAt = undefined
  if (changeNoticedAt === undefined) return undefined
  // The wait starts over after a whole interval without changes.
  const calm = now - file.recheckNotBefore > FETCH_INTERVAL_MS
  file.recheckWaitMs = calm ? FIRST_RECHECK_WAIT_MS : Math.min(file.recheckWaitMs * 2, FETCH_INTERVAL_MS)
  file.recheckNotBefore = now + file.recheckWaitMs
  return changeNoticedAt
}

/**
 * Adds the result of a fetch that ended at `now`; `fetched` is undefined if the server confirmed the last version.
 * `noticedAt` is the result of `scheduleNext`. Returns the new version, or undefined if the last one continues.
 */
export function addVersion(
  file: PolicyFileState,
  fetched: PolicyVersion | undefined,
  now: number,
  noticedAt?: number,
): PolicyVersion | undefined {
  const { versions } = file
  const last = versions.at(-1)
  const down = fetched !== undefined && standingOf(fetched.status) === 'unreachable'
  file.failures = down ? file.failures + 1 : 0
  if (down) file.due = Math.min(file.due, now + FIRST_RETRY_MS * 2 ** Math.min(file.failures - 1, 10))
  if (fetched === undefined || (last !== undefined && isSameVersion(last, fetched))) {
    if (last !== undefined) extendVersion(last, fetched, now)
    return undefined
  }
  // The new content was already served when the proxy noticed it.
  const began = noticedAt !== undefined && !down ? Math.min(noticedAt, fetched.first_seen) : fetched.first_seen
  const first_seen = last === undefined ? began : Math.max(began, last.last_seen + 1, last.first_seen + 1)
  const same = versions.find((version) => version.sha256 === fetched.sha256 && version.body !== undefined)
  const version = { ...fetched, body: same?.body ?? fetched.body, first_seen, last_seen: Math.max(first_seen, now) }
  versions.push(version)
  if (versions.length > MAX_VERSIONS) versions.splice(0, versions.length - MAX_VERSIONS)
  return version
}

function extendVersion(last: PolicyVersion, fetched: PolicyVersion | undefined, now: number): void {
  last.last_seen = Math.max(last.last_seen, now)
  if (fetched === undefined) return
  const { status, url, content_type, etag, last_modified, reason } = fetched
  Object.assign(last, { status, url, content_type, etag, last_modified, reason })
  // The body of an old version may have left the memory.
  last.body ??= fetched.body
}

/** Returns the last version before `version` that was not unreachable. */
export const previousAnswer = (file: PolicyFileState, version: PolicyVersion): PolicyVersion | undefined =>
  file.versions.findLast((one) => one !== version && standingOf(one.status) !== 'unreachable')
