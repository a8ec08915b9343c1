import type { DuckDBConnection } from '@duckdb/node-api'
import { z } from 'zod'
import { PRIOR_COLUMNS } from '../session-aggregates.js'
import { join, raw, type Sql, sql } from '../sql.js'
import type { ResultRow } from '../store.js'
import { readWatermark } from './aggregate-step.js'
import { runQuery, toHexId } from './query.js'

/**
 * What leaves a site: one person, what began before a moment, or all of it with what its hostnames' sitemaps list. By its
 * `key` a removal is known again whose answer was lost: until `forgetRemoved` a person's is not done twice, and rows are
 * those of all steps.
 */
export type Removal =
  | { site: number; key?: string | undefined; visitor: bigint }
  | { site: number; before: Date }
  | { site: number; key?: string | undefined; hostnames: readonly string[] }

/** What one step removed; with a `key`, what all of its steps did. */
export interface RemovalStep {
  /** Of both tables of hits. */
  rows: number
  /** Whether a further step has something to do. */
  more: boolean
  /** Of a person: all ids that they had, and the sessions; nothing of them is stored any more. */
  visitor_ids: bigint[]
  session_ids: bigint[]
}

/** Rows in one step, about: a step holds back appends. */
const ROWS_PER_STEP = 100_000
/** Before this began all that a store can hold. */
const END_OF_TIME = new Date('9999-01-01T00:00:00Z')

/**
 * One step, all of it or none. What is summed up (rollup.ts) leaves with its hits, so that it answers as the hits do
 * behind each step. `resum` sums up again what got late hits; what leaves by its time must lie there as it is.
 */
export function removeStep(
  writer: DuckDBConnection,
  leaving: Removal,
  resum: () => Promise<unknown>,
): Promise<RemovalStep> {
  if ('visitor' in leaving) return removePerson(writer, leaving)
  if ('before' in leaving) return removeBefore(writer, { site: leaving.site, until: leaving.before, resum })
  return removeBefore(writer, { site: leaving.site, until: END_OF_TIME, resum }, leaving)
}

/** When everybody knows what removals removed: who it was is kept no longer. How many were forgotten. */
export async function forgetRemovals(writer: DuckDBConnection, key?: string): Promise<number> {
  const those = key === undefined ? sql`true` : sql`key = ${key}`
  const [noted] = await runQuery(writer, sql`select count(*) as n from removed where ${those}`)
  if (Number(noted?.n) > 0) await runQuery(writer, sql`delete from removed where ${those}`)
  return Number(noted?.n)
}

/** What the steps of this key did before. */
async function readRemovalNote(
  run: (query: Sql) => Promise<ResultRow[]>,
  key: string | undefined,
): Promise<RemovalNote | undefined> {
  if (key === undefined) return undefined
  const [row] = await run(sql`select rows, visitor_ids from removed where key = ${key}`)
  return row && RemovalNote.parse(row)
}

/** To be called in the transaction of the step. */
async function saveRemovalNote(
  run: (query: Sql) => Promise<ResultRow[]>,
  key: string | undefined,
  { rows, visitor_ids }: Pick<RemovalStep, 'rows' | 'visitor_ids'>,
): Promise<void> {
  if (key === undefined) return
  await run(sql`delete from removed where key = ${key}`)
  await run(sql`insert into removed values (${key}, ${rows}, ${visitor_ids.map(toHexId).join()})`)
}

/**
 * A person as `/api/stats/visitors` has them: all visitor ids that the site called the same last; and those that had a
 * session in common with one of these (a visit over a change of salts), unless it called them otherwise. What they said
 * of themselves under another's id (a shared device) leaves too.
 */
async function removePerson(
  writer: DuckDBConnection,
  { site, visitor, key }: { site: number; visitor: bigint; key?: string | undefined },
): Promise<RemovalStep> {
  const watermark = await readWatermark(writer)
  const run = (query: Sql) => runQuery(writer, query)
  const done = await readRemovalNote(run, key)
  // Whoever came again since then is somebody new.
  if (done) return { ...done, more: false, session_ids: [] }
  return inTransaction(writer, async () => {
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
    const theirs = sql`site_id = ${site} and (visitor_id in (select visitor_id from leaving) ${
      person === null ? raw('') : sql`or identified_id = ${person}`
    })`
    await run(sql`create or replace temp table touched as
      select session_id from events where ${theirs}
      union select session_id from sessions where site_id = ${site} and visitor_id in (select visitor_id from leaving)`)
    // Who else has rows of these sessions: all of their own are to be summed up again.
    await run(sql`create or replace temp table others as select distinct visitor_id from events where site_id = ${site}
      and session_id in (select session_id from touched) and visitor_id not in (select visitor_id from leaving)`)
    const rows = changedRows((await run(sql`delete from events where ${theirs}`))[0])
    for (const table of ['sessions', 'session_pages', 'unsealed'])
      await run(
        sql`delete from ${raw(table)} where site_id = ${site} and session_id in (select session_id from touched)`,
      )
    if (watermark)
      await run(sql`insert into unsealed select site_id, session_id, min(session_start) from events
        where site_id = ${site} and session_start < ${watermark} and visitor_id in (select visitor_id from others)
        group by site_id, session_id`)
    const visitor_ids = Ids.parse((await run(raw('select visitor_id as id from leaving order by id'))).map(idColumn))
    const session_ids = Ids.parse((await run(raw('select session_id as id from touched'))).map(idColumn))
    for (const table of ['leaving', 'touched', 'others']) await writer.run(`drop table ${table}`)
    await saveRemovalNote(run, key, { rows, visitor_ids })
    return { rows, more: false, visitor_ids, session_ids }
  })
}

/** What the site called these visitors last: `visitor_id, person`. */
const selectPersons = (site: number, visitors: Sql): Sql => sql`
  select visitor_id, arg_max(identified_id, (timestamp, identified_id)) as person from events
  where site_id = ${site} and identified_id is not null and visitor_id in (${visitors}) group by visitor_id`

/** Sessions leave whole, by when they began. */
async function removeBefore(
  writer: DuckDBConnection,
  { site, until: last, resum }: { site: number; until: Date; resum: () => Promise<unknown> },
  whole?: { key?: string | undefined; hostnames: readonly string[] },
): Promise<RemovalStep> {
  const none = { visitor_ids: [], session_ids: [] }
  const until = await findStepEnd(writer, site, last)
  const end = until ?? last
  const [late] = await runQuery(
    writer,
    sql`select count(*) as n from unsealed where site_id = ${site} and session_start < ${end}`,
  )
  // A session that became part of an earlier one is summed up under its own start still.
  const ask = (query: Sql) => runQuery(writer, query)
  const before = (await readRemovalNote(ask, whole?.key))?.rows ?? 0
  if (Number(late?.n) > 0 && until !== undefined) {
    await resum()
    return { ...none, rows: before, more: true }
  }
  return inTransaction(writer, async () => {
    const run = async (query: Sql) => changedRows((await ask(query))[0])
    const people = await run(sql`delete from events where site_id = ${site} and session_start < ${end}`)
    const agents = await run(sql`delete from agent_events where site_id = ${site} and timestamp < ${end}`)
    for (const [table, began] of [
      ['sessions', 'started'],
      ['session_pages', 'started'],
      ['unsealed', 'session_start'],
    ] as const)
      await run(sql`delete from ${raw(table)} where site_id = ${site} and ${raw(began)} < ${end}`)
    // Nobody was there before what is the first now.
    for (const [table, columns] of [
      ['sessions', PRIOR_COLUMNS],
      ['session_pages', ['prior']],
    ] as const)
      await run(
        sql`update ${raw(table)} set ${join(
          columns.map((c) => sql`${raw(c)} = case when ${raw(c)} >= ${end} then ${raw(c)} end`),
          ', ',
        )} where site_id = ${site} and (${join(
          columns.map((c) => sql`${raw(c)} < ${end}`),
          ' or ',
        )})`,
      )
    if (until === undefined && whole) {
      await run(sql`delete from deliveries where site_id = ${site}`)
      if (whole.hostnames.length > 0)
        await run(
          sql`delete from sitemap_urls where hostname in (${join(
            whole.hostnames.map((hostname) => sql`${hostname}`),
            ', ',
          )})`,
        )
    }
    const rows = before + people + agents
    await saveRemovalNote(ask, whole?.key, { rows, visitor_ids: [] })
    return { ...none, rows, more: until !== undefined }
  })
}

/** Up to when there are not too many rows before `last`; undefined where there are none. */
async function findStepEnd(writer: DuckDBConnection, site: number, last: Date): Promise<Date | undefined> {
  const of = (until: Date) => sql`(
    select session_start as began from events where site_id = ${site} and session_start < ${until}
    union all select timestamp as began from agent_events where site_id = ${site} and timestamp < ${until}) r`
  const [row] = await runQuery(writer, sql`select min(began) as first, max(began) as latest from ${of(last)}`)
  if (!(row?.first instanceof Date && row.latest instanceof Date)) return undefined
  const first = row.first.getTime()
  let until = Math.min(last.getTime(), row.latest.getTime() + 1)
  const rows = async () => Number((await runQuery(writer, sql`select count(*) as n from ${of(new Date(until))}`))[0]?.n)
  while (until - first > 1_000 && (await rows()) > ROWS_PER_STEP) until = Math.ceil((first + until) / 2)
  return new Date(until)
}

async function inTransaction<T>(writer: DuckDBConnection, work: () => Promise<T>): Promise<T> {
  await writer.run('begin transaction')
  try {
    const done = await work()
    await writer.run('commit')
    return done
  } catch (error) {
    await writer.run('rollback').catch(() => {})
    throw error
  }
}

const Text = z.string().nullable()
const RemovalNote = z.object({
  rows: z.number(),
  visitor_ids: z.string().transform((ids) => (ids === '' ? [] : ids.split(',').map((hex) => BigInt(`0x${hex}`)))),
})
type RemovalNote = z.output<typeof RemovalNote>
const Ids = z.array(z.string().transform((hex) => BigInt(`0x${hex}`)))
const idColumn = ({ id }: Record<string, unknown>) => id
/** How many rows a statement changed. */
const changedRows = (row: Record<string, unknown> | undefined): number => Number(row?.Count ?? 0)
