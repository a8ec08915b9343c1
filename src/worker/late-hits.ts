import type { DropReason } from '../storage/drops.js'
import type { EventStore, Placement, SessionMove } from '../storage/event-store.js'
import type { Addition, EventRow } from '../storage/rows.js'
import type { ClassifiedBatch } from './ingest/classified-batch.js'
import { assignSessions, lateRowWindows, settleSessions } from './ingest/late-rows.js'
import type { SessionMemory, SettledSession, StoredSession } from './ingest/session-memory.js'
import { type findPageReports, findPlacements, isPageKnown, placeBatchReports, siteOfReport } from './page-reports.js'
import { findSessionEnds, findSessionsNear } from './stored-sessions.js'
import { matchStoredViews } from './stored-views.js'

/** Rows of a batch that need to be looked up in the store. */
export type Unresolved = Pick<ClassifiedBatch, 'unplacedRows' | 'unmatchedViews' | 'additions'>

/** The result of the lookup for the stored rows and for the batch. */
export interface Resolution {
  moves: SessionMove[]
  additions: Addition[]
  placements: Placement[]
  /** Rows that are not stored, with a reason if that is a drop. */
  removed: ReadonlyMap<EventRow, DropReason | undefined>
  /** Reports of the batch without a session, which are stored apart. */
  loose: EventRow[]
}

/**
 * Gives late rows of a batch the sessions that they would have had all hits come in order, places the reports of pages that
 * this may concern, and finds the stored other halves of the batch's views. First it queries the store; then it changes
 * the batch's rows and the memory of sessions, and returns the changes to stored rows, for the same transaction. If it
 * rejects, nothing is changed.
 */
export const createLateHitResolver =
  ({
    store,
    sessions,
    findReports,
  }: {
    store: Pick<EventStore, 'dialect' | 'lookUp'>
    sessions: Pick<SessionMemory, 'settle' | 'noteReport'>
    /** Finds the reports to place: `findPageReports`. */
    findReports: typeof findPageReports
  }) =>
  async (all: readonly EventRow[], unresolved: Unresolved): Promise<Resolution> => {
    const { additions, matched } = await matchStoredViews(store, unresolved.unmatchedViews, unresolved.additions)
    const removed = new Map<EventRow, DropReason | undefined>()
    for (const { row, reportedBy } of matched) removed.set(row, reportedBy === 'server' ? 'same_view' : undefined)
    const unplaced = unresolved.unplacedRows.filter(({ row }) => !removed.has(row))
    if (unplaced.length === 0) {
      for (const { view } of matched) view.isMatched = true
      return { moves: [], additions, placements: [], removed, loose: [] }
    }
    const present = all.filter((row) => !removed.has(row))
    const reports = await findReports(store, present, unplaced)
    const acts = unplaced.filter(({ follows }) => follows !== true)
    const stored = await findSessionsNear(store, lateRowWindows(acts, reports))
    const settled = settleSessions(present, unplaced, stored, reports.filter(isPageKnown))
    const absorbed = await findAbsorbedSessions(store, settled, stored)
    for (const { view } of matched) view.isMatched = true
    const loose = placeBatchReports(reports)
    for (const row of loose) removed.set(row, undefined)
    const rows = present.filter((row) => !removed.has(row))
    assignSessions(rows, settled)
    sessions.settle(settled)
    for (const { place, at, visitor, openUntil } of reports)
      if (place?.isTimely !== true || openUntil !== undefined) sessions.noteReport(visitor, openUntil ?? at)
    const sites = new Map([...reports.map(siteOfReport), ...rows.map((row) => [row.session_id, row.site_id] as const)])
    const moves = absorbed.flatMap(({ session: { session_id, session_start, arrival }, ...move }) => {
      const site_id = sites.get(session_id)
      return site_id === undefined ? [] : [{ site_id, to: { session_id, session_start, arrival }, ...move }]
    })
    return { moves, additions, placements: findPlacements(reports), removed, loose }
  }

type AbsorbedSessions = Pick<SessionMove, 'session_ids' | 'first' | 'last'> & { session: SettledSession }

/** The stored sessions that become part of others. Adds their visitors and their last times to `settled`. */
async function findAbsorbedSessions(
  store: Pick<EventStore, 'dialect' | 'lookUp'>,
  settled: readonly SettledSession[],
  stored: readonly StoredSession[],
): Promise<AbsorbedSessions[]> {
  const starts = new Map(stored.map(({ session_id, session_start }) => [session_id, session_start]))
  const moved = settled
    .map((session) => ({
      session,
      session_ids: [...session.was].filter((id) => id !== session.session_id && starts.has(id)),
    }))
    .filter(({ session_ids }) => session_ids.length > 0)
  if (moved.length === 0) return []
  const all = moved.flatMap(({ session_ids }) => session_ids)
  const ends = await findSessionEnds(store, all, earliest(all.map((id) => starts.get(id))))
  return moved.map(({ session, session_ids }) => {
    const first = earliest(session_ids.map((id) => starts.get(id)))
    let last = session.last_seen
    for (const id of session_ids)
      for (const { visitor_id, last_seen, last_row } of ends.get(id) ?? []) {
        session.visitors.add(visitor_id)
        if (last_seen !== null && last_seen > session.last_seen) session.last_seen = last_seen
        if (last_row > last) last = last_row
      }
    return { session, session_ids, first, last }
  })
}

const earliest = (dates: readonly (Date | undefined)[]): Date =>
  dates.reduce<Date>((least, date) => (date && date < least ? date : least), new Date(8.64e15))
