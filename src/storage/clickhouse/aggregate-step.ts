import type { AggregateStep } from '../aggregates/aggregation.js'
import {
  COHORT_COLUMNS,
  PRIOR_COLUMNS,
  PRIOR_KEYS,
  type Previous,
  priorColumns,
  priorStart,
  SESSION_TABLES,
  selectPages,
  selectSessions,
  selectSteps,
} from '../aggregates/session-aggregates.js'
import { clickhouseDialect } from '../dialects/clickhouse.js'
import { raw, type Sql, sql } from '../sql.js'
import { type AggregateWriter, BEGINNING_OF_TIME, deleteOlder } from './aggregate-writer.js'

/*
 * Fills the aggregates of sessions; src/storage/aggregates/session-aggregates.ts says what the tables have. A step is several statements, and
 * none of them is undone if a later one fails. Reads are right between any two of them, because they take no aggregate from
 * of what began after `aggregated_until` nor of a session in `stale_sessions`: rows get their new versions first, outdated rows are deleted next,
 * then `aggregated_until` moves, and last the sessions leave `stale_sessions`. A step that is repeated has a higher number and
 * replaces whatever was written.
 */

/** Approximate: appends wait while a step runs. */
const HITS_PER_STEP = 50_000
const STALE_SESSIONS_PER_STEP = 5_000
const SESSION_NAMES = ['sessions', 'session_pages'] as const

/** The moment before which sessions are aggregated; undefined if none are. */
export async function readAggregatedUntil({ select }: Pick<AggregateWriter, 'select'>): Promise<Date | undefined> {
  const [row] = await select(sql`select max(started) as at from aggregated_until`)
  return row?.at instanceof Date && row.at > BEGINNING_OF_TIME ? row.at : undefined
}

/** Sessions of a step that are aggregated already, as a list of `site_id, session_id`. */
interface Stale {
  /** The sessions that are aggregated again, and sessions without hits. */
  all: Sql
  /** The sessions that leave `stale_sessions`. */
  picked: Sql
  /** Hits of the sessions that are aggregated again; undefined without hits. */
  hits: Sql | undefined
}

/**
 * Takes one bounded step towards `target`: aggregates the oldest sessions that are not aggregated, and some stale ones with
 * all sessions of their visitors, whose `prior` may have changed. No append may run at the same time.
 */
export async function aggregateStep(writer: AggregateWriter, target: Date): Promise<AggregateStep> {
  const from = await readAggregatedUntil(writer)
  const span = await findNextSpan(writer, from, target)
  const staleRows = await countRows(writer, sql`select count(*) as n from stale_sessions`)
  if (span === undefined && staleRows === 0) return { until: from, deleted: false, more: false }
  const until = span?.until ?? from ?? target
  const start = span?.from ?? until
  const step = await writer.takeNumber()
  const stale = staleRows > 0 ? await listStale(writer, { step, until, start }) : undefined
  const added = span && sql`select * from events where session_start >= ${span.from} and session_start < ${span.until}`
  const source = added && stale?.hits ? sql`${added} union all ${stale.hits}` : (added ?? stale?.hits)
  const known = sql`started < ${start} ${stale ? sql`and (site_id, session_id) not in (${stale.all})` : raw('')}`
  if (source) for (const insert of insertsFrom(source, known, step)) await writer.run(insert)
  for (const table of SESSION_NAMES) {
    // An interrupted step may have left rows of what began after `aggregated_until`.
    if (span) await deleteOlder(writer, table, step, sql`started >= ${span.from} and started < ${span.until}`)
    // The key of a session that began earlier than it was thought to is another one now.
    if (stale)
      await deleteOlder(writer, table, step, sql`started < ${start} and (site_id, session_id) in (${stale.all})`)
  }
  if (span) await writer.run(sql`insert into aggregated_until (started, ver) select ${until}, ${step}`)
  if (stale)
    await writer.run(sql`insert into stale_sessions (site_id, session_id, session_start, ver, is_deleted)
      select site_id, session_id, session_start, ${step}, 1 from stale_sessions
      where ver < ${step} and (site_id, session_id) in (${stale.picked})`)
  return { until, deleted: stale !== undefined, more: staleRows > STALE_SESSIONS_PER_STEP || until < target }
}

/** The values ascend, so the last one that is not null is the greatest. */
const previous: Previous = (value, window) =>
  `max(${value}) over (${window} rows between unbounded preceding and 1 preceding)`

const SESSION_COLUMNS = Object.keys(SESSION_TABLES.sessions)
const PAGE_COLUMNS = Object.keys(SESSION_TABLES.session_pages).join(', ')
const COMPUTED = [...PRIOR_COLUMNS, ...COHORT_COLUMNS]
const OWN_COLUMNS = SESSION_COLUMNS.filter((column) => !COMPUTED.includes(column))

/** Inserts the sessions and pages of `source` with their previous sessions, which are among them or `known`. */
function insertsFrom(source: Sql, known: Sql, step: bigint): Sql[] {
  const sessions = selectSessions(source, clickhouseDialect)
  const ofVisitors = sql`${known} and visitor_id in (select visitor_id from (${source}) v)`
  const empty = OWN_COLUMNS.map((column) => (PRIOR_KEYS.includes(column) ? column : `null as ${column}`))
  const pageKey = raw('site_id, visitor_id, pathname')
  return [
    sql`insert into sessions (${raw(SESSION_COLUMNS.join(', '))}, ver)
      select ${raw(SESSION_COLUMNS.join(', '))}, ${step}
      from (select *, ${raw(priorColumns(previous))} from (
        select ${raw(OWN_COLUMNS.join(', '))}, 1 as fresh
        from (select * from (${sessions}) s left join (${selectSteps(source)}) p using (site_id, session_id)) f
        union all select ${raw(empty.join(', '))}, 0 as fresh from sessions where ${ofVisitors}) b) w
      where fresh = 1`,
    sql`insert into session_pages (${raw(PAGE_COLUMNS)}, ver)
      select ${raw(PAGE_COLUMNS)}, ${step}
      from (select p.*, coalesce(${raw(priorStart(['pathname'], previous))}, latest) as prior
        from (${selectPages(sql`(${sessions})`, source)}) p
        left join (select ${pageKey}, max(started) as latest from session_pages where visitor_ids = 1 and ${ofVisitors}
          group by ${pageKey}) h using (${pageKey})) w`,
  ]
}

/** Lists the stale sessions of a step in `step_sessions`, so that all of its statements have the same. */
async function listStale(
  writer: AggregateWriter,
  { step, until, start }: { step: bigint; until: Date; start: Date },
): Promise<Stale> {
  const list = (part: string, from: Sql) =>
    writer.run(sql`insert into step_sessions (step, site_id, session_id, session_start, part)
      select ${step}, site_id, session_id, min(session_start), ${part} from ${from}`)
  const parts = (...names: string[]) =>
    sql`select site_id, session_id from step_sessions where step = ${step}
      and part in (${raw(names.map((name) => `'${name}'`).join(', '))})`
  const picked = parts('picked')
  await list(
    'picked',
    sql`stale_sessions where ver < ${step} group by site_id, session_id
      order by min(session_start), site_id, session_id limit ${raw(String(STALE_SESSIONS_PER_STEP))}`,
  )
  await list(
    'again',
    sql`events where session_start < ${until} and (site_id, visitor_id) in (
        select site_id, visitor_id from events where (site_id, session_id) in (${picked}))
      group by site_id, session_id`,
  )
  // A session that became part of another has no hits any more, and must be no session's `prior`.
  await list(
    'gone',
    sql`stale_sessions where ver < ${step} and (site_id, session_id) not in (
        select site_id, session_id from events where (site_id, session_id) in (select site_id, session_id from stale_sessions))
      group by site_id, session_id`,
  )
  const again = parts('again')
  const [span] = await writer.select(sql`
    select min(session_start) as first, max(session_start) as latest from step_sessions
    where step = ${step} and part = 'again' and session_start < ${start}`)
  const { first, latest } = span ?? {}
  // With these bounds the server skips what began before or after.
  const hits =
    first instanceof Date && latest instanceof Date
      ? sql`select * from events where session_start >= ${first} and session_start <= ${latest}
          and (site_id, session_id) in (${again})`
      : undefined
  return { all: parts('picked', 'again', 'gone'), picked, hits }
}

const countRows = async ({ select }: AggregateWriter, query: Sql): Promise<number> =>
  Number((await select(query))[0]?.n ?? 0)

/** The next span to aggregate: from `since` to `target`, or less if that has more than `HITS_PER_STEP` hits. */
async function findNextSpan(writer: AggregateWriter, since: Date | undefined, target: Date) {
  const from = since ?? BEGINNING_OF_TIME
  const [row] = await writer.select(sql`select min(session_start) as first from events where session_start >= ${from}`)
  const first = row?.first
  if (!(first instanceof Date) || first >= target) return undefined
  let until = target
  const hits = () =>
    countRows(writer, sql`select count(*) as n from events where session_start >= ${from} and session_start < ${until}`)
  while (until.getTime() - first.getTime() > 1_000 && (await hits()) > HITS_PER_STEP)
    until = new Date((first.getTime() + until.getTime()) / 2)
  return { from, until }
}
