import type { DropReason } from '../capture/drop.js'
import type { Move } from '../duckdb/move.js'
import type { EventStore } from '../duckdb/store.js'
import type { Classified } from '../ingest/classifier.js'
import { around, rewrite, settle } from '../ingest/late.js'
import type { KnownSession, Sessions, SettledSession } from '../ingest/session.js'
import type { Addition, EventRow } from '../rows.js'
import { endsOf, sessionsAround } from './sessions.js'
import { meetStored } from './views.js'

/** What a batch must wait for the store to say of it. */
export type Asked = Pick<Classified, 'unplaced' | 'unsure' | 'additions'>

export interface Placed {
  moves: Move[]
  additions: Addition[]
  /** Rows that are none, and why where that is a drop. */
  gone: ReadonlyMap<EventRow, DropReason | undefined>
}

/**
 * Gives the late rows of a batch the sessions that they would have, had all hits come in order, and finds the stored rows
 * of views that it has the other half of. What is stored of these is asked for first; then the batch's rows are changed,
 * memory is told, and what must change in the store together with their commit is answered. Rejects before anything is
 * changed.
 */
export const createPlace =
  ({ store, sessions }: { store: Pick<EventStore, 'lookUp'>; sessions: Pick<Sessions, 'settle'> }) =>
  async (all: readonly EventRow[], asked: Asked): Promise<Placed> => {
    const { additions, met } = await meetStored(store, asked.unsure, asked.additions)
    const gone = new Map<EventRow, DropReason | undefined>()
    for (const { row, half } of met) gone.set(row, half === 'server' ? 'same_view' : undefined)
    const unplaced = asked.unplaced.filter(({ row }) => !gone.has(row))
    if (unplaced.length === 0) {
      for (const { view } of met) view.taken = true
      return { moves: [], additions, gone }
    }
    const present = all.filter((row) => !gone.has(row))
    const stored = await sessionsAround(store, around(unplaced))
    const settled = settle(present, unplaced, stored)
    const parts = await partsOf(store, settled, stored)
    for (const { view } of met) view.taken = true
    const was = new Set(settled.flatMap((session) => [...session.was]))
    for (const { row, follows } of unplaced) if (follows && !was.has(row.session_id)) gone.set(row, 'no_session')
    const rows = present.filter((row) => !gone.has(row))
    rewrite(rows, settled)
    sessions.settle(settled)
    const sites = new Map(rows.map((row) => [row.session_id, row.site_id]))
    const moves = parts.flatMap(({ session: { session_id, session_start, arrival }, ...part }) => {
      const site_id = sites.get(session_id)
      return site_id === undefined ? [] : [{ site_id, to: { session_id, session_start, arrival }, ...part }]
    })
    return { moves, additions, gone }
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
