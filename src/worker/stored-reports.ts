import { z } from 'zod'
import type { EventStore } from '../storage/event-store.js'
import { raw, type Sql, sql } from '../storage/sql.js'
import { HexId, type Store } from '../storage/store.js'
import { MAX_LATENESS_MS, MAX_OVERTAKING_MS, MAX_REPORTING_VISITORS } from './ingest/session-memory.js'

const StoredReport = z.object({
  is_loose: z.boolean(),
  site_id: z.int(),
  visitor_id: HexId,
  session_id: HexId.nullable(),
  session_start: z.date().nullable(),
  timestamp: z.date(),
  reported_at: z.date(),
  kind: z.string(),
  hostname: z.string(),
  pathname: z.string(),
  engaged_ms: z.number(),
})
/** A stored report that joined no running session; without a session if it is loose. */
export type StoredReport = z.infer<typeof StoredReport>

/** A commit places at most this many stored reports again, the latest first: one visitor could send any number. */
const MAX_REPORTS = 5_000
/** The upper bound for one visitor is lower: each commit with a hit of that visitor pays for all of them. */
const MAX_REPORTS_PER_VISITOR = 500

const selectReports = (columns: Sql, where: Sql): Sql => sql`
  select false as is_loose, ${columns} from events where ${where}
  union all select true as is_loose, ${columns} from loose_reports where ${where}`

/** Finds the stored reports of these visitors which a hit between `from` and `to` (milliseconds) may place again. */
export async function findReports(
  store: Pick<EventStore, 'dialect' | 'lookUp'>,
  visitors: readonly bigint[],
  from: number,
  to: number,
): Promise<StoredReport[]> {
  const until = new Date(to + MAX_LATENESS_MS)
  const ids = store.dialect.rows(
    visitors.map((id) => ({ id })),
    { id: 'ubigint' },
  )
  const rows = await store.lookUp(
    sql`select * from (${selectReports(
      sql`site_id, visitor_id, session_id, session_start, timestamp, reported_at, kind, hostname, pathname,
      coalesce(engaged_ms, 0) as engaged_ms`,
      sql`reported_at >= ${new Date(from - MAX_OVERTAKING_MS)} and reported_at <= ${until}
      and visitor_id in ${ids}`,
    )}) r qualify row_number() over (partition by visitor_id order by reported_at desc) <= ${MAX_REPORTS_PER_VISITOR}
    order by reported_at desc limit ${MAX_REPORTS}`,
  )
  return rows.map((row) => StoredReport.parse(row))
}

/** The visitors with such reports in the day before `at`, and until when an act may place the last one again. */
export async function readReportingVisitors(
  store: Pick<Store, 'query'>,
  at: Date,
): Promise<{ visitor_id: bigint; at: number }[]> {
  const since = new Date(at.getTime() - MAX_LATENESS_MS)
  const rows = await store.query(
    sql`select visitor_id, max(reported_at) as last from (${selectReports(
      sql`visitor_id, reported_at`,
      sql`reported_at > ${since}`,
    )}) r group by visitor_id order by last desc, visitor_id limit ${MAX_REPORTING_VISITORS / 2}`,
  )
  return rows.map((row) => {
    const { visitor_id, last } = z.object({ visitor_id: HexId, last: z.date() }).parse(row)
    return { visitor_id, at: last.getTime() + MAX_OVERTAKING_MS }
  })
}

/** A page, by someone whose view of it is searched: `ids` are the ids of the visitor, `at` milliseconds since 1970. */
export interface PageSearch {
  ids: readonly bigint[]
  at: number
  hostname: string
  /** The path, and the path under which a page without its route is known; null stands for any page. */
  pathnames: readonly (string | null)[]
}

const FoundView = z.object({ n: z.int(), visitor_id: HexId, pathname: z.string(), viewed_at: z.date() })
export interface FoundView {
  visitor_id: bigint
  pathname: string
  at: number
}

/** The last moment at which the view of a report's page may be. A report that names no page follows its view. */
export const lastViewTime = (path: string | null, reportedAt: number): number =>
  path === null ? reportedAt : reportedAt + MAX_OVERTAKING_MS

/** Finds, for each search, the latest stored view of each of its paths in the day up to `at`, and the first soon after. */
export async function findViews(
  store: Pick<EventStore, 'dialect' | 'lookUp'>,
  searches: readonly PageSearch[],
): Promise<FoundView[][]> {
  const views = searches.map((): FoundView[] => [])
  const wanted = searches.flatMap(({ ids, at, hostname, pathnames }, n) =>
    ids.flatMap((id) =>
      pathnames.map((path) => ({
        n,
        of_visitor: id,
        of_host: hostname,
        of_path: path,
        of_since: new Date(at - MAX_LATENESS_MS),
        of_at: new Date(at),
        of_until: new Date(lastViewTime(path, at)),
      })),
    ),
  )
  if (wanted.length === 0) return views
  const { dialect } = store
  const pages = dialect.rows(wanted, {
    n: 'integer',
    of_visitor: 'ubigint',
    of_host: 'varchar',
    of_path: 'varchar',
    of_since: 'timestamp',
    of_at: 'timestamp',
    of_until: 'timestamp',
  })
  const [path, order] = [raw('pathname'), raw('(timestamp, pathname)')]
  const times = searches.map(({ at }) => at)
  const [from, to] = [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))]
  const rows = await store.lookUp(sql`
    select n, visitor_id, viewed_at, case when is_later then first_path else last_path end as pathname from (
      select n, visitor_id, is_later, case when is_later then min(timestamp) else max(timestamp) end as viewed_at,
        ${dialect.firstBy(path, order)} as first_path, ${dialect.lastBy(path, order)} as last_path
      from (select n, visitor_id, of_path, pathname, timestamp, timestamp > of_at as is_later
        from events join ${pages} w on visitor_id = of_visitor and hostname = of_host
        where (of_path is null or pathname = of_path) and timestamp > of_since and timestamp <= of_until
          and kind = 'pageview' and timestamp > ${new Date(from - MAX_LATENESS_MS)}
          and timestamp <= ${new Date(to + MAX_OVERTAKING_MS)}) v
      group by n, visitor_id, of_path, is_later) f`)
  for (const row of rows) {
    const { n, viewed_at, ...view } = FoundView.parse(row)
    views[n]?.push({ ...view, at: viewed_at.getTime() })
  }
  return views
}
