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

/** `fetches, size, ms, without_bytes, without_duration` of rows with `MEASURED`. */
const TAKEN = raw(`count(*) as fetches, sum(bytes) as size, sum(duration_ms) as ms,
  sum(case when coalesce(bytes, 0) = 0 and method = 'GET' and status in (200, 206) then 1 else 0 end) as without_bytes,
  sum(case when coalesce(duration_ms, 0) = 0 then 1 else 0 end) as without_duration`)
const MEASURED = raw('bytes, duration_ms, method, status')

const ofAgents = (plan: Plan): Sql => whereClause(planForTable(plan, 'agent_events'))
/** The fetches of one operator, without those that only claim its name; undefined: all. */
const ofOperator = (operator: string | undefined): Sql =>
  operator === undefined ? raw('true') : sql`operator = ${operator} and ${NOT_SPOOFED}`

/** Selects what every fetch of the window took, by `operator, agent_id, purpose` and `fate` (charged, spoofed or refused), the most bytes first. */
export const takenByAgent = (plan: Plan): Sql => sql`
  select operator, agent_id, purpose, fate, ${TAKEN}
  from (
    select operator, agent_id, purpose, ${MEASURED},
      case when ${IS_REFUSED} then 'refused' when ${NOT_SPOOFED} then 'charged' else 'spoofed' end as fate
    from agent_events where ${ofAgents(plan)}) f
  group by operator, agent_id, purpose, fate
  order by size desc nulls last, agent_id, operator, purpose, fate`

/** Selects what fetches took that robots.txt disallowed at their time: by `agent_id, operator, spoofed, severity`. */
export const disallowedTaken = (
  plan: Plan,
  { catalog, operator }: { catalog: readonly CatalogAgent[]; operator: string | undefined },
): Sql => sql`
  select agent_id, operator, spoofed, severity, ${TAKEN}
  from (
    select agent_id, operator, spoofed, ${MEASURED}, ${severityOf(catalog)} as severity
    from (
      select agent_id, operator, verified, ${MEASURED}, robots_grace is not null and robots_grace as grace,
        case when ${NOT_SPOOFED} then 0 else 1 end as spoofed
      from agent_events
      where ${ofAgents(plan)} and not robots_allowed and not ${IS_REFUSED} and ${ofOperator(operator)}) g) s
  group by agent_id, operator, spoofed, severity
  order by size desc nulls last, agent_id, operator, spoofed, severity`

/** Selects what fetches took by `bucket`, without refused ones. */
export const takenByBucket = (plan: Plan, operator: string | undefined): Sql => sql`
  select bucket, ${TAKEN}
  from (
    select ${bucketKey(raw('timestamp'), plan.window, plan.tz, plan.granularity, plan.dialect)} as bucket, ${MEASURED}
    from agent_events where ${ofAgents(plan)} and not ${IS_REFUSED} and ${ofOperator(operator)}) f
  group by bucket`

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

/** Selects the visits that each source sent: `sender, readers`. */
export const readersBySender = (plan: Plan, senders: readonly string[]): Sql =>
  sql`select sender, count(*) as readers from (${arrivals(plan, senders)}) a group by sender`

/** Selects the goals that these visits reached in the window, each once a visit: `sender, goals`. */
export const goalsBySender = (plan: Plan, senders: readonly string[]): Sql => sql`
  select sender, count(*) as goals
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
