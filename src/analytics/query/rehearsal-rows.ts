import { arrivingAssistant, IS_FIRST_VIEW } from '../../storage/aggregates/daily-counts.js'
import { isIn, raw, type Sql, sql } from '../../storage/sql.js'
import { bucketKey } from './buckets.js'
import type { Window } from './calendar.js'
import { IS_REFUSED } from './metrics.js'
import { type Plan, withWindow } from './plan.js'
import { inWindow } from './window-conditions.js'

const dayOf = ({ window, tz, dialect }: Plan): Sql => bucketKey(raw('timestamp'), window, tz, 'day', dialect)

/**
 * Selects all fetches of the window: `day, refused_by, fetches, bytes, duration_ms`, grouped by the first two. `refused_by` is
 * the rule that refused them, null if none did; `day` is a bucket's key.
 */
export const fetchesByDay = (plan: Plan): Sql => sql`
  select day, refused_by, count(*) as fetches, sum(bytes) as bytes, sum(duration_ms) as duration_ms
  from (
    select bytes, duration_ms, ${dayOf(plan)} as day, case when ${IS_REFUSED} then coalesce(rule, 0) end as refused_by
    from agent_events where ${inWindow(plan)}) f
  group by day, refused_by`

/** Selects the user agents of the window: `user_agent, fetches`. */
export const userAgents = (plan: Plan): Sql =>
  sql`select user_agent, count(*) as fetches from agent_events where ${inWindow(plan)} group by user_agent`

/** The fetches that a rehearsal reads. */
export interface DecidedRows {
  /** The user agents whose fetches are read, each with the number of its agent. */
  readonly agents: ReadonlyMap<string, number>
  /** Some fetches were refused: their weight is that of the same URL when it was last served. */
  readonly hasRefused: boolean
  /**
   * Above 0: `is_first` is 1 for fetches of an address and agent that are not within so many milliseconds of the one before in the
   * window; else it is 0.
   */
  readonly lifetime_ms: number
}

/** The columns that decisions depend on. */
const DECIDING = raw('agent, verification, method, hostname, pathname, disallowed, day, is_first')

/** Selects each fetch of a time with what decisions depend on, `at_ms`, `ip_hash`, and its weight: `bytes, duration_ms, weighed` (0 or 1). */
function decidedRows(plan: Plan, time: Window, { agents, hasRefused, lifetime_ms }: DecidedRows): Sql {
  const numbers = [...agents].map(([name, agent]) => ({ name, agent }))
  const { dialect } = plan
  const last = (column: string) => dialect.lastBy(raw(column), sql`(timestamp, coalesce(${raw(column)}, 0))`)
  const served = sql`
    left join (
      select hostname as served_host, pathname as served_path, ${last('bytes')} as served_bytes,
        ${last('duration_ms')} as served_ms
      from agent_events where ${inWindow(plan)} and not ${IS_REFUSED} and status between 200 and 299
      group by hostname, pathname) s on s.served_host = f.hostname and s.served_path = f.pathname`
  const weight = hasRefused
    ? raw(`case when refused then served_bytes else own_bytes end as bytes,
        case when refused then served_ms else own_ms end as duration_ms,
        case when refused and served_host is null then 0 else 1 end as weighed`)
    : raw('own_bytes as bytes, own_ms as duration_ms, 1 as weighed')
  // The fetch before may be in the time before.
  const start = new Date(Math.max(time.start.getTime() - lifetime_ms, plan.window.start.getTime()))
  const rows = sql`
    select a.agent as agent, f.verification as verification, f.method as method, f.hostname as hostname,
      f.pathname as pathname, f.disallowed as disallowed, f.day as day, f.at_ms as at_ms, f.ip_hash as ip_hash, ${weight}
    from (
      select user_agent, verification, method, hostname, pathname, ip_hash, bytes as own_bytes, duration_ms as own_ms,
        robots_allowed is not null and not robots_allowed as disallowed, ${IS_REFUSED} as refused,
        ${dialect.epochMs(raw('timestamp'))} as at_ms, ${dayOf(plan)} as day
      from agent_events where ${inWindow(withWindow(plan, { ...time, start }))}) f
    join ${dialect.rows(numbers, { name: 'varchar', agent: 'integer' })} a on a.name = f.user_agent
    ${hasRefused ? served : raw('')}`
  if (lifetime_ms === 0) return sql`select *, 0 as is_first from (${rows}) r`
  const pause = raw('at_ms - lag(at_ms) over (partition by ip_hash, agent order by at_ms, hostname, pathname)')
  return sql`
    select *, case when pause is null or pause >= ${lifetime_ms} then 1 else 0 end as is_first
    from (select *, ${pause} as pause from (${rows}) r) p where at_ms >= ${time.start.getTime()}`
}

const WEIGHT = raw('sum(bytes) as bytes, sum(duration_ms) as duration_ms, sum(weighed) as weighed')

/** Selects fetches grouped by what decisions depend on, with `fetches` and their weight. */
export const groupedFetches = (plan: Plan, of: DecidedRows): Sql => sql`
  select ${DECIDING}, count(*) as fetches, ${WEIGHT} from (${decidedRows(plan, plan.window, of)}) d group by ${DECIDING}`

/** Selects each fetch of a part of the window, in the order of time. */
export const orderedFetches = (plan: Plan, of: DecidedRows, time: Window): Sql => sql`
  select ${DECIDING}, at_ms, ip_hash, bytes, duration_ms, weighed, 1 as fetches from (${decidedRows(plan, time, of)}) d
  order by at_ms, ip_hash, hostname, pathname`

/**
 * Selects `agent_id, verdict, rule, since, fetches_before, fetches_after, refused` for each agent that a rule refused: its first
 * refusal, in milliseconds since 1970, and the fetches in a time before and in as long a time after, until `end`. `verdict` is 1 for
 * verified claims, 0 for spoofed ones, 2 for others.
 */
export function aroundRefusals(plan: Plan, end: Date): Sql {
  const fetches = sql`
    select agent_id, case when verified is null then 2 when verified then 1 else 0 end as verdict,
      ${plan.dialect.epochMs(raw('timestamp'))} as at_ms, ${IS_REFUSED} as is_refused, coalesce(rule, 0) as refused_by
    from agent_events where ${inWindow(plan)}`
  const length = sql`least(first_ms - ${plan.window.start.getTime()}, ${end.getTime()} - first_ms)`
  return sql`
    select agent_id, verdict, min(first_rule) as rule, min(first_ms) as since,
      sum(case when at_ms < first_ms then 1 else 0 end) as fetches_before,
      sum(case when at_ms >= first_ms then 1 else 0 end) as fetches_after,
      sum(case when at_ms >= first_ms and is_refused then 1 else 0 end) as refused
    from (${fetches}) f
    join (
      select agent_id as first_agent, verdict as first_verdict, min(at_ms) as first_ms,
        ${plan.dialect.firstBy(raw('refused_by'), raw('at_ms'))} as first_rule
      from (${fetches}) r where is_refused group by agent_id, verdict) s on s.first_agent = f.agent_id and s.first_verdict = f.verdict
    where at_ms >= first_ms - ${length} and at_ms < first_ms + ${length}
    group by agent_id, verdict`
}

/** The assistant or search engine that sent the visit which began with this pageview; null if none did. */
export const arrivalSender = ({ dialect }: Plan): Sql =>
  sql`coalesce(${arrivingAssistant(dialect)}, case when channel = 'Organic Search' then source end)`

/**
 * Selects the visits that came from these assistants and search engines: `sender, hostname, pathname, day, visits`, by the page
 * at which they arrived. Visits by advertisements do not count: no index brought them.
 */
export const visitsFrom = (plan: Plan, senders: readonly string[]): Sql => sql`
  select sender, hostname, pathname, day, count(distinct session_id) as visits
  from (
    select ${arrivalSender(plan)} as sender,
      hostname, pathname, session_id, ${dayOf(plan)} as day
    from events where ${inWindow(plan)} and kind = 'pageview' and ${raw(IS_FIRST_VIEW)}) v
  where ${isIn(raw('sender'), senders)}
  group by sender, hostname, pathname, day`
