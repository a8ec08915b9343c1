import { SESSION_VISITOR } from '../../storage/aggregates/session-aggregates.js'
import { type Dialect, raw, type Sql, sql } from '../../storage/sql.js'
import { splitSessions } from './aggregate-split.js'
import type { Plan } from './plan.js'

/** Selects the hits that the metric `events` counts. */
export const IS_INTERACTIVE = raw("kind in ('custom', 'outbound', 'file_download', 'form')")
/** Selects the hits that prevent a bounce. That a flag was shown does not: the visitor did nothing. */
const PREVENTS_BOUNCE = sql`${IS_INTERACTIVE} and event_name is distinct from 'flag_exposure'`
/** A session with at least this much engaged time is not a bounce. */
const MIN_ENGAGED_MS = raw('10000')

/**
 * The last pageview's path; of a session without pageviews the last event's, as its entry is the first event's. Log files
 * have whole seconds only: of two in the same millisecond the greater path wins.
 */
const exitPage = (dialect: Dialect): Sql => {
  const last = dialect.lastBy(raw('pathname'), raw('(timestamp, pathname)'))
  return sql`coalesce(${last} filter (where kind = 'pageview'), ${last} filter (where ${IS_INTERACTIVE}))`
}

/** Computes sessions from their hits: the columns of `sessionsInWindow`. */
export const sessionsFromHits = (hits: Sql, dialect: Dialect): Sql => sql`
  select session_id, ${SESSION_VISITOR} as visitor_id, min(session_start) as started, max(timestamp) as ended,
    ${dialect.epochMs(raw('max(timestamp)'))} - ${dialect.epochMs(raw('min(timestamp)'))} as ms,
    count(*) filter (where kind = 'pageview') as views, count(*) filter (where ${IS_INTERACTIVE}) as acts,
    case when count(*) filter (where kind = 'pageview') = 1 and count(*) filter (where ${PREVENTS_BOUNCE}) = 0
      and coalesce(sum(engaged_ms), 0) < ${MIN_ENGAGED_MS} then 1.0 else 0.0 end as bounced,
    min(entry_page) as entry_page, ${exitPage(dialect)} as exit_page
  from ${hits} e group by session_id`

/**
 * Selects the sessions that started in the window, each over its whole length, whatever the window and the filters cut:
 * `session_id, visitor_id, started, ended, ms, views, acts, bounced, entry_page, exit_page`. Unused columns cost nothing.
 */
export function sessionsInWindow(plan: Plan): Sql {
  const { aggregates, hits } = splitSessions(plan, false)
  const counted = sessionsFromHits(hits, plan.dialect)
  return aggregates === undefined
    ? counted
    : sql`
      select session_id, visitor_id, started, ended, ms, views, acts, bounced, entry_page, exit_page from ${aggregates} s
      union all ${counted}`
}
