import type { Arrival, EventRow } from '../../storage/rows.js'
import { isTimely, SESSION_TIMEOUT_MS, type SettledSession, type StoredSession } from './session-memory.js'
import { allVisitorIds, type VisitorIds } from './visitor-ids.js'

/*
 * The rule of sessions, the same for any order in which hits arrive. The README of this folder states it; SessionMemory
 * applies it to hits in order, and this file to all others, with what the store knows about their visitors.
 */

/** The path of a report that does not name its page: it is about the page that the visitor saw last. */
export const UNNAMED_PAGE = ''

/** A row whose session memory could not tell. Until it is settled it has a session of its own, as if it were the first hit. */
export interface UnplacedRow {
  row: EventRow
  visitor: VisitorIds
  /** A page reports about itself: the row continues a session, and begins none. */
  follows?: boolean
}

/** A page's report about itself, which the rule places. Times are milliseconds since 1970. */
export interface PageReport {
  visitor_id: bigint
  /** When it arrived, or the time of its page's view if the report overtook that. */
  at: number
  engaged_ms: number
  /** When the visitor last saw the page before; undefined if that is not known. */
  view: number | undefined
  /** Set by `settleSessions`: its session, and the time to which it is dated. Undefined without a session. */
  place?: { session: SettledSession; at: number; isTimely: boolean }
}

/** The time in which rows of a visitor may share a session with a late row: milliseconds since 1970, both ends exclusive. */
export interface SearchWindow {
  visitor_id: bigint
  from: number
  to: number
}

/** Returns what to ask the store about late rows and reports: windows that do not overlap, under each id of their visitors. */
export function lateRowWindows(
  unplaced: readonly UnplacedRow[],
  reports: readonly (Pick<PageReport, 'at' | 'view'> & { visitors: readonly bigint[] })[] = [],
): SearchWindow[] {
  const spans = [
    ...unplaced.map(({ row, visitor }) => ({
      visitors: allVisitorIds(visitor),
      first: row.timestamp.getTime(),
      last: row.timestamp.getTime(),
    })),
    ...reports.map(({ visitors, at, view = at }) => ({ visitors, first: view, last: at })),
  ]
  const lastOf = new Map<bigint, SearchWindow>()
  const windows: SearchWindow[] = []
  for (const { visitors, first, last } of spans.sort((a, b) => a.first - b.first))
    for (const visitor_id of visitors) {
      const [from, to] = [first - SESSION_TIMEOUT_MS, last + SESSION_TIMEOUT_MS]
      const before = lastOf.get(visitor_id)
      if (before && from < before.to) before.to = Math.max(before.to, to)
      else {
        const window = { visitor_id, from, to }
        lastOf.set(visitor_id, window)
        windows.push(window)
      }
    }
  return windows
}

/**
 * Returns the sessions of late rows as if all hits had come in order, and places `reports`. `rows` is the batch that
 * contains the late rows, `stored` the sessions that the store has in their windows. The rest of a session does not
 * matter: only hits less than 30 minutes apart and its start do. Rows with `follows` are among the reports.
 */
export function settleSessions(
  rows: readonly EventRow[],
  unplaced: readonly UnplacedRow[],
  stored: readonly StoredSession[],
  reports: readonly PageReport[] = [],
): SettledSession[] {
  const visitors = new Set([
    ...unplaced.flatMap(({ visitor }) => allVisitorIds(visitor)),
    ...reports.map(({ visitor_id }) => visitor_id),
  ])
  const late = new Set(unplaced.map(({ row }) => row))
  const placed = rows.filter((row) => visitors.has(row.visitor_id) && !late.has(row) && row.reported_at === null)
  const acts = unplaced.filter(({ follows }) => follows !== true)
  // Late rows last: of two sessions that begin at the same time the earlier in this list wins, because the sort is stable.
  const pieces = [...stored, ...placed.map(toPiece), ...acts.map(({ row }) => toPiece(row))]
  const personOf = groupByPerson([
    ...unplaced.map(({ visitor }) => allVisitorIds(visitor)),
    ...visitorsBySession(pieces),
  ])
  const merged = mergePieces(pieces, reports, personOf)
  const settled = new Set<SettledSession>()
  for (const { row } of acts) {
    const session = merged.get(row.session_id)
    if (session) settled.add(session)
  }
  for (const { place } of reports) if (place?.isTimely) settled.add(place.session)
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
    if (row.reported_at === null && row.timestamp > session.last_seen) session.last_seen = row.timestamp
  }
}

/** Merges pieces, and the reports that find their session running, into whole sessions. Returns them by the id of each piece. */
function mergePieces(
  pieces: readonly StoredSession[],
  reports: readonly PageReport[],
  personOf: (visitor: bigint) => bigint,
): Map<bigint, SettledSession> {
  const sessionsOf = new Map<bigint, SettledSession[]>()
  const byId = new Map<bigint, SettledSession>()
  const steps = [
    ...pieces.map((piece) => ({ from: piece.session_start.getTime(), piece, report: undefined })),
    // A report begins when the engaged time before it did. One without a view joins no session that runs on.
    ...reports.map((report) => ({
      from: Math.max(report.view ?? report.at, report.at - report.engaged_ms),
      piece: undefined,
      report,
    })),
  ].sort((a, b) => a.from - b.from)
  for (const { from, piece, report } of steps) {
    const person = personOf((piece ?? report).visitor_id)
    const sessions = sessionsOf.get(person) ?? []
    sessionsOf.set(person, sessions)
    const last = sessions.at(-1)
    const runs = last !== undefined && from - last.last_seen.getTime() < SESSION_TIMEOUT_MS
    if (report !== undefined) joinRunning(report, last)
    else {
      const { visitor_id, ...fields } = piece
      const session = runs ? last : { ...fields, visitors: new Set<bigint>(), was: new Set<bigint>() }
      if (!runs) sessions.push(session)
      else if (fields.last_seen > session.last_seen) session.last_seen = fields.last_seen
      session.visitors.add(visitor_id)
      session.was.add(fields.session_id)
      byId.set(fields.session_id, session)
    }
  }
  for (const report of reports)
    if (report.place === undefined) placeAside(report, sessionsOf.get(personOf(report.visitor_id)) ?? [])
  return byId
}

/** Prolongs a session by a report of a page that was seen in it, if it still runs. */
function joinRunning(report: PageReport, session: SettledSession | undefined): void {
  const { view, at, engaged_ms } = report
  if (session === undefined || view === undefined || view < session.session_start.getTime()) return
  if (!isTimely(at, engaged_ms, view, session.last_seen.getTime())) return
  if (at > session.last_seen.getTime()) session.last_seen = new Date(at)
  report.place = { session, at, isTimely: true }
}

/**
 * Places a report that prolongs no session: in the session in which its page was seen, after its last hit; without a view
 * in the session that runs.
 */
function placeAside(report: PageReport, sessions: readonly SettledSession[]): void {
  const { view, at, engaged_ms } = report
  const moment = view ?? at
  const tolerance = view === undefined ? SESSION_TIMEOUT_MS : 1
  const session = sessions.findLast(
    ({ session_start, last_seen }) => session_start.getTime() <= moment && moment - last_seen.getTime() < tolerance,
  )
  if (session === undefined) return
  const until = view === undefined ? at : Math.min(at, session.last_seen.getTime() + engaged_ms)
  report.place = { session, at: until, isTimely: false }
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
