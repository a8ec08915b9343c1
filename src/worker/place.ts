import type { Move } from '../duckdb/move.js'
import type { EventStore } from '../duckdb/store.js'
import { around, rewrite, settle, type Unplaced } from '../record/late.js'
import type { EventRow } from '../record/row.js'
import type { KnownSession, Sessions, SettledSession } from '../record/session.js'
import { endsOf, sessionsAround } from './sessions.js'

/**
 * Gives the late rows of a batch the sessions that they would have, had all hits come in order. What is stored of these
 * sessions is asked for first; then the batch's rows are changed, memory is told, and what must change in the store
 * together with their commit is answered. Rejects before anything is changed.
 */
export const createPlace =
  ({ store, sessions }: { store: Pick<EventStore, 'lookUp'>; sessions: Pick<Sessions, 'settle'> }) =>
  async (rows: readonly EventRow[], unplaced: readonly Unplaced[]): Promise<Move[]> => {
    const stored = await sessionsAround(store, around(unplaced))
    const settled = settle(rows, unplaced, stored)
    const parts = await partsOf(store, settled, stored)
    rewrite(rows, settled)
    sessions.settle(settled)
    const sites = new Map(rows.map((row) => [row.session_id, row.site_id]))
    return parts.flatMap(({ session: { session_id, session_start, arrival }, ...part }) => {
      const site_id = sites.get(session_id)
      return site_id === undefined ? [] : [{ site_id, to: { session_id, session_start, arrival }, ...part }]
    })
  }

type Part = Pick<Move, 'session_ids' | 'first' | 'last'> & { session: SettledSession }

/** The stored sessions that are part of others now. Tells `settled` of all who have rows of them, and until when. */
async function partsOf(
  store: Pick<EventStore, 'lookUp'>,
  settled: readonly SettledSession[],
  stored: readonly KnownSession[],
): Promise<Part[]> {
  const starts = new Map(stored.map(({ session_id, session_start }) => [session_id, session_start]))
  const moved = settled
    .map((session) => ({
      session,
      session_ids: [...session.was].filter((id) => id !== session.session_id && starts.has(id)),
    }))
    .filter(({ session_ids }) => session_ids.length > 0)
  if (moved.length === 0) return []
  const all = moved.flatMap(({ session_ids }) => session_ids)
  const ends = await endsOf(store, all, least(all.map((id) => starts.get(id))))
  return moved.map(({ session, session_ids }) => {
    const first = least(session_ids.map((id) => starts.get(id)))
    for (const id of session_ids)
      for (const { visitor_id, last_seen } of ends.get(id) ?? []) {
        session.visitors.add(visitor_id)
        if (last_seen > session.last_seen) session.last_seen = last_seen
      }
    return { session, session_ids, first, last: session.last_seen }
  })
}

const least = (dates: readonly (Date | undefined)[]): Date =>
  dates.reduce<Date>((least, date) => (date && date < least ? date : least), new Date(8.64e15))
