import { isSameVersion, type PolicyKind, type PolicyVersion, standingOf } from './version.js'
import { MAX_VERSIONS } from './version-store.js'

/** How often each file is asked for, ms, give or take a tenth: many instances must not ask at the same second. */
const FETCH_INTERVAL_MS = 600_000
/** What does not answer is asked again sooner, and then less and less soon. */
const FIRST_RETRY_MS = 30_000
/** What passes the proxy may call for another look at once, and then less and less soon while it goes on. */
const FIRST_RECHECK_WAIT_MS = 1_000

/** One file of one hostname: its versions, and when it is asked for next. */
export interface PolicyFileState {
  readonly hostname: string
  readonly kind: PolicyKind
  /** Oldest first. */
  readonly versions: PolicyVersion[]
  /** Epoch ms. */
  due: number
  fetching: boolean
  failures: number
  /** When a body that was another went to a client, since it was last asked for. */
  changeNoticedAt: number | undefined
  /** No look because of that before this time; and how long the next wait is. */
  recheckNotBefore: number
  recheckWaitMs: number
}

export const createFileState = (hostname: string, kind: PolicyKind): PolicyFileState => ({
  hostname,
  kind,
  versions: [],
  due: 0,
  fetching: false,
  failures: 0,
  changeNoticedAt: undefined,
  recheckNotBefore: 0,
  recheckWaitMs: FIRST_RECHECK_WAIT_MS,
})

/** A body that was another passed at `at`: the file is due at once, or as soon as it may be. */
export function recheckSoon(file: PolicyFileState, at: number, now: number): void {
  file.changeNoticedAt ??= at
  file.due = Math.min(file.due, Math.max(now, file.recheckNotBefore))
}

/**
 * It is asked for now: when for the next time, whatever comes of it. `spread` is between -1 and 1. Answers when another
 * body was noticed, if that is why.
 */
export function scheduleNext(file: PolicyFileState, now: number, spread: number): number | undefined {
  const { changeNoticedAt: noticed } = file
  file.due = now + FETCH_INTERVAL_MS * (1 + spread / 10)
  file.changeNoticedAt = undefined
  if (noticed === undefined) return undefined
  // Calm for as long as it ever waits, and the waiting starts over.
  file.recheckWaitMs =
    now - file.recheckNotBefore > FETCH_INTERVAL_MS
      ? FIRST_RECHECK_WAIT_MS
      : Math.min(file.recheckWaitMs * 2, FETCH_INTERVAL_MS)
  file.recheckNotBefore = now + file.recheckWaitMs
  return noticed
}

/**
 * Adds what was found at `now` to the versions; undefined: nothing changed. `noticed` as `schedule` answered it. Answers
 * the version that is new, or undefined where the last one goes on.
 */
export function addVersion(
  file: PolicyFileState,
  found: PolicyVersion | undefined,
  now: number,
  noticed?: number,
): PolicyVersion | undefined {
  const { versions } = file
  const last = versions.at(-1)
  const down = found !== undefined && standingOf(found.status) === 'unreachable'
  file.failures = down ? file.failures + 1 : 0
  if (down) file.due = Math.min(file.due, now + FIRST_RETRY_MS * 2 ** Math.min(file.failures - 1, 10))
  if (found === undefined || (last !== undefined && isSameVersion(last, found))) {
    if (last !== undefined) extendVersion(last, found, now)
    return undefined
  }
  // It was another already when its bytes passed.
  const began = noticed !== undefined && !down ? Math.min(noticed, found.first_seen) : found.first_seen
  const first_seen = last === undefined ? began : Math.max(began, last.last_seen + 1, last.first_seen + 1)
  const same = versions.find((version) => version.sha256 === found.sha256 && version.body !== undefined)
  const version = { ...found, body: same?.body ?? found.body, first_seen, last_seen: Math.max(first_seen, now) }
  versions.push(version)
  if (versions.length > MAX_VERSIONS) versions.splice(0, versions.length - MAX_VERSIONS)
  return version
}

function extendVersion(last: PolicyVersion, found: PolicyVersion | undefined, now: number): void {
  last.last_seen = Math.max(last.last_seen, now)
  if (found === undefined) return
  last.status = found.status
  last.url = found.url
  last.content_type = found.content_type
  // Too old to be held, and here it is again.
  last.body ??= found.body
  for (const name of ['etag', 'last_modified', 'reason'] as const) {
    const value = found[name]
    if (value === undefined) delete last[name]
    else last[name] = value
  }
}

/** The last version that somebody answered, before `version`. */
export const previousAnswer = (file: PolicyFileState, version: PolicyVersion): PolicyVersion | undefined =>
  file.versions.findLast((one) => one !== version && standingOf(one.status) !== 'unreachable')
