import { z } from 'zod'
import { sql } from '../../../storage/sql.js'
import { aggregateCondition, filterCondition } from '../../query/conditions.js'
import { onlyLeavesOutSessions } from '../../query/filters.js'
import { TOTAL } from '../../query/grouping.js'
import { matchingSessions } from '../../query/metrics.js'
import { defineRead } from '../../query/read.js'
import { peopleOnly } from '../../query/read-audience.js'
import { type SessionStart, sessionDetails } from '../../query/session-details.js'
import { sessionsInWindow } from '../../query/sessions.js'
import { formatInstants, parseHexId, sessionShape } from '../shapes.js'

/**
 * GET /api/stats/sessions: the sessions that the metric `sessions` counts, newest first, each over its whole length.
 */
export default defineRead({
  path: '/api/stats/sessions',
  summary: 'Sessions that started in the window, newest first',
  params: {},
  list: true,
  audience: peopleOnly('/api/agents/breakdown?dimension=agent_id'),
  compare: 'none',
  data: z.array(z.object(sessionShape)),
  run: async (context) => {
    const { plan } = context
    const all = onlyLeavesOutSessions(plan.filters)
    const inWindow =
      all && plan.filters.length > 0
        ? sessionsInWindow(plan, filterCondition(plan), aggregateCondition(plan))
        : sessionsInWindow(plan)
    const page = await context.list(
      {
        key: 'session_id',
        order: ['started desc'],
        metrics: [],
        ...(all ? { totalQuery: sql`select count(*) as n from (${inWindow}) s` } : {}),
      },
      (p) =>
        onlyLeavesOutSessions(p.filters)
          ? sql`select session_id, started from (${inWindow}) s`
          : sql`select s.session_id, started from (${inWindow}) s
              join (${matchingSessions(p, TOTAL)}) m on m.session_id = s.session_id`,
    )
    const begun = page.flatMap(({ session_id, started }): SessionStart[] =>
      started instanceof Date ? [{ id: parseHexId(session_id), started }] : [],
    )
    const rows = new Map((await sessionDetails(context, begun)).map((row) => [row.id, row]))
    const data = page.flatMap(({ session_id }) => {
      const row = rows.get(session_id)
      return row ? [formatInstants(row)] : []
    })
    return { data, rows: data.length }
  },
})
