import { type Dialect, raw, type Sql, sql } from '../sql.js'
import { excludesMixed, priorColumn, splitHits, splitSessions } from './aggregate-split.js'
import { filterCondition, sourceRows } from './conditions.js'
import { type Grouping, groupColumns } from './grouping.js'
import type { Plan } from './plan.js'
import { IS_INTERACTIVE, sessionsFromHits } from './sessions.js'
import { metricsFromSums, type SumSource, type Sums } from './sums.js'

const SESSION_SUMS: Sums = {
  sessions: raw('count(*)'),
  entries: raw('count(*)'),
  bounces: raw('sum(bounced)'),
  ms: raw('sum(ms)'),
  views: raw('sum(views)'),
}

/**
 * What people did in the window, from where sessions are kept summed up, asked once for all: `value` and these metrics of
 * people. Undefined where their hits have to be asked, or a set of who they are.
 */
export function metricsFromAggregates(
  plan: Plan,
  dialect: Dialect,
  by: Grouping,
  metrics: readonly string[],
): Sql | undefined {
  const { filters } = plan
  const { sealed, isWhole: whole, rest } = splitHits(plan, by)
  const prior = priorColumn(filters, by.dimension)
  if (sealed === undefined || prior === undefined) return undefined
  const steady = excludesMixed(filters, by.dimension)
  const visits = splitSessions(plan, steady).rest
  const where = filterCondition(plan, dialect)
  const hits = (from: Sql) =>
    sql`${sourceRows('events', plan, dialect, filters, by.dimension, from)} as e where ${where}`
  const start = by.value(raw('started'))
  // A visitor counts in the first sealed session of a value, or in the hits: the last part takes back who was in both.
  const again = by.dimension ? raw('true') : sql`${by.value(prior)} = ${start}`
  const first = sql`case when ${prior} >= ${plan.window.start} and ${again} then 0 else 1 end`
  const parts: SumSource[] = [
    {
      value: start,
      sums: {
        ...SESSION_SUMS,
        visitors: sql`sum(case when ${whole} then ${first} else 0 end)`,
        pageviews: sql`sum(case when ${whole} then views else 0 end)`,
        events: sql`sum(case when ${whole} then acts else 0 end)`,
      },
      // One whose traits vary has the least of each, which may never have been together: its hits say what it was.
      from: sql`from ${sealed} as s where ${where} ${steady ? raw('and not mixed') : raw('')} group by ${groupColumns(by)}`,
    },
    {
      value: raw('value'),
      sums: SESSION_SUMS,
      from: sql`
        from (select session_id, ${by.value(raw('session_start'))} as value
          from ${hits(visits)} group by session_id, value) m
        join (${sessionsFromHits(visits, dialect)}) s on s.session_id = m.session_id group by value`,
    },
    {
      value: raw('value'),
      sums: { visitors: raw('count(distinct visitor_id)'), pageviews: raw('sum(view)'), events: raw('sum(act)') },
      from: raw('from hit group by value'),
    },
    {
      value: raw('value'),
      sums: { visitors: sql`-sum(case when ${whole} then ${first} else 0 end)` },
      from: sql`
        from (select *, ${start} as value from ${sealed} as a
          where visitor_id in (${dialect.distinctList(raw('visitor_id'), raw('hit'))})) s
        where ${where} and exists (
          select 1 from hit h where h.visitor_id = s.visitor_id and h.value is not distinct from s.value)
        group by value`,
    },
  ]
  return sql`
    with hit as materialized (
      select ${by.value(raw('timestamp'))} as value, visitor_id, case when kind = 'pageview' then 1 else 0 end as view,
        case when ${IS_INTERACTIVE} then 1 else 0 end as act
      from ${hits(rest)})
    ${metricsFromSums(metrics, parts)}`
}
