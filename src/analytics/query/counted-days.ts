import { DAY_MS } from '../../base/time-units.js'
import {
  DAILY_TABLES,
  type DailyTableName,
  expressionSql,
  IS_GENUINE,
  IS_JUDGED,
  judgedState,
} from '../../storage/aggregates/daily-counts.js'
import { isIn, join, raw, type Sql, sql } from '../../storage/sql.js'
import type { Window } from './calendar.js'
import { filterCondition, sourceRows } from './conditions.js'
import { findDimension } from './dimensions.js'
import { type Filter, isBehavioural, leavesOutSessions, listConditions } from './filters.js'
import { type Plan, planForTable } from './plan.js'
import { inWindow } from './window-conditions.js'

/** With more separate times than this, all rows of the window are read in one scan. */
const MAX_TIMES = 12

/** Splits the window: the counts of whole days, as a condition on `day`, and the times that are read from rows. */
function splitDays({ site, window, countedDays }: Plan, usable: boolean): { counted: Sql | undefined; rest: Window[] } {
  const none = { counted: undefined, rest: [window] }
  if (!usable || !countedDays) return none
  const midnight = (round: 'floor' | 'ceil', at: Date) => new Date(Math[round](at.getTime() / DAY_MS) * DAY_MS)
  const first = midnight('ceil', window.start)
  const last = new Date(Math.min(midnight('floor', window.end).getTime(), countedDays.until.getTime()))
  if (first >= last) return none
  const changed = countedDays.changed.filter((day) => day >= first && day < last)
  const rest: Window[] = []
  const add = (start: Date, end: Date) => {
    const before = rest.at(-1)
    if (before && before.end >= start) rest[rest.length - 1] = { start: before.start, end }
    else if (start < end) rest.push({ start, end })
  }
  add(window.start, first)
  for (const day of changed) add(day, new Date(day.getTime() + DAY_MS))
  add(last, window.end)
  if (rest.length > MAX_TIMES) return none
  return {
    counted: sql`site_id = ${site} and day >= ${first} and day < ${last}
      ${changed.length > 0 ? sql`and not ${isIn(raw('day'), changed)}` : raw('')}`,
    rest,
  }
}

/** Returns true if the daily counts of a table can apply these filters: they use its keys only. */
export const canUseDailyCounts = (name: DailyTableName, filters: readonly Filter[]): boolean =>
  !filters.some(isBehavioural) &&
  !leavesOutSessions(filters) &&
  listConditions(filters).every(({ dimension }) => {
    const { name: column, value } = findDimension(dimension, 'filters')
    return value === undefined && Object.hasOwn(DAILY_TABLES[name].keys, column)
  })

/** All rows of these times, as a table. */
const rowsOfTimes = (table: 'events' | 'agent_events', plan: Plan, times: readonly Window[]): Sql =>
  sql`(${join(
    times.map((window) => sql`select * from ${raw(table)} where ${inWindow({ ...plan, window })}`),
    ' union all ',
  )})`

interface DailyCountsOptions {
  /**
   * The keys of the table by which rows are counted; absent: all of them. Fewer cost less, because the columns of the others
   * are not read. `arrivals` needs all: a session may arrive at two hostnames in the same millisecond.
   */
  readonly keys?: readonly string[] | undefined
  /** A condition on rows that the counts do not know. */
  readonly where?: Sql | undefined
}

/** Selects keys and these counts of the window's rows that pass the filters. Each combination of the keys is one row. */
export function dailyCounts(
  plan: Plan,
  name: DailyTableName,
  names: readonly string[],
  { keys: keyNames, where }: DailyCountsOptions = {},
): Sql {
  const table = DAILY_TABLES[name]
  const tablePlan = planForTable(plan, table.from)
  const { counted, rest } = splitDays(tablePlan, where === undefined && canUseDailyCounts(name, tablePlan.filters))
  const keys = Object.entries(table.keys).filter(([key]) => keyNames?.includes(key) ?? true)
  const keyColumns = keys.map(([key]) => key)
  const groupBy = raw(keys.length > 0 ? `group by ${keyColumns.join(', ')}` : '')
  const counts = Object.entries(table.counts).filter(([count]) => names.includes(count))
  // The grouping is faster without rows that no count is about.
  const about = [...new Set(counts.map(([, count]) => ('of' in count ? count.of : 'true')))]
  const relevant = about.includes('true')
    ? raw('true')
    : sql`(${join(
        about.map((each) => expressionSql(each, plan.dialect)),
        ' or ',
      )})`
  const among = about.length === 1 ? about[0] : undefined
  const columns = [
    ...keys.map(([key, value]) => sql`${expressionSql(value, plan.dialect)} as ${raw(key)}`),
    ...counts.map(([count, { value }]) => sql`${value(plan.dialect, among)} as ${raw(count)}`),
  ]
  const source = counted === undefined ? raw(table.from) : rowsOfTimes(table.from, tablePlan, rest)
  const fromRows = sql`
    select ${join(columns, ', ')}
    from ${sourceRows(table.from, tablePlan, tablePlan.filters, undefined, source)} as e
    where ${counted === undefined ? inWindow(tablePlan) : raw('true')} and ${raw(table.where)} and ${relevant}
      and ${filterCondition(tablePlan)} and ${where ?? raw('true')}
    ${groupBy}`
  if (counted === undefined) return fromRows
  const totals = counts.map(([count, { total }]) => `${total}(${count}) as ${count}`)
  const fromCounts = sql`select ${raw([...keyColumns, ...counts.map(([count]) => count)].join(', '))} from ${raw(name)}
    where ${counted} and ${filterCondition(tablePlan)}`
  return sql`
    select ${raw([...keyColumns, ...totals].join(', '))}
    from (${fromCounts} ${rest.length > 0 ? sql`union all ${fromRows}` : raw('')}) d
    ${groupBy}`
}

/** Splits the fetches of these URLs in the window into counted days and rows, each as the text after `from`. */
function splitFetches(plan: Plan, urls: Sql): { days: Sql | undefined; rows: Sql | undefined } {
  const tablePlan = planForTable(plan, 'agent_events')
  const { counted, rest } = splitDays(tablePlan, canUseDailyCounts('daily_urls', tablePlan.filters))
  const passing = sql`${filterCondition(tablePlan)} and ${urls}`
  if (counted === undefined)
    return { days: undefined, rows: sql`agent_events where ${inWindow(tablePlan)} and ${passing}` }
  return {
    days: sql`daily_urls where ${counted} and ${passing}`,
    rows: rest.length > 0 ? sql`${rowsOfTimes('agent_events', tablePlan, rest)} e where ${passing}` : undefined,
  }
}

/** The agents of counted days: `hostname, pathname, agent_id, state, moment`. Whole words, few of which differ, are grouped first. */
const agentsOfDays = ({ dialect }: Plan, days: Sql): Sql => sql`
  select hostname, pathname, substr(word, 1, length(word) - 1) as agent_id, right(word, 1) as state, moment
  from (select hostname, pathname, word, max(day) as moment
    from (${dialect.eachWord(sql`select hostname, pathname, day, agents from ${days}`, raw('agents'))}) w
    group by hostname, pathname, word) g`

const unionAll = (parts: readonly (Sql | undefined)[]): Sql =>
  join(
    parts.filter((part) => part !== undefined),
    ' union all ',
  )

/**
 * Selects which agents fetched these URLs in the window: `hostname, pathname, agent_id`, one row or more for each URL and agent.
 * With `genuine`, spoofed fetches do not count.
 */
export function agentsOfUrls(plan: Plan, urls: Sql, { genuine = false } = {}): Sql {
  const { days, rows } = splitFetches(plan, urls)
  const [states, fetches] = genuine ? ["state <> 's'", IS_GENUINE] : ['true', 'true']
  return unionAll([
    days && sql`select hostname, pathname, agent_id from (${agentsOfDays(plan, days)}) d where ${raw(states)}`,
    rows && sql`select distinct hostname, pathname, agent_id from ${rows} and ${raw(fetches)}`,
  ])
}

/**
 * Selects which agents fetched the pages of each group in the window: `value, agent_id`, one row or more for each. `groups`
 * selects the group of each page that was fetched: `pathname, value`.
 */
export function agentsOfGroups(plan: Plan, groups: Sql): Sql {
  const { days, rows } = splitFetches(plan, raw('true'))
  const grouped = (column: string, source: Sql) =>
    sql`select value, ${raw(column)} from (select pathname, ${raw(column)} from ${source}) f
      join (${groups}) g on g.pathname = f.pathname`
  return unionAll([
    days &&
      sql`select value, substr(word, 1, length(word) - 1) as agent_id from (
        select distinct value, word from (${plan.dialect.eachWord(grouped('agents', days), raw('agents'))}) w) d`,
    rows && sql`select distinct value, agent_id from (${grouped('agent_id', rows)}) r`,
  ])
}

/**
 * Selects the last fetches of these URLs in the window: `hostname, pathname, agent_id, state, last_response`. `state` is
 * whether the agent's last judged fetch was allowed, `+` or `-`; null: none was judged. The greatest `last_response` of
 * a URL's rows, whose agent may be null, is the one of `daily_urls`.
 */
export function lastFetches(plan: Plan, urls: Sql): Sql {
  const { days, rows } = splitFetches(plan, urls)
  const { last_response: response } = DAILY_TABLES.daily_urls.counts
  const parts = unionAll([
    days &&
      sql`select hostname, pathname, agent_id, state, moment, null as last_response from (${agentsOfDays(plan, days)}) d
        where state in ('+', '-')
      union all
      select hostname, pathname, null as agent_id, null as state, null as moment, last_response from ${days}`,
    // Rows that neither column is about would only make groups.
    rows &&
      sql`select hostname, pathname, agent_id, ${judgedState(plan.dialect)} as state,
          max(timestamp) filter (where ${raw(IS_JUDGED)}) as moment,
          ${response.value(plan.dialect, response.of)} as last_response
        from ${rows} and ${expressionSql(response.of, plan.dialect)} group by hostname, pathname, agent_id`,
  ])
  return sql`
    select hostname, pathname, agent_id,
      ${plan.dialect.lastBy(raw('state'), raw('moment'))} filter (where state is not null) as state,
      max(last_response) as last_response
    from (${parts}) f group by hostname, pathname, agent_id`
}
