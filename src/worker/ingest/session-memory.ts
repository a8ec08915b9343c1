import { createRecentCache, type RecentCache } from '../../base/cache.js'
import type { Arrival } from '../../storage/rows.js'
import { hash64 } from './hash64.js'
import { allVisitorIds, type VisitorIds } from './visitor-ids.js'

/** A session ends after this many milliseconds without a hit. */
export const SESSION_TIMEOUT_MS = 30 * 60_000
/** A hit this late still finds its session: as long as a shipper keeps what it could not send. */
export const MAX_LATENESS_MS = 86_400_000
/** A report may overtake the view of its page on the way by this much: a browser sends both as messages of their own. */
export const MAX_OVERTAKING_MS = 60_000

/** A session as its rows state it, those of one visitor id. */
export interface StoredSession {
  visitor_id: bigint
  session_id: bigint
  /** The timestamp of its first row. */
  session_start: Date
  /** The timestamp of its last row. */
  last_seen: Date
  arrival: Arrival
}

/** A session as it is after late hits, under all of its visitor ids: one, or two across a change of salts. */
export interface SettledSession extends Omit<StoredSession, 'visitor_id'> {
  visitors: Set<bigint>
  /** The ids that the session, or a part of it, has had. */
  was: Set<bigint>
}

/** The session of a visitor, and the one that it is after rows of it were removed. */
export interface SessionReplacement {
  visitor_id: bigint
  was: bigint
  now: Omit<StoredSession, 'visitor_id'> | undefined
}

export interface Session {
  id: bigint
  start: Date
  arrival: Arrival
  /** The id under which it was opened: it stays when a late hit gives the session another start, and so another id. */
  key: bigint
}

interface TrackedSession extends Session {
  /** `start` in milliseconds, and the latest hit. */
  first: number
  last: number
}

/** Visitors whose reports joined no running session and who are remembered; the least recent is forgotten first. */
export const MAX_REPORTING_VISITORS = 65_536

/**
 * Returns whether a page's report finds its session running. The engaged time before the report counts as presence, but
 * none before the page was seen (at `view`).
 */
export const isTimely = (at: number, engaged_ms: number, view: number, last: number): boolean =>
  Math.max(view, at - engaged_ms) - last < SESSION_TIMEOUT_MS

/** A session without hits stays in memory at least this long: longer than the timeout, because hits are recorded after the response. */
const MIN_RETENTION_MS = SESSION_TIMEOUT_MS + 10 * 60_000

/**
 * The last session of each visitor id (an id belongs to one site), in memory. Holds at most `limit` sessions and `texts`
 * characters (a session has at most 7,000), and forgets the least recently hit first; sessions without a hit for 80
 * minutes of the clock go too. A session is opened only if no row of the visitor can lie within 30 minutes; late-rows.ts
 * decides the rest with what the store knows.
 */
export class SessionMemory {
  /** Visitors that are not in memory have no row after this instant. */
  private horizon = Number.NEGATIVE_INFINITY
  /** The newest hit so far, and its value when the current generation of the cache began. */
  private newest = Number.NEGATIVE_INFINITY
  private newestBefore = Number.NEGATIVE_INFINITY
  private readonly cache: RecentCache<bigint, TrackedSession>
  /** Visitors with a hit that is not settled yet. */
  private readonly unsettled = new Set<bigint>()
  /** By visitor, the latest report that joined no running session: an earlier hit may change that. */
  private readonly reports = createRecentCache<bigint, number>(MAX_REPORTING_VISITORS)
  private readonly now: () => number
  private readonly isOccupied: ((at: number) => boolean) | undefined
  private rotatedAt: number

  /** `isOccupied` tells when memory must not decide, because rows that it never saw may lie within 30 minutes. */
  constructor({
    now,
    limit = 200_000,
    texts = 24 << 20,
    isOccupied,
  }: {
    now: () => number
    limit?: number
    texts?: number
    isOccupied?: (at: number) => boolean
  }) {
    this.now = now
    this.isOccupied = isOccupied
    this.rotatedAt = now()
    this.cache = createRecentCache(limit, { of: ({ arrival }) => arrivalCharacters(arrival), limit: texts }, () => {
      // A dropped session had no hit since the generation before the current one ended.
      this.horizon = Math.max(this.horizon, this.newestBefore)
      this.newestBefore = this.newest
    })
  }

  /**
   * Returns the session of a hit at `at` (milliseconds since 1970), a new one if none is open. Returns undefined if memory
   * cannot tell: the hit is earlier than everything known about its visitor, or older than memory reaches.
   */
  join(visitor: VisitorIds, at: number, arrive: () => Arrival): Session | undefined {
    this.rotate(at)
    const isOpen = this.isOccupied?.(at) === true || this.precedesReport(visitor, at)
    const session = isOpen ? undefined : this.find(visitor, at, arrive)
    if (session === undefined) this.unsettled.add(visitor.visitor_id)
    return session
  }

  /**
   * Returns the session of a page that reports about itself at `at`, and the moment to which the report is dated: an
   * earlier one if the session had ended (late-rows.ts has the rule). `view` is when the visitor last saw the page, and the
   * key of that session. Never opens a session. Returns undefined if that is not the visitor's last session.
   */
  follow(
    visitor: VisitorIds,
    at: number,
    engaged_ms: number,
    view: { session: bigint; at: number },
  ): { session: Session; at: number } | undefined {
    this.rotate(at)
    const { visitor_id, previous, next } = visitor
    // An earlier report may lie in the time that this one covers.
    const from = Math.max(view.at, at - engaged_ms)
    if (next !== undefined || this.unsettled.has(visitor_id) || this.precedesReport(visitor, from)) return undefined
    const session = this.cache.get(visitor_id) ?? (previous === undefined ? undefined : this.cache.get(previous))
    if (session === undefined || at < view.at || session.key !== view.session) return undefined
    if (isTimely(at, engaged_ms, view.at, session.last)) return { session: extend(session, at), at }
    this.noteReport(visitor, at)
    return { session, at: Math.min(at, session.last + engaged_ms) }
  }

  /** Notes a report that joined no running session: hits until then are settled with what the store knows. */
  noteReport(visitor: VisitorIds, at: number): void {
    for (const id of allVisitorIds(visitor)) this.reports.set(id, Math.max(at, this.reports.get(id) ?? at))
  }

  /**
   * Takes the stored sessions after a start; `stored` are all that have a row after `since` (milliseconds). `reports` are
   * the last reports of visitors that joined no running session.
   */
  restore(
    stored: readonly StoredSession[],
    since: number,
    reports: readonly { visitor_id: bigint; at: number }[] = [],
  ): void {
    this.horizon = Math.max(this.horizon, since)
    for (const { visitor_id, at } of reports) this.reports.set(visitor_id, at)
    for (const { visitor_id, session_id, session_start, last_seen, arrival } of stored) {
      const [first, last] = [session_start.getTime(), last_seen.getTime()]
      const session = this.cache.get(visitor_id)
      this.noteHit(last, this.now())
      if (session === undefined || session.last < last)
        this.cache.set(visitor_id, { id: session_id, key: session_id, start: session_start, arrival, first, last })
    }
  }

  /** Takes the result for all hits that memory could not place so far. */
  settle(changed: readonly SettledSession[]): void {
    this.unsettled.clear()
    for (const { session_id: id, session_start: start, last_seen, arrival, visitors, was } of changed) {
      const [first, last] = [start.getTime(), last_seen.getTime()]
      this.noteHit(last, this.now())
      for (const visitor of visitors) {
        const remembered = this.cache.get(visitor)
        if (remembered !== undefined && (remembered.id === id || was.has(remembered.id)))
          this.cache.set(visitor, {
            id,
            key: remembered.key,
            start,
            arrival,
            first,
            last: Math.max(last, remembered.last),
          })
        else if (remembered === undefined ? last > this.horizon : last > remembered.last)
          this.cache.set(visitor, { id, key: id, start, arrival, first, last })
      }
    }
  }

  /** Forgets visitors whose rows are erased, so that their next hit begins a new session. Returns the keys of their sessions. */
  forget(visitors: Iterable<bigint>): bigint[] {
    const keys: bigint[] = []
    for (const visitor of visitors) {
      this.reports.delete(visitor)
      const session = this.cache.get(visitor)
      if (session === undefined) continue
      keys.push(session.key)
      this.cache.delete(visitor)
    }
    return keys
  }

  /** Gives visitors the sessions that theirs have become because stored rows left; without `now` theirs are gone. */
  replace(changes: Iterable<SessionReplacement>): void {
    for (const { visitor_id, was, now } of changes) {
      const remembered = this.cache.get(visitor_id)
      if (remembered === undefined || remembered.id !== was) continue
      if (now === undefined) this.cache.delete(visitor_id)
      else {
        const { session_id: id, session_start: start, last_seen, arrival } = now
        const [first, last] = [start.getTime(), last_seen.getTime()]
        this.cache.set(visitor_id, { id, key: remembered.key, start, arrival, first, last })
      }
    }
  }

  /** Counts open sessions and those not yet forgotten. */
  get size(): number {
    return this.cache.size
  }

  private precedesReport(visitor: VisitorIds, at: number): boolean {
    return this.reports.size > 0 && allVisitorIds(visitor).some((id) => at <= (this.reports.get(id) ?? -Infinity))
  }

  private noteHit(at: number, time: number): void {
    // A clock far ahead must not send every later hit to the store.
    if (at > this.newest) this.newest = Math.max(this.newest, Math.min(at, time + MAX_LATENESS_MS))
  }

  private rotate(at: number): void {
    const time = this.now()
    this.noteHit(at, time)
    // In either direction: a clock that was set back must not keep everything for as long as it was ahead.
    if (Math.abs(time - this.rotatedAt) < MIN_RETENTION_MS) return
    this.cache.rotate()
    this.rotatedAt = time
  }

  private find(visitor: VisitorIds, at: number, arrive: () => Arrival): TrackedSession | undefined {
    const session = this.cache.get(visitor.visitor_id)
    if (session !== undefined && at <= session.last) return at >= session.first ? session : undefined
    // The hit comes after the change of salts: the visitor may have continued under the next id.
    if (visitor.next !== undefined) return undefined
    if (session === undefined) return this.findUnderPreviousId(visitor, at, arrive)
    return at - session.last < SESSION_TIMEOUT_MS ? extend(session, at) : this.open(visitor.visitor_id, at, arrive())
  }

  private findUnderPreviousId(visitor: VisitorIds, at: number, arrive: () => Arrival): TrackedSession | undefined {
    const { visitor_id, previous } = visitor
    if (at - SESSION_TIMEOUT_MS < this.horizon) return undefined
    if (previous === undefined) return this.open(visitor_id, at, arrive())
    const session = this.cache.get(previous)
    if (this.unsettled.has(previous) || (session && at < session.first)) return undefined
    if (session === undefined || at - session.last >= SESSION_TIMEOUT_MS) return this.open(visitor_id, at, arrive())
    this.cache.set(visitor_id, session)
    return extend(session, at)
  }

  private open(visitor: bigint, at: number, arrival: Arrival): TrackedSession {
    const { id, key, start } = startSession(visitor, at, arrival)
    // Not by spreading: the object shape that makes would cost every hit three times as much.
    const session = { id, key, start, arrival, first: at, last: at }
    this.cache.set(visitor, session)
    return session
  }
}

function extend(session: TrackedSession, at: number): TrackedSession {
  if (at > session.last) session.last = at
  return session
}

/** Returns the session that this hit begins. Its id depends on visitor and instant only: the same rows give the same sessions. */
export const startSession = (visitor: bigint, at: number, arrival: Arrival): Session => {
  const id = hashSessionId(visitor, at)
  return { id, key: id, start: new Date(at), arrival }
}

/** Returns the id of the session that a visitor's hit at this instant begins. */
export const hashSessionId = (visitor: bigint, at: number): bigint => hash64(`${visitor} ${at}`)

function arrivalCharacters(arrival: Arrival): number {
  let characters = 0
  let name: keyof Arrival
  for (name in arrival) characters += arrival[name]?.length ?? 0
  return characters
}
