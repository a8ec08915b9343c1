import { z } from 'zod'
import type { EventStore } from '../storage/event-store.js'
import { ARRIVAL_COLUMNS } from '../storage/rows.js'
import { raw, sql } from '../storage/sql.js'
import { HexId, type ResultRow, type Store } from '../storage/store.js'
import type { SearchWindow } from './ingest/late-rows.js'
import { MAX_LATENESS_MS, SESSION_TIMEOUT_MS, type StoredSession } from './ingest/session-memory.js'

const text = z.string().nullable()
const SessionRow = z.object({
  visitor_id: HexId,
  session_id: HexId,
  session_start: z.date(),
  last_seen: z.date(),
  entry_page: text,
  referrer: text,
  source: text,
  channel: z.string(),
  utm_source: text,
  utm_medium: text,
  utm_campaign: text,
  utm_content: text,
  utm_term: text,
})

function parseSession(row: ResultRow): StoredSession {
  const { visitor_id, session_id, session_start, last_seen, ...arrival } = SessionRow.parse(row)
  return { visitor_id, session_id, session_start, last_seen, arrival }
}

/** Columns of a session, from those of its rows that prolong it, grouped by session and visitor. */
const SESSION_COLUMNS = sql`visitor_id, session_id, min(session_start) as session_start, max(timestamp) as last_seen,
  ${raw(ARRIVAL_COLUMNS.map((column) => `min(${column}) as ${column}`).join(', '))}`

const TEXT_CHARACTERS = raw(
  ARRIVAL_COLUMNS.filter((column) => column !== 'channel')
    .map((column) => `char_length(coalesce(${column}, ''))`)
    .join(' + '),
)

/** A flood of sessions with long texts must not fill the memory of every new worker. */
const MAX_TEXT_CHARACTERS = 16 << 20

/**
 * Reads the sessions that were running at `at` (a hit in the last 30 minutes), so that a restart splits none. They are
 * complete from `since` on, in milliseconds.
 */
export async function readActiveSessions(
  store: Pick<Store, 'query'>,
  at: Date,
): Promise<{ sessions: StoredSession[]; since: number }> {
  const since = new Date(at.getTime() - SESSION_TIMEOUT_MS)
  const rows = await store.query(sql`
    select * from (
      select *, max(case when texts > ${MAX_TEXT_CHARACTERS} then last_seen end) over () as left_out from (
        select *, sum(100 + ${TEXT_CHARACTERS}) over (
          order by last_seen desc, session_id, visitor_id rows unbounded preceding) as texts
        from (select ${SESSION_COLUMNS} from events where timestamp > ${since} and reported_at is null
          group by visitor_id, session_id) s) t) a
    where texts <= ${MAX_TEXT_CHARACTERS}
    order by last_seen, session_id, visitor_id`)
  const { left_out } = z.object({ left_out: z.date().nullable() }).parse(rows[0] ?? { left_out: null })
  return { sessions: rows.map(parseSession), since: (left_out ?? since).getTime() }
}

/**
 * The stored sessions with a row in these windows, at least one, or with a report after them whose engaged time reaches
 * into them; of each session only those rows.
 */
export async function findSessionsNear(
  store: Pick<EventStore, 'dialect' | 'lookUp'>,
  windows: readonly SearchWindow[],
): Promise<StoredSession[]> {
  const near = windows.map(({ visitor_id, from, to }) => ({
    near_id: visitor_id,
    near_from: new Date(from),
    near_to: new Date(to),
  }))
  // With these bounds DuckDB skips old blocks.
  const from = windows.map((window) => window.from).reduce((a, b) => Math.min(a, b))
  const to = windows.map((window) => window.to).reduce((a, b) => Math.max(a, b))
  const rows = await store.lookUp(sql`
    with near as materialized (
      select * from ${store.dialect.rows(near, { near_id: 'ubigint', near_from: 'timestamp', near_to: 'timestamp' })} n)
    select * from (select ${SESSION_COLUMNS} from (
      select e.* from events e join near on visitor_id = near_id
      where timestamp > near_from and timestamp < near_to
        and timestamp > ${new Date(from)} and timestamp < ${new Date(to)}
      union all
      select e.* from events e join near on visitor_id = near_id
      where timestamp >= near_to and timestamp < ${store.dialect.addMs(raw('near_to'), raw('engaged_ms'))}
        and engaged_ms >= ${SESSION_TIMEOUT_MS} and timestamp >= ${new Date(from)}
        and timestamp < ${new Date(to + MAX_LATENESS_MS)}) e
    where reported_at is null group by visitor_id, session_id) s
    order by session_start, last_seen, session_id, visitor_id`)
  return rows.map(parseSession)
}

const SessionEnd = z.object({
  session_id: HexId,
  visitor_id: HexId,
  /** The last row that prolongs the session; null if the visitor has none. `last_row` is the last of all. */
  last_seen: z.date().nullable(),
  last_row: z.date(),
})
type SessionEnd = z.infer<typeof SessionEnd>

/** By session: the visitors with rows of it, and when their last ones are. No row of the sessions is before `from`. */
export async function findSessionEnds(
  store: Pick<EventStore, 'dialect' | 'lookUp'>,
  sessions: readonly bigint[],
  from: Date,
): Promise<Map<bigint, SessionEnd[]>> {
  const ids = store.dialect.rows(
    sessions.map((id) => ({ id })),
    { id: 'ubigint' },
  )
  const rows = await store.lookUp(sql`select session_id, visitor_id,
      max(timestamp) filter (where reported_at is null) as last_seen, max(timestamp) as last_row from events
    where timestamp >= ${from} and session_id in ${ids}
    group by session_id, visitor_id`)
  const ends = new Map<bigint, SessionEnd[]>()
  for (const row of rows) {
    const end = SessionEnd.parse(row)
    ends.set(end.session_id, [...(ends.get(end.session_id) ?? []), end])
  }
  return ends
}
