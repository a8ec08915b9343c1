import { z } from 'zod'
import { TOTAL } from '../../query/by.js'
import { matched, sessions } from '../../query/metrics.js'
import { defineRead } from '../../query/read.js'
import { type Begun, visitsOf } from '../../query/visit.js'
import { sql } from '../../sql.js'
import { idOf, instants, visit } from '../shapes.js'

/** GET /api/stats/sessions (spec 4.3): the sessions that `sessions` counts, the newest first, each over its whole length. */
export default defineRead({
  path: '/api/stats/sessions',
  summary: 'Sessions that started in the window, newest first',
  params: {},
  list: true,
  audience: { unless_asked: 'human', among: ['human'] },
  compare: 'none',
  data: z.array(z.object(visit)),
  answer: async (ask) => {
    const { plan, dialect } = ask
    const own = sessions(plan, dialect)
    const page = await ask.list(
      {
        key: 'session_id',
        order: ['started desc'],
        metrics: [],
        ...(plan.filters.length === 0 ? { count: sql`select count(*) as n from (${own}) s` } : {}),
      },
      (p) =>
        p.filters.length === 0
          ? sql`select session_id, started from (${own}) s`
          : sql`select s.session_id, started from (${own}) s
              join (${matched(p, dialect, TOTAL)}) m on m.session_id = s.session_id`,
    )
    const begun = page.flatMap(({ session_id, started }): Begun[] =>
      started instanceof Date ? [{ id: idOf(session_id), started }] : [],
    )
    const rows = new Map((await visitsOf(ask, begun)).map((row) => [row.id, row]))
    const data = page.flatMap(({ session_id }) => {
      const row = rows.get(session_id)
      return row ? [instants(row)] : []
    })
    return { data, rows: data.length }
  },
})
