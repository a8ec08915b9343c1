import { z } from 'zod'
import { raw, type Sql, sql } from '../../../storage/sql.js'
import { pageMetricsFromAggregates } from '../../query/aggregate-metrics.js'
import { findDimension } from '../../query/dimensions.js'
import { groupByDimension } from '../../query/group-by-dimension.js'
import { agentsOfPaths } from '../../query/late-metrics.js'
import { hitMetrics, METRICS, matchingSessions, metricsBy } from '../../query/metrics.js'
import type { Plan } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import { sessionsInWindow } from '../../query/sessions.js'
import { Count, metricsRow, Share } from '../shapes.js'

const PAGE_METRICS = [
  'visitors',
  'sessions',
  'pageviews',
  'entries',
  'exits',
  'exit_rate',
  'bounce',
  'time_on_page',
  'scroll_depth',
]

/** GET /api/stats/pages: every path that was viewed, with entries and exits of sessions. */
export default defineRead({
  path: '/api/stats/pages',
  summary: 'Pages: entries, exits, scroll depth, time on page',
  params: {},
  list: true,
  data: z.array(
    metricsRow({
      pathname: z.string(),
      entries: Count.optional().describe('Sessions that began here.'),
      exits: Count.optional().describe('Sessions whose last pageview was here.'),
      exit_rate: Share.optional().describe('Exits over pageviews.'),
      time_on_page: z.number().nonnegative().optional().describe('Mean engaged seconds of a session on the page.'),
      scroll_depth: z.number().min(0).max(100).optional().describe("Mean of each session's deepest scroll, 0 to 100."),
    }),
  ),
  run: async (context) => {
    const { plan } = context
    const human = plan.audience === 'human'
    const late = plan.audience === 'agent' ? agentsOfPaths('pathname') : undefined
    context.meaningful(PAGE_METRICS)
    const data = await context.list(
      {
        key: 'pathname',
        order: human ? ['visitors desc', 'pageviews desc', 'sessions desc'] : ['pageviews desc'],
        metrics: human ? PAGE_METRICS : METRICS[plan.audience],
        late,
      },
      (p) => (human ? peoplePages(p) : audiencePages(p, late?.metrics ?? [])),
    )
    for (const metric of human && data.length > 0 ? ['time_on_page', 'scroll_depth'] : []) {
      if (data.some((row) => metric in row)) continue
      context.warn({ metric, code: 'no_engagement_data', message: `No browser reported ${metric}.` })
    }
    return { data, rows: data.length }
  },
})

const pathname = findDimension('pathname', 'dimension')

const audiencePages = (plan: Plan, late: readonly string[]): Sql => {
  const names = METRICS[plan.audience].filter((metric) => !late.includes(metric))
  const metrics = metricsBy(plan, groupByDimension(pathname, plan), names)
  return sql`select value as pathname, ${raw(names.join(', '))} from (${metrics}) v`
}

/**
 * Sessions count at a page if they have a hit there that passes the filters; engagement and scroll are of those hits.
 */
const peoplePages = (plan: Plan): Sql => {
  const aggregated = pageMetricsFromAggregates(plan, PAGE_METRICS)
  if (aggregated) return sql`select value as pathname, ${raw(PAGE_METRICS.join(', '))} from (${aggregated}) p`
  const by = groupByDimension(pathname, plan)
  const measured = sql`, sum(engaged_ms) as engaged_ms, max(scroll) as scroll`
  return sql`
    select coalesce(by_hits.value, by_sessions.value) as pathname, visitors, sessions, pageviews, entries, exits,
      case when pageviews > 0 then least(1.0, coalesce(exits, 0) * 1.0 / pageviews) end as exit_rate,
      bounce, time_on_page, scroll_depth
    from (${hitMetrics(plan, by)}) by_hits full outer join (
      select value, count(*) as sessions, sum(entered) as entries, count(*) filter (where exit_page = value) as exits,
        avg(case when entered = 1 then bounced end) as bounce, avg(engaged_ms) / 1000 as time_on_page,
        avg(scroll) as scroll_depth
      from (${matchingSessions(plan, by, measured)}) m join (${sessionsInWindow(plan)}) s
        on s.session_id = m.session_id
      group by value) by_sessions on by_hits.value = by_sessions.value`
}
