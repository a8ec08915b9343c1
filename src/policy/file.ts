import { goesOn, type Kind, standingOf, type Version } from './timeline.js'
import { KEPT } from './versions.js'

/** How often each file is asked for, ms, give or take a tenth: many instances must not ask at the same second. */
export const INTERVAL = 600_000
/** What does not answer is asked again sooner, and then less and less soon. */
const FIRST_RETRY = 30_000
/** What passes the proxy may call for another look at once, and then less and less soon while it goes on. */
const FIRST_LOOK = 1_000

/** One file of one hostname: its versions, and when it is asked for next. */
export interface PolicyFileState {
  readonly hostname: string
  readonly kind: Kind
  /** Oldest first. */
  readonly versions: Version[]
  /** Epoch ms. */
  due: number
  asking: boolean
  failures: number
  /** When a body that was another went to a client, since it was last asked for. */
  noticed: number | undefined
  /** No look because of that before this time; and how long the next wait is. */
  quiet_until: number
  quiet: number
}

export const newFile = (hostname: string, kind: Kind): PolicyFileState => ({
  hostname,
  kind,
  versions: [],
  due: 0,
  asking: false,
  failures: 0,
  noticed: undefined,
  quiet_until: 0,
  quiet: FIRST_LOOK,
})

/** A body that was another passed at `at`: the file is due at once, or as soon as it may be. */
export function notice(file: PolicyFileState, at: number, now: number): void {
  file.noticed ??= at
  file.due = Math.min(file.due, Math.max(now, file.quiet_until))
}

/**
 * It is asked for now: when for the next time, whatever comes of it. `spread` is between -1 and 1. Answers when another
 * body was noticed, if that is why.
 */
export function schedule(file: PolicyFileState, now: number, spread: number): number | undefined {
  const { noticed } = file
  file.due = now + INTERVAL * (1 + spread / 10)
  file.noticed = undefined
  if (noticed === undefined) return undefined
  // Calm for as long as it ever waits, and the waiting starts over.
  file.quiet = now - file.quiet_until > INTERVAL ? FIRST_LOOK : Math.min(file.quiet * 2, INTERVAL)
  file.quiet_until = now + file.quiet
  return noticed
}

/**
 * Adds what was found at `now` to the versions; undefined: nothing changed. `noticed` as `schedule` answered it. Answers
 * the version that is new, or undefined where the last one goes on.
 */
export function add(
  file: PolicyFileState,
  found: Version | undefined,
  now: number,
  noticed?: number,
): Version | undefined {
  const { versions } = file
  const last = versions.at(-1)
  const down = found !== undefined && standingOf(found.status) === 'unreachable'
  file.failures = down ? file.failures + 1 : 0
  if (down) file.due = Math.min(file.due, now + FIRST_RETRY * 2 ** Math.min(file.failures - 1, 10))
  if (found === undefined || (last !== undefined && goesOn(last, found))) {
    if (last !== undefined) seenAgain(last, found, now)
    return undefined
  }
  // It was another already when its bytes passed.
  const began = noticed !== undefined && !down ? Math.min(noticed, found.first_seen) : found.first_seen
  const first_seen = last === undefined ? began : Math.max(began, last.last_seen + 1, last.first_seen + 1)
  const same = versions.find((version) => version.sha256 === found.sha256 && version.body !== undefined)
  const version = { ...found, body: same?.body ?? found.body, first_seen, last_seen: Math.max(first_seen, now) }
  versions.push(version)
  if (versions.length > KEPT) versions.splice(0, versions.length - KEPT)
  return version
}

function seenAgain(last: Version, found: Version | undefined, now: number): void {
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
export const answeredBefore = (file: PolicyFileState, version: Version): Version | undefined =>
  file.versions.findLast((one) => one !== version && standingOf(one.status) !== 'unreachable')
