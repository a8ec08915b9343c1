import { breakdown } from '../../query/breakdown.js'
import { METRICS } from '../../query/metrics.js'
import { defineRead } from '../../query/read.js'
import { DimensionName, metricsRows } from '../shapes.js'

/** GET /api/stats/breakdown: sorted rows for one dimension. */
export default defineRead({
  path: '/api/stats/breakdown',
  summary: 'Ranked values of one dimension',
  params: { dimension: DimensionName },
  list: true,
  data: metricsRows,
  run: (context, { dimension }) => {
    context.meaningful(METRICS.human)
    return breakdown(context, dimension)
  },
})
