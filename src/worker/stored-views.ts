import { z } from 'zod'
import { withoutFragmentRoute } from '../capture/fragment-route.js'
import type { EventStore } from '../duckdb/event-store.js'
import { createAddition } from '../ingest/batch-draft.js'
import type { UnmatchedView } from '../ingest/classified-batch.js'
import { MAX_LATENESS_MS } from '../ingest/session-memory.js'
import { pageKey, SAME_VIEW_MS, type StoredViews, viewDistance, withoutRoute } from '../ingest/view-memory.js'
import { allVisitorIds } from '../ingest/visitor-ids.js'
import { type Addition, type EventRow, SERVER_COLUMNS } from '../rows.js'
import { join, raw, sql } from '../sql.js'
import type { Store } from '../store.js'

const id = z.string().transform((hex) => BigInt(`0x${hex}`))
const text = z.string().nullable()
const HalfView = z.object({
  half: z.enum(['server', 'browser']),
  site_id: z.int(),
  visitor_id: id,
  session_id: id,
  timestamp: z.date(),
  hostname: z.string(),
  pathname: z.string(),
})
type StoredHalf = z.infer<typeof HalfView>
const ActiveSite = z.object({ site_id: z.int(), told: z.boolean(), last: z.date() })
const SessionBrowser = z.object({
  session: id,
  screen_class: text,
  language: text,
  timezone: text,
  identified_id: text,
})

/** Views that one half is stored of. */
const HALF_VIEWS = raw(`select case when recorded_by = 'browser' then 'browser' else 'server' end as half,
    site_id, visitor_id, session_id, timestamp, hostname, pathname
  from events where kind = 'pageview'
    and (recorded_by in ('server', 'edge') or (recorded_by = 'browser' and status is null and duration_ms is null))`)

/** So many are read back at most: a flood must not fill the memory of each new start. */
const MAX_RESTORED_VIEWS = 30_000

/** What was known of the last half hour at `at`, so that a restart makes two views of none. */
export async function readRecentViews(store: Pick<Store, 'query'>, at: Date): Promise<StoredViews> {
  const since = new Date(at.getTime() - SAME_VIEW_MS)
  const active = await store.query(sql`
    select site_id, bool_or(recorded_by = 'browser') as told, max(timestamp) as last from events
    where timestamp > ${since} group by site_id`)
  const all = active.map((row) => ActiveSite.parse(row))
  const sites = all.filter(({ told }) => told).map(({ site_id }) => site_id)
  // Of a clock far ahead as much is believed as memory itself believes.
  const last = all.reduce((last, one) => Math.max(last, one.last.getTime()), since.getTime())
  const until = Math.min(last, at.getTime() + MAX_LATENESS_MS)
  if (sites.length === 0) return { views: [], sessions: [], sites, since: since.getTime(), last: until }
  const rows = await store.query(sql`select * from (${HALF_VIEWS} and timestamp > ${since})
    where site_id in (${join(
      sites.map((site) => sql`${site}`),
      ', ',
    )})
    order by timestamp desc, visitor_id limit ${MAX_RESTORED_VIEWS + 1}`)
  const halves = rows.map((row) => HalfView.parse(row))
  const left = halves.length > MAX_RESTORED_VIEWS ? halves.at(-1) : undefined
  const known = await store.query(sql`
    select session_id as session, max(screen_class) as screen_class, max(language) as language, max(timezone) as timezone,
      arg_max(identified_id, timestamp) as identified_id
    from events where timestamp > ${since} and (screen_class is not null or timezone is not null or identified_id is not null)
    group by session_id order by max(timestamp) desc limit ${MAX_RESTORED_VIEWS}`)
  return {
    views: halves.reverse().map(({ half, visitor_id, session_id, timestamp, ...page }) => ({
      ...{ from: half, name: pageKey(visitor_id, withoutRoute(page)), visitor_id, pathname: page.pathname },
      ...{ session: session_id, at: timestamp.getTime() },
    })),
    sessions: known.map((row) => SessionBrowser.parse(row)),
    sites,
    since: (left?.timestamp ?? since).getTime(),
    last: until,
  }
}

/** Which rows are added to stored ones of the same views, beside those that the batch adds already. Changes nothing. */
export async function matchStoredViews(
  store: Pick<EventStore, 'lookUp'>,
  unsure: readonly UnmatchedView[],
  added: readonly Addition[],
): Promise<{ additions: Addition[]; met: UnmatchedView[] }> {
  if (unsure.length === 0) return { additions: [], met: [] }
  const asked = unsure.flatMap(({ row, visitor: who }) =>
    allVisitorIds(who).map((visitor) => ({
      of_visitor: String(visitor),
      of_host: row.hostname,
      of_path: withoutFragmentRoute(row.pathname),
    })),
  )
  const times = unsure.map(({ row }) => row.timestamp.getTime())
  // The bounds let old blocks be skipped.
  const from = new Date(times.reduce((a, b) => Math.min(a, b)) - SAME_VIEW_MS)
  const to = new Date(times.reduce((a, b) => Math.max(a, b)) + SAME_VIEW_MS)
  const shape = '[{"of_visitor": "UBIGINT", "of_host": "VARCHAR", "of_path": "VARCHAR"}]'
  const rows = await store.lookUp(sql`select * from (${HALF_VIEWS} and timestamp between ${from} and ${to}) h
    semi join (select unnest(from_json(${JSON.stringify(asked, wellFormed)}, ${shape}), recursive := true)) a
      on h.visitor_id = a.of_visitor and h.hostname = a.of_host and split_part(h.pathname, '#', 1) = a.of_path
    order by timestamp`)
  const stored = new Map<string, StoredHalf[]>()
  for (const row of rows) {
    const half = HalfView.parse(row)
    const name = pageKey(half.visitor_id, withoutRoute(half))
    stored.set(name, [...(stored.get(name) ?? []), half])
  }
  const take = (half: StoredHalf) => {
    const name = pageKey(half.visitor_id, withoutRoute(half))
    const others = (stored.get(name) ?? []).filter((other) => other !== half)
    stored.set(name, others)
  }
  // Memory has given these to other hits of the batch, which the store does not know yet.
  for (const { to, status } of added) {
    const half = status === null ? 'server' : 'browser'
    const given = stored
      .get(pageKey(to.visitor_id, withoutRoute(to)))
      ?.find((one) => one.half === half && one.site_id === to.site_id && +one.timestamp === +to.timestamp)
    if (given !== undefined) take(given)
  }
  const additions: Addition[] = []
  const met: UnmatchedView[] = []
  for (const one of unsure) {
    const found = findNearestHalf(one, stored)
    if (found === undefined) continue
    take(found)
    additions.push(createAddition(found, reportedColumns(one)))
    met.push(one)
  }
  return { additions, met }
}

/** The stored other half of a view: the nearest. */
function findNearestHalf(
  { row, visitor: who, reportedBy: half }: UnmatchedView,
  stored: ReadonlyMap<string, readonly StoredHalf[]>,
): StoredHalf | undefined {
  const at = row.timestamp.getTime()
  let best: StoredHalf | undefined
  let least = Number.POSITIVE_INFINITY
  for (const one of allVisitorIds(who).flatMap((visitor) => stored.get(pageKey(visitor, withoutRoute(row))) ?? [])) {
    if (one.half === half || one.site_id !== row.site_id) continue
    const other = one.timestamp.getTime()
    const distance = half === 'server' ? viewDistance(at, other) : viewDistance(other, at)
    if (distance >= least) continue
    least = distance
    best = one
  }
  return best
}

/** A browser says nothing of the response, and a server nothing of the browser. */
const reportedColumns = ({ row, reportedBy: half }: UnmatchedView): Partial<EventRow> =>
  half === 'browser'
    ? { ...row, status: null, duration_ms: null }
    : Object.fromEntries(SERVER_COLUMNS.map((column) => [column, row[column]]))

/** Half a character pair cannot stand in JSON; an appender makes the same of it. */
const wellFormed = (_: string, value: unknown) => (typeof value === 'string' ? Buffer.from(value).toString() : value)
