import { z } from 'zod'
import { defineRead } from '../../query/read.js'
import { requireOneReadership } from '../../query/read-audience.js'
import { countWeekHours, findWholeHours, NO_CELL, WEEK_HOURS } from '../../query/week-hours.js'
import { Count } from '../shapes.js'

/** GET /api/stats/hours: how busy each hour of the week is, as averages of the hours that were recorded whole. */
export default defineRead({
  path: '/api/stats/hours',
  summary: 'Average visits of people, or reads of agents, by weekday and hour',
  params: {},
  compare: 'none',
  data: z.object({
    measure: z
      .enum(['sessions', 'pageviews'])
      .describe('Counted are visits of people (`sessions`) by their start, or reads of agents (`pageviews`).'),
    left_out: Count.describe('Visits or reads in no cell: they happened in hours that were not recorded whole.'),
    cells: z
      .array(
        z.object({
          weekday: z.int().min(1).max(7).describe('1 is Monday, 7 is Sunday.'),
          hour: z.int().min(0).max(23).describe('In the time zone of `meta.query`; 13 is from 13:00 until 14:00.'),
          hours: z.int().nonnegative().describe('How many such hours of the window were recorded whole.'),
          count: Count.optional().describe('Visits or reads in all of these hours. Absent if `hours` is 0.'),
          average: z.number().nonnegative().optional().describe('`count` / `hours`. Absent if `hours` is 0.'),
        }),
      )
      .describe('Every hour of the week, from Monday 00:00.'),
  }),
  run: async (context) => {
    const { plan, recording, now } = context
    const measure = requireOneReadership(plan.audience) === 'human' ? 'sessions' : 'pageviews'
    const whole = findWholeHours(plan.window, plan.tz, recording, now)
    context.recorded(plan.window)
    const rows = await context.rows(countWeekHours(plan, whole))
    const counted = new Map(rows.map(({ cell, n }) => [Number(cell), Number(n)]))
    const cells = whole.counts.map((hours, cell) => {
      const place = { weekday: Math.floor(cell / 24) + 1, hour: cell % 24, hours }
      const count = counted.get(cell) ?? 0
      return hours === 0 ? place : { ...place, count, average: count / hours }
    })
    return { data: { measure, left_out: counted.get(NO_CELL) ?? 0, cells }, rows: WEEK_HOURS }
  },
})
