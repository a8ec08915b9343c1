import { arrivingAssistant, IS_FIRST_VIEW } from '../../storage/aggregates/daily-counts.js'
import { isIn, raw, type Sql, sql } from '../../storage/sql.js'
import { bucketKey } from './buckets.js'
import type { Window } from './calendar.js'
import { type Plan, withWindow } from './plan.js'
import { inWindow } from './window-conditions.js'

/** A fetch that a rule refused, by the columns of its row. */
const IS_REFUSED = raw("(action is not null and action <> 'allow')")

const dayOf = ({ window, tz, dialect }: Plan): Sql => bucketKey(raw('timestamp'), window, tz, 'day', dialect)

/**
 * Selects all fetches of the window: `day, user_agent, verification, refused_by, fetches, bytes, duration_ms, first`, grouped by
 * the first four. `refused_by` is the rule that refused them, null if none did; `day` is a bucket's key.
 */
export const recordedFetches = (plan: Plan): Sql => sql`
  select day, user_agent, verification, refused_by, count(*) as fetches, sum(bytes) as bytes,
    sum(duration_ms) as duration_ms, min(timestamp) as first
  from (
    select user_agent, verification, bytes, duration_ms, timestamp, ${dayOf(plan)} as day,
      case when ${IS_REFUSED} then coalesce(rule, 0) end as refused_by
    from agent_events where ${inWindow(plan)}) f
  group by day, user_agent, verification, refused_by`

/** The fetches that a rehearsal reads. */
export interface DecidedRows {
  /** The user agents whose fetches are read, each with the number of its agent. */
  readonly agents: ReadonlyMap<string, number>
  /** Instants within the window at which decisions change. */
  readonly changes: readonly Date[]
  /** Some fetches were refused: their weight is that of the same URL when it was last served. */
  readonly hasRefused: boolean
  /**
   * Present: `is_first` is 1 for fetches of an address and agent that are not within so many milliseconds of the one before in the
   * window; else it is 0.
   */
  readonly lifetime_ms?: number | undefined
}

/** The columns that decisions depend on; `part` counts the changes before the fetch. */
const DECIDING = raw('agent, verification, method, hostname, pathname, disallowed, day, part, is_first')

/** Selects each fetch of a time with what decisions depend on, `at_ms`, `ip_hash`, and its weight: `bytes, duration_ms, weighed` (0 or 1). */
function decidedRows(plan: Plan, time: Window, { agents, changes, hasRefused, lifetime_ms = 0 }: DecidedRows): Sql {
  const numbers = [...agents].map(([name, agent]) => ({ name, agent }))
  const part = changes.reduce((all, at) => sql`${all} + case when timestamp < ${at} then 0 else 1 end`, raw('0'))
  const { dialect } = plan
  const last = (column: string) => dialect.lastBy(raw(column), sql`(timestamp, coalesce(${raw(column)}, 0))`)
  const served = sql`
    left join (
      select hostname as served_host, pathname as served_path, ${last('bytes')} as served_bytes,
        ${last('duration_ms')} as served_ms
      from agent_events where ${inWindow(plan)} and not ${IS_REFUSED} and status between 200 and 299
      group by hostname, pathname) s on s.served_host = f.hostname and s.served_path = f.pathname`
  const weight = (own: string, known: string) =>
    hasRefused ? raw(`case when refused then ${known} else ${own} end`) : raw(own)
  // The fetch before may be in the time before.
  const start = new Date(Math.max(time.start.getTime() - lifetime_ms, plan.window.start.getTime()))
  const pause = raw('at_ms - lag(at_ms) over (partition by ip_hash, agent order by at_ms, hostname, pathname)')
  const rows = sql`
    select a.agent as agent, f.verification as verification, f.method as method, f.hostname as hostname,
      f.pathname as pathname, f.disallowed as disallowed, f.day as day, f.part as part, f.at_ms as at_ms, f.ip_hash as ip_hash,
      ${weight('own_bytes', 'served_bytes')} as bytes, ${weight('own_ms', 'served_ms')} as duration_ms,
      ${raw(hasRefused ? 'case when refused and served_host is null then 0 else 1 end' : '1')} as weighed
    from (
      select user_agent, verification, method, hostname, pathname, ip_hash, bytes as own_bytes, duration_ms as own_ms,
        robots_allowed is not null and not robots_allowed as disallowed, ${IS_REFUSED} as refused,
        ${dialect.epochMs(raw('timestamp'))} as at_ms, ${dayOf(plan)} as day, ${part} as part
      from agent_events where ${inWindow(withWindow(plan, { ...time, start }))}) f
    join ${dialect.rows(numbers, { name: 'varchar', agent: 'integer' })} a on a.name = f.user_agent
    ${hasRefused ? served : raw('')}`
  if (lifetime_ms === 0) return sql`select *, 0 as is_first from (${rows}) r`
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

/** The fetches of one agent around the moment at which a rule first refused it. */
export interface AroundRefusal {
  readonly n: number
  readonly user_agent: string
  readonly verification: string
  readonly from: Date
  readonly since: Date
  readonly until: Date
}

/** Selects by `n`: `fetches_before, fetches_after, refused`, the last two from the first refusal on. */
export const fetchesAround = (plan: Plan, around: readonly AroundRefusal[]): Sql => {
  const types = { n: 'integer', user_agent: 'varchar', verification: 'varchar', from_at: 'timestamp' } as const
  const rows = around.map((one) => ({ ...one, from_at: one.from, since_at: one.since, until_at: one.until }))
  return sql`
    select n, count(*) filter (where timestamp < since_at) as fetches_before,
      count(*) filter (where timestamp >= since_at) as fetches_after,
      count(*) filter (where timestamp >= since_at and refused) as refused
    from (select timestamp, user_agent as ua, coalesce(verification, '') as verdict, ${IS_REFUSED} as refused
      from agent_events where ${inWindow(plan)}) f
    join ${plan.dialect.rows(rows, { ...types, since_at: 'timestamp', until_at: 'timestamp' })} r
      on r.user_agent = f.ua and r.verification = f.verdict
    where timestamp >= from_at and timestamp < until_at
    group by n`
}

/**
 * Selects the visits that came from these assistants and search engines: `sender, hostname, pathname, day, visits`, by the page
 * at which they arrived. Visits by advertisements do not count: no index brought them.
 */
export const visitsFrom = (plan: Plan, senders: readonly string[]): Sql => sql`
  select sender, hostname, pathname, day, count(distinct session_id) as visits
  from (
    select coalesce(${arrivingAssistant(plan.dialect)}, case when channel = 'Organic Search' then source end) as sender,
      hostname, pathname, session_id, ${dayOf(plan)} as day
    from events where ${inWindow(plan)} and kind = 'pageview' and ${raw(IS_FIRST_VIEW)}) v
  where ${isIn(raw('sender'), senders)}
  group by sender, hostname, pathname, day`
