import { IS_GENUINE } from '../../storage/aggregates/daily-counts.js'
import { MISSING_PAGE } from '../../storage/rows.js'
import { join, raw, type Sql, sql } from '../../storage/sql.js'
import { filterCondition, sourceRows } from './conditions.js'
import { type Plan, planForTable } from './plan.js'
import { beforeWindowEnd, inWindow } from './window-conditions.js'

/** A visit ends 30 minutes after its last request, as sessions do. */
const VISIT_GAP_MS = 30 * 60_000

const IS_MISSING = raw('status in (404, 410)')
/** A fetch of the agent that it names, which no rule of the operator's refused: such an answer says nothing about the page. */
const GENUINE = raw(IS_GENUINE)

/** Paths that scanners ask every site for, as an RE2 pattern: software that a page's reader never asks for by name. */
const PROBE =
  '(?i)^/(?:wp-|wordpress|xmlrpc|phpmyadmin|pma/|cgi-bin/|vendor/|\\.|actuator|boaform|owa/|hnap1|solr/|telescope|_ignition|server-status)|\\.(?:php\\d?|aspx?|jspx?|cgi|env|sql|bak|old|ini|log|ya?ml|swp|git)$|/\\.(?:git|env|svn|aws|ssh)'
const isProbe = ({ dialect }: Plan): Sql => dialect.matches(raw('pathname'), PROBE)

/** People's requests that ended 404 or 410: those without a view, and views that another server declared. */
const MISSING_ROWS = sql`(select * from events where kind = 'pageview' and ${IS_MISSING}
  union all select * from loose_reports where kind = ${MISSING_PAGE})`

/** Selects people's requests for missing pages that pass the filters. */
const missingRequests = (plan: Plan, columns: Sql, where: Sql): Sql => {
  const side = planForTable(plan, 'events')
  return sql`select ${columns} from ${sourceRows('events', side, side.filters, undefined, MISSING_ROWS)} as e
    where ${where} and ${IS_MISSING} and ${filterCondition(side)}`
}

/** Selects all of the window's, with `passes`, 1 for those that pass the filters. */
const allRequests = (plan: Plan, answered = IS_MISSING): Sql => {
  const side = planForTable(plan, 'events')
  return sql`
    select hostname, pathname, visitor_id, timestamp, case when ${filterCondition(side)} then 1 else 0 end as passes
    from ${sourceRows('events', side, side.filters, undefined, MISSING_ROWS)} as e where ${inWindow(plan)} and ${answered}`
}

/** Selects assistants' fetches of missing pages in the window that pass the filters. */
const missingFetches = (plan: Plan, columns: Sql, where = inWindow(plan)): Sql => {
  const side = planForTable(plan, 'agent_events')
  return sql`select ${columns} from agent_events
    where ${where} and purpose = 'assistant' and ${IS_MISSING} and ${GENUINE} and ${filterCondition(side)}`
}

/**
 * Selects people's requests for missing pages: `hostname, pathname, visitor_id, timestamp, lost`, 1 if the request is the last one of
 * the visit. A visitor's next request is a page, or another missing one, whatever the filters.
 */
const requestsWithLoss = (plan: Plan): Sql => {
  const { dialect, site, window } = plan
  const until = new Date(window.end.getTime() + VISIT_GAP_MS)
  const near = sql`site_id = ${site} and timestamp >= ${window.start} and timestamp < ${until}`
  const ms = (column: string) => dialect.epochMs(raw(column))
  // Without a next request, `lead` is null in DuckDB and 1970 in ClickHouse.
  return sql`
    select hostname, pathname, visitor_id, timestamp,
      case when ${ms('next')} - ${ms('timestamp')} between 0 and ${VISIT_GAP_MS} then 0 else 1 end as lost
    from (select *, lead(timestamp) over (partition by visitor_id order by timestamp, other, hostname, pathname) as next
      from (
        select hostname, pathname, visitor_id, timestamp, passes, 0 as other from asked
        union all select hostname, pathname, visitor_id, timestamp, 0 as passes, 1 as other from events
        where ${near} and kind = 'pageview' and (status is null or not ${IS_MISSING})
          and visitor_id in (select visitor_id from asked)) v) w
    where passes = 1`
}

/**
 * Selects every missing page that people or assistants asked for: `hostname, pathname, requests, readers, lost, fetches`.
 * Probes of scanners are left out, or selected alone.
 */
export const missingPages = (plan: Plan, { probes = false } = {}): Sql => {
  const scope = probes ? isProbe(plan) : sql`not ${isProbe(plan)}`
  return sql`
    with asked as materialized (${allRequests(plan)} and ${scope})
    select * from (
      select hostname, pathname, sum(requests) as requests, sum(readers) as readers, sum(lost) as lost, sum(fetches) as fetches
      from (
        select hostname, pathname, count(*) as requests, count(distinct visitor_id) as readers,
          count(distinct case when lost = 1 then visitor_id end) as lost, 0 as fetches
        from (${requestsWithLoss(plan)}) l group by hostname, pathname
        union all
        select hostname, pathname, 0 as requests, 0 as readers, 0 as lost, count(*) as fetches
        from (${missingFetches(plan, raw('hostname, pathname'))} and ${scope}) f group by hostname, pathname) u
      group by hostname, pathname) p
    where requests + fetches > 0`
}

/** A URL with a redirect, and the same number of days before and since that was created. */
export interface RedirectedUrl {
  readonly hostname: string
  readonly pathname: string
  readonly start: Date
  readonly created_at: Date
  readonly end: Date
}

/**
 * Selects people's requests for these URLs that ended 404 or 410, or were redirected: `hostname, pathname, since` (0 before
 * the redirect was created, 1 since then), `requests, readers, lost`.
 */
export const redirectedRequests = (plan: Plan, urls: readonly RedirectedUrl[]): Sql => {
  const sides = urls.map(
    ({ hostname, pathname, start, created_at, end }) => sql`
      when hostname = ${hostname} and pathname = ${pathname} and timestamp >= ${start} and timestamp < ${end}
      then case when timestamp < ${created_at} then 0 else 1 end`,
  )
  return sql`
    with asked as materialized (${allRequests(plan, raw('status in (301, 302, 307, 308, 404, 410)'))} and not ${isProbe(plan)})
    select hostname, pathname, since, count(*) as requests, count(distinct visitor_id) as readers,
      count(distinct case when lost = 1 then visitor_id end) as lost
    from (select *, case ${join(sides, '')} end as since from (${requestsWithLoss(plan)}) l) s
    where since is not null group by hostname, pathname, since`
}

/** Selects the assistants that asked for these URLs: `hostname, pathname, agent_id, fetches`. */
export const missingPageAgents = (plan: Plan, urls: Sql): Sql =>
  sql`select hostname, pathname, agent_id, count(*) as fetches
    from (${missingFetches(plan, raw('hostname, pathname, agent_id'))} and ${urls}) f
    group by hostname, pathname, agent_id order by fetches desc, agent_id`

/**
 * Selects about these URLs, up to the window's end: `hostname, pathname, since` (the first 404 or 410 after the page was
 * last delivered), `last_served`, and `status`, that of the last request; of two in one millisecond the higher. A view that
 * only a script reported does not say what the site answered.
 */
export const missingPageHistory = (plan: Plan, urls: Sql): Sql => {
  const until = beforeWindowEnd(plan)
  const columns = raw('hostname, pathname, timestamp, status')
  const [people, agents] = [planForTable(plan, 'events'), planForTable(plan, 'agent_events')]
  return sql`
    with missing as materialized (
      ${missingRequests(plan, columns, until)} and ${urls} union all ${missingFetches(plan, columns, until)} and ${urls}),
    delivered as materialized (
      select hostname, pathname, max(moment) as last_served from (
        select hostname, pathname, max(timestamp) as moment from ${sourceRows('events', people)} as e
        where ${until} and ${urls} and kind = 'pageview' and status < 400 and ${filterCondition(people)}
        group by hostname, pathname
        union all
        select hostname, pathname, max(timestamp) as moment from agent_events
        where ${until} and ${urls} and status in (200, 206, 304) and ${GENUINE} and ${filterCondition(agents)}
        group by hostname, pathname) s
      group by hostname, pathname)
    select hostname, pathname, min(case when served is null or timestamp > served then timestamp end) as since,
      max(served) as last_served, max(case when timestamp = latest then status end) as status
    from (
      select m.hostname as hostname, m.pathname as pathname, m.timestamp as timestamp, m.status as status,
        d.last_served as served, max(m.timestamp) over (partition by m.hostname, m.pathname) as latest
      from missing m left join delivered d on d.hostname = m.hostname and d.pathname = m.pathname) h
    group by hostname, pathname`
}
