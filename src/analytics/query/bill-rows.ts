import { IS_FIRST_VIEW } from '../../storage/aggregates/daily-counts.js'
import { isIn, raw, type Sql, sql } from '../../storage/sql.js'
import { bucketKey } from './buckets.js'
import { sourceRows, whereClause } from './conditions.js'
import { findDimension } from './dimensions.js'
import { IS_REFUSED, NOT_SPOOFED } from './metrics.js'
import { type Plan, planForTable } from './plan.js'
import type { CatalogAgent } from './read-context.js'
import { arrivalSender } from './rehearsal-rows.js'
import { severityOf } from './violations.js'
import { inWindow } from './window-conditions.js'

/** Columns that the rows of a bill are grouped by; all have `operator` and `fate`: charged, spoofed or refused. */
const GROUPS = {
  agents: raw('operator, fate, agent_id, purpose, severity'),
  buckets: raw('operator, fate, bucket'),
}

/**
 * Selects what fetches of the window took: `fetches, size, ms, without_bytes, without_duration`, the most bytes first.
 * `severity` is null for fetches that robots.txt did not disallow at their time.
 */
export const takenBy = (plan: Plan, of: keyof typeof GROUPS, catalog: readonly CatalogAgent[]): Sql => sql`
  select ${GROUPS[of]}, count(*) as fetches, sum(bytes) as size, sum(duration_ms) as ms,
    sum(case when coalesce(bytes, 0) = 0 and method = 'GET' and status in (200, 206) then 1 else 0 end) as without_bytes,
    sum(case when coalesce(duration_ms, 0) = 0 then 1 else 0 end) as without_duration
  from (
    select operator, agent_id, purpose, bytes, duration_ms, method, status,
      case when ${IS_REFUSED} then 'refused' when ${NOT_SPOOFED} then 'charged' else 'spoofed' end as fate,
      case when not robots_allowed then ${severityOf(catalog)} end as severity,
      ${bucketKey(raw('timestamp'), plan.window, plan.tz, plan.granularity, plan.dialect)} as bucket
    from (
      select *, robots_grace is not null and robots_grace as grace
      from agent_events where ${whereClause(planForTable(plan, 'agent_events'))}) g) f
  group by ${GROUPS[of]}
  order by size desc nulls last, ${GROUPS[of]}`

/** Selects the visits of the window that began with an arrival from one of these sources: `session_id, sender`. */
function arrivals(plan: Plan, senders: readonly string[]): Sql {
  const people = planForTable(plan, 'events')
  return sql`
    select session_id, sender
    from (
      select session_id, ${arrivalSender(plan)} as sender from ${sourceRows('events', people)} as e
      where ${whereClause(people)} and kind = 'pageview' and ${raw(IS_FIRST_VIEW)}) v
    where ${isIn(raw('sender'), senders)} group by session_id, sender`
}

/** Selects the visits that each source sent: `sender, n`. */
export const readersBySender = (plan: Plan, senders: readonly string[]): Sql =>
  sql`select sender, count(*) as n from (${arrivals(plan, senders)}) a group by sender`

/** Selects the goals that these visits reached in the window, each once a visit: `sender, n`. */
export const goalsBySender = (plan: Plan, senders: readonly string[]): Sql => sql`
  select sender, count(*) as n
  from (${arrivals(plan, senders)}) a
  join (
    select session_id as reached_by, goal
    from ${sourceRows('events', { ...plan, filters: [] }, [], findDimension('goal', 'goals'))} as e
    where ${inWindow(plan)} group by session_id, goal) g on reached_by = session_id
  group by sender`

/** Selects the origin time of people's pages: `ms`. */
export const peopleTime = (plan: Plan): Sql => {
  const people = planForTable(plan, 'events')
  return sql`
    select coalesce(sum(duration_ms), 0) as ms from ${sourceRows('events', people)} as e
    where ${whereClause(people)} and kind = 'pageview'`
}
