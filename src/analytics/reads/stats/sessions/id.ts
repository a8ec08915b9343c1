import { z } from 'zod'
import { ApiError } from '../../../../base/errors.js'
import { raw, sql } from '../../../../storage/sql.js'
import type { Plan } from '../../../query/plan.js'
import { defineRead } from '../../../query/read.js'
import { planAround, sessionDetails } from '../../../query/session-details.js'
import { startedInWindow } from '../../../query/window-conditions.js'
import { Count, formatInstants, HexId, Instant, parseHexId, parseJsonObject, sessionShape } from '../../shapes.js'

/** A robot that passes for a person can have a session of any length. */
const MAX_TIMELINE_ROWS = 1_000

/**
 * GET /api/stats/sessions/{id}: one session of the site with its hits in order, whatever the window and the filters.
 */
export default defineRead({
  path: '/api/stats/sessions/{id}',
  summary: 'One session with its timeline, whatever the window',
  params: {},
  audience: { only: 'human' },
  compare: 'none',
  data: z.object({
    ...sessionShape,
    timeline: z.array(
      z.object({
        timestamp: Instant,
        kind: z.string(),
        name: z.string().optional().describe("A custom event's name, or an error's message."),
        hostname: z.string(),
        pathname: z.string(),
        props: z.record(z.string(), z.unknown()).optional(),
        engaged_ms: Count.optional(),
        scroll: z.number().min(0).max(100).optional(),
      }),
    ),
  }),
  run: async (context, _, words) => {
    const unknown = new ApiError('not_found', 'Session not found.', 'id')
    const word = HexId.safeParse(words.id)
    if (!word.success) throw unknown
    const id = parseHexId(word.data)
    const [found] = await context.rows(sql`
      select min(session_start) as first, max(session_start) as last from events
      where ${startedInWindow(planOverAllTime(context.plan))} and session_id = ${id}`)
    const begun = [found?.first, found?.last].flatMap((at) => (at instanceof Date ? [{ id, started: at }] : []))
    const [session] = await sessionDetails(context, begun)
    if (!session) throw unknown
    const name = sql`coalesce(event_name, ${context.plan.dialect.jsonText(raw('error'), 'message')})`
    const rows = await context.rows(sql`
      select timestamp, kind, ${name} as name, hostname, pathname, props, engaged_ms, scroll
      from events where ${startedInWindow(planAround(context.plan, begun))} and session_id = ${id}
      order by timestamp, case when kind = 'pageview' then 0 else 1 end, pathname, kind, name, props, engaged_ms, scroll
      limit ${MAX_TIMELINE_ROWS + 1}`)
    if (rows.length > MAX_TIMELINE_ROWS) {
      const message = `The session has more than ${MAX_TIMELINE_ROWS} hits; the timeline has the first of them.`
      context.warn({ metric: 'timeline', code: 'timeline_truncated', message })
    }
    const timeline = rows.slice(0, MAX_TIMELINE_ROWS).map(({ props, ...row }) => {
      const own = parseJsonObject(props)
      return { ...formatInstants(row), ...(own ? { props: own } : {}) }
    })
    return { data: { ...formatInstants(session), timeline }, rows: 1 }
  },
})

/** The plan over all time: the window does not matter here. */
const planOverAllTime = (plan: Plan): Plan => ({
  ...plan,
  window: { start: new Date(0), end: new Date(Date.UTC(2200, 0)) },
})
