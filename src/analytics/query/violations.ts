import { isIn, join, raw, type Sql, sql } from '../../storage/sql.js'
import { whereClause } from './conditions.js'
import { NOT_SPOOFED } from './metrics.js'
import type { Plan } from './plan.js'
import type { CatalogAgent } from './read-context.js'

/** The severities of a fetch that robots.txt disallowed, the most serious first. */
export const SEVERITIES = ['breach', 'unbound', 'unclear', 'unverified', 'grace'] as const
export type Severity = (typeof SEVERITIES)[number]

/** The place of a column `severity` in `SEVERITIES`. */
export const SEVERITY_RANK = sql`case severity ${join(
  SEVERITIES.map((severity, i) => raw(`when '${severity}' then ${i}`)),
  ' ',
)} end`

/** Selects the severity of disallowed fetches by `grace`, `verified` and `agent_id`. */
export const severityOf = (catalog: readonly CatalogAgent[]): Sql => {
  const agentsThat = (answer: 'yes' | 'no'): Sql => {
    const ids = catalog.filter(({ respects_robots }) => respects_robots === answer).map((agent) => agent.agent_id)
    return isIn(raw('agent_id'), ids)
  }
  return sql`case when grace then 'grace'
    when verified is null or not verified then 'unverified'
    when ${agentsThat('yes')} then 'breach'
    when ${agentsThat('no')} then 'unbound'
    else 'unclear' end`
}

/**
 * Selects fetches that robots.txt disallowed at their time: `agent_id, operator, verified, hostname, pathname, rule, line,
 * fetches, first_seen, last_seen, severity`, grouped by all but the counts. `only` selects one severity.
 */
export const violations = (
  plan: Plan,
  { catalog, only }: { catalog: readonly CatalogAgent[]; only?: Severity | undefined },
): Sql => sql`
  select * from (
    select agent_id, operator, verified, hostname, pathname, rule, line, n as fetches, first_seen, last_seen,
      ${severityOf(catalog)} as severity
    from (
      select agent_id, operator, verified, hostname, pathname, robots_rule as rule, robots_line as line,
        robots_grace is not null and robots_grace as grace, count(*) as n, min(timestamp) as first_seen,
        max(timestamp) as last_seen
      from agent_events where ${whereClause(plan)} and not robots_allowed
      group by agent_id, operator, verified, hostname, pathname, robots_rule, robots_line, grace) g) s
  where ${only === undefined ? raw('true') : sql`severity = ${only}`}`

/**
 * Selects the fetches of one path by hostname and agent: `hostname, agent_id, fetches, spoofed, disallowed, rank, last_seen`.
 * `rank` is the place of the most serious severity, null if nothing was disallowed.
 */
export const pathFetches = (plan: Plan, catalog: readonly CatalogAgent[], pathname: string): Sql => sql`
  select hostname, agent_id, sum(n) as fetches, sum(case when ${NOT_SPOOFED} then 0 else n end) as spoofed,
    sum(case when disallowed then n else 0 end) as disallowed, min(case when disallowed then rank end) as rank,
    max(last) as last_seen
  from (
    select *, ${SEVERITY_RANK} as rank
    from (
      select *, ${severityOf(catalog)} as severity
      from (
        select hostname, agent_id, verified, verification, robots_grace is not null and robots_grace as grace,
          robots_allowed is not null and not robots_allowed as disallowed, count(*) as n, max(timestamp) as last
        from agent_events where ${whereClause(plan)} and pathname = ${pathname}
        group by hostname, agent_id, verified, verification, grace, disallowed) g) s) r
  group by hostname, agent_id`

/**
 * Selects violations grouped by these columns: the columns, `more`, and `fetches, first_seen, last_seen, rule, line`. The
 * rule is the one that disallowed most fetches of the group; of several the one in the first line.
 */
export function groupedViolations(
  plan: Plan,
  rows: Sql,
  columns: readonly string[],
  more: Readonly<Record<string, Sql>>,
): Sql {
  const { dialect } = plan
  const names = raw(columns.join(', '))
  const rule = dialect.tuple([raw('rule'), raw('line')])
  const added = Object.entries(more).map(([name, value]) => sql`${value} as ${raw(name)}`)
  const mostFetches = dialect.tuple([raw('-weight'), raw('coalesce(line, 0)'), raw("coalesce(rule, '')")])
  return sql`
    select ${names}, ${raw(Object.keys(more).join(', '))}, fetches, first_seen, last_seen,
      ${dialect.tupleMember(raw('deciding'), 1)} as rule, ${dialect.tupleMember(raw('deciding'), 2)} as line
    from (
      select ${names}, ${join(added, ', ')}, sum(fetches) as fetches, min(first_seen) as first_seen, max(last_seen) as last_seen,
        ${dialect.firstBy(rule, mostFetches)} as deciding
      from (select *, sum(fetches) over (partition by ${names}, rule, line) as weight from (${rows}) v) w
      group by ${names}) u`
}
