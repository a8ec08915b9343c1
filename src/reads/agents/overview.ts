import { z } from 'zod'
import { byDimension, TOTAL } from '../../query/by.js'
import { findDimension } from '../../query/dimensions.js'
import { fetches } from '../../query/metrics.js'
import { defineRead } from '../../query/read.js'
import { raw, sql } from '../../sql.js'
import { metricShapes, row } from '../shapes.js'

const TOP = 10
const PROOF = ['verified', 'spoofed', 'indeterminate', 'unverifiable'] as const
const TOTALS = ['fetches', 'agents', ...PROOF, 'bytes'] as const
const OPERATOR = ['fetches', 'bytes', ...PROOF] as const

/** GET /api/agents/overview (spec 4.5): how much was fetched, by how many, how many of them proven, and whose they are. */
export default defineRead({
  path: '/api/agents/overview',
  summary: 'Totals of agents, and their top operators',
  params: {},
  audience: { only: 'agent' },
  data: row({
    ...metricShapes(TOTALS),
    operators: z.array(row({ operator: z.string(), ...metricShapes(OPERATOR) })),
  }),
  answer: async (ask) => {
    const { dialect } = ask
    const totals = await ask.one(
      TOTALS,
      (plan) => sql`select ${raw(TOTALS.join(', '))} from (${fetches(plan, dialect, TOTAL)}) f`,
    )
    const by = byDimension(findDimension('operator', 'dimension'), dialect)
    const operators = await ask.list(
      { key: 'operator', order: ['fetches desc'], metrics: OPERATOR, top: TOP },
      (plan) =>
        sql`select value as operator, ${raw(OPERATOR.join(', '))} from (${fetches(plan, dialect, by, OPERATOR)}) f`,
    )
    return { data: { ...totals, operators }, rows: operators.length }
  },
})
