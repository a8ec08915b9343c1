import { sessionFigures } from '../../storage/aggregates/session-aggregates.js'
import { type Dialect, raw, type Sql, sql } from '../../storage/sql.js'
import { splitSessions } from './aggregate-split.js'
import type { Plan } from './plan.js'

/** Computes sessions from their hits: the columns of `sessionsInWindow`. */
export const sessionsFromHits = (hits: Sql, dialect: Dialect): Sql => sql`
  select session_id, ${sessionFigures(dialect)}, min(entry_page) as entry_page from ${hits} e group by session_id`

/**
 * Selects the sessions that started in the window, each over its whole length, whatever the window and the filters cut:
 * `session_id, visitor_id, started, ended, ms, views, interactions, bounced, exit_page, entry_page`. Unused columns cost nothing.
 * `among` restricts them by a condition on all of their hits, `amongAggregates` those that are aggregated.
 */
export function sessionsInWindow(plan: Plan, among?: Sql, amongAggregates = among): Sql {
  const { aggregates, hits } = splitSessions(plan, false)
  const counted = sessionsFromHits(among ? sql`(select * from ${hits} h where ${among})` : hits, plan.dialect)
  return aggregates === undefined
    ? counted
    : sql`
      select session_id, visitor_id, started, ended, ms, views, interactions, bounced, exit_page, entry_page from ${aggregates} s
      ${amongAggregates ? sql`where ${amongAggregates}` : raw('')}
      union all ${counted}`
}
