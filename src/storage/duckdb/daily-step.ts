import type { DuckDBConnection } from '@duckdb/node-api'
import { DAY_MS } from '../../base/time-units.js'
import { type AggregateStep, startOfDay } from '../aggregates/aggregation.js'
import { DAILY_NAMES, type DailyTableName, dailyColumns, selectDays } from '../aggregates/daily-counts.js'
import { duckdbDialect } from '../dialects/duckdb.js'
import { isIn, raw, type Sql, sql } from '../sql.js'
import { inTransaction, runQuery } from './query.js'

/*
 * Fills the daily counts (src/storage/aggregates/daily-counts.ts) of whole days (UTC). Days before a moment, the last row of `daily_aggregated_until`,
 * are counted. A counted day that got or changed a row since is in `daily_changed`: reads take it from its rows until it is
 * counted again.
 */

/** Approximate: appends wait while a step runs. One day is counted at once, however many rows it has. */
const ROWS_PER_STEP = 200_000

/** The moment before which days are counted; undefined if none are. */
export async function readCountedUntil(connection: DuckDBConnection): Promise<Date | undefined> {
  const [row] = await runQuery(connection, sql`select max(day) as day from daily_aggregated_until`)
  return row?.day instanceof Date ? row.day : undefined
}

/** Takes one bounded step towards `target`, in one transaction: counts a changed day again, or else the next days. */
export async function dailyStep(writer: DuckDBConnection, target: Date): Promise<AggregateStep> {
  const until = await readCountedUntil(writer)
  const [changed] =
    until === undefined
      ? []
      : await runQuery(writer, sql`select min(day) as day from daily_changed where day < ${until}`)
  if (changed?.day instanceof Date) {
    const day = changed.day
    await inTransaction(writer, async () => {
      const sites = await runQuery(writer, sql`select distinct site_id from daily_changed where day = ${day}`)
      const ids = sites.map(({ site_id }) => Number(site_id))
      await recountDays(writer, daysBetween(day, new Date(day.getTime() + DAY_MS)), ids)
      await runQuery(writer, sql`delete from daily_changed where day = ${day}`)
    })
    return { until, deleted: true, more: true }
  }
  const span = await findNextDays(writer, until, startOfDay(target))
  if (span === undefined) return { until, deleted: false, more: false }
  await inTransaction(writer, async () => {
    await insertDays(writer, daysBetween(span.from, span.until).rows)
    await runQuery(writer, sql`insert into daily_aggregated_until values (${span.until})`)
  })
  return { until: span.until, deleted: false, more: span.until < startOfDay(target) }
}

/** Days, as a condition on rows and on counts. */
interface Days {
  rows: Sql
  counts: Sql
}

/** The days from one midnight to another. */
export const daysBetween = (from: Date, until: Date): Days => ({
  rows: sql`timestamp >= ${from} and timestamp < ${until}`,
  counts: sql`day >= ${from} and day < ${until}`,
})

/** The days of a temporary table. */
export const daysIn = (table: string): Days => ({
  rows: sql`date_trunc('day', timestamp) in (select day from ${raw(table)})`,
  counts: sql`day in (select day from ${raw(table)})`,
})

/** Counts days of these sites again, from their rows. Call it in a transaction. */
export async function recountDays(
  writer: DuckDBConnection,
  days: Days,
  sites: readonly number[],
  tables: readonly DailyTableName[] = DAILY_NAMES,
): Promise<void> {
  const ofSites = isIn(raw('site_id'), sites)
  for (const table of tables) await runQuery(writer, sql`delete from ${raw(table)} where ${days.counts} and ${ofSites}`)
  await insertDays(writer, sql`${days.rows} and ${ofSites}`, tables)
}

async function insertDays(
  writer: DuckDBConnection,
  where: Sql,
  tables: readonly DailyTableName[] = DAILY_NAMES,
): Promise<void> {
  const agents = raw("string_agg(agent_id || state, ' ' order by agent_id)")
  for (const name of tables) {
    const columns = raw(Object.keys(dailyColumns(name)).join(', '))
    await runQuery(
      writer,
      sql`insert into ${raw(name)} (${columns}) ${selectDays(name, { dialect: duckdbDialect, where, agents })}`,
    )
  }
}

/** The next days to count: up to `target`, or fewer if these have more than `ROWS_PER_STEP` rows. */
async function findNextDays(
  writer: DuckDBConnection,
  counted: Date | undefined,
  target: Date,
): Promise<{ from: Date; until: Date } | undefined> {
  const since = counted ?? new Date(0)
  const [row] = await runQuery(
    writer,
    sql`select least((select min(timestamp) from events where timestamp >= ${since}),
      (select min(timestamp) from agent_events where timestamp >= ${since})) as first`,
  )
  if (!(row?.first instanceof Date) || row.first >= target) return undefined
  const from = startOfDay(row.first)
  let days = Math.round((target.getTime() - from.getTime()) / DAY_MS)
  const end = () => new Date(from.getTime() + days * DAY_MS)
  const countRows = async () => {
    const within = sql`timestamp >= ${from} and timestamp < ${end()}`
    const [row] = await runQuery(
      writer,
      sql`select (select count(*) from events where ${within}) + (select count(*) from agent_events where ${within}) as n`,
    )
    return Number(row?.n)
  }
  while (days > 1 && (await countRows()) > ROWS_PER_STEP) days = Math.ceil(days / 2)
  return { from, until: end() }
}
