import { z } from 'zod'
import { DAY_MS } from '../../../base/time-units.js'
import { answerRows } from '../../query/answers.js'
import type { Plan } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import { ANSWER_METRICS, answerParams, answerScope, answerShapes, warnOfAnswers, withDelays } from '../answers.js'
import { Count, comparableRow } from '../shapes.js'

const BINS = 20

/** GET /api/answers/summary: the whole site's answers, how soon readers followed, and how many would by chance. */
export default defineRead({
  path: '/api/answers/summary',
  summary: "The whole site's answers: totals, how soon readers followed, and how many would by chance",
  params: answerParams,
  audience: { only: 'all', mixesAudiences: true },
  data: comparableRow({
    ...answerShapes,
    chance: Count.optional().describe(
      'Arrivals that would have followed a fetch if each had come a day later: so many are chance. Absent if that day was not recorded.',
    ),
    chance_followed: Count.optional().describe('Fetches that a reader would then have followed.'),
    chance_followed_same_page: Count.optional().describe('Fetches that one would have followed at the same page.'),
    by_delay: z
      .array(
        z.object({
          from: z.number().nonnegative().describe('Seconds after the fetch.'),
          to: z.number().nonnegative(),
          arrivals: Count,
          chance: Count.optional(),
        }),
      )
      .describe(`The time after a fetch in ${BINS} equal parts.`),
  }),
  run: async (context, params) => {
    const { plan } = context
    const scope = answerScope(context, params)
    const rowsOf = (of: Plan, movedMs: number) =>
      answerRows(of, { ...scope, hidesVisits: scope.hidesVisits || movedMs > 0 }, [], { movedMs, bins: BINS })
    const totals = await context.one(ANSWER_METRICS, (of) => rowsOf(of, 0))
    const { start, end } = plan.window
    const dayBefore = { start: new Date(start.getTime() - DAY_MS), end: new Date(end.getTime() - DAY_MS) }
    const isKnown = context.recorded(dayBefore) !== 'none'
    const [moved] = isKnown ? await context.rows(rowsOf(plan, DAY_MS)) : []
    const seconds = scope.limitMs / BINS / 1000
    const by_delay = Array.from({ length: BINS }, (_, i) => ({
      ...{ from: i * seconds, to: (i + 1) * seconds, arrivals: totals[`bin_${i}`] ?? 0 },
      ...(moved && { chance: moved[`bin_${i}`] }),
    }))
    await warnOfAnswers(context, scope)
    const chance = moved && {
      ...{ chance: moved.arrivals, chance_followed: moved.followed },
      chance_followed_same_page: moved.followed_same_page,
    }
    return { data: { ...withDelays(totals), ...chance, by_delay }, rows: 1 }
  },
})
