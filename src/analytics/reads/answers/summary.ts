import { z } from 'zod'
import { DAY_MS } from '../../../base/time-units.js'
import { answerRows, delayBins } from '../../query/answers.js'
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
    const totals = await context.one(ANSWER_METRICS, (of) => answerRows(of, scope, []))
    const binMs = scope.limitMs / BINS
    const count = async (movedMs: number): Promise<readonly number[]> => {
      const bins: number[] = Array.from({ length: BINS }, () => 0)
      for (const { bin, arrivals } of await context.rows(delayBins(plan, scope, binMs, movedMs))) {
        // An arrival exactly at the limit belongs to the last part.
        const place = Math.min(Number(bin), BINS - 1)
        bins[place] = (bins[place] ?? 0) + Number(arrivals)
      }
      return bins
    }
    const { start, end } = plan.window
    const dayBefore = { start: new Date(start.getTime() - DAY_MS), end: new Date(end.getTime() - DAY_MS) }
    const moved = context.recorded(dayBefore) === 'none' ? undefined : await count(DAY_MS)
    const seconds = binMs / 1000
    const by_delay = (await count(0)).map((arrivals, i) => {
      const chance = moved?.[i]
      return { from: i * seconds, to: (i + 1) * seconds, arrivals, ...(chance === undefined ? {} : { chance }) }
    })
    await warnOfAnswers(context, scope)
    const chance = moved && { chance: moved.reduce((a, b) => a + b, 0) }
    return { data: { ...withDelays(totals), ...chance, by_delay }, rows: 1 }
  },
})
