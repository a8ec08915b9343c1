import { agentState, DAILY_TABLES, type DailyTableName, IS_JUDGED } from '../daily-counts.js'
import { isIn, join, raw, type Sql, sql } from '../sql.js'
import type { Window } from './calendar.js'
import { filterCondition, sourceRows } from './conditions.js'
import { findDimension } from './dimensions.js'
import { type Filter, isBehavioural, listConditions } from './filters.js'
import { type Plan, planForTable } from './plan.js'
import { inWindow } from './window-conditions.js'

const DAY_MS = 86_400_000
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

/**
 * Selects the table's keys and these counts of the window's rows that pass the filters and `where`, a condition on rows
 * that the counts do not know. Each key is one row.
 */
export function dailyCounts(plan: Plan, name: DailyTableName, names: readonly string[], where?: Sql): Sql {
  const table = DAILY_TABLES[name]
  const own = planForTable(plan, table.from)
  const { counted, rest } = splitDays(own, where === undefined && canUseDailyCounts(name, own.filters))
  const keys = Object.entries(table.keys)
  const keyNames = raw(keys.map(([key]) => key).join(', '))
  const counts = Object.entries(table.counts).filter(([count]) => names.includes(count))
  // The grouping is faster without rows that no count is about.
  const about = counts.map(([, count]) => ('of' in count ? count.of : 'true'))
  const relevant = about.includes('true') ? raw('true') : raw(`(${[...new Set(about)].join(' or ')})`)
  const columns = counts.map(([count, { value }]) => sql`${value(plan.dialect)} as ${raw(count)}`)
  const source = counted === undefined ? raw(table.from) : rowsOfTimes(table.from, own, rest)
  const fromRows = sql`
    select ${raw(keys.map(([key, value]) => `${value} as ${key}`).join(', '))}, ${join(columns, ', ')}
    from ${sourceRows(table.from, own, own.filters, undefined, source)} as e
    where ${counted === undefined ? inWindow(own) : raw('true')} and ${raw(table.where)} and ${relevant}
      and ${filterCondition(own)} and ${where ?? raw('true')}
    group by ${keyNames}`
  if (counted === undefined) return fromRows
  const totals = counts.map(([count, { total }]) => `${total}(${count}) as ${count}`)
  const fromCounts = sql`select ${keyNames}, ${raw(counts.map(([count]) => count).join(', '))} from ${raw(name)}
    where ${counted} and ${filterCondition(own)}`
  return sql`
    select ${keyNames}, ${raw(totals.join(', '))}
    from (${fromCounts} ${rest.length > 0 ? sql`union all ${fromRows}` : raw('')}) d
    group by ${keyNames}`
}

/**
 * Selects which agents fetched these URLs in the window: `hostname, pathname, agent_id, state, moment`, one row or more for each
 * URL and agent. `state` is `agentState` of some of the fetches, and later ones have a later `moment`.
 */
export function agentsOfUrls(plan: Plan, urls: Sql): Sql {
  const own = planForTable(plan, 'agent_events')
  const { counted, rest } = splitDays(own, canUseDailyCounts('daily_urls', own.filters))
  const fromRows = sql`
    select hostname, pathname, agent_id, ${agentState(plan.dialect)} as state,
      coalesce(max(timestamp) filter (where ${raw(IS_JUDGED)}), max(timestamp)) as moment
    from ${counted === undefined ? raw('agent_events') : rowsOfTimes('agent_events', own, rest)} e
    where ${counted === undefined ? inWindow(own) : raw('true')} and ${filterCondition(own)} and ${urls}
    group by hostname, pathname, agent_id`
  if (counted === undefined) return fromRows
  const words = plan.dialect.eachWord(
    sql`select hostname, pathname, day, agents from daily_urls where ${counted} and ${filterCondition(own)} and ${urls}`,
    raw('agents'),
  )
  // Whole words are grouped first: most are the same on many days.
  return sql`
    select hostname, pathname, substr(word, 1, length(word) - 1) as agent_id, right(word, 1) as state, max(day) as moment
    from (${words}) w group by hostname, pathname, word ${rest.length > 0 ? sql`union all ${fromRows}` : raw('')}`
}
