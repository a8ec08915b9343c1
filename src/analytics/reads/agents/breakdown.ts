import { z } from 'zod'
import { breakdown } from '../../query/breakdown.js'
import { METRICS } from '../../query/metrics.js'
import { defineRead } from '../../query/read.js'
import { comparableRow, DimensionName, DimensionValue, formatInstants, Instant, metricShapes } from '../shapes.js'

/** GET /api/agents/breakdown: sorted rows for one dimension of agents' fetches, agents with what the catalogue says. */
export default defineRead({
  path: '/api/agents/breakdown',
  summary: 'Agents, operators, paths or statuses, ranked',
  params: { dimension: DimensionName },
  list: true,
  audience: { only: 'agent' },
  data: z.array(
    comparableRow({
      value: DimensionValue.optional().describe('Absent: fetches without a value.'),
      name: z.string().optional().describe('By `agent_id` only, like `operator` and `purpose`: from the catalogue.'),
      operator: z.string().optional().describe('Absent: an agent that is in no catalogue.'),
      purpose: z.string().optional(),
      ...metricShapes(METRICS.agent),
      last_seen: Instant.describe('Its last fetch in the window, spoofed or not.'),
    }),
  ),
  run: async (context, { dimension }) => {
    const { data, rows } = await breakdown(context, dimension, ['last_seen'])
    const shown = data.map((row) => ({
      ...formatInstants(row),
      ...(dimension === 'agent_id' ? context.agentNames(String(row.value)) : {}),
    }))
    return { data: shown, rows }
  },
})
