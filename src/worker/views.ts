import { z } from 'zod'
import { askedPath } from '../capture/route.js'
import type { EventStore } from '../duckdb/store.js'
import { apart, nameOf, type Restored, SAME_VIEW, viewOf } from '../ingest/browsing.js'
import type { Unsure } from '../ingest/classifier.js'
import { additionTo } from '../ingest/made.js'
import { LATEST } from '../ingest/session.js'
import { idsOf } from '../ingest/visitor.js'
import { type Addition, type EventRow, SERVERS } from '../rows.js'
import { join, raw, sql } from '../sql.js'
import type { Store } from '../store.js'

const id = z.string().transform((hex) => BigInt(`0x${hex}`))
const text = z.string().nullable()
const Half = z.object({
  half: z.enum(['server', 'browser']),
  site_id: z.int(),
  visitor_id: id,
  session_id: id,
  timestamp: z.date(),
  hostname: z.string(),
  pathname: z.string(),
})
type Stored = z.infer<typeof Half>
const Active = z.object({ site_id: z.int(), told: z.boolean(), last: z.date() })
const Known = z.object({ session: id, screen_class: text, language: text, timezone: text, identified_id: text })

/** Views that one half is stored of. */
const HALVES = raw(`select case when recorded_by = 'browser' then 'browser' else 'server' end as half,
    site_id, visitor_id, session_id, timestamp, hostname, pathname
  from events where kind = 'pageview'
    and (recorded_by in ('server', 'edge') or (recorded_by = 'browser' and status is null and duration_ms is null))`)

/** So many are read back at most: a flood must not fill the memory of each new start. */
const MOST = 30_000

/** What was known of the last half hour at `at`, so that a restart makes two views of none. */
export async function openBrowsing(store: Pick<Store, 'query'>, at: Date): Promise<Restored> {
  const since = new Date(at.getTime() - SAME_VIEW)
  const active = await store.query(sql`
    select site_id, bool_or(recorded_by = 'browser') as told, max(timestamp) as last from events
    where timestamp > ${since} group by site_id`)
  const all = active.map((row) => Active.parse(row))
  const sites = all.filter(({ told }) => told).map(({ site_id }) => site_id)
  // Of a clock far ahead as much is believed as memory itself believes.
  const last = all.reduce((last, one) => Math.max(last, one.last.getTime()), since.getTime())
  const until = Math.min(last, at.getTime() + LATEST)
  if (sites.length === 0) return { views: [], known: [], sites, since: since.getTime(), last: until }
  const rows = await store.query(sql`select * from (${HALVES} and timestamp > ${since})
    where site_id in (${join(
      sites.map((site) => sql`${site}`),
      ', ',
    )})
    order by timestamp desc, visitor_id limit ${MOST + 1}`)
  const halves = rows.map((row) => Half.parse(row))
  const left = halves.length > MOST ? halves.at(-1) : undefined
  const known = await store.query(sql`
    select session_id as session, max(screen_class) as screen_class, max(language) as language, max(timezone) as timezone,
      arg_max(identified_id, timestamp) as identified_id
    from events where timestamp > ${since} and (screen_class is not null or timezone is not null or identified_id is not null)
    group by session_id order by max(timestamp) desc limit ${MOST}`)
  return {
    views: halves.reverse().map(({ half, visitor_id, session_id, timestamp, ...page }) => ({
      ...{ from: half, name: nameOf(visitor_id, viewOf(page)), visitor_id, pathname: page.pathname },
      ...{ session: session_id, at: timestamp.getTime() },
    })),
    known: known.map((row) => Known.parse(row)),
    sites,
    since: (left?.timestamp ?? since).getTime(),
    last: until,
  }
}

/** Which rows are added to stored ones of the same views, beside those that the batch adds already. Changes nothing. */
export async function meetStored(
  store: Pick<EventStore, 'lookUp'>,
  unsure: readonly Unsure[],
  added: readonly Addition[],
): Promise<{ additions: Addition[]; met: Unsure[] }> {
  if (unsure.length === 0) return { additions: [], met: [] }
  const asked = unsure.flatMap(({ row, who }) =>
    idsOf(who).map((visitor) => ({
      of_visitor: String(visitor),
      of_host: row.hostname,
      of_path: askedPath(row.pathname),
    })),
  )
  const times = unsure.map(({ row }) => row.timestamp.getTime())
  // The bounds let old blocks be skipped.
  const from = new Date(times.reduce((a, b) => Math.min(a, b)) - SAME_VIEW)
  const to = new Date(times.reduce((a, b) => Math.max(a, b)) + SAME_VIEW)
  const shape = '[{"of_visitor": "UBIGINT", "of_host": "VARCHAR", "of_path": "VARCHAR"}]'
  const rows = await store.lookUp(sql`select * from (${HALVES} and timestamp between ${from} and ${to}) h
    semi join (select unnest(from_json(${JSON.stringify(asked, wellFormed)}, ${shape}), recursive := true)) a
      on h.visitor_id = a.of_visitor and h.hostname = a.of_host and split_part(h.pathname, '#', 1) = a.of_path
    order by timestamp`)
  const stored = new Map<string, Stored[]>()
  for (const row of rows) {
    const half = Half.parse(row)
    const name = nameOf(half.visitor_id, viewOf(half))
    stored.set(name, [...(stored.get(name) ?? []), half])
  }
  const take = (half: Stored) => {
    const name = nameOf(half.visitor_id, viewOf(half))
    const others = (stored.get(name) ?? []).filter((other) => other !== half)
    stored.set(name, others)
  }
  // Memory has given these to other hits of the batch, which the store does not know yet.
  for (const { to, status } of added) {
    const half = status === null ? 'server' : 'browser'
    const given = stored
      .get(nameOf(to.visitor_id, viewOf(to)))
      ?.find((one) => one.half === half && one.site_id === to.site_id && +one.timestamp === +to.timestamp)
    if (given !== undefined) take(given)
  }
  const additions: Addition[] = []
  const met: Unsure[] = []
  for (const one of unsure) {
    const found = nearest(one, stored)
    if (found === undefined) continue
    take(found)
    additions.push(additionTo(found, saidBy(one)))
    met.push(one)
  }
  return { additions, met }
}

/** The stored other half of a view: the nearest. */
function nearest({ row, who, half }: Unsure, stored: ReadonlyMap<string, readonly Stored[]>): Stored | undefined {
  const at = row.timestamp.getTime()
  let best: Stored | undefined
  let least = Number.POSITIVE_INFINITY
  for (const one of idsOf(who).flatMap((visitor) => stored.get(nameOf(visitor, viewOf(row))) ?? [])) {
    if (one.half === half || one.site_id !== row.site_id) continue
    const other = one.timestamp.getTime()
    const distance = half === 'server' ? apart(at, other) : apart(other, at)
    if (distance >= least) continue
    least = distance
    best = one
  }
  return best
}

/** A browser says nothing of the response, and a server nothing of the browser. */
const saidBy = ({ row, half }: Unsure): Partial<EventRow> =>
  half === 'browser'
    ? { ...row, status: null, duration_ms: null }
    : Object.fromEntries(SERVERS.map((column) => [column, row[column]]))

/** Half a character pair cannot stand in JSON; an appender makes the same of it. */
const wellFormed = (_: string, value: unknown) => (typeof value === 'string' ? Buffer.from(value).toString() : value)
