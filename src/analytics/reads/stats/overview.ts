import { TOTAL } from '../../query/grouping.js'
import { METRICS, metricsBy } from '../../query/metrics.js'
import { defineRead } from '../../query/read.js'
import { metricsRow } from '../shapes.js'

/** GET /api/stats/overview: the metrics of the audience over the whole window. */
export default defineRead({
  path: '/api/stats/overview',
  summary: 'Totals of a window',
  params: {},
  data: metricsRow({}),
  run: async (context) => {
    context.meaningful(METRICS.human)
    const { value: _, ...data } = await context.one(
      METRICS[context.plan.audience],
      (plan) => metricsBy(plan, TOTAL),
      context.history.find,
    )
    return { data, rows: 1 }
  },
})
