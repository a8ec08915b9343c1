import { z } from 'zod'
import { GRANULARITIES, isIn, raw, sql } from '../../../storage/sql.js'
import { bucketKey, listBuckets } from '../../query/buckets.js'
import { whereClause } from '../../query/conditions.js'
import { dailyCounts } from '../../query/counted-days.js'
import { PAGING_SHAPE } from '../../query/envelope.js'
import { defineRead } from '../../query/read.js'
import { OTHER_AGENTS } from '../../query/read-context.js'
import { comparableRow, Instant, metricShapes, Partial } from '../shapes.js'

const METRICS = ['fetches', 'spoofed'] as const

/** GET /api/agents/timeseries: fetches over time of the top `limit` agents, then of all others together. */
export default defineRead({
  path: '/api/agents/timeseries',
  summary: 'Crawl volume over time, per agent',
  params: { limit: PAGING_SHAPE.limit },
  audience: { only: 'agent' },
  data: z.object({
    granularity: z.enum(GRANULARITIES),
    series: z.array(
      comparableRow({
        agent_id: z.string(),
        name: z.string(),
        operator: z.string().optional().describe('Absent for the others together.'),
        ...metricShapes(METRICS),
        buckets: z.array(
          z.object({
            t: Instant,
            value: z.int().optional().describe('Absent if nothing was recorded.'),
            partial: Partial,
          }),
        ),
      }),
    ),
  }),
  run: async (context, { limit }) => {
    const { plan } = context
    const { window, tz, granularity } = plan
    const top = await context.list(
      { key: 'agent_id', order: ['fetches desc'], metrics: METRICS, limit: limit },
      (p) => sql`
        select agent_id, max(operator) as operator, sum(fetches) as fetches, sum(spoofed) as spoofed
        from (${dailyCounts(p, 'daily_agents', METRICS, { keys: ['agent_id', 'operator'] })}) d
        where agent_id <> ${OTHER_AGENTS} group by agent_id`,
    )
    const shown = top.map((agent) => String(agent.agent_id))
    const isShown = sql`(${isIn(raw('agent_id'), shown)})`
    const rest = await context.one(
      METRICS,
      (p) => sql`
        select sum(fetches) as fetches, sum(spoofed) as spoofed
        from (${dailyCounts(p, 'daily_agents', METRICS, { keys: ['agent_id'] })}) d where not ${isShown}`,
    )
    const rows = await context.rows(sql`
      select case when ${isShown} then agent_id else ${OTHER_AGENTS} end as series, bucket, sum(n) as value
      from (
        select agent_id, ${bucketKey(raw('timestamp'), window, tz, granularity, plan.dialect)} as bucket, count(*) as n
        from agent_events where ${whereClause(plan)} group by agent_id, bucket) a
      group by series, bucket`)
    const values = new Map(rows.map((each) => [`${each.bucket} ${each.series}`, each.value]))
    const times = listBuckets(window, tz, granularity)
    const parts = context.recordedBuckets(times, window, tz, granularity)
    const series = [...top, ...(!rest.fetches ? [] : [{ agent_id: OTHER_AGENTS, ...rest }])].map((agent) => ({
      ...agent,
      name: context.agentNames(String(agent.agent_id)).name,
      buckets: times.map(({ t, key }, i) => {
        const fetches = values.get(`${key} ${agent.agent_id}`)
        if (parts[i] === 'none' && fetches === undefined) return { t: t.toISOString() }
        return { t: t.toISOString(), value: fetches ?? 0, ...(parts[i] === 'all' ? {} : { partial: true }) }
      }),
    }))
    return { data: { granularity, series }, rows: series.length }
  },
})
