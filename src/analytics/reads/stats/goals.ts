import { z } from 'zod'
import { join, raw, type Sql, sql } from '../../../storage/sql.js'
import { filterCondition, sourceRows, whereClause } from '../../query/conditions.js'
import { quote } from '../../query/dimensions.js'
import { type Goal, goalFilter } from '../../query/goals.js'
import { TOTAL } from '../../query/grouping.js'
import { hitMetrics, matchingSessions } from '../../query/metrics.js'
import { type Plan, withoutGoalFilters, withWindow } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import { peopleOnly } from '../../query/read-audience.js'
import type { Warning } from '../../query/read-warnings.js'
import { sessionsInWindow } from '../../query/sessions.js'
import { Count, comparableRow, Share } from '../shapes.js'

const METRICS = ['conversions', 'visitors', 'rate']

/**
 * GET /api/stats/goals: every goal of the site. `conversions` are hits in the window that pass the filters and match
 * the goal; for a scroll goal a page counts once per session, and for a duration goal sessions that started in the
 * window count. `rate` is converting visitors over all visitors of the same filters, without conditions on `goal`.
 */
export default defineRead({
  path: '/api/stats/goals',
  summary: 'Conversions, rate and revenue of each goal',
  params: {},
  list: true,
  audience: peopleOnly('/api/agents/breakdown?dimension=pathname'),
  data: z.array(
    comparableRow({
      id: z.int(),
      name: z.string(),
      conversions: Count.optional().describe('Absent if nothing was recorded, like `visitors`.'),
      visitors: Count.optional().describe('Distinct visitors who converted.'),
      rate: Share.optional().describe('Share of all visitors of the same filters; absent without visitors.'),
      revenue: z
        .array(comparableRow({ currency: z.string(), amount: z.number() }))
        .optional()
        .describe('One per currency, never summed across currencies; present for a goal with revenue.'),
    }),
  ),
  run: async (context) => {
    const { plan } = context
    const { goals = [] } = plan
    if (goals.length === 0) return { data: context.page([]), rows: 0 }
    const rows = await context.list(
      { key: ['id', 'name'], order: ['conversions desc', 'visitors desc'], metrics: METRICS },
      (p) => goalRows(goals, p),
    )
    const earning = goals.filter(({ id, revenue }) => revenue && rows.some((each) => each.id === id))
    const earned = async (p: Plan) => (earning.length === 0 ? [] : context.rows(revenueAmounts(earning, p)))
    const now = await earned(plan)
    const then = plan.comparison && (await earned(withWindow(plan, plan.comparison)))
    for (const warning of unreadableAmounts(earning, now)) context.warn(warning)
    const revenueOf = (id: unknown) => {
      const pickFigures = (all: readonly Record<string, unknown>[]) =>
        all.filter((each) => each.id === id && (each.amount ?? undefined) !== undefined)
      const currencies = [...pickFigures(now), ...pickFigures(then ?? [])].map(({ currency }) => currency)
      const amountOf = (all: readonly Record<string, unknown>[], currency: unknown) =>
        Number(pickFigures(all).find((each) => each.currency === currency)?.amount ?? 0)
      return [...new Set(currencies)].toSorted().map((currency) => {
        const amount = amountOf(now, currency)
        if (!then) return { currency, amount }
        const other = amountOf(then, currency)
        const change = other === 0 ? {} : { amount: (amount - other) / other }
        return { currency, amount, comparison: { amount: other }, change }
      })
    }
    const data = rows.map((each) =>
      earning.some(({ id }) => id === each.id) ? { ...each, revenue: revenueOf(each.id) } : each,
    )
    return { data, rows: data.length }
  },
})

/** Selects `id, name, conversions, visitors, rate` of each goal. */
function goalRows(goals: readonly Goal[], plan: Plan): Sql {
  const each = goals.map(
    (goal) => sql`select ${goal.id} as id, ${goal.name} as name, c.* from (${goalCounts(goal, plan)}) c`,
  )
  const all = sql`(select visitors from (${hitMetrics(withoutGoalFilters(plan), TOTAL)}) a)`
  // At most 1, because a session that started in the window may convert after its end.
  return sql`
    select id, name, conversions, visitors,
      case when everyone > 0 then least(1.0, visitors * 1.0 / everyone) end as rate
    from (select *, ${all} as everyone from (${join(each, ' union all ')}) g) r`
}

/** Selects `conversions, visitors` of one goal: one row. */
function goalCounts(goal: Goal, plan: Plan): Sql {
  if (goal.type === 'duration') {
    const long = filterCondition(plan, [goalFilter(goal)])
    const chosen = sql`where session_id in (select session_id from (${matchingSessions(plan, TOTAL)}) m)`
    return sql`
      select count(*) as conversions, count(distinct visitor_id) as visitors
      from (select visitor_id, ms / 1000.0 as duration from (${sessionsInWindow(plan)}) s ${plan.filters.length > 0 ? chosen : raw('')}) d
      where ${long}`
  }
  const count = goal.type === 'scroll' ? raw('count(distinct (session_id, hostname, pathname))') : raw('count(*)')
  return sql`
    select ${count} as conversions, count(distinct visitor_id) as visitors from ${conversionHits(goal, plan)}`
}

/** Selects the hits that match a goal: the text after `from`. */
function conversionHits(goal: Goal, plan: Plan): Sql {
  const own: Plan = { ...plan, filters: [...plan.filters, goalFilter(goal)] }
  return sql`${sourceRows('events', own)} as e where ${whereClause(own)}`
}

/**
 * Yields a warning if amounts of conversions could not be read. It names no value and no property, which a share link may
 * hide. Another notation is not guessed: `1.234` is one thing in Berlin and another in Boston.
 */
function* unreadableAmounts(goals: readonly Goal[], rows: readonly Record<string, unknown>[]): Generator<Warning> {
  const counted = goals.flatMap(({ id, name }) => {
    const unread = rows.reduce((sum, row) => (row.id === id ? sum + Number(row.unread) : sum), 0)
    return unread === 0 ? [] : [`${unread} of ${quote(name)}`]
  })
  if (counted.length === 0) return
  const more = counted.length > MAX_NAMED_GOALS ? ' and other goals' : ''
  const message = `These conversions have an amount that is not a plain number, such as "1.234,56" or "12 EUR", and add no revenue: ${counted.slice(0, MAX_NAMED_GOALS).join(', ')}${more}. Send a number with a dot and no other sign, such as 1234.56.`
  yield { metric: 'revenue', code: 'revenue_unreadable', message }
}
const MAX_NAMED_GOALS = 3

/**
 * Selects `id, currency, amount, unread` of goals with revenue. Amounts are summed as exact decimals, in the hit's currency
 * or else the goal's; `amount` is null in a currency without amounts. A text that is not a plain number of a plausible
 * size is not an amount, and `unread` counts such texts.
 */
function revenueAmounts(goals: readonly Goal[], plan: Plan): Sql {
  const each = goals.flatMap(({ revenue, ...goal }) => {
    if (!revenue) return []
    const said = plan.dialect.jsonText(raw('props'), revenue.property)
    const named = plan.dialect.jsonText(raw('props'), 'currency')
    const decimal = plan.dialect.matches(raw('said'), '^-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$')
    return [
      sql`
        select ${goal.id} as id, said,
          case when ${plan.dialect.matches(raw('named'), '^[A-Za-z]{3}$')} then upper(named) else ${revenue.currency} end as currency,
          case when ${decimal} then ${plan.dialect.toDecimal(raw('said'))} end as amount
        from (select ${said} as said, ${named} as named from ${conversionHits(goal, plan)}) h`,
    ]
  })
  return sql`
    select id, currency, sum(amount) as amount, sum(case when amount is null then 1 else 0 end) as unread
    from (${join(each, ' union all ')}) r
    where said is not null and said <> '' group by id, currency`
}
