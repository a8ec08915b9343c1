import type { DuckDBConnection } from '@duckdb/node-api'
import { ARRIVAL_COLUMNS } from '../rows.js'
import { COHORT_COLUMNS, PRIOR_COLUMNS, PRIOR_DIMENSIONS, SESSION_TRAITS } from '../session-aggregates.js'
import { raw, type Sql, sql } from '../sql.js'
import { inTransaction, runQuery } from './query.js'

/*
 * Fills the aggregates of sessions that nothing more is expected of: a row of `sessions` for each session, and a row of
 * `session_pages` for each page of each session. Reads take from them what they would count from every hit, with the same
 * result.
 *
 * A session is aggregated if it started before the watermark and is not in `unsealed`, which holds sessions that got a
 * hit since. `prior` is when the visitor's aggregated session before began (in `session_pages`: the one before with this
 * page). Visitors since a moment are the sessions whose `prior` is before it, so a read needs no set of ids. The other
 * columns of `PRIOR_DIMENSIONS` say the same among the visitor's sessions with the same values.
 */

/** Fixed by a session's first hit, besides its entry page. */
const ARRIVAL = ARRIVAL_COLUMNS.filter((column) => column !== 'entry_page')

const INTERACTIVE = "kind in ('custom', 'outbound', 'file_download', 'form')"
const ACTED = `${INTERACTIVE} and event_name is distinct from 'flag_exposure'`
const mapColumns = (columns: readonly string[], make: (column: string) => string) => columns.map(make).join(', ')

const varies = (c: string) => `min(${c}) is distinct from max(${c}) or count(${c}) not in (0, count(*))`

/** Aggregates sessions; `source` has every hit of each. */
const selectSessions = (source: Sql): Sql => sql`
  select site_id, session_id, min(visitor_id) as visitor_id, min(session_start) as started, max(timestamp) as ended,
    epoch_ms(max(timestamp)) - epoch_ms(min(timestamp)) as ms, count(*) filter (where kind = 'pageview') as views,
    count(*) filter (where ${raw(INTERACTIVE)}) as acts,
    case when count(*) filter (where kind = 'pageview') = 1 and count(*) filter (where ${raw(ACTED)}) = 0
      and coalesce(sum(engaged_ms), 0) < 10000 then 1.0 else 0.0 end as bounced,
    case when min(visitor_id) = max(visitor_id) then 1 else 2 end as ids,
    ${raw(['visitor_id', ...SESSION_TRAITS].map(varies).join(' or '))} as mixed,
    min(entry_page) as entry_page,
    coalesce(arg_max(pathname, (timestamp, pathname)) filter (where kind = 'pageview'),
      arg_max(pathname, (timestamp, pathname)) filter (where ${raw(INTERACTIVE)})) as exit_page,
    ${raw(mapColumns([...ARRIVAL, ...SESSION_TRAITS], (c) => `min(${c}) as ${c}`))}
  from (${source}) group by site_id, session_id`

const SESSION = ['site_id', 'session_id', 'visitor_id', 'started', 'ended']
const STEPS = Array.from({ length: 8 }, (_, i) => `step_${i + 1}`)
const SESSION_COLUMNS = [
  ...[...SESSION, 'ms', 'views', 'acts', 'bounced', 'ids', 'mixed', 'entry_page', 'exit_page'],
  ...[...ARRIVAL, ...SESSION_TRAITS, ...STEPS, ...PRIOR_COLUMNS, ...COHORT_COLUMNS],
].join(', ')
const PAGE_COLUMNS = [
  ...[...SESSION, 'pathname', 'page_views', 'page_acts', 'engaged_ms', 'scroll', 'entered', 'exited', 'ms', 'views'],
  ...['bounced', 'ids', 'prior'],
].join(', ')

/**
 * When the visitor's previous session with the same `columns` began. A session of several visitors does not count, nor one
 * in which such a trait varies: reads take both from their hits.
 */
function priorColumn(columns: readonly string[]): string {
  const counts = columns.some((c) => SESSION_TRAITS.includes(c)) ? 'ids = 1 and not mixed' : 'ids = 1'
  return `lag(case when ${counts} then started end ignore nulls)
    over (partition by ${['site_id', 'visitor_id', ...columns].join(', ')} order by started, session_id)`
}

/** The new sessions with their previous ones, which are new or aggregated already. */
const sessionsWithPriors = (): string => {
  const keys = [...new Set(Object.values(PRIOR_DIMENSIONS).flat())]
  const own = ['site_id', 'session_id', 'visitor_id', 'started', 'ids', 'mixed', ...keys].join(', ')
  const priors = Object.entries(PRIOR_DIMENSIONS).map(([name, columns]) => `${priorColumn(columns)} as ${name}`)
  return `
    select f.*, p.* exclude (site_id, session_id) from fresh f join (
      select site_id, session_id, ${priors.join(', ')},
        min(started) over (partition by site_id, visitor_id) as first_seen,
        lag(started) over (partition by site_id, visitor_id order by started, session_id) as previous
      from (select ${own} from fresh union all
        select ${own} from sessions where visitor_id in (select visitor_id from fresh)) b) p
      on p.site_id = f.site_id and p.session_id = f.session_id`
}

/** The new pages with the visitor's previous session of each page: a new one, or else the last in the table. */
const pagesWithPriors = (): string => {
  const key = ['site_id', 'visitor_id', 'pathname']
  return `
    select f.*, coalesce(${priorColumn(['pathname'])}, h.latest) as prior
    from pages f left join (
      select ${key.join(', ')}, max(started) filter (where ids = 1) as latest from session_pages
      where visitor_id in (select visitor_id from fresh) group by ${key.join(', ')}) h using (${key.join(', ')})`
}

/**
 * Approximate: appends wait while a step runs, and its rows are in memory. With 200,000, a backlog of 5 million hits beside
 * 5,000 rows a second and a repeated read made rows wait until some were dropped (`npm run bench -- ingest`).
 */
const HITS_PER_STEP = 50_000
const STALE_SESSIONS_PER_STEP = 5_000

/** The moment before which sessions are aggregated; undefined if none are. */
export async function readWatermark(connection: DuckDBConnection): Promise<Date | undefined> {
  const [row] = await runQuery(connection, sql`select max(watermark) as at from seals`)
  return row?.at instanceof Date ? row.at : undefined
}

export interface AggregateStep {
  /** The new watermark. */
  watermark: Date | undefined
  /** Whether rows were deleted, which a checkpoint must follow. */
  deleted: boolean
  /** Whether another step has something to do. */
  more: boolean
}

/**
 * Takes one bounded step towards `target`, in one transaction: aggregates the oldest sessions that are not aggregated, and
 * some stale ones with all sessions of their visitors, whose `prior` may have changed.
 */
export async function aggregateStep(writer: DuckDBConnection, target: Date): Promise<AggregateStep> {
  const from = await readWatermark(writer)
  const span = await findNextSpan(writer, from, target)
  const stale = await countRows(writer, sql`select count(*) as n from unsealed`)
  if (span === undefined && stale === 0) return { watermark: from, deleted: false, more: false }
  const watermark = span?.until ?? from ?? target
  await inTransaction(writer, async () => {
    if (stale > 0) await deleteStale(writer, watermark)
    const added = sql`select * from events where session_start >= ${span?.from ?? watermark} and session_start < ${watermark}`
    const again = sql`select e.* from events e semi join again a on a.site_id = e.site_id and a.session_id = e.session_id
      where e.session_start < ${span?.from ?? watermark}`
    const source = stale > 0 ? sql`${added} union all ${again}` : added
    await runQuery(
      writer,
      sql`create or replace temp table fresh as
        select * from (${selectSessions(source)}) s left join (${selectSteps(source)}) p using (site_id, session_id)`,
    )
    await runQuery(
      writer,
      sql`insert into sessions (${raw(SESSION_COLUMNS)})
      select ${raw(SESSION_COLUMNS)} from (${raw(sessionsWithPriors())}) s`,
    )
    await runQuery(
      writer,
      sql`insert into session_pages (${raw(PAGE_COLUMNS)})
      with pages as materialized (${selectPages(source)})
      select ${raw(PAGE_COLUMNS)} from (${raw(pagesWithPriors())}) p`,
    )
    await writer.run('drop table fresh')
    if (span) await runQuery(writer, sql`insert into seals values (${watermark})`)
  })
  return { watermark, deleted: stale > 0, more: stale > STALE_SESSIONS_PER_STEP || watermark < target }
}

const ORDER = raw('partition by site_id, session_id order by timestamp, pathname')

/** The first pages of each session, in columns; repeated views of a page count once. */
const selectSteps = (source: Sql): Sql => sql`
  select site_id, session_id,
    ${raw(STEPS.map((name, i) => `max(pathname) filter (where step = ${i + 1}) as ${name}`).join(', '))}
  from (
    select site_id, session_id, pathname, row_number() over (${ORDER}) as step
    from (select *, lag(pathname) over (${ORDER}) as previous from (${source}) where kind = 'pageview')
    where previous is null or previous <> pathname)
  where step <= ${raw(String(STEPS.length))} group by site_id, session_id`

/** The pages of the sessions that `fresh` has. */
const selectPages = (source: Sql): Sql => sql`
  select f.site_id, f.session_id, f.visitor_id, f.started, f.ended, p.pathname, p.page_views, p.page_acts,
    p.engaged_ms, p.scroll, case when f.entry_page = p.pathname then 1 else 0 end as entered,
    case when f.exit_page = p.pathname then 1 else 0 end as exited, f.ms, f.views, f.bounced, f.ids
  from fresh f join (
    select site_id, session_id, pathname, count(*) filter (where kind = 'pageview') as page_views,
      count(*) filter (where ${raw(INTERACTIVE)}) as page_acts, sum(engaged_ms) as engaged_ms, max(scroll) as scroll
    from (${source}) group by site_id, session_id, pathname) p
    on p.site_id = f.site_id and p.session_id = f.session_id`

/** Deletes stale sessions and all sessions of their visitors from the aggregates; table `again` lists them. */
async function deleteStale(writer: DuckDBConnection, watermark: Date): Promise<void> {
  await writer.run(`create or replace temp table picked as
    select site_id, session_id from unsealed group by all order by min(session_start) limit ${STALE_SESSIONS_PER_STEP}`)
  await runQuery(
    writer,
    sql`create or replace temp table again as
    select site_id, session_id from picked union
    select e.site_id, e.session_id from events e semi join (
      select site_id, visitor_id from events semi join picked using (site_id, session_id)) v
      on v.site_id = e.site_id and v.visitor_id = e.visitor_id
    where e.session_start < ${watermark}`,
  )
  // A session that became part of another has no hits any more, and must be no session's `prior`.
  for (const table of ['sessions', 'session_pages']) {
    await writer.run(`delete from ${table} where (site_id, session_id) in (select site_id, session_id from unsealed)
      and (site_id, session_id) not in (select e.site_id, e.session_id from events e semi join unsealed u
        on u.site_id = e.site_id and u.session_id = e.session_id)`)
  }
  for (const [table, named] of [
    ['sessions', 'again'],
    ['session_pages', 'again'],
    ['unsealed', 'picked'],
  ]) {
    await writer.run(`delete from ${table} where (site_id, session_id) in (select site_id, session_id from ${named})`)
  }
}

const countRows = async (writer: DuckDBConnection, query: Sql): Promise<number> =>
  Number((await runQuery(writer, query))[0]?.n ?? 0)

/** The next span to aggregate: from the watermark to `target`, or less if that has more than `HITS_PER_STEP` hits. */
async function findNextSpan(writer: DuckDBConnection, watermark: Date | undefined, target: Date) {
  const [row] = await runQuery(
    writer,
    sql`select min(session_start) as first from events where session_start >= ${watermark ?? new Date(0)}`,
  )
  const first = row?.first
  if (!(first instanceof Date) || first >= target) return undefined
  const from = watermark ?? first
  let until = target
  const hits = () =>
    countRows(writer, sql`select count(*) as n from events where session_start >= ${from} and session_start < ${until}`)
  while (until.getTime() - first.getTime() > 1_000 && (await hits()) > HITS_PER_STEP)
    until = new Date((first.getTime() + until.getTime()) / 2)
  return { from, until }
}
