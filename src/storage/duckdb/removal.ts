import type { DuckDBConnection } from '@duckdb/node-api'
import { z } from 'zod'
import { DAY_MS } from '../../base/time-units.js'
import { startOfDay } from '../aggregates/aggregation.js'
import { DAILY_NAMES } from '../aggregates/daily-counts.js'
import { PRIOR_COLUMNS } from '../aggregates/session-aggregates.js'
import type { Removal, RemovalStep, SiteRemoval } from '../event-store.js'
import { join, raw, type Sql, sql } from '../sql.js'
import { HexId, toHexId } from '../store.js'
import { readAggregatedUntil } from './aggregate-step.js'
import { daysBetween, daysIn, readCountedUntil, recountDays } from './daily-step.js'
import { inTransaction, runQuery } from './query.js'

/** Approximate: appends wait while a step runs. */
const ROWS_PER_STEP = 100_000
/** Tables with a row for each session of a site or more, and when it began. */
const AGGREGATE_TABLES = [
  ['sessions', 'started'],
  ['session_pages', 'started'],
  ['stale_sessions', 'session_start'],
] as const
/** Later than any stored row. */
const END_OF_TIME = new Date('9999-01-01T00:00:00Z')

/**
 * Removes rows in one step, as one transaction. Aggregates leave with their hits, so that reads are right after each
 * step. `refreshStale` aggregates stale sessions again, which must be done before rows are removed by time.
 */
export function removeStep(
  writer: DuckDBConnection,
  removal: Removal,
  refreshStale: () => Promise<unknown>,
): Promise<RemovalStep> {
  if ('visitor' in removal) return removePerson(writer, removal)
  if ('before' in removal) return removeBefore(writer, { site: removal.site, limit: removal.before, refreshStale })
  return removeBefore(writer, { site: removal.site, limit: END_OF_TIME, refreshStale }, removal)
}

/** Deletes the notes of one removal, or of all, and returns how many there were: they name the person. */
export async function forgetRemovals(writer: DuckDBConnection, key?: string): Promise<number> {
  const where = key === undefined ? sql`true` : sql`key = ${key}`
  const [row] = await runQuery(writer, sql`select count(*) as n from removed where ${where}`)
  if (Number(row?.n) > 0) await runQuery(writer, sql`delete from removed where ${where}`)
  return Number(row?.n)
}

/** The result of earlier steps of this key. */
async function readRemovalNote(writer: DuckDBConnection, key: string | undefined): Promise<RemovalNote | undefined> {
  if (key === undefined) return undefined
  const [row] = await runQuery(writer, sql`select rows, visitor_ids from removed where key = ${key}`)
  return row && RemovalNote.parse(row)
}

/** Call it in the step's transaction. */
async function saveRemovalNote(writer: DuckDBConnection, key: string | undefined, note: RemovalNote): Promise<void> {
  if (key === undefined) return
  await runQuery(writer, sql`delete from removed where key = ${key}`)
  const visitorIds = note.visitor_ids.map(toHexId).join()
  await runQuery(writer, sql`insert into removed values (${key}, ${note.rows}, ${visitorIds})`)
}

/**
 * Removes a person as `/api/stats/visitors` shows them: all visitor ids that the site called by the same identified id
 * last, and ids that share a session with one of these (a visit over a change of salts), unless the site called them
 * otherwise. What they said about themselves under another id (on a shared device) is removed too.
 */
async function removePerson(
  writer: DuckDBConnection,
  { site, visitor, key }: { site: number; visitor: bigint; key?: string | undefined },
): Promise<RemovalStep> {
  const aggregatedUntil = await readAggregatedUntil(writer)
  const countedUntil = (await readCountedUntil(writer)) ?? new Date(0)
  const run = (query: Sql) => runQuery(writer, query)
  const done = await readRemovalNote(writer, key)
  // If the person came again since, they are a new visitor.
  if (done) return { ...done, more: false, session_ids: [] }
  return inTransaction(writer, async () => {
    const person = await selectPersonIds(writer, site, visitor)
    const ofPerson = sql`site_id = ${site} and (visitor_id in (select visitor_id from leaving) ${
      person === null ? raw('') : sql`or identified_id = ${person}`
    })`
    await run(sql`create or replace temp table touched as
      select session_id from events where ${ofPerson}
      union select session_id from sessions where site_id = ${site} and visitor_id in (select visitor_id from leaving)`)
    // Other visitors with rows of these sessions: all of their own sessions must be aggregated again.
    await run(sql`create or replace temp table others as select distinct visitor_id from events where site_id = ${site}
      and session_id in (select session_id from touched) and visitor_id not in (select visitor_id from leaving)`)
    await run(sql`create or replace temp table touched_days as select distinct date_trunc('day', timestamp) as day
      from events where ${ofPerson} and kind = 'pageview' and timestamp < ${countedUntil}`)
    const loose = changedRows((await run(sql`delete from loose_reports where ${ofPerson}`))[0])
    const rows = loose + changedRows((await run(sql`delete from events where ${ofPerson}`))[0])
    for (const table of ['sessions', 'session_pages', 'stale_sessions'])
      await run(
        sql`delete from ${raw(table)} where site_id = ${site} and session_id in (select session_id from touched)`,
      )
    await recountDays(writer, daysIn('touched_days'), [site], ['daily_views'])
    if (aggregatedUntil)
      await run(sql`insert into stale_sessions select site_id, session_id, min(session_start) from events
        where site_id = ${site} and session_start < ${aggregatedUntil} and visitor_id in (select visitor_id from others)
        group by site_id, session_id`)
    const visitor_ids = await selectIds(writer, 'select visitor_id as id from leaving order by id')
    const session_ids = await selectIds(writer, 'select session_id as id from touched')
    for (const table of ['leaving', 'touched', 'touched_days', 'others']) await writer.run(`drop table ${table}`)
    await saveRemovalNote(writer, key, { rows, visitor_ids })
    return { rows, more: false, visitor_ids, session_ids }
  })
}

/** Fills the temporary table `leaving` with the visitor ids of a person, and returns their identified id. */
async function selectPersonIds(writer: DuckDBConnection, site: number, visitor: bigint): Promise<string | null> {
  const run = (query: Sql) => runQuery(writer, query)
  const person = Text.parse((await run(selectPersons(site, sql`${visitor}`)))[0]?.person ?? null)
  await run(
    sql`create or replace temp table leaving as select ${visitor}::ubigint as visitor_id ${
      person === null
        ? raw('')
        : sql`union select visitor_id from (${selectPersons(
            site,
            sql`select visitor_id from events where site_id = ${site} and identified_id = ${person}`,
          )}) n where person = ${person}`
    }`,
  )
  for (let added = 1; added > 0; ) {
    const [row] = await run(sql`insert into leaving
      with linked as (select distinct visitor_id from events where site_id = ${site}
        and visitor_id not in (select visitor_id from leaving) and session_id in (
          select session_id from events where site_id = ${site} and visitor_id in (select visitor_id from leaving)))
      select visitor_id from linked where visitor_id not in (
        select visitor_id from (${selectPersons(site, raw('select visitor_id from linked'))}) n
        where person is distinct from ${person})`)
    added = changedRows(row)
  }
  return person
}

/** `visitor_id, person`: the identified id that the site gave each of these visitors last. */
const selectPersons = (site: number, visitors: Sql): Sql => sql`
  select visitor_id, arg_max(identified_id, (timestamp, identified_id)) as person from events
  where site_id = ${site} and identified_id is not null and visitor_id in (${visitors}) group by visitor_id`

/** Removes whole sessions by when they began, up to a bounded number of rows. */
async function removeBefore(
  writer: DuckDBConnection,
  { site, limit, refreshStale }: { site: number; limit: Date; refreshStale: () => Promise<unknown> },
  whole?: SiteRemoval,
): Promise<RemovalStep> {
  const none = { visitor_ids: [], session_ids: [] }
  const stepEnd = await findStepEnd(writer, site, limit)
  const end = stepEnd ?? limit
  const before = (await readRemovalNote(writer, whole?.key))?.rows ?? 0
  // A stale session that became part of an earlier one is still aggregated under its old start.
  const [stale] = await runQuery(
    writer,
    sql`select count(*) as n from stale_sessions where site_id = ${site} and session_start < ${end}`,
  )
  if (Number(stale?.n) > 0 && stepEnd !== undefined) {
    await refreshStale()
    return { ...none, rows: before, more: true }
  }
  return inTransaction(writer, async () => {
    const run = async (query: Sql) => changedRows((await runQuery(writer, query))[0])
    const cutDays = await findCutDays(writer, site, end)
    const views = await run(sql`delete from events where site_id = ${site} and session_start < ${end}`)
    const fetches = await run(sql`delete from agent_events where site_id = ${site} and timestamp < ${end}`)
    const loose = await run(sql`delete from loose_reports where site_id = ${site} and timestamp < ${end}`)
    for (const [table, began] of [...AGGREGATE_TABLES, ['page_samples', 'last_seen'] as const])
      await run(sql`delete from ${raw(table)} where site_id = ${site} and ${raw(began)} < ${end}`)
    for (const table of [...DAILY_NAMES, 'daily_changed'])
      await run(sql`delete from ${raw(table)} where site_id = ${site} and day < ${startOfDay(end)}`)
    if (cutDays) await recountDays(writer, cutDays, [site])
    await run(clearPriors('sessions', [...PRIOR_COLUMNS, 'previous'], site, end))
    await run(sql`update sessions set first_seen = f.first from (
        select visitor_id, min(started) as first from sessions where site_id = ${site} group by visitor_id
        having min(first_seen) < ${end}) f
      where sessions.site_id = ${site} and sessions.visitor_id = f.visitor_id`)
    await run(clearPriors('session_pages', ['prior'], site, end))
    if (stepEnd === undefined && whole) {
      await run(sql`delete from deliveries where site_id = ${site}`)
      if (whole.hostnames.length > 0) {
        const hostnames = join(
          whole.hostnames.map((hostname) => sql`${hostname}`),
          ', ',
        )
        await run(sql`delete from sitemap_urls where hostname in (${hostnames})`)
      }
    }
    const rows = before + views + fetches + loose
    await saveRemovalNote(writer, whole?.key, { rows, visitor_ids: [] })
    return { ...none, rows, more: stepEnd !== undefined }
  })
}

/**
 * Gives rows of a site to another in one step, as one transaction, with their aggregates. No visitor or session of the two
 * sites is the same, because their ids are made with the site's.
 */
export async function assignStep(
  writer: DuckDBConnection,
  { from, to }: { from: number; to: number },
): Promise<{ rows: number; more: boolean }> {
  const stepEnd = await findStepEnd(writer, from, END_OF_TIME)
  return inTransaction(writer, async () => {
    const move = async (table: string, condition: Sql) =>
      changedRows(
        (
          await runQuery(writer, sql`update ${raw(table)} set site_id = ${to} where site_id = ${from} and ${condition}`)
        )[0],
      )
    const moveBefore = (table: string, began: string) => move(table, sql`${raw(began)} < ${stepEnd ?? END_OF_TIME}`)
    const cutDays = stepEnd && (await findCutDays(writer, from, stepEnd))
    const rows = (await moveBefore('events', 'session_start')) + (await moveBefore('agent_events', 'timestamp'))
    for (const [table, began] of AGGREGATE_TABLES) await moveBefore(table, began)
    for (const table of [...DAILY_NAMES, 'daily_changed'])
      await move(table, sql`day < ${startOfDay(stepEnd ?? END_OF_TIME)}`)
    if (cutDays) await recountDays(writer, cutDays, [from, to])
    if (stepEnd === undefined) {
      for (const table of ['loose_reports', 'deliveries']) await move(table, sql`true`)
      // The other site has samples of the same pages, and a page has one present edition.
      await runQuery(writer, sql`delete from page_samples where site_id = ${from}`)
    }
    return { rows, more: stepEnd !== undefined }
  })
}

/**
 * The counted days that a removal of what began before `end` leaves in part: the day of `end`, and later ones to which
 * such sessions last.
 */
async function findCutDays(writer: DuckDBConnection, site: number, end: Date) {
  const countedUntil = await readCountedUntil(writer)
  const from = startOfDay(end)
  if (countedUntil === undefined || from >= countedUntil) return undefined
  const [row] = await runQuery(
    writer,
    sql`select max(timestamp) as last from events where site_id = ${site} and session_start < ${end}`,
  )
  const last = row?.last instanceof Date && row.last > end ? row.last : end
  const until = Math.min(startOfDay(last).getTime() + DAY_MS, countedUntil.getTime())
  return daysBetween(from, new Date(until))
}

/** The remaining sessions have no session before `end` any more. */
function clearPriors(table: string, columns: readonly string[], site: number, end: Date): Sql {
  const sets = columns.map((c) => sql`${raw(c)} = case when ${raw(c)} >= ${end} then ${raw(c)} end`)
  const affected = columns.map((c) => sql`${raw(c)} < ${end}`)
  return sql`update ${raw(table)} set ${join(sets, ', ')} where site_id = ${site} and (${join(affected, ' or ')})`
}

/** Up to when there are at most `ROWS_PER_STEP` rows that began before `limit`; undefined without such rows. */
async function findStepEnd(writer: DuckDBConnection, site: number, limit: Date): Promise<Date | undefined> {
  const rowsBefore = (end: Date) => sql`(
    select session_start as began from events where site_id = ${site} and session_start < ${end}
    union all select timestamp as began from agent_events where site_id = ${site} and timestamp < ${end}) r`
  const [row] = await runQuery(writer, sql`select min(began) as first, max(began) as latest from ${rowsBefore(limit)}`)
  if (!(row?.first instanceof Date && row.latest instanceof Date)) return undefined
  const first = row.first.getTime()
  let end = Math.min(limit.getTime(), row.latest.getTime() + 1)
  const count = async () =>
    Number((await runQuery(writer, sql`select count(*) as n from ${rowsBefore(new Date(end))}`))[0]?.n)
  while (end - first > 1_000 && (await count()) > ROWS_PER_STEP) end = Math.ceil((first + end) / 2)
  return new Date(end)
}

const Text = z.string().nullable()
const RemovalNote = z.object({
  rows: z.number(),
  visitor_ids: z.string().transform((ids) => (ids === '' ? [] : ids.split(',').map((id) => HexId.parse(id)))),
})
type RemovalNote = z.output<typeof RemovalNote>
const Ids = z.array(z.object({ id: HexId }))

const selectIds = async (writer: DuckDBConnection, query: string): Promise<bigint[]> =>
  Ids.parse(await runQuery(writer, raw(query))).map(({ id }) => id)

/** How many rows a statement changed. */
const changedRows = (row: Record<string, unknown> | undefined): number => Number(row?.Count ?? 0)
