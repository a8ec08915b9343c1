import { type Dialect, raw, type Sql, sql } from '../sql.js'
import { canUsePageAggregates, splitHits, splitSessions } from './aggregate-split.js'
import { filterCondition } from './conditions.js'
import type { Plan } from './plan.js'
import { IS_INTERACTIVE, sessionsFromHits } from './sessions.js'
import { metricsFromSums, type SumSource, type Sums } from './sums.js'

const SESSION_PAGE_SUMS: Sums = {
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

/**
 * Every path that people saw, from where pages of sessions are kept summed up: `value` and these metrics of it, of people
 * or `entries, exits, exit_rate, time_on_page, scroll_depth`. Undefined where the hits themselves have to be asked.
 */
export function pageMetricsFromAggregates(plan: Plan, dialect: Dialect, metrics: readonly string[]): Sql | undefined {
  const { sealed, rest } = splitSessions(plan, false, 'session_pages')
  if (!sealed || !canUsePageAggregates(plan.filters)) return undefined
  const hits = splitHits({ ...plan, filters: [] }, { value: () => raw('0') }).rest
  const where = filterCondition(plan, dialect)
  const whole = sql`ended < ${plan.window.end} and ids = 1`
  // A visitor counts in the first sealed session that saw the page, or in the hits: who is in both is taken back.
  const first = sql`case when prior >= ${plan.window.start} then 0 else 1 end`
  const pathname = raw('pathname')
  const parts: SumSource[] = [
    {
      value: pathname,
      sums: {
        ...SESSION_PAGE_SUMS,
        visitors: sql`sum(case when ${whole} then ${first} else 0 end)`,
        pageviews: sql`sum(case when ${whole} then page_views else 0 end)`,
        events: sql`sum(case when ${whole} then page_acts else 0 end)`,
      },
      from: sql`from ${sealed} s where ${where} group by pathname`,
    },
    {
      value: pathname,
      sums: SESSION_PAGE_SUMS,
      from: sql`
        from (
          select pathname, ms, views, bounced, engaged_ms, scroll,
            case when entry_page = pathname then 1 else 0 end as entered,
            case when exit_page = pathname then 1 else 0 end as exited
          from (select session_id, pathname, sum(engaged_ms) as engaged_ms, max(scroll) as scroll
            from ${rest} e where ${where} group by session_id, pathname) p
          join (${sessionsFromHits(rest, dialect)}) s on s.session_id = p.session_id) m
        group by pathname`,
    },
    {
      value: pathname,
      sums: {
        visitors: raw('count(distinct visitor_id)'),
        pageviews: raw("count(*) filter (where kind = 'pageview')"),
        events: sql`count(*) filter (where ${IS_INTERACTIVE})`,
      },
      from: raw('from hit group by pathname'),
    },
    {
      value: pathname,
      sums: { visitors: sql`-sum(case when ${whole} then ${first} else 0 end)` },
      from: sql`
        from (select * from ${sealed} a where visitor_id in (${dialect.distinctList(raw('visitor_id'), raw('hit'))})) s
        where (pathname, visitor_id) in (select pathname, visitor_id from hit)
        group by pathname`,
    },
  ]
  return sql`
    with hit as materialized (
      select pathname, visitor_id, kind from ${hits} e where ${where})
    ${metricsFromSums(metrics, parts)}`
}
