import { z } from 'zod'
import type { Sql } from '../../../storage/sql.js'
import { bucketKey } from '../../query/buckets.js'
import type { Window } from '../../query/calendar.js'
import {
  type CohortPeriod,
  type CohortUnit,
  calendarPeriods,
  idPeriodKey,
  idPeriods,
  isCutShort,
  periodsOfIds,
} from '../../query/cohort-periods.js'
import { cohortGrid } from '../../query/cohorts.js'
import { defineRead } from '../../query/read.js'
import { peopleOnly } from '../../query/read-audience.js'
import type { ReadContext } from '../../query/read-context.js'
import { intersect } from '../../query/recording.js'
import { separatesVisitors } from '../../query/salt-periods.js'
import { Count, Instant, Share } from '../shapes.js'

const UNITS = ['day', 'week', 'month'] as const
const ALIGNMENTS = ['calendar', 'ids'] as const
/** Why a cell is absent. */
const ABSENCE_REASONS = ['salt_changed', 'not_recorded'] as const
/** The largest number of cohorts. */
const MAX_COHORTS: Record<CohortUnit, number> = { day: 92, week: 53, month: 60 }
/** Fits on a screen: the default is the finest period with at most this many cohorts. */
const TARGET_COHORTS = 31

interface Cell {
  readonly period: number
  readonly visitors?: number
  readonly rate?: number
  readonly at_least?: true
  readonly so_far?: true
  readonly reason?: (typeof ABSENCE_REASONS)[number]
}
/** Counts the visitors of a cohort in a period; undefined for none in a period without anything recorded. */
type CountCell = (cohort: CohortPeriod, period: CohortPeriod) => number | undefined

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
    align: z
      .enum(ALIGNMENTS)
      .optional()
      .describe(
        '`ids` counts periods from the day on which visitor ids change, by UTC, with `at_least` and `so_far`; default `calendar`.',
      ),
  },
  audience: peopleOnly('/api/agents/timeseries'),
  compare: 'none',
  data: z
    .object({
      granularity: z.enum(UNITS),
      cohorts: z.array(
        z.object({
          start: Instant,
          end: Instant.optional().describe('Exclusive; only with `align=ids`, where weeks may be shorter.'),
          size: Count.optional().describe(
            'Visitors whose first visit ever began in this period and in the window; absent if nothing was recorded.',
          ),
          periods: z
            .array(
              z.object({
                period: Count.describe('Periods after the cohort’s own, which is 0.'),
                visitors: Count.optional().describe('Absent if it cannot be known: `reason` says why.'),
                rate: Share.optional().describe('Share of the cohort; absent if the cohort is empty.'),
                at_least: z
                  .literal(true)
                  .optional()
                  .describe('Ids change within the period: the visitors are those before.'),
                so_far: z.literal(true).optional().describe('The period is not over, or the window ends in it.'),
                reason: z
                  .enum(ABSENCE_REASONS)
                  .optional()
                  .describe(
                    '`salt_changed`: visitors of the cohort have other ids in that period. `not_recorded`: nothing was recorded in it.',
                  ),
              }),
            )
            .describe(
              'Only periods that have ended, with `align=ids` that have begun; empty if nothing was recorded in the first.',
            ),
        }),
      ),
    })
    .partial()
    .describe('Empty for agents, of which no visitor is known.'),
  run: async (context, params) => {
    const { plan, now, site } = context
    const { tz, dialect } = plan
    const salt = site.visitor_salt
    const byIds = params.align === 'ids'
    const list = (unit: CohortUnit, limit?: number) =>
      byIds ? idPeriods(plan.window, tz, unit, salt).slice(0, limit) : calendarPeriods(plan.window, tz, unit, limit)
    // Periods as long as ids last, or longer, have no return.
    const units = !byIds || salt === 'never' ? UNITS : salt === 'month' ? UNITS.slice(0, 2) : UNITS.slice(0, 1)
    const unit =
      params.granularity ??
      units.find((u) => list(u, TARGET_COHORTS + 1).length <= TARGET_COHORTS) ??
      units.at(-1) ??
      'month'
    const all = list(unit)
    const times = all.slice(-MAX_COHORTS[unit])
    const window = { start: latestOf(plan.window.start, times[0]?.start), end: plan.window.end }
    warnOfGrid(context, { unit, window, times, count: all.length })

    const key = (column: Sql) =>
      byIds ? idPeriodKey(column, { window, tz, dialect }, unit, salt) : bucketKey(column, window, tz, unit, dialect)
    const found = await context.rows(cohortGrid({ ...plan, window }, key))
    const counts = new Map(found.map((row) => [`${row.cohort} ${row.period}`, Number(row.visitors)]))
    const silent = new Set(
      times.filter((time) => context.recorded(intersect(time, window)) === 'none').map((p) => p.key),
    )
    const count: CountCell = (cohort, period) =>
      counts.get(`${cohort.key} ${period.key}`) ?? (silent.has(period.key) ? undefined : 0)
    const until = new Date(Math.min(plan.window.end.getTime(), now.getTime()))
    const cellsOf = byIds
      ? cellsByIds({ times, unit, until, count })
      : (cohort: CohortPeriod, i: number): Cell[] =>
          times
            .filter(({ end }) => end <= until)
            .slice(i)
            .map((later, period) => {
              const visitors = count(cohort, later)
              if (visitors === undefined) return { period, reason: 'not_recorded' }
              if (separatesVisitors(cohort, later, salt)) return { period, reason: 'salt_changed' }
              return { period, visitors }
            })
    const cohorts = times.map((cohort, i) => {
      const size = count(cohort, cohort)
      const start = cohort.start.toISOString()
      const span = byIds ? { start, end: cohort.end.toISOString() } : { start }
      if (size === undefined) return { ...span, periods: [] }
      const rated = (cell: Cell): Cell =>
        cell.visitors === undefined || size === 0 ? cell : { ...cell, rate: cell.visitors / size }
      return { ...span, size, periods: cellsOf(cohort, i).map(rated) }
    })
    const query = { granularity: unit, ...(byIds ? { align: 'ids' } : {}) }
    return { data: { granularity: unit, cohorts }, rows: cohorts.length, query }
  },
})

interface Grid {
  readonly unit: CohortUnit
  readonly window: Window
  readonly times: readonly CohortPeriod[]
  /** Cohorts in the window, also those that are not returned. */
  readonly count: number
}

/** Explains which cohorts are left out or partial, and why cells are absent. */
function warnOfGrid(context: ReadContext, { unit, window, times, count }: Grid): void {
  if (times.length < count) {
    const message = `The window has ${count} cohorts; only the last ${times.length} are returned.`
    context.warn({ metric: 'cohorts', code: 'cohorts_truncated', message })
  }
  if (times[0] && times[0].start < window.start) {
    const message = `The window begins within a ${unit}, so the first cohort only has visitors whose first visit was after that.`
    context.warn({ metric: 'cohorts', code: 'first_cohort_partial', message })
  }
  if (context.saltChangesIn(window)) {
    const message = `Visitor ids change every ${context.site.visitor_salt}: returns after a change are not seen, so their cells are absent, and returning people count as new.`
    context.warn({ metric: 'cohorts', code: 'salt_rotated_in_grid', message })
  }
}

interface IdGrid {
  readonly times: readonly CohortPeriod[]
  readonly unit: CohortUnit
  /** The end of the window, or now. */
  readonly until: Date
  readonly count: CountCell
}

/** Makes the cells of each cohort where periods count from a change of ids: as many columns as some cohort can have. */
function cellsByIds({ times, unit, until, count }: IdGrid): (cohort: CohortPeriod, i: number) => Cell[] {
  const begun = times.filter(({ start }) => start < until)
  /** The periods in which the visitors of a cohort have their ids. */
  const periodsOf = (cohort: CohortPeriod, i: number) =>
    begun.slice(i).filter(({ start }) => cohort.idsEnd === undefined || start < cohort.idsEnd)
  const columns = Math.max(0, ...begun.map((cohort, i) => periodsOf(cohort, i).length))
  return (cohort, i) => {
    const cells = periodsOf(cohort, i).map((later, period): Cell => {
      const visitors = count(cohort, later)
      if (visitors === undefined) return { period, reason: 'not_recorded' }
      const isRunning = later.end > until
      return {
        ...{ period, visitors },
        ...(isRunning ? { so_far: true } : period > 0 && isCutShort(later, unit) ? { at_least: true } : {}),
      }
    })
    const first = periodsOfIds(cohort, unit)
    const after = Array.from({ length: Math.max(0, columns - first) }, (_, n) => first + n)
    return [...cells, ...after.map((period): Cell => ({ period, reason: 'salt_changed' }))]
  }
}

const latestOf = (a: Date, b: Date | undefined): Date => (b && b > a ? b : a)
