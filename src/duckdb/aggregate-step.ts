import type { DuckDBConnection } from '@duckdb/node-api'
import { PRIOR_COLUMNS, PRIOR_DIMENSIONS, SESSION_TRAITS } from '../session-aggregates.js'
import { raw, type Sql, sql } from '../sql.js'
import { runQuery } from './query.js'

/**
 * Sessions as they are when nothing more is expected of them: `sessions` has a row for each, `session_pages` one for
 * each page of each. They answer what would otherwise be counted from every hit, and they answer the same: what the
 * rows say wins, for a session is read here only while it is sealed.
 *
 * A session is sealed when it started before the `watermark` and is not in `unsealed`, which holds those that got a hit
 * since. `prior` is when the visitor's sealed session before began (in `session_pages`: the one before that saw this
 * page): whoever counts visitors from a moment on counts those whose `prior` is before it, and keeps no set of ids. The
 * columns of `PRIORS` are the same among the visitor's sessions with these values alone.
 */
export const AGGREGATES_SCHEMA: readonly string[] = [
  `create table sessions (
    site_id integer, session_id ubigint, visitor_id ubigint, started timestamp, prior timestamp, ended timestamp,
    ms bigint, views integer, acts integer, bounced double, ids integer, mixed boolean,
    entry_page varchar, exit_page varchar, referrer varchar, source varchar, channel varchar, utm_source varchar,
    utm_medium varchar, utm_campaign varchar, utm_content varchar, utm_term varchar, country varchar, region varchar,
    city varchar, asn uinteger, browser varchar, browser_version varchar, os varchar, os_version varchar,
    device_type varchar, screen_class varchar, language varchar,
    step_1 varchar, step_2 varchar, step_3 varchar, step_4 varchar, step_5 varchar, step_6 varchar, step_7 varchar,
    step_8 varchar)`,
  `create table session_pages (
    site_id integer, session_id ubigint, visitor_id ubigint, started timestamp, prior timestamp, ended timestamp,
    pathname varchar, page_views integer, page_acts integer, engaged_ms bigint, scroll integer, entered integer,
    exited integer, ms bigint, views integer, bounced double, ids integer)`,
  'create table unsealed (site_id integer, session_id ubigint, session_start timestamp)',
  // One row a step, the last of them in force: rows that are only ever added are replayed without fault.
  'create table seals (watermark timestamp)',
]

/** Fixed by a session's first hit. */
const ARRIVAL = [
  ...['referrer', 'source', 'channel', 'utm_source', 'utm_medium', 'utm_campaign', 'utm_content', 'utm_term'],
]

const INTERACTIVE = "kind in ('custom', 'outbound', 'file_download', 'form')"
const ACTED = `${INTERACTIVE} and event_name is distinct from 'flag_exposure'`
const mapColumns = (columns: readonly string[], make: (column: string) => string) => columns.map(make).join(', ')

const varies = (c: string) => `min(${c}) is distinct from max(${c}) or count(${c}) not in (0, count(*))`

/** `PRIORS` may get more, and a migration never changes. */
const FIRST_PRIORS = [
  ...['channel', 'source', 'campaign', 'country', 'region', 'city', 'browser', 'os', 'device_type', 'screen_class'],
]
/** Sessions are summed up anew, with what the tables of an earlier version had not. */
export const PRIORS_SCHEMA: readonly string[] = [
  ...FIRST_PRIORS.map((by) => `alter table sessions add column prior_${by} timestamp`),
  ...['sessions', 'session_pages', 'unsealed', 'seals'].map((table) => `delete from ${table}`),
]

/** Sessions of `source`, rows of events that hold every hit of each. */
const selectSessions = (source: Sql): Sql => sql`
  select site_id, session_id, min(visitor_id) as visitor_id, min(session_start) as started, max(timestamp) as ended,
    epoch_ms(max(timestamp)) - epoch_ms(min(timestamp)) as ms, count(*) filter (where kind = 'pageview') as views,
    count(*) filter (where ${raw(INTERACTIVE)}) as acts,
    case when count(*) filter (where kind = 'pageview') = 1 and count(*) filter (where ${raw(ACTED)}) = 0
      and coalesce(sum(engaged_ms), 0) < 10000 then 1.0 else 0.0 end as bounced,
    case when min(visitor_id) = max(visitor_id) then 1 else 2 end as ids,
    ${raw(['visitor_id', ...SESSION_TRAITS].map(varies).join(' or '))} as mixed,
    min(entry_page) as entry_page,
    arg_max(pathname, (timestamp, pathname)) filter (where kind = 'pageview') as exit_page,
    ${raw(mapColumns([...ARRIVAL, ...SESSION_TRAITS], (c) => `min(${c}) as ${c}`))}
  from (${source}) group by site_id, session_id`

const SESSION = ['site_id', 'session_id', 'visitor_id', 'started', 'ended']
const STEPS = Array.from({ length: 8 }, (_, i) => `step_${i + 1}`)
const SESSION_COLUMNS = [
  ...[...SESSION, 'ms', 'views', 'acts', 'bounced', 'ids', 'mixed', 'entry_page', 'exit_page'],
  ...[...ARRIVAL, ...SESSION_TRAITS, ...STEPS, ...PRIOR_COLUMNS],
].join(', ')
const PAGE_COLUMNS = [
  ...[...SESSION, 'pathname', 'page_views', 'page_acts', 'engaged_ms', 'scroll', 'entered', 'exited', 'ms', 'views'],
  ...['bounced', 'ids', 'prior'],
].join(', ')

/**
 * When the visitor's session before began that counts where visitors are counted by `columns`: one of several visitors
 * never does, and one in which such a trait varies is read from its hits.
 */
function priorColumn(columns: readonly string[]): string {
  const counts = columns.some((c) => SESSION_TRAITS.includes(c)) ? 'ids = 1 and not mixed' : 'ids = 1'
  return `lag(case when ${counts} then started end ignore nulls)
    over (partition by ${['site_id', 'visitor_id', ...columns].join(', ')} order by started, session_id)`
}

/** Of the new sessions those before them: among the new ones, or those that are sealed. */
const sessionsWithPriors = (): string => {
  const keys = [...new Set(Object.values(PRIOR_DIMENSIONS).flat())]
  const own = ['site_id', 'session_id', 'visitor_id', 'started', 'ids', 'mixed', ...keys].join(', ')
  const priors = Object.entries(PRIOR_DIMENSIONS).map(([name, columns]) => `${priorColumn(columns)} as ${name}`)
  return `
    select f.*, p.* exclude (site_id, session_id) from fresh f join (
      select site_id, session_id, ${priors.join(', ')}
      from (select ${own} from fresh union all
        select ${own} from sessions where visitor_id in (select visitor_id from fresh)) b) p
      on p.site_id = f.site_id and p.session_id = f.session_id`
}

/** Of each new page the one of the same visitor before: among the new ones, or else the last that the table has. */
const pagesWithPriors = (): string => {
  const key = ['site_id', 'visitor_id', 'pathname']
  return `
    select f.*, coalesce(${priorColumn(['pathname'])}, h.latest) as prior
    from pages f left join (
      select ${key.join(', ')}, max(started) filter (where ids = 1) as latest from session_pages
      where visitor_id in (select visitor_id from fresh) group by ${key.join(', ')}) h using (${key.join(', ')})`
}

/**
 * Hits in one step, about: a step holds back appends, and what it works on is memory. With 200,000 a backlog of 5 million
 * beside 5,000 rows a second and a read that repeats made rows wait until some were dropped (`npm run bench -- ingest`).
 */
const HITS_PER_STEP = 50_000
/** Sessions that got hits since they were sealed, in one step. */
const STALE_SESSIONS_PER_STEP = 5_000

/** Before what moment sessions are sealed; undefined where none is. */
export async function readWatermark(connection: DuckDBConnection): Promise<Date | undefined> {
  const [row] = await runQuery(connection, sql`select max(watermark) as at from seals`)
  return row?.at instanceof Date ? row.at : undefined
}

export interface AggregateStep {
  /** In force from now on. */
  watermark: Date | undefined
  /** Whether rows were deleted, which wants a checkpoint behind it. */
  deleted: boolean
  /** Whether a further step has something to do. */
  more: boolean
}

/**
 * One bounded step towards `target`: seals the oldest sessions that are not sealed, and some of those that got hits
 * since, with every other session of their visitors, whose `prior` may be another one now. All of it or none.
 */
export async function aggregateStep(writer: DuckDBConnection, target: Date): Promise<AggregateStep> {
  const from = await readWatermark(writer)
  const span = await findNextSpan(writer, from, target)
  const left = await countRows(writer, sql`select count(*) as n from unsealed`)
  if (span === undefined && left === 0) return { watermark: from, deleted: false, more: false }
  const watermark = span?.until ?? from ?? target
  await writer.run('begin transaction')
  try {
    if (left > 0) await deleteStale(writer, watermark)
    const added = sql`select * from events where session_start >= ${span?.from ?? watermark} and session_start < ${watermark}`
    const again = sql`select e.* from events e semi join again a on a.site_id = e.site_id and a.session_id = e.session_id
      where e.session_start < ${span?.from ?? watermark}`
    const source = left > 0 ? sql`${added} union all ${again}` : added
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
    await writer.run('commit')
  } catch (error) {
    await writer.run('rollback').catch(() => {})
    throw error
  }
  return { watermark, deleted: left > 0, more: left > STALE_SESSIONS_PER_STEP || watermark < target }
}

const ORDER = raw('partition by site_id, session_id order by timestamp, pathname')

/** The first pages of each session, in columns; a page that follows itself once. */
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

/** Takes sessions that got hits out again, with all sessions of their visitors: `again` names them. */
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
  // What a late hit made part of another has no hits of its own, and must be nobody's `prior`.
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

/** What to seal next: from the watermark to `target`, or as far as there are not too many hits. */
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
