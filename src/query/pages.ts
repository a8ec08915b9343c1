import { type Dialect, raw, type Sql, sql } from '../sql.js'
import type { Plan } from './plan.js'
import { asksPages, splitHits, splitSessions } from './rollup.js'
import { INTERACTIVE, summed } from './sessions.js'
import { filtered } from './where.js'

/** What is summed up by path, of whatever was measured. */
const SUMS = [
  ...['visitors', 'pageviews', 'events', 'sessions', 'ms', 'views', 'entries', 'exits', 'bounces'],
  ...['engaged_ms', 'engaged', 'scrolled', 'scrolls'],
] as const
type Sums = Partial<Record<(typeof SUMS)[number], Sql>>

const sums = (given: Sums): Sql =>
  SUMS.slice(1).reduce(
    (all, name) => sql`${all}, ${given[name] ?? raw('0')} as ${raw(name)}`,
    sql`${given.visitors ?? raw('0')} as visitors`,
  )

const OF_SESSIONS: Sums = {
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
 * Every path that people saw, from where pages of sessions are kept summed up: `value`, the metrics of people, and
 * `entries, exits, time_on_page, scroll_depth`. Undefined where the hits themselves have to be asked.
 */
export function pagesOfSessions(plan: Plan, dialect: Dialect): Sql | undefined {
  const { sealed, rest } = splitSessions(plan, false, 'session_pages')
  if (!sealed || !asksPages(plan.filters)) return undefined
  const hits = splitHits({ ...plan, filters: [] }, { value: () => raw('0') }).rest
  const where = filtered(plan, dialect)
  const whole = sql`ended < ${plan.window.end} and ids = 1`
  // A visitor counts in the first sealed session that saw the page, or in the hits: who is in both is taken back.
  const first = sql`case when prior >= ${plan.window.start} then 0 else 1 end`
  return sql`
    with hit as materialized (
      select pathname, visitor_id, kind from ${hits} e where ${where})
    select value, visitors, sessions, pageviews, bounces * 1.0 / nullif(entries, 0) as bounce, ms * 1.0 / nullif(sessions, 0) / 1000
      as duration, views * 1.0 / nullif(sessions, 0) as views_per_session, events, entries, exits,
      engaged_ms * 1.0 / nullif(engaged, 0) / 1000 as time_on_page, scrolled * 1.0 / nullif(scrolls, 0) as scroll_depth
    from (
      select pathname as value, ${raw(SUMS.map((name) => `sum(${name}) as ${name}`).join(', '))}
      from (
        select pathname, ${sums({
          ...OF_SESSIONS,
          visitors: sql`sum(case when ${whole} then ${first} else 0 end)`,
          pageviews: sql`sum(case when ${whole} then page_views else 0 end)`,
          events: sql`sum(case when ${whole} then page_acts else 0 end)`,
        })}
        from ${sealed} s where ${where} group by pathname
        union all
        select pathname, ${sums(OF_SESSIONS)}
        from (
          select pathname, ms, views, bounced, engaged_ms, scroll,
            case when entry_page = pathname then 1 else 0 end as entered,
            case when exit_page = pathname then 1 else 0 end as exited
          from (select session_id, pathname, sum(engaged_ms) as engaged_ms, max(scroll) as scroll
            from ${rest} e where ${where} group by session_id, pathname) p
          join (${summed(rest, dialect)}) s on s.session_id = p.session_id) m
        group by pathname
        union all
        select pathname, ${sums({
          visitors: raw('count(distinct visitor_id)'),
          pageviews: raw("count(*) filter (where kind = 'pageview')"),
          events: sql`count(*) filter (where ${INTERACTIVE})`,
        })}
        from hit group by pathname
        union all
        select pathname, ${sums({ visitors: sql`-sum(case when ${whole} then ${first} else 0 end)` })}
        from (select * from ${sealed} a where visitor_id in (${dialect.few(raw('visitor_id'), raw('hit'))})) s
        where (pathname, visitor_id) in (select pathname, visitor_id from hit)
        group by pathname) b
      group by pathname) p`
}
