import { z } from 'zod'
import { topCombinations } from '../../query/breakdown.js'
import { PAGING_SHAPE } from '../../query/envelope.js'
import type { Plan } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import { peopleOnly } from '../../query/read-audience.js'
import { comparableRow, metricShapes } from '../shapes.js'

const METRICS = ['visitors', 'sessions', 'pageviews', 'bounce', 'duration'] as const
const metrics = metricShapes(METRICS)

/** GET /api/stats/sources: channels, sources and campaigns of people's sessions. Agents have none. */
export default defineRead({
  path: '/api/stats/sources',
  summary: 'Channels, sources and campaigns',
  params: { limit: PAGING_SHAPE.limit },
  audience: peopleOnly('/api/agents/breakdown?dimension=operator', true),
  data: z
    .object({
      channels: z.array(comparableRow({ channel: z.string(), ...metrics })),
      sources: z.array(
        comparableRow({
          source: z.string().optional().describe('Absent: no source is known.'),
          channel: z.string(),
          ...metrics,
        }),
      ),
      campaigns: z.array(
        comparableRow({
          utm_campaign: z.string(),
          utm_source: z.string().optional(),
          utm_medium: z.string().optional(),
          ...metrics,
        }),
      ),
    })
    .partial()
    .describe('Empty for agents, which tell no source.'),
  run: async (context, { limit }) => {
    const shown = context.meaningful(METRICS)
    const channels = await topCombinations(context, ['channel'], limit, shown)
    const sources = await topCombinations(context, ['source', 'channel'], limit, shown)
    const campaigns = await topCombinations(
      context,
      ['utm_campaign', 'utm_source', 'utm_medium'],
      limit,
      shown,
      onlyCampaigns,
    )
    return {
      data: { channels, sources, campaigns },
      rows: channels.length + sources.length + campaigns.length,
    }
  },
})

/** Only sessions that began with a campaign's link. */
const onlyCampaigns = (plan: Plan): Plan => ({
  ...plan,
  filters: [...plan.filters, { dimension: 'utm_campaign', op: 'is_set' }],
})
