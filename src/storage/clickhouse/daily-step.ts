import { DAY_MS } from '../../base/time-units.js'
import { type AggregateStep, startOfDay } from '../aggregates/aggregation.js'
import { DAILY_NAMES, type DailyTableName, dailyColumns, selectDays } from '../aggregates/daily-counts.js'
import { clickhouseDialect } from '../dialects/clickhouse.js'
import { isIn, raw, type Sql, sql } from '../sql.js'
import { type AggregateWriter, BEGINNING_OF_TIME, deleteOlder } from './aggregate-writer.js'

/*
 * Fills the daily counts (src/storage/aggregates/daily-counts.ts) of whole days (UTC). Days before the moment in `daily_aggregated_until` are counted. A
 * counted day that got or changed a row since is in `daily_changed`: reads take it from its rows until it is counted
 * again. The order of writing is that of `aggregate-step.ts`.
 */

/** Approximate: appends wait while a step runs. One day is counted at once, however many rows it has. */
const ROWS_PER_STEP = 200_000
const AGENTS = raw(
  "arrayStringConcat(arrayMap(one -> one.2, arraySort(groupArray((agent_id, concat(agent_id, assumeNotNull(state)))))), ' ')",
)

/** The moment before which days are counted; undefined if none are. */
export async function readCountedUntil({ select }: Pick<AggregateWriter, 'select'>): Promise<Date | undefined> {
  const [row] = await select(sql`select max(day) as day from daily_aggregated_until`)
  return row?.day instanceof Date && row.day > BEGINNING_OF_TIME ? row.day : undefined
}

/**
 * Takes one bounded step towards `target`: counts a changed day again, or else the next days. No append may run at the same
 * time.
 */
export async function dailyStep(writer: AggregateWriter, target: Date): Promise<AggregateStep> {
  const until = await readCountedUntil(writer)
  const [changed] =
    until === undefined ? [] : await writer.select(sql`select min(day) as day from daily_changed where day < ${until}`)
  if (changed?.day instanceof Date) {
    const day = changed.day
    const step = await writer.takeNumber()
    const sites = await writer.select(sql`select distinct site_id from daily_changed where day = ${day}`)
    const ids = sites.map(({ site_id }) => Number(site_id))
    await recountDays(writer, step, { from: day, until: new Date(day.getTime() + DAY_MS), sites: ids })
    await writer.run(sql`insert into daily_changed (site_id, day, ver, is_deleted)
      select site_id, day, ${step}, 1 from daily_changed where day = ${day} and ver < ${step}`)
    return { until, deleted: true, more: true }
  }
  const span = await findNextDays(writer, until, startOfDay(target))
  if (span === undefined) return { until, deleted: false, more: false }
  const step = await writer.takeNumber()
  await recountDays(writer, step, { from: until ?? BEGINNING_OF_TIME, until: span.until })
  await writer.run(sql`insert into daily_aggregated_until (day, ver) select ${span.until}, ${step}`)
  return { until: span.until, deleted: false, more: span.until < startOfDay(target) }
}

interface Days {
  from: Date
  until: Date
  /** Absent: all sites. */
  sites?: readonly number[]
  tables?: readonly DailyTableName[]
}

/** Counts the days from one midnight to another again, from their rows. */
export async function recountDays(
  writer: AggregateWriter,
  step: bigint,
  { from, until, sites, tables = DAILY_NAMES }: Days,
): Promise<void> {
  const within = (column: string): Sql => sql`${raw(column)} >= ${from} and ${raw(column)} < ${until}
    and ${sites ? isIn(raw('site_id'), sites) : raw('true')}`
  for (const name of tables) {
    const columns = raw(Object.keys(dailyColumns(name)).join(', '))
    const counted = selectDays(name, { dialect: clickhouseDialect, where: within('timestamp'), agents: AGENTS })
    await writer.run(sql`insert into ${raw(name)} (${columns}, ver) select ${columns}, ${step} from (${counted}) n`)
    await deleteOlder(writer, name, step, within('day'))
  }
}

/** The next days to count: up to `target`, or fewer if these have more than `ROWS_PER_STEP` rows. */
async function findNextDays(
  { select }: AggregateWriter,
  counted: Date | undefined,
  target: Date,
): Promise<{ until: Date } | undefined> {
  const since = counted ?? BEGINNING_OF_TIME
  const [row] = await select(sql`
    select min(first) as first from (
      select min(timestamp) as first from events where timestamp >= ${since}
      union all select min(timestamp) as first from agent_events where timestamp >= ${since}) f`)
  if (!(row?.first instanceof Date) || row.first >= target) return undefined
  const from = startOfDay(row.first)
  let days = Math.round((target.getTime() - from.getTime()) / DAY_MS)
  const end = () => new Date(from.getTime() + days * DAY_MS)
  const countRows = async () => {
    const within = sql`timestamp >= ${from} and timestamp < ${end()}`
    const [found] = await select(sql`
      select (select count(*) from events where ${within}) + (select count(*) from agent_events where ${within}) as n`)
    return Number(found?.n)
  }
  while (days > 1 && (await countRows()) > ROWS_PER_STEP) days = Math.ceil(days / 2)
  return { until: end() }
}
