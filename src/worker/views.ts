import { z } from 'zod'
import type { EventStore } from '../duckdb/store.js'
import { apart, nameOf, type Restored, SAME_VIEW } from '../record/browsing.js'
import type { Unsure } from '../record/classifier.js'
import { additionTo } from '../record/made.js'
import { type Addition, type EventRow, SERVERS } from '../record/row.js'
import { idsOf } from '../record/visitor.js'
import { raw, sql } from '../sql.js'
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
  const rows = await store.query(sql`select * from (${HALVES} and timestamp > ${since})
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
      ...{ from: half, name: nameOf(visitor_id, page), visitor_id, session: session_id, at: timestamp.getTime() },
    })),
    known: known.map((row) => Known.parse(row)),
    since: (left?.timestamp ?? since).getTime(),
  }
}

/** Which rows are added to stored ones of the same views. Changes nothing. */
export async function meetStored(
  store: Pick<EventStore, 'lookUp'>,
  unsure: readonly Unsure[],
): Promise<{ additions: Addition[]; met: Unsure[] }> {
  if (unsure.length === 0) return { additions: [], met: [] }
  const asked = unsure.flatMap(({ row, who }) =>
    idsOf(who).map((visitor) => ({ of_visitor: String(visitor), of_host: row.hostname, of_path: row.pathname })),
  )
  const times = unsure.map(({ row }) => row.timestamp.getTime())
  // The bounds let old blocks be skipped.
  const from = new Date(times.reduce((a, b) => Math.min(a, b)) - SAME_VIEW)
  const to = new Date(times.reduce((a, b) => Math.max(a, b)) + SAME_VIEW)
  const shape = '[{"of_visitor": "UBIGINT", "of_host": "VARCHAR", "of_path": "VARCHAR"}]'
  const rows = await store.lookUp(sql`select * from (${HALVES} and timestamp between ${from} and ${to}) h
    semi join (select unnest(from_json(${JSON.stringify(asked, wellFormed)}, ${shape}), recursive := true)) a
      on h.visitor_id = a.of_visitor and h.hostname = a.of_host and h.pathname = a.of_path
    order by timestamp`)
  const stored = new Map<string, Stored[]>()
  for (const row of rows) {
    const half = Half.parse(row)
    const name = nameOf(half.visitor_id, half)
    stored.set(name, [...(stored.get(name) ?? []), half])
  }
  const additions: Addition[] = []
  const met: Unsure[] = []
  for (const one of unsure) {
    const found = nearest(one, stored)
    if (found === undefined) continue
    const name = nameOf(found.visitor_id, found)
    stored.set(
      name,
      (stored.get(name) ?? []).filter((other) => other !== found),
    )
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
  for (const one of idsOf(who).flatMap((visitor) => stored.get(nameOf(visitor, row)) ?? [])) {
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
