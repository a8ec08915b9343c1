import { createHash } from 'node:crypto'
import { createRecentCache } from '../cache.js'
import type { Arrival } from '../rows.js'
import type { VisitorIds } from './visitor-ids.js'

/** A session ends after this many milliseconds without a hit (contract 3). */
export const SESSION_TIMEOUT_MS = 30 * 60_000
/** So late a hit still finds its session: as long as an edge shipper may keep what it could not send. */
export const MAX_LATENESS_MS = 86_400_000

/** A session as rows know it, those of one visitor. */
export interface StoredSession {
  visitor_id: bigint
  session_id: bigint
  /** The timestamp of its first row. */
  session_start: Date
  /** The timestamp of its last row. */
  last_seen: Date
  arrival: Arrival
}

/** A session that late hits belong to, as it is now, under all of its visitors: one, or two over a change of salts. */
export interface SettledSession extends Omit<StoredSession, 'visitor_id'> {
  visitors: Set<bigint>
  /** The ids that it, or a part of it, has had. */
  was: Set<bigint>
}

export interface SessionMemory {
  /**
   * The session that a hit at `at` (milliseconds since 1970) belongs to, a new one where none is open. Undefined where
   * memory cannot tell: the hit is earlier than all that is known of its visitor, or older than what memory goes back to.
   */
  join(who: VisitorIds, at: number, arrive: () => Arrival): Session | undefined
  /**
   * The session of a page that says something of itself at `at`, the moment it speaks of and the visitor's id then: it
   * opens none. When the session, by its `key`, had ended by then (a tab is closed hours later), it speaks of the
   * `engaged_ms` behind the last hit. Undefined where memory does not know that session as the visitor's last.
   */
  follow(who: VisitorIds, at: number, engaged_ms: number, key?: bigint): FollowedSession | undefined
  /** The session that is known as the visitor's last; undefined where none began before `at`. */
  last(who: VisitorIds, at: number): Session | undefined
  /** `open` are all sessions with a row after `since`, in milliseconds. */
  restore(open: readonly StoredSession[], since: number): void
  /** What became of all hits that memory could not tell of so far. */
  settle(changed: readonly SettledSession[]): void
  /** These visitors have no rows any more: what they do next begins anew. Answers the keys of the sessions they had here. */
  forget(visitors: Iterable<bigint>): bigint[]
  /** Open ones, and those not yet forgotten. */
  readonly size: number
}

export interface Session {
  id: bigint
  start: Date
  arrival: Arrival
  /** The id it was opened under: the same when a late hit gives it another start, and so another id. */
  key: bigint
}

export interface FollowedSession {
  session: Session
  at: number
  visitor_id: bigint
}

interface TrackedSession extends Session {
  /** `start` in milliseconds, and the latest hit. */
  first: number
  last: number
}

/** A session nobody hits is kept this long at least: some minutes more than it runs, since hits are recorded when answered. */
const MIN_RETENTION_MS = SESSION_TIMEOUT_MS + 10 * 60_000

/**
 * The last session of each visitor (whose id is of one site only), in memory. At most `limit` of them, the least
 * recently hit forgotten first; those that nobody hit for 80 minutes of the clock go too. It opens a session only where
 * no row of the visitor can lie within 30 minutes: what it is not sure of the store knows (src/ingest/late-rows.ts).
 */
export function createSessionMemory({
  now,
  limit = 200_000,
  texts = 64 << 20,
}: {
  now: () => number
  limit?: number
  /** Characters that all of them together may hold: at their longest, sessions hold 7,000 each. */
  texts?: number
}): SessionMemory {
  /** Visitors that are not in memory have no row after this. */
  let horizon = Number.NEGATIVE_INFINITY
  /** The newest hit so far, and what it was when the present generation of sessions began. */
  let newest = Number.NEGATIVE_INFINITY
  let newestBefore = Number.NEGATIVE_INFINITY
  const recent = createRecentCache<bigint, TrackedSession>(
    limit,
    { of: ({ arrival }) => arrivalCharacters(arrival), limit: texts },
    () => {
      // What is dropped was hit by nobody since the generation before the present one ended.
      horizon = Math.max(horizon, newestBefore)
      newestBefore = newest
    },
  )
  /** Visitors with a hit that is not settled yet. */
  const waiting = new Set<bigint>()
  let aged = now()

  const note = (at: number, time: number) => {
    // One clock far ahead must not send everything that follows to the store.
    if (at > newest) newest = Math.max(newest, Math.min(at, time + MAX_LATENESS_MS))
  }

  const forget = (at: number) => {
    const time = now()
    note(at, time)
    // Either direction: a clock set back must not keep everything for as long as it was ahead.
    if (Math.abs(time - aged) < MIN_RETENTION_MS) return
    recent.rotate()
    aged = time
  }

  const goOn = (session: TrackedSession, at: number): TrackedSession => {
    if (at > session.last) session.last = at
    return session
  }

  const open = (visitor: bigint, at: number, arrival: Arrival): TrackedSession => {
    const { id, key, start } = startSession(visitor, at, arrival)
    // Not by spreading: every hit would pay three times as much for the shape that makes.
    const session = { id, key, start, arrival, first: at, last: at }
    recent.set(visitor, session)
    return session
  }

  /** The session of a visitor that is not in memory under this id. */
  const find = ({ visitor_id, before }: VisitorIds, at: number, arrive: () => Arrival): TrackedSession | undefined => {
    if (at - SESSION_TIMEOUT_MS < horizon) return undefined
    if (before === undefined) return open(visitor_id, at, arrive())
    const earlier = recent.get(before)
    if (waiting.has(before) || (earlier && at < earlier.first)) return undefined
    if (earlier === undefined || at - earlier.last >= SESSION_TIMEOUT_MS) return open(visitor_id, at, arrive())
    recent.set(visitor_id, earlier)
    return goOn(earlier, at)
  }

  const tell = (who: VisitorIds, at: number, arrive: () => Arrival): TrackedSession | undefined => {
    const own = recent.get(who.visitor_id)
    if (own !== undefined && at <= own.last) return at >= own.first ? own : undefined
    // It comes after the change of salts: the visitor may have gone on under the next id.
    if (who.after !== undefined) return undefined
    if (own === undefined) return find(who, at, arrive)
    return at - own.last < SESSION_TIMEOUT_MS ? goOn(own, at) : open(who.visitor_id, at, arrive())
  }

  return {
    join(who, at, arrive) {
      forget(at)
      const session = tell(who, at, arrive)
      if (session === undefined) waiting.add(who.visitor_id)
      return session
    },
    follow({ visitor_id, before, after }, at, engaged_ms, key) {
      forget(at)
      if (after !== undefined) return undefined
      const visitor = before !== undefined && recent.get(visitor_id) === undefined ? before : visitor_id
      const own = recent.get(visitor)
      if (own === undefined || at < own.first || (key !== undefined && own.key !== key)) return undefined
      if (at - own.last < SESSION_TIMEOUT_MS) return { session: goOn(own, at), at, visitor_id: visitor }
      if (key === undefined) return undefined
      const until = Math.min(at, own.last + engaged_ms)
      return { session: goOn(own, until), at: until, visitor_id: visitor }
    },
    last({ visitor_id, before }, at) {
      const own = recent.get(visitor_id) ?? (before === undefined ? undefined : recent.get(before))
      return own !== undefined && at >= own.first ? own : undefined
    },
    restore(running, since) {
      horizon = Math.max(horizon, since)
      for (const { visitor_id, session_id, session_start, last_seen, arrival } of running) {
        const [first, last] = [session_start.getTime(), last_seen.getTime()]
        const known = recent.get(visitor_id)
        note(last, now())
        if (known === undefined || known.last < last)
          recent.set(visitor_id, { id: session_id, key: session_id, start: session_start, arrival, first, last })
      }
    },
    settle(changed) {
      waiting.clear()
      for (const { session_id: id, session_start: start, last_seen, arrival, visitors, was } of changed) {
        const [first, last] = [start.getTime(), last_seen.getTime()]
        note(last, now())
        for (const visitor of visitors) {
          const known = recent.get(visitor)
          if (known !== undefined && (known.id === id || was.has(known.id)))
            recent.set(visitor, { id, key: known.key, start, arrival, first, last: Math.max(last, known.last) })
          else if (known === undefined ? last > horizon : last > known.last)
            recent.set(visitor, { id, key: id, start, arrival, first, last })
        }
      }
    },
    forget(visitors) {
      const keys: bigint[] = []
      for (const visitor of visitors) {
        const session = recent.get(visitor)
        if (session === undefined) continue
        keys.push(session.key)
        recent.delete(visitor)
      }
      return keys
    },
    get size() {
      return recent.size
    },
  }
}

/** The session of which this hit is the first. Its id is of the visitor and the moment: the same rows give the same sessions. */
export const startSession = (visitor: bigint, at: number, arrival: Arrival): Session => {
  const id = createHash('sha256').update(`${visitor} ${at}`).digest().readBigUInt64BE(0)
  return { id, key: id, start: new Date(at), arrival }
}

function arrivalCharacters(arrival: Arrival): number {
  let length = 0
  let name: keyof Arrival
  for (name in arrival) length += arrival[name]?.length ?? 0
  return length
}
