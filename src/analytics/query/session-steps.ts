import { join, raw, type Sql, sql } from '../../storage/sql.js'
import { splitSessions } from './aggregate-split.js'
import { TOTAL } from './grouping.js'
import { matchingSessions } from './metrics.js'
import type { Plan } from './plan.js'
import { startedInWindow } from './window-conditions.js'

/** If two pageviews are in the same millisecond, the one with the greater path is the later one, as for `exit_page`. */
const VIEW_ORDER = raw('partition by session_id order by timestamp, pathname')

export const stepColumns = (most: number): Sql[] => Array.from({ length: most }, (_, i) => raw(`step_${i + 1}`))

/**
 * Selects the first pages of sessions: `session_id, step_1, step_2` and so on, null after the last. A page that follows
 * itself counts once. `views` are the pageviews of whole sessions: `session_id, timestamp, pathname`.
 */
const stepsFromViews = (views: Sql, most: number): Sql => {
  const steps = stepColumns(most).map(
    (name, i) => sql`max(case when step = ${raw(`${i + 1}`)} then pathname end) as ${name}`,
  )
  return sql`
    select session_id, ${join(steps, ', ')}
    from (select session_id, pathname, row_number() over (${VIEW_ORDER}) as step
      from (select *, lag(pathname) over (${VIEW_ORDER}) as previous from (${views}) v) p
      where previous is null or previous <> pathname) n
    where step <= ${raw(`${most}`)} group by session_id`
}

/**
 * The same for the sessions that started in the window and have a hit that passes the filters, from the first page on
 * or from the first view of `start`. Sessions without a page, or without `start`, are left out. Aggregated sessions
 * have up to 8 steps.
 */
export function sessionSteps(plan: Plan, most: number, start?: string): Sql {
  const { passing, started, viewsIn } = viewsOf(plan)
  if (start === undefined) {
    const { aggregates, hits } = splitSessions(plan, false)
    const counted = stepsFromViews(viewsIn(hits), most)
    return aggregates === undefined
      ? counted
      : sql`select session_id, ${join(stepColumns(most), ', ')} from ${aggregates} s
          where step_1 is not null and ${passing} union all ${counted}`
  }
  const views = viewsIn(started)
  return stepsFromViews(
    sql`select v.session_id, timestamp, pathname from (${views}) v
      join (select session_id, min(timestamp) as began from (${views}) w where pathname = ${start} group by session_id) b
        on b.session_id = v.session_id and (timestamp > began or (timestamp = began and pathname >= ${start}))`,
    most,
  )
}

/** The pageviews of the sessions that started in the window and have a hit that passes the filters. */
function viewsOf(plan: Plan) {
  const passing =
    plan.filters.length === 0
      ? raw('true')
      : sql`session_id in (select session_id from (${matchingSessions(plan, TOTAL)}) m)`
  return {
    passing,
    started: sql`(select * from events where ${startedInWindow(plan)})`,
    viewsIn: (source: Sql) =>
      sql`select session_id, timestamp, pathname from ${source} e where kind = 'pageview' and ${passing}`,
  }
}

/** Selects these pageviews: `session_id, timestamp, pathname`. */
export const sessionViews = (plan: Plan): Sql => {
  const { started, viewsIn } = viewsOf(plan)
  return viewsIn(started)
}
