import { createHash } from 'node:crypto'
import { createRecent } from './memo.js'
import type { EventRow } from './row.js'

/** A session ends after this many milliseconds without a hit (contract 3). */
export const SESSION_TIMEOUT = 30 * 60_000

/** What a session's first hit fixes for all its rows. */
export type Arrival = Pick<
  EventRow,
  | 'entry_page'
  | 'referrer'
  | 'source'
  | 'channel'
  | 'utm_source'
  | 'utm_medium'
  | 'utm_campaign'
  | 'utm_content'
  | 'utm_term'
>

/** A session as its rows know it: what a start reads back from the rows of the last 30 minutes. */
export interface OpenSession {
  visitor_id: bigint
  session_id: bigint
  session_start: Date
  /** The timestamp of its last row. */
  last_seen: Date
  arrival: Arrival
}

export interface Sessions {
  /**
   * The session that a hit at `at` (milliseconds since 1970) belongs to, a new one where none is open. `before` is the
   * visitor's id in the salt period that has just ended: over the change of salts a visit goes on.
   */
  join(visitor: bigint, before: bigint | undefined, at: number, arrive: () => Arrival): Session
  restore(open: readonly OpenSession[]): void
  /** Open ones, and those not yet forgotten. */
  readonly size: number
}

export interface Session {
  id: bigint
  start: Date
  arrival: Arrival
}

interface Running extends Session {
  /** Earliest and latest hit; `start` is the timestamp of the one that came first. */
  first: number
  last: number
  /** Another session of this visitor, kept for hits that come out of order. */
  next: Running | undefined
}

/** As many sessions of one visitor are looked through for a late hit. */
const DEPTH = 4

/**
 * Sessions in memory, by visitor (whose id is of one site only). At most `limit` of them, the least recently hit
 * forgotten first; those that nobody hit for an hour of the clock go too. A hit joins the session it is nearest to, if
 * that is less than 30 minutes away in either direction, so late hits and clocks that step back open no session twice.
 */
export function createSessions({
  now,
  limit = 200_000,
  texts = 64 << 20,
}: {
  now: () => number
  limit?: number
  /** Characters that all of them together may hold: at their longest, sessions hold 7,000 each. */
  texts?: number
}): Sessions {
  const recent = createRecent<bigint, Running>(limit, { of: ({ arrival }) => lengthOf(arrival), limit: texts })
  let aged = now()

  const forget = () => {
    // Either direction: a clock set back must not keep everything for as long as it was ahead.
    if (Math.abs(now() - aged) < SESSION_TIMEOUT) return
    recent.age()
    aged = now()
  }

  return {
    join(visitor, before, at, arrive) {
      forget()
      const own = recent.get(visitor)
      let session = nearest(own, at)
      if (session === undefined && before !== undefined) {
        session = nearest(recent.get(before), at)
        if (session) recent.set(visitor, session)
      }
      if (session === undefined) {
        session = {
          id: sessionId(visitor, at),
          start: new Date(at),
          arrival: arrive(),
          first: at,
          last: at,
          next: shorten(own),
        }
        recent.set(visitor, session)
      }
      session.first = Math.min(session.first, at)
      session.last = Math.max(session.last, at)
      return session
    },
    restore(open) {
      for (const { visitor_id, session_id, session_start, last_seen, arrival } of open) {
        const [first, last] = [session_start.getTime(), last_seen.getTime()]
        const next = shorten(recent.get(visitor_id))
        recent.set(visitor_id, {
          id: session_id,
          start: session_start,
          arrival,
          first,
          last: Math.max(first, last),
          next,
        })
      }
    },
    get size() {
      return recent.size
    },
  }
}

function lengthOf(arrival: Arrival): number {
  let length = 0
  let name: keyof Arrival
  for (name in arrival) length += arrival[name]?.length ?? 0
  return length
}

function nearest(chain: Running | undefined, at: number): Running | undefined {
  let best: Running | undefined
  let least = SESSION_TIMEOUT
  for (let session = chain; session; session = session.next) {
    const gap = Math.max(session.first - at, at - session.last, 0)
    if (gap < least) [best, least] = [session, gap]
  }
  return best
}

function shorten(chain: Running | undefined): Running | undefined {
  let session = chain
  for (let depth = 2; session; session = session.next, depth++) if (depth === DEPTH) session.next = undefined
  return chain
}

/** From the visitor and the moment, so that the same rows give the same sessions. */
const sessionId = (visitor: bigint, start: number): bigint =>
  createHash('sha256').update(`${visitor} ${start}`).digest().readBigUInt64BE(0)
