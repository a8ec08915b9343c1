import { z } from 'zod'
import { sql } from '../../../storage/sql.js'
import { whereClause } from '../../query/conditions.js'
import { defineRead } from '../../query/read.js'
import { Count, Instant } from '../shapes.js'

/** GET /api/agents/catalog: every known agent, and whether the site saw it in the window. */
export default defineRead({
  path: '/api/agents/catalog',
  summary: 'Known agents with operator and documentation; with filters, only agents that were seen and pass them',
  params: {},
  list: true,
  audience: { only: 'agent' },
  data: z.array(
    z.object({
      agent_id: z.string().describe('The agent.'),
      name: z.string(),
      operator: z.string(),
      purpose: z.string(),
      docs_url: z.string().describe('A page about it, or `undocumented` if none is known.'),
      robots_token: z.string().optional().describe('The name that robots.txt uses for it.'),
      respects_robots: z
        .enum(['yes', 'no', 'unknown'])
        .describe('Whether its operator states that it obeys robots.txt.'),
      verification: z
        .array(z.enum(['ranges', 'rdns', 'web_bot_auth']))
        .describe('The ways to verify it that its operator publishes.'),
      ranges: z
        .object({
          count: Count.describe('Prefixes.'),
          refreshed_at: Instant,
          source: z.string(),
          stale: z
            .boolean()
            .optional()
            .describe('True if a list is missing or older than a week: it then proves no fetch spoofed.'),
        })
        .optional()
        .describe("The downloaded list of its operator's published addresses."),
      seen: z.object({ fetches: Count, last_seen: Instant }).optional().describe('Absent: not seen in the window.'),
    }),
  ),
  run: async (context) => {
    const rows = await context.rows(sql`
      select agent_id, count(*) as fetches, max(timestamp) as last_seen
      from agent_events where ${whereClause(context.plan)} group by agent_id`)
    const seen = new Map(
      rows.map(({ agent_id, fetches, last_seen }) => [
        agent_id,
        { fetches, last_seen: last_seen instanceof Date ? last_seen.toISOString() : undefined },
      ]),
    )
    const rangesById = new Map((await context.agentRanges()).map(({ agent_id, ...ranges }) => [agent_id, ranges]))
    const known =
      context.plan.filters.length > 0 ? context.catalog.filter(({ agent_id }) => seen.has(agent_id)) : context.catalog
    const data = context.page(known).map((agent) => {
      const row = seen.get(agent.agent_id)
      const ranges = rangesById.get(agent.agent_id)
      return { ...agent, ...(ranges && { ranges }), ...(row && { seen: row }) }
    })
    return { data, rows: data.length }
  },
})
