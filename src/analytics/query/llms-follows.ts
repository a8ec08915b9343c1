import { IS_GENUINE } from '../../storage/aggregates/daily-counts.js'
import { isIn, raw, type Sql, sql } from '../../storage/sql.js'
import { filterCondition, whereClause } from './conditions.js'
import { type Plan, withoutUrlFilters, withUrlFilters, withWindow } from './plan.js'
import { OTHER_AGENTS } from './read-context.js'
import { inWindow } from './window-conditions.js'

const LLMS_FILES = ['/llms.txt', '/llms-full.txt']
/** A 304 confirms that the agent's copy is the present one. */
const IS_READ = raw('status >= 200 and status < 400')
const BY_GET = raw(`method = 'GET' and ${IS_GENUINE}`)

/** A path that versions of llms.txt linked in some time. */
export interface LinkedTime {
  readonly pathname: string
  readonly since: Date
  readonly until: Date
}

interface FollowOptions {
  readonly hostname: string
  readonly links: readonly LinkedTime[]
  /** Milliseconds from a read of llms.txt to a fetch that follows it. */
  readonly within: number
}

/** Selects those of some paths of a hostname that pass the conditions on URLs: `pathname`. */
export const passingPaths = (plan: Plan, hostname: string, paths: readonly string[]): Sql => sql`
  select pathname
  from (
    select ${hostname} as hostname, pathname
    from ${plan.dialect.rows(
      paths.map((pathname) => ({ pathname })),
      { pathname: 'varchar' },
    )} l) u
  where ${filterCondition(withUrlFilters(plan))}`

/** Selects who read the two files in the window, whatever URLs are selected: `agent_id, pathname, reads, last_read`. */
export const llmsReads = (plan: Plan, hostname: string | undefined): Sql => sql`
  select agent_id, pathname, count(*) as reads, max(timestamp) as last_read
  from agent_events
  where ${whereClause(withoutUrlFilters(plan))} and ${hostname === undefined ? raw('true') : sql`hostname = ${hostname}`}
    and ${isIn(raw('pathname'), LLMS_FILES)} and ${BY_GET} and ${IS_READ}
  group by agent_id, pathname`

/**
 * Selects fetches of links that followed a read of llms.txt by the same agent, one row for each read and link: `agent_id,
 * pathname, fetches, ms, place`. The read is the agent's latest before the fetch, at most `within` before it; the version
 * that was active then has the link. `ms` is the time to the first fetch, `place` the link's place among those that
 * followed the read. Agents that are in no catalogue are told apart by their user agents.
 */
function follows(plan: Plan, { hostname, links, within }: FollowOptions): Sql {
  const { dialect } = plan
  const { start, end } = plan.window
  const earlier = withWindow(plan, { start: new Date(start.getTime() - within), end })
  const linked = dialect.rows(links, { pathname: 'varchar', since: 'timestamp', until: 'timestamp' })
  const delay = sql`${dialect.epochMs(raw('timestamp'))} - ${dialect.epochMs(raw('read_at'))}`
  return sql`
    select agent_id, pathname, fetches, ms,
      row_number() over (partition by agent_id, client, read_at order by ms, pathname) as place
    from (
      select agent_id, client, read_at, f.pathname as pathname, count(*) as fetches, min(${delay}) as ms
      from (
        select agent_id, client, pathname, timestamp, is_read,
          max(case when is_read = 1 then timestamp end) over (
            partition by agent_id, client order by timestamp, is_read desc, pathname
            rows between unbounded preceding and current row) as read_at
        from (
          select agent_id, case when agent_id = ${OTHER_AGENTS} then user_agent else '' end as client, pathname, timestamp,
            case when pathname = '/llms.txt' then 1 else 0 end as is_read
          from agent_events
          where ${inWindow(earlier)} and ${filterCondition(withoutUrlFilters(plan))} and hostname = ${hostname} and ${BY_GET}
            and ((pathname = '/llms.txt' and ${IS_READ})
              or (pathname <> '/llms.txt' and pathname in (select pathname from ${linked} n)))) r) f
        join ${linked} l on l.pathname = f.pathname
      where is_read = 0 and timestamp >= ${start} and read_at is not null and ${delay} <= ${within}
        and read_at >= since and read_at < until
      group by agent_id, client, read_at, f.pathname) g`
}

/** Selects sums of these fetches by some columns: `follows, fetches, agents, links, seconds, place`, the last two as medians. */
export const llmsFollows = (plan: Plan, options: FollowOptions, by: readonly ('agent_id' | 'pathname')[]): Sql => sql`
  select ${raw(by.join(', '))}, count(*) as follows, sum(fetches) as fetches, count(distinct agent_id) as agents,
    count(distinct pathname) as links, ${plan.dialect.quantile(raw('ms / 1000.0'), 0.5)} as seconds,
    ${plan.dialect.quantile(raw('place'), 0.5)} as place
  from (${follows(plan, options)}) f
  group by ${raw(by.join(', '))}`
