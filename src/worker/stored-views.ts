import { z } from 'zod'
import type { EventStore } from '../storage/event-store.js'
import { type Addition, type EventRow, SERVER_COLUMNS } from '../storage/rows.js'
import { join, raw, sql } from '../storage/sql.js'
import { HexId, type Store } from '../storage/store.js'
import { createAddition, type UnmatchedView } from './ingest/classified-batch.js'
import { MAX_LATENESS_MS } from './ingest/session-memory.js'
import { pageKey, SAME_VIEW_MS, type StoredViews, viewDistance, withoutRoute } from './ingest/view-memory.js'
import { allVisitorIds } from './ingest/visitor-ids.js'

const text = z.string().nullable()
const HalfView = z.object({
  half: z.enum(['server', 'browser']),
  site_id: z.int(),
  visitor_id: HexId,
  session_id: HexId,
  timestamp: z.date(),
  hostname: z.string(),
  pathname: z.string(),
})
type HalfView = z.infer<typeof HalfView>
const ActiveSite = z.object({ site_id: z.int(), browser_hits: z.int(), last: z.date() })
const SessionBrowser = z
  .object({ session_id: HexId, screen_class: text, language: text, timezone: text, identified_id: text })
  .transform(({ session_id, ...facts }) => ({ session: session_id, ...facts }))

/** Stored views that only the server or only the browser has reported. */
const HALF_VIEWS = raw(`select case when recorded_by = 'browser' then 'browser' else 'server' end as half,
    site_id, visitor_id, session_id, timestamp, hostname, pathname
  from events where kind = 'pageview'
    and (recorded_by in ('server', 'edge') or (recorded_by = 'browser' and status is null and duration_ms is null))`)

/** A flood of views must not fill the memory of every new worker. */
const MAX_RESTORED_VIEWS = 30_000

/** Reads the views of the half hour before `at` back, so that a restart does not store one view as two. */
export async function readRecentViews(store: Pick<Store, 'dialect' | 'query'>, at: Date): Promise<StoredViews> {
  const since = new Date(at.getTime() - SAME_VIEW_MS)
  const rows = await store.query(sql`
    select site_id, count(*) filter (where recorded_by = 'browser') as browser_hits, max(timestamp) as last from events
    where timestamp > ${since} group by site_id`)
  const active = rows.map((row) => ActiveSite.parse(row))
  const sites = active.filter((site) => site.browser_hits > 0).map(({ site_id }) => site_id)
  // Limited as in memory: a timestamp far in the future is a wrong clock.
  const latest = active.reduce((latest, { last }) => Math.max(latest, last.getTime()), since.getTime())
  const last = Math.min(latest, at.getTime() + MAX_LATENESS_MS)
  if (sites.length === 0) return { views: [], sessions: [], sites, since: since.getTime(), last }
  const ofSites = join(
    sites.map((site) => sql`${site}`),
    ', ',
  )
  const halves = (
    await store.query(sql`select * from (${HALF_VIEWS} and timestamp > ${since}) h where site_id in (${ofSites})
      order by timestamp desc, visitor_id, pathname limit ${MAX_RESTORED_VIEWS + 1}`)
  ).map((row) => HalfView.parse(row))
  const firstLeftOut = halves.length > MAX_RESTORED_VIEWS ? halves.at(-1) : undefined
  const sessions = await store.query(sql`
    select session_id, max(screen_class) as screen_class, max(language) as language, max(timezone) as timezone,
      ${store.dialect.lastBy(raw('identified_id'), raw('(timestamp, identified_id)'))} as identified_id
    from events where timestamp > ${since} and (screen_class is not null or timezone is not null or identified_id is not null)
    group by session_id order by max(timestamp) desc, session_id limit ${MAX_RESTORED_VIEWS}`)
  return {
    views: halves.reverse().map((view) => ({
      from: view.half,
      name: keyOf(view),
      visitor_id: view.visitor_id,
      pathname: view.pathname,
      session: view.session_id,
      at: view.timestamp.getTime(),
    })),
    sessions: sessions.map((row) => SessionBrowser.parse(row)),
    sites,
    since: (firstLeftOut?.timestamp ?? since).getTime(),
    last,
  }
}

const keyOf = (half: HalfView): string => pageKey(half.visitor_id, withoutRoute(half))

/**
 * Finds the rows that belong to stored half views, and what they add to these. `added` are additions that the batch makes
 * already. Changes nothing.
 */
export async function matchStoredViews(
  store: Pick<EventStore, 'dialect' | 'lookUp'>,
  unmatched: readonly UnmatchedView[],
  added: readonly Addition[],
): Promise<{ additions: Addition[]; matched: UnmatchedView[] }> {
  if (unmatched.length === 0) return { additions: [], matched: [] }
  const stored = await findHalvesNear(store, unmatched)
  const take = (half: HalfView) => {
    const key = keyOf(half)
    stored.set(
      key,
      (stored.get(key) ?? []).filter((other) => other !== half),
    )
  }
  // Memory gave these to other hits of the batch, which the store does not know yet.
  for (const { to, status } of added) {
    const half = status === null ? 'server' : 'browser'
    const given = stored
      .get(pageKey(to.visitor_id, withoutRoute(to)))
      ?.find((one) => one.half === half && one.site_id === to.site_id && +one.timestamp === +to.timestamp)
    if (given !== undefined) take(given)
  }
  const additions: Addition[] = []
  const matched: UnmatchedView[] = []
  for (const view of unmatched) {
    const half = findNearestHalf(view, stored)
    if (half === undefined) continue
    take(half)
    additions.push(createAddition(half, reportedColumns(view)))
    matched.push(view)
  }
  return { additions, matched }
}

/** Stored half views of the same visitors and pages, by key, in the order of their times. */
async function findHalvesNear(
  store: Pick<EventStore, 'dialect' | 'lookUp'>,
  views: readonly UnmatchedView[],
): Promise<Map<string, readonly HalfView[]>> {
  const pages = new Map<string, { of_visitor: bigint; of_host: string; of_path: string }>()
  for (const { row, visitor } of views)
    for (const id of allVisitorIds(visitor)) {
      const page = withoutRoute(row)
      pages.set(pageKey(id, page), { of_visitor: id, of_host: page.hostname, of_path: page.pathname })
    }
  const { dialect } = store
  const wanted = dialect.rows([...pages.values()], { of_visitor: 'ubigint', of_host: 'varchar', of_path: 'varchar' })
  const times = views.map(({ row }) => row.timestamp.getTime())
  // With these bounds DuckDB skips old blocks.
  const from = new Date(times.reduce((a, b) => Math.min(a, b)) - SAME_VIEW_MS)
  const to = new Date(times.reduce((a, b) => Math.max(a, b)) + SAME_VIEW_MS)
  const rows = await store.lookUp(sql`select h.* from (${HALF_VIEWS} and timestamp between ${from} and ${to}) h
    join ${wanted} a on h.visitor_id = a.of_visitor and h.hostname = a.of_host
      and ${dialect.textBefore(raw('h.pathname'), '#')} = a.of_path
    order by timestamp, pathname`)
  const halves = new Map<string, HalfView[]>()
  for (const row of rows) {
    const half = HalfView.parse(row)
    const key = keyOf(half)
    halves.set(key, [...(halves.get(key) ?? []), half])
  }
  return halves
}

/** The stored other half of a view: the nearest in time. */
function findNearestHalf(
  { row, visitor, reportedBy }: UnmatchedView,
  stored: ReadonlyMap<string, readonly HalfView[]>,
): HalfView | undefined {
  const at = row.timestamp.getTime()
  let nearest: HalfView | undefined
  let least = Number.POSITIVE_INFINITY
  for (const half of allVisitorIds(visitor).flatMap((id) => stored.get(pageKey(id, withoutRoute(row))) ?? [])) {
    if (half.half === reportedBy || half.site_id !== row.site_id) continue
    const other = half.timestamp.getTime()
    const distance = reportedBy === 'server' ? viewDistance(at, other) : viewDistance(other, at)
    if (distance >= least) continue
    least = distance
    nearest = half
  }
  return nearest
}

/** A browser knows nothing of the response, and a server nothing of the browser. */
const reportedColumns = ({ row, reportedBy }: UnmatchedView): Partial<EventRow> =>
  reportedBy === 'browser'
    ? { ...row, status: null, duration_ms: null }
    : Object.fromEntries(SERVER_COLUMNS.map((column) => [column, row[column]]))
