import { type Dialect, raw, type Sql, sql } from '../sql.js'
import { matched, TOTAL } from './metrics.js'
import type { Plan } from './plan.js'
import { startedInWindow } from './where.js'

/** Of two pageviews in the same millisecond the path that sorts last is the later one, as for `exitPage`. */
const ORDER = raw('partition by session_id order by timestamp, pathname')

/**
 * The pages of the sessions that started in the window and have a hit that passes the filters, over each whole session
 * and in order; a page that is seen twice in a row is one step. `session_id, step` (from 1) `, pathname, next`, which is
 * null for the last one. From the first view of `start` on, where that is given: sessions without one are left out.
 */
export function steps(plan: Plan, dialect: Dialect, start?: string): Sql {
  const passing =
    plan.filters.length === 0
      ? raw('')
      : sql`and session_id in (select session_id from (${matched(plan, dialect, TOTAL)}) m)`
  const views = sql`events where ${startedInWindow(plan)} and kind = 'pageview' ${passing}`
  const journeys =
    start === undefined
      ? sql`select session_id, timestamp, pathname from ${views}`
      : sql`
        select v.session_id, timestamp, pathname from (select session_id, timestamp, pathname from ${views}) v
        join (select session_id, min(timestamp) as began from ${views} and pathname = ${start} group by session_id) b
          on b.session_id = v.session_id and (timestamp > began or (timestamp = began and pathname >= ${start}))`
  return sql`
    select session_id, row_number() over (${ORDER}) as step, pathname, lead(pathname) over (${ORDER}) as next
    from (select *, lag(pathname) over (${ORDER}) as previous from (${journeys}) j) p
    where previous is null or previous <> pathname`
}
