import { z } from 'zod'
import { raw, sql } from '../../../storage/sql.js'
import { findDimension } from '../../query/dimensions.js'
import { groupByDimension } from '../../query/group-by-dimension.js'
import { TOTAL } from '../../query/grouping.js'
import { agentMetrics, VERIFICATION_COUNTS } from '../../query/metrics.js'
import { defineRead } from '../../query/read.js'
import { comparableRow, metricShapes } from '../shapes.js'

const TOP_OPERATORS = 10
const VERIFICATION_METRICS = ['verified', ...VERIFICATION_COUNTS, 'unverifiable'] as const
const TOTAL_METRICS = ['fetches', 'agents', ...VERIFICATION_METRICS, 'bytes'] as const
const OPERATOR_METRICS = ['fetches', 'bytes', ...VERIFICATION_METRICS] as const

/** GET /api/agents/overview: totals of fetches, agents and verification, and the top operators. */
export default defineRead({
  path: '/api/agents/overview',
  summary: 'Totals of agents, and their top operators',
  params: {},
  audience: { only: 'agent' },
  data: comparableRow({
    ...metricShapes(TOTAL_METRICS),
    operators: z.array(comparableRow({ operator: z.string(), ...metricShapes(OPERATOR_METRICS) })),
  }),
  run: async (context) => {
    const totals = await context.one(
      TOTAL_METRICS,
      (plan) => sql`select ${raw(TOTAL_METRICS.join(', '))} from (${agentMetrics(plan, TOTAL)}) f`,
    )
    const by = groupByDimension(findDimension('operator', 'dimension'), context.plan)
    const operators = await context.list(
      { key: 'operator', order: ['fetches desc'], metrics: OPERATOR_METRICS, limit: TOP_OPERATORS },
      (plan) =>
        sql`select value as operator, ${raw(OPERATOR_METRICS.join(', '))} from (${agentMetrics(plan, by, OPERATOR_METRICS)}) f`,
    )
    return { data: { ...totals, operators }, rows: operators.length }
  },
})
