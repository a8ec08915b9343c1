import { z } from 'zod'
import { raw, type Sql, sql } from '../../../storage/sql.js'
import { sourceRows, whereClause } from '../../query/conditions.js'
import { withSuspected } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import { Count, Instant } from '../shapes.js'

const WINDOW_MINUTES = 5
const MAX_PAGES = 50
const readerShapes = {
  people: Count.optional().describe('Distinct people; absent if they were not asked for.'),
  agents: Count.optional().describe('Distinct agents; absent if they were not asked for.'),
}

/**
 * GET /api/stats/realtime: the last five minutes of people and agents, side by side and never summed. A person is on
 * the page seen last; an agent is on every page it fetched.
 */
export default defineRead({
  path: '/api/stats/realtime',
  summary: 'Visitors and agents right now',
  params: {},
  audience: { default: 'all' },
  window: (now) => ({ start: new Date(now.getTime() - WINDOW_MINUTES * 60_000), end: now }),
  data: z.object({
    ...readerShapes,
    pages: z.array(z.object({ pathname: z.string(), ...readerShapes })),
    minutes: z.array(z.object({ t: Instant, ...readerShapes })),
  }),
  run: async (context) => {
    const { plan } = context
    const { audience, window } = plan
    const metrics = { human: ['people'], agent: ['agents'], all: ['people', 'agents'] }[audience]
    const start = window.start.getTime()
    const since = sql`(${plan.dialect.epochMs(raw('timestamp'))} - ${start})`
    const minute = sql`${since} - ${since} % 60000`
    const hits = sql`${sourceRows('events', plan)} as e where ${whereClause(plan)}`
    const fetched = sql`agent_events where ${whereClause(withSuspected(plan))}`
    const open = sql`(select ${plan.dialect.lastBy(raw('pathname'), raw('(timestamp, pathname)'))} as value from ${hits} group by visitor_id) o`

    const people = (by: Sql) =>
      sql`select ${by} as value, count(distinct visitor_id) as people from ${hits} group by value`
    const agents = (by: Sql) =>
      sql`select ${by} as value, count(distinct agent_id) as agents from ${fetched} group by value`
    const beside = (a: Sql, b: Sql): Sql => {
      if (audience !== 'all') return audience === 'human' ? a : b
      return sql`select coalesce(a.value, b.value) as value, people, agents from (${a}) a full outer join (${b}) b on a.value = b.value`
    }

    const total = await context.one(metrics, () => beside(people(raw('0')), agents(raw('0'))))
    const pages = await context.list(
      { key: 'pathname', order: metrics.map((name) => `${name} desc`), metrics, limit: MAX_PAGES },
      () =>
        sql`select value as pathname, ${raw(metrics.join(', '))} from (${beside(
          sql`select value, count(*) as people from ${open} group by value`,
          agents(raw('pathname')),
        )}) p`,
    )
    const found = await context.rows(beside(people(minute), agents(minute)))
    const counts = new Map(found.map(({ value, ...row }) => [value, row]))
    const minutes = Array.from({ length: WINDOW_MINUTES }, (_, i) => {
      const t = new Date(start + i * 60_000)
      const isRecorded = context.recorded({ start: t, end: new Date(t.getTime() + 60_000) }) !== 'none'
      const zeros = isRecorded ? metrics.map((name) => [name, 0]) : []
      return { t: t.toISOString(), ...Object.fromEntries(zeros), ...counts.get(i * 60_000) }
    })
    const { value: _, ...now } = total
    return { data: { ...now, pages, minutes }, rows: pages.length }
  },
})
