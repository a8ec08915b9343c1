import type { DuckDBConnection } from '@duckdb/node-api'
import type { AggregateStep } from '../aggregates/aggregation.js'
import {
  PRIOR_KEYS,
  type Previous,
  priorColumns,
  priorStart,
  SESSION_TABLES,
  selectPages,
  selectSessions,
  selectSteps,
} from '../aggregates/session-aggregates.js'
import { duckdbDialect } from '../dialects/duckdb.js'
import { raw, type Sql, sql } from '../sql.js'
import { inTransaction, runQuery } from './query.js'

/* Fills the aggregates of sessions; src/storage/aggregates/session-aggregates.ts says what the tables have. */

const SESSION_COLUMNS = Object.keys(SESSION_TABLES.sessions).join(', ')
const PAGE_COLUMNS = Object.keys(SESSION_TABLES.session_pages).join(', ')

const previous: Previous = (value, window) => `lag(${value} ignore nulls) over (${window})`

/** The new sessions with their previous ones, which are new or aggregated already. */
const sessionsWithPriors = (): string => {
  const keys = PRIOR_KEYS.join(', ')
  return `
    select f.*, p.* exclude (site_id, session_id) from fresh f join (
      select site_id, session_id, ${priorColumns(previous)}
      from (select ${keys} from fresh union all
        select ${keys} from sessions where visitor_id in (select visitor_id from fresh)) b) p
      on p.site_id = f.site_id and p.session_id = f.session_id`
}

/** The new pages with the visitor's previous session of each page: a new one, or else the last in the table. */
const pagesWithPriors = (): string => {
  const key = ['site_id', 'visitor_id', 'pathname']
  return `
    select f.*, coalesce(${priorStart(['pathname'], previous)}, h.latest) as prior
    from pages f left join (
      select ${key.join(', ')}, max(started) filter (where visitor_ids = 1) as latest from session_pages
      where visitor_id in (select visitor_id from fresh) group by ${key.join(', ')}) h using (${key.join(', ')})`
}

/**
 * Approximate: appends wait while a step runs, and its rows are in memory. With 200,000, a backlog of 5 million hits beside
 * 5,000 rows a second and a repeated read made rows wait until some were dropped (`npm run bench -- ingest`).
 */
const HITS_PER_STEP = 50_000
const STALE_SESSIONS_PER_STEP = 5_000

/** The moment before which sessions are aggregated; undefined if none are. */
export async function readAggregatedUntil(connection: DuckDBConnection): Promise<Date | undefined> {
  const [row] = await runQuery(connection, sql`select max(started) as at from aggregated_until`)
  return row?.at instanceof Date ? row.at : undefined
}

/**
 * Takes one bounded step towards `target`, in one transaction: aggregates the oldest sessions that are not aggregated, and
 * some stale ones with all sessions of their visitors, whose `prior` may have changed.
 */
export async function aggregateStep(writer: DuckDBConnection, target: Date): Promise<AggregateStep> {
  const from = await readAggregatedUntil(writer)
  const span = await findNextSpan(writer, from, target)
  const stale = await countRows(writer, sql`select count(*) as n from stale_sessions`)
  if (span === undefined && stale === 0) return { until: from, deleted: false, more: false }
  const until = span?.until ?? from ?? target
  await inTransaction(writer, async () => {
    if (stale > 0) await deleteStale(writer, until)
    const added = sql`select * from events where session_start >= ${span?.from ?? until} and session_start < ${until}`
    const again = sql`select e.* from events e semi join again a on a.site_id = e.site_id and a.session_id = e.session_id
      where e.session_start < ${span?.from ?? until}`
    const source = stale > 0 ? sql`${added} union all ${again}` : added
    await runQuery(
      writer,
      sql`create or replace temp table fresh as
        select * from (${selectSessions(source, duckdbDialect)}) s left join (${selectSteps(source)}) p using (site_id, session_id)`,
    )
    await runQuery(
      writer,
      sql`insert into sessions (${raw(SESSION_COLUMNS)})
      select ${raw(SESSION_COLUMNS)} from (${raw(sessionsWithPriors())}) s`,
    )
    await runQuery(
      writer,
      sql`insert into session_pages (${raw(PAGE_COLUMNS)})
      with pages as materialized (${selectPages(raw('fresh'), source)})
      select ${raw(PAGE_COLUMNS)} from (${raw(pagesWithPriors())}) p`,
    )
    await writer.run('drop table fresh')
    if (span) await runQuery(writer, sql`insert into aggregated_until values (${until})`)
  })
  return { until, deleted: stale > 0, more: stale > STALE_SESSIONS_PER_STEP || until < target }
}

/** Deletes stale sessions and all sessions of their visitors from the aggregates; table `again` lists them. */
async function deleteStale(writer: DuckDBConnection, until: Date): Promise<void> {
  await writer.run(`create or replace temp table picked as
    select site_id, session_id from stale_sessions group by all order by min(session_start) limit ${STALE_SESSIONS_PER_STEP}`)
  await runQuery(
    writer,
    sql`create or replace temp table again as
    select site_id, session_id from picked union
    select e.site_id, e.session_id from events e semi join (
      select site_id, visitor_id from events semi join picked using (site_id, session_id)) v
      on v.site_id = e.site_id and v.visitor_id = e.visitor_id
    where e.session_start < ${until}`,
  )
  // A session that became part of another has no hits any more, and must be no session's `prior`.
  for (const table of ['sessions', 'session_pages']) {
    await writer.run(`delete from ${table} where (site_id, session_id) in (select site_id, session_id from stale_sessions)
      and (site_id, session_id) not in (select e.site_id, e.session_id from events e semi join stale_sessions u
        on u.site_id = e.site_id and u.session_id = e.session_id)`)
  }
  for (const [table, named] of [
    ['sessions', 'again'],
    ['session_pages', 'again'],
    ['stale_sessions', 'picked'],
  ]) {
    await writer.run(`delete from ${table} where (site_id, session_id) in (select site_id, session_id from ${named})`)
  }
}

const countRows = async (writer: DuckDBConnection, query: Sql): Promise<number> =>
  Number((await runQuery(writer, query))[0]?.n ?? 0)

/** The next span to aggregate: from `since` to `target`, or less if that has more than `HITS_PER_STEP` hits. */
async function findNextSpan(writer: DuckDBConnection, since: Date | undefined, target: Date) {
  const [row] = await runQuery(
    writer,
    sql`select min(session_start) as first from events where session_start >= ${since ?? new Date(0)}`,
  )
  const first = row?.first
  if (!(first instanceof Date) || first >= target) return undefined
  const from = since ?? first
  let until = target
  const hits = () =>
    countRows(writer, sql`select count(*) as n from events where session_start >= ${from} and session_start < ${until}`)
  while (until.getTime() - first.getTime() > 1_000 && (await hits()) > HITS_PER_STEP)
    until = new Date((first.getTime() + until.getTime()) / 2)
  return { from, until }
}
