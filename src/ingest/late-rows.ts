import type { Arrival, EventRow } from '../rows.js'
import { SESSION_TIMEOUT_MS, type SettledSession, type StoredSession } from './session-memory.js'
import { allVisitorIds, type VisitorIds } from './visitor-ids.js'

/** A row whose session memory could not tell: until it is settled it has one of its own, as if it were the first. */
export interface UnplacedRow {
  row: EventRow
  visitor: VisitorIds
  /** It goes on with a session that is there, and begins none. */
  follows?: boolean
}

/** Where rows of a visitor may be in one session with a late row: instants in milliseconds since 1970, both exclusive. */
export interface SearchWindow {
  visitor_id: bigint
  from: number
  to: number
}

/** What the store must be asked of late rows: windows that do not overlap, under each id that their visitors have. */
export function lateRowWindows(unplaced: readonly UnplacedRow[]): SearchWindow[] {
  const hits = unplaced.flatMap(({ row, visitor: who }) =>
    allVisitorIds(who).map((visitor_id) => ({ visitor_id, at: row.timestamp.getTime() })),
  )
  const last = new Map<bigint, SearchWindow>()
  const windows: SearchWindow[] = []
  for (const { visitor_id, at } of hits.sort((a, b) => a.at - b.at)) {
    const [from, to] = [at - SESSION_TIMEOUT_MS, at + SESSION_TIMEOUT_MS]
    const known = last.get(visitor_id)
    if (known && from < known.to) known.to = to
    else {
      const window = { visitor_id, from, to }
      last.set(visitor_id, window)
      windows.push(window)
    }
  }
  return windows
}

/**
 * What the sessions of late rows are, had all hits come in order. `rows` is the batch that the late ones are part of,
 * `stored` the sessions that the store has `around` them. Of the rest of a session nothing need be known: what decides
 * is hits less than 30 minutes apart, and its start. A row that follows a session where none is belongs to none of them.
 */
export function settleSessions(
  rows: readonly EventRow[],
  unplaced: readonly UnplacedRow[],
  stored: readonly StoredSession[],
): SettledSession[] {
  const visitors = new Set(unplaced.flatMap(({ visitor: who }) => allVisitorIds(who)))
  const late = new Set(unplaced.map(({ row }) => row))
  const placed = rows.filter((row) => visitors.has(row.visitor_id) && !late.has(row))
  // Of two that began at once, the one that came first: the sort below is stable.
  const told = unplaced.map(({ row, follows = false }) => ({ ...pieceOf(row), follows }))
  const pieces: SessionPiece[] = [...stored, ...placed.map(pieceOf), ...told]
  const merged = mergePieces(
    pieces,
    groupByPerson([...unplaced.map(({ visitor: who }) => allVisitorIds(who)), ...visitorsBySession(pieces)]),
  )
  const settled = new Set<SettledSession>()
  for (const { row } of unplaced) {
    const session = merged.get(row.session_id)
    if (session) settled.add(session)
  }
  return [...settled]
}

/** Gives the rows of a batch the sessions that these are now, and tells `settled` of all who have rows of them. */
export function assignSessions(rows: readonly EventRow[], settled: readonly SettledSession[]): void {
  const now = new Map<bigint, SettledSession>()
  for (const session of settled) for (const id of session.was) now.set(id, session)
  for (const row of rows) {
    const session = now.get(row.session_id)
    if (session === undefined) continue
    const { session_id, session_start, arrival } = session
    Object.assign(row, { session_id, session_start }, arrival)
    session.visitors.add(row.visitor_id)
    if (row.timestamp > session.last_seen) session.last_seen = row.timestamp
  }
}

type SessionPiece = StoredSession & { follows?: boolean }

/** Pieces of sessions to whole ones, by each id that is part of them. */
function mergePieces(
  pieces: readonly SessionPiece[],
  person: (visitor: bigint) => bigint,
): Map<bigint, SettledSession> {
  const last = new Map<bigint, SettledSession>()
  const all = new Map<bigint, SettledSession>()
  for (const piece of [...pieces].sort((a, b) => a.session_start.getTime() - b.session_start.getTime())) {
    const { visitor_id, follows, ...session } = piece
    const who = person(visitor_id)
    let merged = last.get(who)
    if (merged && session.session_start.getTime() - merged.last_seen.getTime() < SESSION_TIMEOUT_MS) {
      if (session.last_seen > merged.last_seen) merged.last_seen = session.last_seen
    } else if (follows) continue
    else {
      merged = { ...session, visitors: new Set(), was: new Set() }
      last.set(who, merged)
    }
    merged.visitors.add(visitor_id)
    merged.was.add(session.session_id)
    all.set(session.session_id, merged)
  }
  return all
}

/** Visitors that have a session in common, which went over a change of salts. */
function visitorsBySession(pieces: readonly StoredSession[]): Iterable<bigint[]> {
  const visitors = new Map<bigint, bigint[]>()
  for (const { session_id, visitor_id } of pieces) {
    const known = visitors.get(session_id)
    if (known === undefined) visitors.set(session_id, [visitor_id])
    else if (!known.includes(visitor_id)) known.push(visitor_id)
  }
  return visitors.values()
}

/** One id for all that a person has; each list is of one person. */
function groupByPerson(linked: readonly (readonly bigint[])[]): (visitor: bigint) => bigint {
  const parent = new Map<bigint, bigint>()
  const find = (visitor: bigint): bigint => {
    let root = visitor
    for (let up = parent.get(root); up !== undefined; up = parent.get(root)) root = up
    return root
  }
  for (const [first, ...others] of linked)
    for (const other of others) {
      if (first === undefined) continue
      const [a, b] = [find(first), find(other)]
      if (a !== b) parent.set(b, a)
    }
  return find
}

function pieceOf(row: EventRow): StoredSession {
  const { visitor_id, session_id, session_start, timestamp } = row
  return { visitor_id, session_id, session_start, last_seen: timestamp, arrival: rowArrival(row) }
}

function rowArrival(row: EventRow): Arrival {
  const { entry_page, referrer, source, channel, utm_source, utm_medium, utm_campaign, utm_content, utm_term } = row
  return { entry_page, referrer, source, channel, utm_source, utm_medium, utm_campaign, utm_content, utm_term }
}
