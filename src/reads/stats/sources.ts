import { z } from 'zod'
import { best } from '../../query/breakdown.js'
import { PAGING } from '../../query/envelope.js'
import type { Plan } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import { metricShapes, row } from '../shapes.js'

const METRICS = ['visitors', 'sessions', 'pageviews', 'bounce', 'duration'] as const
const metrics = metricShapes(METRICS)

/** GET /api/stats/sources (spec 4.2): where people came from: channels, then sources, then campaigns. */
export default defineRead({
  path: '/api/stats/sources',
  summary: 'Channels, sources and campaigns',
  params: { limit: PAGING.limit },
  audience: { unless_asked: 'human', among: ['human'] },
  data: z.object({
    channels: z.array(row({ channel: z.string(), ...metrics })),
    sources: z.array(
      row({
        source: z.string().optional().describe('Absent: nothing said where from.'),
        channel: z.string(),
        ...metrics,
      }),
    ),
    campaigns: z.array(
      row({
        utm_campaign: z.string(),
        utm_source: z.string().optional(),
        utm_medium: z.string().optional(),
        ...metrics,
      }),
    ),
  }),
  answer: async (ask, { limit }) => {
    const channels = await best(ask, ['channel'], limit, METRICS)
    const sources = await best(ask, ['source', 'channel'], limit, METRICS)
    const campaigns = await best(ask, ['utm_campaign', 'utm_source', 'utm_medium'], limit, METRICS, campaigned)
    return {
      data: { channels, sources, campaigns },
      rows: channels.length + sources.length + campaigns.length,
    }
  },
})

/** Sessions that a campaign's link began. */
const campaigned = (plan: Plan): Plan => ({
  ...plan,
  filters: [...plan.filters, { dimension: 'utm_campaign', op: 'is_set' }],
})
