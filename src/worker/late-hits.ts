import type { DropReason } from '../capture/drops.js'
import type { EventStore } from '../duckdb/event-store.js'
import type { SessionMove } from '../duckdb/session-moves.js'
import type { ClassifiedBatch } from '../ingest/classified-batch.js'
import { assignSessions, lateRowWindows, settleSessions } from '../ingest/late-rows.js'
import type { SessionMemory, SettledSession, StoredSession } from '../ingest/session-memory.js'
import type { Addition, EventRow } from '../rows.js'
import { findSessionEnds, findSessionsNear } from './stored-sessions.js'
import { matchStoredViews } from './stored-views.js'

/** What a batch must wait for the store to say of it. */
export type Unresolved = Pick<ClassifiedBatch, 'unplaced' | 'unsure' | 'additions'>

export interface Resolution {
  moves: SessionMove[]
  additions: Addition[]
  /** Rows that are none, and why where that is a drop. */
  removed: ReadonlyMap<EventRow, DropReason | undefined>
}

/**
 * Gives the late rows of a batch the sessions that they would have, had all hits come in order, and finds the stored rows
 * of views that it has the other half of. What is stored of these is asked for first; then the batch's rows are changed,
 * memory is told, and what must change in the store together with their commit is answered. Rejects before anything is
 * changed.
 */
export const createLateHitResolver =
  ({ store, sessions }: { store: Pick<EventStore, 'lookUp'>; sessions: Pick<SessionMemory, 'settle'> }) =>
  async (all: readonly EventRow[], asked: Unresolved): Promise<Resolution> => {
    const { additions, met } = await matchStoredViews(store, asked.unsure, asked.additions)
    const gone = new Map<EventRow, DropReason | undefined>()
    for (const { row, reportedBy: half } of met) gone.set(row, half === 'server' ? 'same_view' : undefined)
    const unplaced = asked.unplaced.filter(({ row }) => !gone.has(row))
    if (unplaced.length === 0) {
      for (const { view } of met) view.taken = true
      return { moves: [], additions, removed: gone }
    }
    const present = all.filter((row) => !gone.has(row))
    const stored = await findSessionsNear(store, lateRowWindows(unplaced))
    const settled = settleSessions(present, unplaced, stored)
    const parts = await findAbsorbedSessions(store, settled, stored)
    for (const { view } of met) view.taken = true
    const was = new Set(settled.flatMap((session) => [...session.was]))
    for (const { row, follows } of unplaced) if (follows && !was.has(row.session_id)) gone.set(row, 'no_session')
    const rows = present.filter((row) => !gone.has(row))
    assignSessions(rows, settled)
    sessions.settle(settled)
    const sites = new Map(rows.map((row) => [row.session_id, row.site_id]))
    const moves = parts.flatMap(({ session: { session_id, session_start, arrival }, ...part }) => {
      const site_id = sites.get(session_id)
      return site_id === undefined ? [] : [{ site_id, to: { session_id, session_start, arrival }, ...part }]
    })
    return { moves, additions, removed: gone }
  }

type AbsorbedSessions = Pick<SessionMove, 'session_ids' | 'first' | 'last'> & { session: SettledSession }

/** The stored sessions that are part of others now. Tells `settled` of all who have rows of them, and until when. */
async function findAbsorbedSessions(
  store: Pick<EventStore, 'lookUp'>,
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
    for (const id of session_ids)
      for (const { visitor_id, last_seen } of ends.get(id) ?? []) {
        session.visitors.add(visitor_id)
        if (last_seen > session.last_seen) session.last_seen = last_seen
      }
    return { session, session_ids, first, last: session.last_seen }
  })
}

const earliest = (dates: readonly (Date | undefined)[]): Date =>
  dates.reduce<Date>((least, date) => (date && date < least ? date : least), new Date(8.64e15))
