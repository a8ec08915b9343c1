import { ASSISTANT_NAME_PATTERN, ASSISTANT_REFERRER_PATTERN } from '../../base/assistants.js'
import { type Dialect, join, raw, type Sql, sql } from '../sql.js'
import type { AggregateType } from './session-aggregates.js'

/*
 * Daily counts: what agents fetched and people viewed of each URL on each day (UTC) of a site, so that reads need not scan
 * every row. The `daily-step.ts` of each engine fills the tables, src/analytics/query/counted-days.ts reads them, and all compute the
 * columns as this file says. Only days are counted, because a URL has about as many counts of hours as it has rows.
 */

export const IS_SPOOFED = "verification = 'spoofed'"
/** The fetches that no rule of the operator refused: a refused one reads nothing. */
const IS_SERVED = "coalesce(action, 'allow') = 'allow'"
/** The fetches that got what they asked for, by the agents that they name. */
export const IS_GENUINE = `not ${IS_SPOOFED} and ${IS_SERVED}`
/** The fetches that count as reading by machines: a monitor and a tool for site owners read for the site. */
const IS_READING = `${IS_GENUINE} and purpose not in ('monitor', 'seo')`
export const IS_JUDGED = `${IS_READING} and robots_allowed is not null`
/**
 * Fetches that may serve an answer, or the index that answers come from. In `coalesce`, because DuckDB 1.5 tests a plain list
 * only after it has read all other columns: a scan costs a quarter more.
 */
const IS_FOR_ANSWERS = `not ${IS_SPOOFED} and coalesce(purpose in ('search', 'assistant'), false)`

/** A text, or SQL in which engines differ. */
type Expression = string | ((dialect: Dialect) => Sql)
export const expressionSql = (expression: Expression, dialect: Dialect): Sql =>
  typeof expression === 'string' ? raw(expression) : expression(dialect)

const IS_ASSISTANT_CHANNEL = "channel = 'AI Assistants'"
const IS_PAID_CHANNEL =
  "channel in ('Paid Search', 'Paid Social', 'Paid Video', 'Paid Shopping', 'Paid Other', 'Display', 'Cross-network')"
/**
 * An assistant's visit. The tags of an advertisement outrank the assistant that repeated its link, so the referrer tells
 * then. An advertisement in an assistant has the assistant as its source, and is not a citation. `case` and not `or`, because
 * DuckDB 1.5 tests all parts of a condition in `filter`.
 */
const isFromAssistant = (dialect: Dialect): Sql => sql`
  case when ${raw(IS_ASSISTANT_CHANNEL)} then true
    when ${raw(IS_PAID_CHANNEL)} then ${dialect.matches(raw('referrer'), ASSISTANT_REFERRER_PATTERN)}
      and not ${dialect.matches(raw('source'), ASSISTANT_NAME_PATTERN)}
    else false end`
export const IS_FIRST_VIEW = 'timestamp = session_start and pathname = entry_page'
/** The pageview with which a session from an AI assistant began; a session has one. */
const isArrival = (dialect: Dialect): Sql =>
  sql`case when ${raw(IS_FIRST_VIEW)} then ${isFromAssistant(dialect)} else false end`
/** The sender of an arrival, as the source or the assistant in the referrer. */
export const arrivingAssistant = (dialect: Dialect): Sql => sql`
  case when ${isArrival(dialect)} then
    case when ${raw(IS_ASSISTANT_CHANNEL)} then source
      else ${dialect.firstGroup(raw('referrer'), ASSISTANT_REFERRER_PATTERN)} end end`

/** A successful read of a page. A 304 names no content type; `is_pageview` or the path's ending decides then. */
const IS_PAGE_READ = `method = 'GET' and status in (200, 206, 304) and case when content_type is null
    then status = 304 and (is_pageview or lower(pathname) like '%.md' or lower(pathname) like '%.markdown'
      or lower(pathname) like '%.pdf')
    else content_type in ('text/html', 'application/xhtml+xml', 'text/markdown', 'text/x-markdown', 'application/pdf')
    end`

/** A column that counts rows of one key: how it is computed from rows, and how several are combined. */
interface CountColumn {
  readonly total: 'sum' | 'min' | 'max'
  readonly type: AggregateType
  /** `among`: the condition that all rows pass already; testing it again costs a fifth of the statement. */
  value(dialect: Dialect, among?: Expression): Sql
  /** The rows that it is about; absent: all. */
  readonly of?: Expression
}
function filterClause(dialect: Dialect, among?: Expression, of?: Expression, where?: string): Sql {
  const conditions = [of === among ? undefined : of, where].filter((each) => each !== undefined)
  const all = conditions.map((each) => expressionSql(each, dialect))
  return all.length > 0 ? sql` filter (where ${join(all, ' and ')})` : raw('')
}
const count = (of?: string, where?: string): CountColumn => column(['sum', 'count'], 'count(*)', of, where)
function column(
  [total, type]: readonly [CountColumn['total'], AggregateType],
  text: string,
  of?: Expression,
  where?: string,
): CountColumn {
  const value = (dialect: Dialect, among?: Expression) => sql`${raw(text)}${filterClause(dialect, among, of, where)}`
  return { total, type, value, ...(of ? { of } : {}) }
}

const FETCH_COUNTS = {
  fetches: count(),
  pages: count(undefined, 'is_pageview'),
  bytes: column(['sum', 'bigint'], 'sum(bytes)'),
  verified_fetches: count(undefined, "verification in ('ranges', 'rdns', 'web_bot_auth')"),
  spoofed: count(undefined, IS_SPOOFED),
  indeterminate: count(undefined, "verification = 'indeterminate'"),
  unverifiable: count(undefined, "verification = 'unverifiable'"),
  last_seen: column(['max', 'timestamp'], 'max(timestamp)'),
  attempts: count(IS_FOR_ANSWERS),
  page_reads: count(IS_FOR_ANSWERS, IS_PAGE_READ),
}

/** A table of daily counts: `site_id, day`, the keys and the counts. */
interface DailyTable {
  readonly from: 'events' | 'agent_events'
  /** The rows that are counted. */
  readonly where: string
  readonly keys: Readonly<Record<string, Expression>>
  readonly counts: Readonly<Record<string, CountColumn>>
}

export const DAILY_TABLES = {
  daily_urls: {
    from: 'agent_events',
    where: 'true',
    keys: { hostname: 'hostname', pathname: 'pathname' },
    counts: {
      ...FETCH_COUNTS,
      refused: count(IS_FOR_ANSWERS, `(status in (401, 403, 429) or not ${IS_SERVED})`),
      readings: count(IS_READING),
      first_crawl: column(['min', 'timestamp'], 'min(timestamp)', IS_GENUINE),
      last_crawl: column(['max', 'timestamp'], 'max(timestamp)', IS_GENUINE),
      // The time of the last response in half milliseconds since 1970; an odd number is a success, which wins a tie.
      last_response: {
        ...({ total: 'max', type: 'bigint' } as const),
        value: (dialect: Dialect, among?: Expression) => sql`max(${dialect.epochMs(raw('timestamp'))} * 2
          + case when status between 200 and 299 or status = 304 then 1 else 0 end)${filterClause(dialect, among, IS_READING)}`,
        of: IS_READING,
      },
    },
  },
  daily_agents: {
    from: 'agent_events',
    where: 'true',
    keys: { agent_id: 'agent_id', operator: 'operator', purpose: 'purpose' },
    counts: FETCH_COUNTS,
  },
  daily_views: {
    from: 'events',
    where: "kind = 'pageview'",
    // `assistant`: who sent an arrival from an AI assistant, as the source or the host of the referrer.
    keys: { hostname: 'hostname', pathname: 'pathname', assistant: arrivingAssistant },
    counts: {
      views: count(),
      arrivals: {
        ...({ total: 'sum', type: 'count' } as const),
        value: (dialect: Dialect, among?: Expression) => sql`count(distinct session_id)
          filter (where ${among === isFromAssistant ? raw(IS_FIRST_VIEW) : isArrival(dialect)})`,
        // Not the whole condition: after `timestamp = session_start` DuckDB 1.5 no longer skips by time.
        of: isFromAssistant,
      },
    },
  },
} as const satisfies Record<string, DailyTable>

export type DailyTableName = keyof typeof DAILY_TABLES
export const DAILY_NAMES = ['daily_urls', 'daily_agents', 'daily_views'] as const satisfies DailyTableName[]

/** The agents of a URL on a day, as words of an id and a state (`agentState`), in the order of the ids. */
const AGENTS = 'agents'

/** The columns of a table of daily counts and their types. */
export const dailyColumns = (name: DailyTableName): Readonly<Record<string, AggregateType>> => ({
  ...({ site_id: 'integer', day: 'timestamp' } as const),
  ...Object.fromEntries(Object.keys(DAILY_TABLES[name].keys).map((key) => [key, 'varchar'])),
  ...Object.fromEntries(Object.entries<CountColumn>(DAILY_TABLES[name].counts).map(([key, { type }]) => [key, type])),
  ...(name === 'daily_urls' ? { [AGENTS]: 'varchar' } : {}),
})

/** Whether the last judged fetch was allowed, `+` or `-`, null without one. Of two in one millisecond an allowed one wins. */
export const judgedState = (dialect: Dialect): Sql => sql`
  case max(${dialect.epochMs(raw('timestamp'))} * 2 + case when robots_allowed then 1 else 0 end)
      filter (where ${raw(IS_JUDGED)}) % 2
    when 1 then '+' when 0 then '-' end`

/**
 * The state of one agent's fetches of one URL in some time, one character: `s` all are spoofed or refused by a rule,
 * `o` it does not read for people, `?` it reads and robots.txt was not judged; `+` and `-`: `judgedState`. Computed from the agent's rows.
 */
const agentState = (dialect: Dialect): Sql => sql`
  coalesce(${judgedState(dialect)},
    case when count(*) filter (where ${raw(IS_READING)}) > 0 then '?'
      when count(*) filter (where ${raw(IS_GENUINE)}) > 0 then 'o' else 's' end)`

interface DaySelection {
  readonly dialect: Dialect
  /** The rows that are counted. */
  readonly where: Sql
  /** Joins the texts `agent_id || state` of a group, with spaces between them, in the order of `agent_id`. */
  readonly agents: Sql
}

/** Selects the columns of a table of daily counts, in their order, from the rows of whole days. */
export function selectDays(name: DailyTableName, { dialect, where, agents }: DaySelection): Sql {
  const table = DAILY_TABLES[name]
  const rows = sql`${raw(table.from)} where ${where} and ${raw(table.where)}`
  const names = ['site_id', 'day', ...Object.keys(table.keys)].join(', ')
  const keys = join(
    [
      raw("site_id, date_trunc('day', timestamp) as day"),
      ...Object.entries<Expression>(table.keys).map(([key, value]) =>
        key === value ? raw(key) : sql`${expressionSql(value, dialect)} as ${raw(key)}`,
      ),
    ],
    ', ',
  )
  const counts = Object.entries<CountColumn>(table.counts).map(
    ([count, { value }]) => sql`${value(dialect)} as ${raw(count)}`,
  )
  const counted = sql`select ${keys}, ${join(counts, ', ')} from ${rows} group by ${raw(names)}`
  if (name !== 'daily_urls') return counted
  return sql`
    select ${raw(Object.keys(dailyColumns(name)).join(', '))} from (${counted}) c join (
      select ${raw(names)}, ${agents} as ${raw(AGENTS)}
      from (select ${keys}, agent_id, ${agentState(dialect)} as state from ${rows} group by ${raw(names)}, agent_id) s
      group by ${raw(names)}) a using (${raw(names)})`
}
