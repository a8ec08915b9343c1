import { breakdown } from '../../query/breakdown.js'
import { defineRead } from '../../query/read.js'
import { DimensionName, metricsRows } from '../shapes.js'

/** GET /api/agents/breakdown: sorted rows for one dimension of agents' fetches. */
export default defineRead({
  path: '/api/agents/breakdown',
  summary: 'Agents, operators, paths or statuses, ranked',
  params: { dimension: DimensionName },
  list: true,
  audience: { only: 'agent' },
  data: metricsRows,
  run: (context, { dimension }) => breakdown(context, dimension),
})
