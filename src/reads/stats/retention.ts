import { z } from 'zod'
import { bucketKey, listBuckets } from '../../query/buckets.js'
import { shift, startOf, type Window } from '../../query/calendar.js'
import { TOTAL } from '../../query/grouping.js'
import { matchingSessions } from '../../query/metrics.js'
import type { Plan } from '../../query/plan.js'
import { defineRead, PEOPLE_ONLY } from '../../query/read.js'
import { sessionsInWindow } from '../../query/sessions.js'
import { type Dialect, raw, type Sql, sql } from '../../sql.js'
import { Count, Instant, Share } from '../shapes.js'

const UNITS = ['day', 'week', 'month'] as const
type Unit = (typeof UNITS)[number]
/** One unit on, and the most cohorts of a grid. */
const UNIT_DURATION = { day: { days: 1 }, week: { days: 7 }, month: { months: 1 } } as const
const MAX_COHORTS: Record<Unit, number> = { day: 92, week: 53, month: 60 }
/** What fits on a screen: the finest that gives no more cohorts is what is not asked for. */
const TARGET_COHORTS = 31

/**
 * GET /api/stats/retention (spec 4.3): of those whose first visit ever began in a period, how many began another visit
 * in each period since. A visit counts where it began: reading on after midnight is no return. With filters, visits that
 * have a hit that passes: cohorts are then of those among the newcomers who had such a visit in their first period.
 */
export default defineRead({
  path: '/api/stats/retention',
  summary: 'Who came back: cohorts by first visit ever',
  params: {
    granularity: z.enum(UNITS).optional().describe('Of cohorts and periods; default the finest with at most 31.'),
  },
  audience: PEOPLE_ONLY,
  compare: 'none',
  data: z.object({
    granularity: z.enum(UNITS),
    cohorts: z.array(
      z.object({
        start: Instant,
        size: Count.describe('Visitors whose first visit ever began in this period and in the window.'),
        periods: z
          .array(
            z.object({
              period: Count.describe('Periods after the cohort’s own, which is 0.'),
              visitors: Count,
              rate: Share.optional().describe('Of the cohort; absent for one without members.'),
            }),
          )
          .describe('Those that are over.'),
      }),
    ),
  }),
  run: async (context, params) => {
    const { plan, dialect, now, site } = context
    const { tz } = plan
    const cut = (unit: Unit, most: number) => listBuckets(plan.window, tz, unit, most)
    const unit = params.granularity ?? UNITS.find((u) => cut(u, TARGET_COHORTS + 1).length <= TARGET_COHORTS) ?? 'month'
    const all = listBuckets(plan.window, tz, unit)
    const times = all.slice(-MAX_COHORTS[unit])
    if (times.length < all.length) {
      const message = `The window has ${all.length} cohorts: these are its last ${times.length}.`
      context.warn({ metric: 'cohorts', code: 'cohorts_truncated', message })
    }
    const window = { start: latestOf(plan.window.start, times[0]?.t), end: plan.window.end }
    if (times[0] && times[0].t < window.start) {
      const message = `The window begins within a ${unit}: the first cohort has those alone who came first after that.`
      context.warn({ metric: 'cohorts', code: 'first_cohort_partial', message })
    }
    if (site.visitor_salt !== 'never' && listBuckets(window, 'UTC', site.visitor_salt, 2).length > 1) {
      const message = `Visitor ids change every ${site.visitor_salt}: nobody is seen to return after that, and who does is a newcomer.`
      context.warn({ metric: 'cohorts', code: 'salt_rotated_in_grid', message })
    }

    const found = await context.rows(cohortGrid({ ...plan, window }, unit, dialect))
    const counts = new Map(found.map((row) => [`${row.cohort} ${row.period}`, Number(row.visitors)]))
    const until = Math.min(plan.window.end.getTime(), now.getTime())
    const over = times.filter(({ t }, i) => {
      const end = times[i + 1]?.t ?? startOf(unit, shift(t, UNIT_DURATION[unit], tz), tz)
      return end.getTime() <= until
    })
    const cohorts = times.map(({ t, key }, i) => {
      const size = counts.get(`${key} ${key}`) ?? 0
      const periods = over.slice(i).map((later, period) => {
        const visitors = counts.get(`${key} ${later.key}`) ?? 0
        return { period, visitors, ...(size > 0 ? { rate: visitors / size } : {}) }
      })
      return { start: t.toISOString(), size, periods }
    })
    return { data: { granularity: unit, cohorts }, rows: cohorts.length, query: { granularity: unit } }
  },
})

const latestOf = (a: Date, b: Date | undefined): Date => (b && b > a ? b : a)

/** `cohort, period, visitors`, by the keys of their buckets. */
function cohortGrid(plan: Plan, unit: Unit, dialect: Dialect): Sql {
  const { window, filters } = plan
  const bucket = (column: string) => bucketKey(raw(column), window, plan.tz, unit, dialect)
  const whole: Window = { start: new Date(0), end: window.end }
  // Whose first visit was out of sight is a newcomer to whoever sees no more.
  const seen = plan.mandatory
    ? sql`where session_id in (select session_id from (${matchingSessions({ ...plan, window: whole, filters: plan.mandatory }, dialect, TOTAL)}) w)`
    : raw('')
  const passing =
    filters.length === 0
      ? raw('')
      : sql`where session_id in (select session_id from (${matchingSessions(plan, dialect, TOTAL)}) m)`
  const active = sql`
    select visitor_id, ${bucket('started')} as period from (${sessionsInWindow(plan, dialect)}) s ${passing}
    group by visitor_id, period`
  const newcomers = sql`
    select visitor_id, ${bucket('first')} as cohort from (
      select visitor_id, min(started) as first from (${sessionsInWindow({ ...plan, window: whole }, dialect)}) s ${seen}
      group by visitor_id) f
    where first >= ${window.start}`
  // Who is in the cohort by the filters too: everybody, where there are none.
  const members =
    filters.length === 0
      ? newcomers
      : sql`select n.visitor_id, cohort from (${newcomers}) n
          join (${active}) o on o.visitor_id = n.visitor_id and o.period = n.cohort`
  return sql`
    select cohort, period, count(*) as visitors from (${members}) c
    join (${active}) a on a.visitor_id = c.visitor_id group by cohort, period`
}
