import { IS_INTERACTIVE } from '../../storage/aggregates/session-aggregates.js'
import { join, raw, type Sql, sql } from '../../storage/sql.js'
import {
  canUsePageAggregates,
  canUseSessionAggregates,
  excludesVaryingTraits,
  priorColumn,
  splitHits,
  splitSessions,
  visitorsLeftOut,
} from './aggregate-split.js'
import { aggregateCondition, filterCondition, sourceRows } from './conditions.js'
import { isBehavioural } from './filters.js'
import { type Grouping, groupColumns, TOTAL } from './grouping.js'
import type { Plan } from './plan.js'
import { sessionsFromHits } from './sessions.js'

/** A sum over aggregates and over the hits that no aggregate replaces; `bounces` counts among `entries`. */
type Sum = (typeof SUMS)[number]
const SUMS = [
  ...(['visitors', 'pageviews', 'events', 'sessions', 'ms', 'views', 'entries', 'exits', 'bounces'] as const),
  ...(['engaged_ms', 'engaged', 'scrolled', 'scrolls'] as const),
] as const
type Sums = Partial<Record<Sum, Sql>>

/** Rows by `value` and what they add to each sum; `from` is the statement's text after its columns. */
interface SumSource {
  readonly value: Sql
  readonly sums: Sums
  readonly from: Sql
}

/** The sums that each metric needs, and its formula unless it is a sum itself. */
export const METRIC_FORMULAS: Readonly<Record<string, readonly [sums: readonly Sum[], formula?: string]>> = {
  visitors: [['visitors']],
  sessions: [['sessions']],
  pageviews: [['pageviews']],
  bounce: [['bounces', 'entries'], 'bounces * 1.0 / nullif(entries, 0)'],
  bounces: [['bounces']],
  duration: [['ms', 'sessions'], 'ms * 1.0 / nullif(sessions, 0) / 1000'],
  views_per_session: [['views', 'sessions'], 'views * 1.0 / nullif(sessions, 0)'],
  events: [['events']],
  entries: [['entries']],
  exits: [['exits']],
  exit_rate: [['exits', 'pageviews'], 'case when pageviews > 0 then least(1.0, exits * 1.0 / pageviews) end'],
  time_on_page: [['engaged_ms', 'engaged'], 'engaged_ms * 1.0 / nullif(engaged, 0) / 1000'],
  scroll_depth: [['scrolled', 'scrolls'], 'scrolled * 1.0 / nullif(scrolls, 0)'],
}

/**
 * Selects `value` and these metrics from all sources together. Sums that no metric needs are left out, because the engine
 * computes them even if nothing reads them.
 */
function metricsFromSums(metrics: readonly string[], sources: readonly SumSource[], { dialect }: Plan): Sql {
  const needed = SUMS.filter((sum) => metrics.some((metric) => METRIC_FORMULAS[metric]?.[0].includes(sum)))
  const selected = sources
    .filter(({ sums }) => needed.some((sum) => sums[sum] !== undefined))
    .map(({ value, sums, from }) => {
      const columns = needed.map((sum) => sql`, ${dialect.toInteger(sums[sum] ?? raw('0'))} as ${raw(sum)}`)
      return sql`select ${value} as value${join(columns, '')} ${from}`
    })
  return sql`
    select value, ${raw(metrics.map((metric) => `${METRIC_FORMULAS[metric]?.[1] ?? metric} as ${metric}`).join(', '))}
    from (
      select value, ${raw(needed.map((sum) => `sum(${sum}) as ${sum}`).join(', '))}
      from (${join(selected, ' union all ')}) b
      group by value) p`
}

const SESSION_SUMS: Sums = {
  sessions: raw('count(*)'),
  entries: raw('count(*)'),
  bounces: raw('sum(bounced)'),
  ms: raw('sum(ms)'),
  views: raw('sum(views)'),
}

/**
 * Selects `value` and these metrics of people in the window from aggregated sessions. Undefined if the hits themselves, or
 * a set of visitor ids, are needed.
 */
export function metricsFromAggregates(plan: Plan, by: Grouping, metrics: readonly string[]): Sql | undefined {
  const { filters } = plan
  const { aggregates, isWhole, hits } = splitHits(plan, by)
  const prior = priorColumn(filters, by.dimension)
  if (aggregates === undefined || prior === undefined) return undefined
  const excludeVarying = excludesVaryingTraits(filters, by.dimension)
  const sessionHits = splitSessions(plan, excludeVarying).hits
  const where = filterCondition(plan)
  const passes = aggregateCondition(plan)
  const matchingHits = (from: Sql) =>
    sql`${sourceRows('events', plan, filters, by.dimension, from)} as e where ${where}`
  const start = by.value(raw('started'))
  // A visitor counts in the first aggregated session of a value, or in the hits. The last source subtracts visitors that
  // are in both. Those whose first session may be left out count among the hits.
  const leftOut = visitorsLeftOut(plan)
  const seenBefore = by.dimension ? raw('true') : sql`${by.value(prior)} = ${start}`
  const first = sql`case when ${prior} >= ${plan.window.start} and ${seenBefore} then 0 else 1 end`
  const sources: SumSource[] = [
    {
      value: start,
      sums: {
        ...SESSION_SUMS,
        visitors: sql`sum(case when ${isWhole} then ${first} else 0 end)`,
        pageviews: sql`sum(case when ${isWhole} then views else 0 end)`,
        events: sql`sum(case when ${isWhole} then interactions else 0 end)`,
      },
      // A session whose traits vary has the smallest of each of its traits, a combination that may never have occurred. Its hits
      // are read instead.
      from: sql`from ${aggregates} as s where ${passes} ${excludeVarying ? raw('and not traits_vary') : raw('')} group by ${groupColumns(by)}`,
    },
    {
      value: raw('value'),
      sums: SESSION_SUMS,
      from: sql`
        from (select session_id, ${by.value(raw('session_start'))} as value
          from ${matchingHits(sessionHits)} group by session_id, value) m
        join (${sessionsFromHits(sessionHits, plan.dialect)}) s on s.session_id = m.session_id group by value`,
    },
    {
      value: raw('value'),
      sums: {
        visitors: raw('count(distinct visitor_id)'),
        pageviews: raw('sum(is_view)'),
        events: raw('sum(is_interaction)'),
      },
      from: raw('from hit group by value'),
    },
    {
      value: raw('value'),
      sums: { visitors: sql`-sum(case when ${isWhole} then ${first} else 0 end)` },
      from: sql`
        from (select *, ${start} as value from ${aggregates} as a
          where visitor_id in (${plan.dialect.distinctList(raw('visitor_id'), raw('hit'))})) s
        join (select distinct visitor_id as hit_visitor, value as hit_value from hit) h
          on h.hit_visitor = s.visitor_id and h.hit_value is not distinct from s.value
        where ${passes}
        group by value`,
    },
  ]
  return sql`
    with hit as materialized (
      select ${by.value(raw('timestamp'))} as value, visitor_id, case when kind = 'pageview' then 1 else 0 end as is_view,
        case when ${IS_INTERACTIVE} then 1 else 0 end as is_interaction
      from ${matchingHits(hits)}
      ${leftOut ? sql`union all select ${start}, visitor_id, 0, 0 from ${aggregates} s where ${isWhole} and ${passes} and visitor_id in (${leftOut})` : raw('')})
    ${metricsFromSums(metrics, sources, plan)}`
}

const PAGE_SUMS: Sums = {
  sessions: raw('count(*)'),
  ms: raw('sum(ms)'),
  views: raw('sum(views)'),
  entries: raw('sum(entered)'),
  exits: raw('sum(exited)'),
  bounces: raw('sum(bounced * entered)'),
  engaged_ms: raw('sum(engaged_ms)'),
  engaged: raw('count(engaged_ms)'),
  scrolled: raw('sum(scroll)'),
  scrolls: raw('count(scroll)'),
}

/** The pages that pass the filters: of aggregated sessions, and hits of all others. */
export interface PassingPages {
  /** Selects rows of `session_pages`; `whole`: all hits of the session lie in the window and are one visitor's. */
  readonly aggregated: Sql
  /** The hits of the other sessions that started in the window, as the text after `from`. */
  readonly sessionHits: Sql
  /** Selects those sessions, with their hits that pass no filter. */
  readonly otherSessions: Sql
  /** The hits in the window that are in no whole session, as the text after `from`. */
  readonly hits: Sql
}

/** Undefined without aggregates, or if the filters need the hits themselves. */
export function passingPages(plan: Plan): PassingPages | undefined {
  const { filters } = plan
  const pages = splitSessions(plan, false, 'session_pages')
  if (!pages.aggregates) return undefined
  const where = filterCondition(plan)
  const passes = aggregateCondition(plan)
  if (canUsePageAggregates(filters)) {
    return {
      aggregated: sql`select *, (ended < ${plan.window.end} and visitor_ids = 1) as whole from ${pages.aggregates} s where ${passes}`,
      sessionHits: sql`${pages.hits} e where ${where}`,
      otherSessions: sessionsFromHits(pages.hits, plan.dialect),
      hits: sql`${splitHits({ ...plan, filters: [] }, TOTAL).hits} e where ${where}`,
    }
  }
  // Filters that hold on all hits of a session or on none.
  if (filters.some(isBehavioural) || !canUseSessionAggregates(filters)) return undefined
  const { aggregates, hits: sessionHits } = splitSessions(plan, excludesVaryingTraits(filters))
  const { isWhole, hits } = splitHits(plan, TOTAL)
  if (!aggregates) return undefined
  const passing = (from: Sql) => sql`${sourceRows('events', plan, filters, undefined, from)} as e where ${where}`
  return {
    aggregated: sql`
      select p.*, whole from ${pages.aggregates} p
      join (select session_id, ${isWhole} as whole from ${aggregates} a where ${passes}) s on s.session_id = p.session_id`,
    sessionHits: passing(sessionHits),
    otherSessions: sessionsFromHits(sessionHits, plan.dialect),
    hits: passing(hits),
  }
}

/**
 * Selects each path as `value` with these metrics of people or of pages (`entries, exits, exit_rate, time_on_page,
 * scroll_depth`) from the aggregated pages of sessions. Undefined if the hits themselves are needed.
 */
export function pageMetricsFromAggregates(plan: Plan, metrics: readonly string[]): Sql | undefined {
  const pages = passingPages(plan)
  if (!pages) return undefined
  if (!canUsePageAggregates(plan.filters)) return pageMetricsOfSessions(plan, metrics, pages)
  const { aggregated, hits } = pages
  // A visitor counts in the first aggregated session that saw the page, or in the hits. The last source subtracts
  // visitors that are in both. Those whose first session may be left out count among the hits.
  const leftOut = visitorsLeftOut(plan)
  const others = leftOut
    ? sql`union all select pathname, visitor_id, '' from (${aggregated} and visitor_id in (${leftOut})) s where whole`
    : raw('')
  const first = sql`case when whole and (prior is null or prior < ${plan.window.start}) then 1 else 0 end`
  const value = raw('pathname')
  const sources: SumSource[] = [
    {
      value,
      sums: { ...PAGE_SUMS, ...PAGE_SUMS_OF_WHOLE, visitors: sql`sum(${first})` },
      from: sql`from (${aggregated}) s group by pathname`,
    },
    pagesFromHits(pages),
    {
      value,
      sums: { visitors: raw('count(distinct visitor_id)'), ...PAGE_HITS },
      from: raw('from hit group by pathname'),
    },
    {
      value,
      sums: { visitors: sql`-sum(${first})` },
      from: sql`
        from (${aggregated} and visitor_id in (${plan.dialect.distinctList(raw('visitor_id'), raw('hit'))})) s
        where (pathname, visitor_id) in (select pathname, visitor_id from hit)
        group by pathname`,
    },
  ]
  return sql`
    with hit as materialized (select pathname, visitor_id, kind from ${hits} ${others})
    ${metricsFromSums(metrics, sources, plan)}`
}

/** The same with filters that hold on all hits of a session or on none. Visitors are counted as a set. */
function pageMetricsOfSessions(plan: Plan, metrics: readonly string[], pages: PassingPages): Sql {
  const value = raw('pathname')
  const sources: SumSource[] = [
    { value, sums: { ...PAGE_SUMS, ...PAGE_SUMS_OF_WHOLE }, from: raw('from page group by pathname') },
    pagesFromHits(pages),
    { value, sums: PAGE_HITS, from: raw('from hit group by pathname') },
  ]
  const sums = metricsFromSums(
    metrics.filter((metric) => metric !== 'visitors'),
    sources,
    plan,
  )
  // An earlier session with the page need not pass.
  const visitors = sql`
    left join (
      select pathname as value, count(distinct visitor_id) as visitors
      from (select pathname, visitor_id from page where whole union all select pathname, visitor_id from hit) b
      group by pathname) v using (value)`
  return sql`
    with hit as materialized (select pathname, visitor_id, kind from ${pages.hits}),
    page as materialized (${pages.aggregated})
    select value, ${raw(metrics.join(', '))} from (${sums}) m ${metrics.includes('visitors') ? visitors : raw('')}`
}

/** Pages of sessions that no aggregate replaces. */
const pagesFromHits = ({ sessionHits, otherSessions }: PassingPages): SumSource => ({
  value: raw('pathname'),
  sums: PAGE_SUMS,
  from: sql`
    from (
      select pathname, ms, views, bounced, engaged_ms, scroll,
        case when entry_page = pathname then 1 else 0 end as entered,
        case when exit_page = pathname then 1 else 0 end as exited
      from (select session_id, pathname, sum(engaged_ms) as engaged_ms, max(scroll) as scroll
        from ${sessionHits} group by session_id, pathname) p
      join (${otherSessions}) s on s.session_id = p.session_id) m
    group by pathname`,
})

/** Sums over the window, of sessions that lie in it as a whole. */
const PAGE_SUMS_OF_WHOLE: Sums = {
  pageviews: raw('sum(case when whole then page_views else 0 end)'),
  events: raw('sum(case when whole then page_interactions else 0 end)'),
}
const PAGE_HITS: Sums = {
  pageviews: raw("count(*) filter (where kind = 'pageview')"),
  events: sql`count(*) filter (where ${IS_INTERACTIVE})`,
}
