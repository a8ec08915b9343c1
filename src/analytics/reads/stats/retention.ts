import { z } from 'zod'
import { listBuckets } from '../../query/buckets.js'
import { shift, startOf } from '../../query/calendar.js'
import { cohortGrid } from '../../query/cohorts.js'
import { defineRead } from '../../query/read.js'
import { peopleOnly } from '../../query/read-audience.js'
import { separatesVisitors } from '../../query/salt-periods.js'
import { Count, Instant, Share } from '../shapes.js'

const UNITS = ['day', 'week', 'month'] as const
type Unit = (typeof UNITS)[number]
/** Why a cell is absent. */
const ABSENCE_REASONS = ['salt_changed', 'not_recorded'] as const
/** The length of a period, and the largest number of cohorts. */
const UNIT_DURATION = { day: { days: 1 }, week: { days: 7 }, month: { months: 1 } } as const
const MAX_COHORTS: Record<Unit, number> = { day: 92, week: 53, month: 60 }
/** Fits on a screen: the default is the finest period with at most this many cohorts. */
const TARGET_COHORTS = 31

/**
 * GET /api/stats/retention: of the visitors whose first session ever began in a period, how many began another session
 * in each later period. A session counts where it began: reading on after midnight is not a return. With filters, only
 * sessions with a hit that passes count, and a cohort has the new visitors with such a session in their first period.
 */
export default defineRead({
  path: '/api/stats/retention',
  summary: 'Returning visitors: cohorts by first visit ever',
  params: {
    granularity: z
      .enum(UNITS)
      .optional()
      .describe('Length of cohorts and periods; default the finest with at most 31.'),
  },
  audience: peopleOnly('/api/agents/timeseries'),
  compare: 'none',
  data: z
    .object({
      granularity: z.enum(UNITS),
      cohorts: z.array(
        z.object({
          start: Instant,
          size: Count.optional().describe(
            'Visitors whose first visit ever began in this period and in the window; absent if nothing was recorded.',
          ),
          periods: z
            .array(
              z.object({
                period: Count.describe('Periods after the cohort’s own, which is 0.'),
                visitors: Count.optional().describe('Absent if it cannot be known: `reason` says why.'),
                rate: Share.optional().describe('Share of the cohort; absent if the cohort is empty.'),
                reason: z
                  .enum(ABSENCE_REASONS)
                  .optional()
                  .describe(
                    '`salt_changed`: visitors of the cohort have other ids in that period. `not_recorded`: nothing was recorded in it.',
                  ),
              }),
            )
            .describe('Only periods that have ended; empty if nothing was recorded in the first.'),
        }),
      ),
    })
    .partial()
    .describe('Empty for agents, of which no visitor is known.'),
  run: async (context, params) => {
    const { plan, now, site } = context
    const { tz } = plan
    const cut = (unit: Unit, most: number) => listBuckets(plan.window, tz, unit, most)
    const unit = params.granularity ?? UNITS.find((u) => cut(u, TARGET_COHORTS + 1).length <= TARGET_COHORTS) ?? 'month'
    const all = listBuckets(plan.window, tz, unit)
    const times = all.slice(-MAX_COHORTS[unit])
    if (times.length < all.length) {
      const message = `The window has ${all.length} cohorts; only the last ${times.length} are returned.`
      context.warn({ metric: 'cohorts', code: 'cohorts_truncated', message })
    }
    const window = { start: latestOf(plan.window.start, times[0]?.t), end: plan.window.end }
    if (times[0] && times[0].t < window.start) {
      const message = `The window begins within a ${unit}, so the first cohort only has visitors whose first visit was after that.`
      context.warn({ metric: 'cohorts', code: 'first_cohort_partial', message })
    }
    if (context.saltChangesIn(window)) {
      const message = `Visitor ids change every ${site.visitor_salt}: returns after a change are not seen, so their cells are absent, and returning people count as new.`
      context.warn({ metric: 'cohorts', code: 'salt_rotated_in_grid', message })
    }

    const found = await context.rows(cohortGrid({ ...plan, window }, unit))
    const counts = new Map(found.map((row) => [`${row.cohort} ${row.period}`, Number(row.visitors)]))
    const until = Math.min(plan.window.end.getTime(), now.getTime())
    const spans = times.map(({ t: start }, i) => ({
      start,
      end: times[i + 1]?.t ?? startOf(unit, shift(start, UNIT_DURATION[unit], tz), tz),
    }))
    const over = spans.filter(({ end }) => end.getTime() <= until)
    const parts = context.recordedBuckets(times, window, tz, unit)
    /** Returns undefined for none in a period without anything recorded. */
    const count = (cohort: number, i: number) =>
      counts.get(`${cohort} ${times[i]?.key}`) ?? (parts[i] === 'none' ? undefined : 0)
    const cohorts = times.map(({ t, key }, i) => {
      const size = count(key, i)
      const start = t.toISOString()
      const span = spans[i]
      if (size === undefined || span === undefined) return { start, periods: [] }
      const periods = over.slice(i).map((later, period) => {
        const visitors = count(key, i + period)
        if (visitors === undefined) return { period, reason: 'not_recorded' }
        if (separatesVisitors(span, later, site.visitor_salt)) return { period, reason: 'salt_changed' }
        return { period, visitors, ...(size > 0 ? { rate: visitors / size } : {}) }
      })
      return { start, size, periods }
    })
    return { data: { granularity: unit, cohorts }, rows: cohorts.length, query: { granularity: unit } }
  },
})

const latestOf = (a: Date, b: Date | undefined): Date => (b && b > a ? b : a)
