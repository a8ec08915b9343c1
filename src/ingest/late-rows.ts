import type { Arrival, EventRow } from '../rows.js'
import { SESSION_TIMEOUT_MS, type SettledSession, type StoredSession } from './session-memory.js'
import { allVisitorIds, type VisitorIds } from './visitor-ids.js'

/** A row whose session memory could not tell. Until it is settled it has a session of its own, as if it were the first hit. */
export interface UnplacedRow {
  row: EventRow
  visitor: VisitorIds
  /** True if the row continues a session and never begins one. */
  follows?: boolean
}

/** The time in which rows of a visitor may share a session with a late row: milliseconds since 1970, both ends exclusive. */
export interface SearchWindow {
  visitor_id: bigint
  from: number
  to: number
}

/** Returns what to ask the store about late rows: windows that do not overlap, under each id of their visitors. */
export function lateRowWindows(unplaced: readonly UnplacedRow[]): SearchWindow[] {
  const hits = unplaced.flatMap(({ row, visitor }) =>
    allVisitorIds(visitor).map((visitor_id) => ({ visitor_id, at: row.timestamp.getTime() })),
  )
  const lastOf = new Map<bigint, SearchWindow>()
  const windows: SearchWindow[] = []
  for (const { visitor_id, at } of hits.sort((a, b) => a.at - b.at)) {
    const [from, to] = [at - SESSION_TIMEOUT_MS, at + SESSION_TIMEOUT_MS]
    const last = lastOf.get(visitor_id)
    if (last && from < last.to) last.to = to
    else {
      const window = { visitor_id, from, to }
      lastOf.set(visitor_id, window)
      windows.push(window)
    }
  }
  return windows
}

/**
 * Returns the sessions of late rows as if all hits had come in order. `rows` is the batch that contains the late rows,
 * `stored` the sessions that the store has in their windows. The rest of a session does not matter: only hits less than
 * 30 minutes apart and its start do. A row with `follows` that finds no session belongs to none of the returned ones.
 */
export function settleSessions(
  rows: readonly EventRow[],
  unplaced: readonly UnplacedRow[],
  stored: readonly StoredSession[],
): SettledSession[] {
  const visitors = new Set(unplaced.flatMap(({ visitor }) => allVisitorIds(visitor)))
  const late = new Set(unplaced.map(({ row }) => row))
  const placed = rows.filter((row) => visitors.has(row.visitor_id) && !late.has(row))
  // Late rows last: of two sessions that begin at the same time the earlier in this list wins, because the sort is stable.
  const pieces: SessionPiece[] = [
    ...stored,
    ...placed.map(toPiece),
    ...unplaced.map(({ row, follows = false }) => ({ ...toPiece(row), follows })),
  ]
  const merged = mergePieces(
    pieces,
    groupByPerson([...unplaced.map(({ visitor }) => allVisitorIds(visitor)), ...visitorsBySession(pieces)]),
  )
  const settled = new Set<SettledSession>()
  for (const { row } of unplaced) {
    const session = merged.get(row.session_id)
    if (session) settled.add(session)
  }
  return [...settled]
}

/** Writes the settled sessions into the rows of a batch, and adds these rows' visitors to the sessions. */
export function assignSessions(rows: readonly EventRow[], settled: readonly SettledSession[]): void {
  const sessionOf = new Map<bigint, SettledSession>()
  for (const session of settled) for (const id of session.was) sessionOf.set(id, session)
  for (const row of rows) {
    const session = sessionOf.get(row.session_id)
    if (session === undefined) continue
    const { session_id, session_start, arrival } = session
    Object.assign(row, { session_id, session_start }, arrival)
    session.visitors.add(row.visitor_id)
    if (row.timestamp > session.last_seen) session.last_seen = row.timestamp
  }
}

type SessionPiece = StoredSession & { follows?: boolean }

/** Merges pieces into whole sessions. Returns them by the id of each piece. */
function mergePieces(
  pieces: readonly SessionPiece[],
  personOf: (visitor: bigint) => bigint,
): Map<bigint, SettledSession> {
  const lastOf = new Map<bigint, SettledSession>()
  const byId = new Map<bigint, SettledSession>()
  for (const piece of [...pieces].sort((a, b) => a.session_start.getTime() - b.session_start.getTime())) {
    const { visitor_id, follows, ...session } = piece
    const person = personOf(visitor_id)
    let merged = lastOf.get(person)
    if (merged && session.session_start.getTime() - merged.last_seen.getTime() < SESSION_TIMEOUT_MS) {
      if (session.last_seen > merged.last_seen) merged.last_seen = session.last_seen
    } else if (follows) continue
    else {
      merged = { ...session, visitors: new Set(), was: new Set() }
      lastOf.set(person, merged)
    }
    merged.visitors.add(visitor_id)
    merged.was.add(session.session_id)
    byId.set(session.session_id, merged)
  }
  return byId
}

/** Groups visitor ids that share a session: one that continued across a change of salts. */
function visitorsBySession(pieces: readonly StoredSession[]): Iterable<bigint[]> {
  const visitors = new Map<bigint, bigint[]>()
  for (const { session_id, visitor_id } of pieces) {
    const group = visitors.get(session_id)
    if (group === undefined) visitors.set(session_id, [visitor_id])
    else if (!group.includes(visitor_id)) group.push(visitor_id)
  }
  return visitors.values()
}

/** Returns a function that maps each visitor id to one id of its person. Each list contains ids of one person. */
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

function toPiece(row: EventRow): StoredSession {
  const { visitor_id, session_id, session_start, timestamp } = row
  return { visitor_id, session_id, session_start, last_seen: timestamp, arrival: rowArrival(row) }
}

function rowArrival(row: EventRow): Arrival {
  const { entry_page, referrer, source, channel, utm_source, utm_medium, utm_campaign, utm_content, utm_term } = row
  return { entry_page, referrer, source, channel, utm_source, utm_medium, utm_campaign, utm_content, utm_term }
}
