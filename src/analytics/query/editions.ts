import { DAY_MS } from '../../base/time-units.js'
import { IS_GENUINE } from '../../storage/aggregates/daily-counts.js'
import { isIn, raw, type Sql, sql } from '../../storage/sql.js'
import { operatorOfAssistant } from './citations.js'
import { filterCondition } from './conditions.js'
import { dailyCounts } from './counted-days.js'
import { type Plan, planForTable, planForUrlList } from './plan.js'
import type { Assistant } from './read-context.js'
import { beforeWindowEnd, inWindow } from './window-conditions.js'

/** A page that is not on the list of a sitemap, or without a date there, has no verdict. */
export const LASTMOD_VERDICTS = ['agrees', 'missed', 'unfounded'] as const

/** A read that leaves the agent with the page: its bytes, or that they are the same. */
const IS_READ = raw(`method = 'GET' and status in (200, 304) and ${IS_GENUINE}`)
/** Agents that search and answer for people. */
export const FOR_PEOPLE = raw("coalesce(purpose in ('search', 'assistant'), false)")

const ofSamples = (plan: Plan): Sql => sql`site_id = ${plan.site} and ${filterCondition(planForUrlList(plan))}`

/** Selects the editions of pages that were present at the window's end. */
export const presentEditions = (
  plan: Plan,
  columns = raw('title, first_seen, last_seen, prior_seen, varies'),
): Sql => sql`
  select hostname, pathname, ${columns} from page_samples
  where ${ofSamples(plan)} and first_seen < ${plan.window.end}
    and (replaced_at is null or replaced_at >= ${plan.window.end})`

/**
 * Selects the same with `lastmod` and `lastmod_verdict`: `missed` if the sitemap has an older date than the edition before was
 * seen at, `unfounded` if it has a date at which the text stayed the same. Dates may be off by a day, because many have no time.
 */
const withLastmod = (plan: Plan, sitemap: Sql): Sql => {
  const { dialect } = plan
  const moved = (column: string, ms: number) => dialect.addMs(raw(column), sql`${ms}`)
  return sql`
    select p.hostname as hostname, p.pathname as pathname, title, first_seen, last_seen, prior_seen, varies, lastmod,
      case when varies or lastmod is null then null
        when prior_seen is not null and lastmod < ${moved('prior_seen', -DAY_MS)} then 'missed'
        when lastmod > ${moved('first_seen', DAY_MS)} and lastmod <= last_seen then 'unfounded'
        else 'agrees' end as lastmod_verdict
    from (${presentEditions(plan)}) p
    left join (select hostname, pathname, max(lastmod) as lastmod from ${sitemap} group by hostname, pathname) m
      on m.hostname = p.hostname and m.pathname = p.pathname`
}

/** Selects the window's arrivals at pages by the operator that sent them: `hostname, pathname, operator, arrivals`. */
export const arrivalsByOperator = (plan: Plan, assistants: readonly Assistant[], where = raw('true')): Sql => sql`
  select hostname, pathname, ${operatorOfAssistant(assistants)} as operator, sum(arrivals) as arrivals
  from (${dailyCounts(plan, 'daily_views', ['arrivals'])}) v
  where arrivals > 0 and ${where} group by hostname, pathname, 3`

/** Selects when agents read pages last, by these columns: `hostname, pathname, …, last_read`. */
export const lastReads = (plan: Plan, columns: string, where: Sql): Sql => {
  const side = planForTable(plan, 'agent_events')
  return sql`
    select hostname, pathname, ${raw(columns)}, max(timestamp) as last_read from agent_events
    where ${beforeWindowEnd(plan)} and ${IS_READ} and ${where} and ${filterCondition(side)}
    group by hostname, pathname, ${raw(columns)}`
}

/**
 * Selects every sampled page: `hostname, pathname, title, first_seen, last_seen, prior_seen, varies, lastmod, lastmod_verdict`;
 * `readers`, the arrivals of the window from assistants; and `at_stake`, those from operators of which no agent for people has
 * read the page since the edition before was seen last.
 */
export function editionRows(plan: Plan, assistants: readonly Assistant[], sitemap: Sql): Sql {
  const isOld = raw('prior_seen is not null and not varies and operator is not null')
  const sampled = sql`(hostname, pathname) in (select hostname, pathname from (${presentEditions(plan)}) s)`
  return sql`
    select hostname, pathname, min(title) as title, min(first_seen) as first_seen, min(last_seen) as last_seen,
      min(prior_seen) as prior_seen, max(case when prior_seen is null or varies then 0 else 1 end) as changed,
      max(case when varies then 1 else 0 end) as varying, min(lastmod) as lastmod,
      min(lastmod_verdict) as lastmod_verdict, coalesce(sum(arrivals), 0) as readers,
      coalesce(sum(case when ${isOld} and (last_read is null or last_read <= prior_seen) then arrivals end), 0) as at_stake
    from (
      select p.hostname as hostname, p.pathname as pathname, title, first_seen, last_seen, prior_seen, varies, lastmod,
        lastmod_verdict, a.operator as operator, arrivals, last_read
      from (${withLastmod(plan, sitemap)}) p
      left join (${arrivalsByOperator(plan, assistants)}) a on a.hostname = p.hostname and a.pathname = p.pathname
      left join (${lastReads(plan, 'operator', sql`${FOR_PEOPLE} and ${sampled}`)}) r
        on r.hostname = a.hostname and r.pathname = a.pathname and r.operator = a.operator) e
    group by hostname, pathname`
}

/** Selects the agents that read any page in the window, the most active first: `agent_id, operator, fetches`. */
export const readingAgents = (plan: Plan, limit: number): Sql => {
  const side = planForTable(plan, 'agent_events')
  return sql`
    select agent_id, max(operator) as operator, count(*) as fetches from agent_events
    where ${inWindow(plan)} and is_pageview and ${IS_READ} and coalesce(purpose not in ('monitor', 'seo'), true)
      and ${filterCondition(side)}
    group by agent_id order by fetches desc, agent_id limit ${limit}`
}

/** Selects `pages, changed` (those with a new edition in the window), `varying`, and the pages of each verdict on `lastmod`. */
export const editionCounts = (plan: Plan, sitemap: Sql): Sql => {
  const count = (condition: string) => sql`count(*) filter (where ${raw(condition)})`
  const { start, end } = plan.window
  const verdicts = LASTMOD_VERDICTS.map(
    (verdict) => sql`, ${count(`lastmod_verdict = '${verdict}'`)} as ${raw(verdict)}`,
  )
  return sql`
    select count(*) as pages, ${count('varies')} as varying,
      (select count(*) from (
        select hostname, pathname from page_samples where ${ofSamples(plan)} and prior_seen is not null and not varies
          and first_seen >= ${start} and first_seen < ${end} group by hostname, pathname) c) as changed
      ${verdicts.reduce((all, one) => sql`${all}${one}`)}
    from (${withLastmod(plan, sitemap)}) p`
}

/**
 * Selects how soon the agents for people of operators that send people read changed pages again: `agent_id, operator, changes`
 * (editions of the window of pages that it had read before), `reread` (those that it read while they were present), and
 * `delay`, the median of their milliseconds.
 */
export const rereads = (plan: Plan, assistants: readonly Assistant[], limit: number): Sql => {
  const { dialect, window } = plan
  const side = planForTable(plan, 'agent_events')
  const operators = [...new Set(assistants.map(({ operator }) => operator))]
  const read = raw(
    'case when timestamp >= first_seen and (replaced_at is null or timestamp < replaced_at) then timestamp end',
  )
  return sql`
    select agent_id, max(operator) as operator, count(*) as changes, count(again) as reread,
      ${dialect.quantile(sql`${dialect.epochMs(raw('again'))} - ${dialect.epochMs(raw('first_seen'))}`, 0.5)} as delay
    from (
      select agent_id, max(operator) as operator, c.hostname, c.pathname, first_seen, min(${read}) as again,
        max(case when timestamp <= prior_seen then 1 else 0 end) as had
      from (
        select hostname, pathname, first_seen, prior_seen, replaced_at from page_samples
        where ${ofSamples(plan)} and prior_seen is not null and not varies
          and first_seen >= ${window.start} and first_seen < ${window.end}) c
      join (
        select hostname, pathname, agent_id, operator, timestamp from agent_events
        where ${beforeWindowEnd(plan)} and ${IS_READ} and ${FOR_PEOPLE} and ${isIn(raw('operator'), operators)}
          and ${filterCondition(side)}) e on e.hostname = c.hostname and e.pathname = c.pathname
      group by agent_id, c.hostname, c.pathname, first_seen) r
    where had = 1 group by agent_id order by changes desc, agent_id limit ${limit}`
}
