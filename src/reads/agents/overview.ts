import { z } from 'zod'
import { findDimension } from '../../query/dimensions.js'
import { byDimension, fetches, TOTAL } from '../../query/metrics.js'
import { defineRead } from '../../query/read.js'
import { sql } from '../../sql.js'
import { metricShapes, row } from '../shapes.js'

const TOP = 10

/** GET /api/agents/overview (spec 4.5): how much was fetched, by how many, how many of them proven, and whose they are. */
export default defineRead({
  path: '/api/agents/overview',
  summary: 'Totals of agents, and their top operators',
  params: {},
  audience: { only: 'agent' },
  data: row({
    ...metricShapes(['fetches', 'agents', 'verified', 'bytes']),
    operators: z.array(row({ operator: z.string(), ...metricShapes(['fetches', 'bytes', 'verified']) })),
  }),
  answer: async (ask) => {
    const { dialect } = ask
    const totals = await ask.one(
      ['fetches', 'agents', 'verified', 'bytes'],
      (plan) => sql`select fetches, agents, verified, bytes from (${fetches(plan, dialect, TOTAL)}) f`,
    )
    const by = byDimension(findDimension('operator', 'dimension'), dialect)
    const operators = await ask.list(
      { key: 'operator', order: ['fetches desc'], metrics: ['fetches', 'bytes', 'verified'], top: TOP },
      (plan) => sql`select value as operator, fetches, bytes, verified from (${fetches(plan, dialect, by)}) f`,
    )
    return { data: { ...totals, operators }, rows: operators.length }
  },
})
