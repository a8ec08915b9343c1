import { z } from 'zod'
import { topCombinations } from '../../query/breakdown.js'
import { PAGING_SHAPE } from '../../query/envelope.js'
import { METRICS } from '../../query/metrics.js'
import { defineRead } from '../../query/read.js'
import { oneAudience } from '../../query/read-audience.js'
import { comparableRow, metricShapes } from '../shapes.js'

const metrics = metricShapes(METRICS.human)
const list = (dimension: string, shapes = metrics) =>
  z.array(comparableRow({ [dimension]: z.string().optional().describe('Absent: unknown.'), ...shapes })).optional()

/** GET /api/stats/devices: browsers and devices of people. Of an agent's device only its user agent is stored. */
export default defineRead({
  path: '/api/stats/devices',
  summary: 'Browsers, operating systems, device types and screen classes',
  params: { limit: PAGING_SHAPE.limit },
  audience: oneAudience(true),
  data: z.object({
    browsers: list('browser'),
    os: list('os'),
    device_types: list('device_type'),
    screen_classes: list('screen_class'),
    user_agents: list('user_agent', metricShapes(METRICS.agent)).describe('Agents only.'),
  }),
  run: async (context, { limit }) => {
    const shown = context.meaningful(METRICS.human)
    const browsers = await topCombinations(context, ['browser'], limit, shown)
    const os = await topCombinations(context, ['os'], limit, shown)
    const device_types = await topCombinations(context, ['device_type'], limit, shown)
    const screen_classes = await topCombinations(context, ['screen_class'], limit, shown)
    const data = { browsers, os, device_types, screen_classes }
    return { data, rows: Object.values(data).reduce((sum, list) => sum + list.length, 0) }
  },
  runForAgents: async (context, { limit }) => {
    const user_agents = await topCombinations(context, ['user_agent'], limit)
    return { data: { user_agents }, rows: user_agents.length }
  },
})
