import { z } from 'zod'
import { whereClause } from '../../query/conditions.js'
import { defineRead } from '../../query/read.js'
import { join, raw, type Sql, sql } from '../../sql.js'
import { Count, comparableRow, formatInstants, Instant } from '../shapes.js'

/** Gravest first (contract 5). */
const SEVERITIES = ['breach', 'unbound', 'unclear', 'unverified', 'grace'] as const
const SEVERITY_RANK = join(
  SEVERITIES.map((severity, i) => raw(`when '${severity}' then ${i}`)),
  ' ',
)
const VIOLATION_KEY = ['agent_id', 'operator', 'verified', 'severity', 'hostname', 'pathname', 'rule', 'line']

/** GET /api/policy/violations (spec 4.5, contract 5): fetches of what robots.txt disallowed when they were made. */
export default defineRead({
  path: '/api/policy/violations',
  summary: 'Fetches of paths that robots.txt disallowed at the time, by rule and severity',
  params: { severity: z.enum(SEVERITIES).optional().describe('Only these; default all, the gravest first.') },
  list: true,
  audience: { only: 'agent' },
  data: z.array(
    comparableRow({
      agent_id: z.string(),
      operator: z.string().describe('As claimed; where `verified` is not true, it is not accused.'),
      verified: z.boolean().optional().describe('False: a spoofed claim. Absent: nobody can say.'),
      severity: z
        .enum(SEVERITIES)
        .describe(
          'The first that fits: `grace`: a version less than 24 h old allowed it; `unverified`: the claim is not verified; then by what the operator documents: `breach`: it obeys, `unbound`: it does not, `unclear`: nothing.',
        ),
      hostname: z.string(),
      pathname: z.string(),
      rule: z.string().optional().describe('The pattern that disallowed it; absent where all was, without a rule.'),
      line: Count.optional().describe('Of that pattern, in the version then in force.'),
      fetches: Count,
      first_seen: Instant,
      last_seen: Instant,
    }),
  ),
  run: async (context, { severity }) => {
    const { dialect, catalog } = context
    const agentsThat = (answer: 'yes' | 'no'): Sql => {
      const ids = catalog.filter(({ respects_robots }) => respects_robots === answer).map((a) => sql`${a.agent_id}`)
      return ids.length === 0 ? raw('false') : sql`agent_id in (${join(ids, ', ')})`
    }
    const found = await context.list(
      { key: VIOLATION_KEY, order: ['rank asc', 'fetches desc'], metrics: ['fetches'] },
      (plan) => sql`
        select *, case severity ${SEVERITY_RANK} end as rank
        from (
          select agent_id, operator, verified, hostname, pathname, rule, line, n as fetches, first_seen, last_seen,
            case when grace then 'grace'
              when verified is null or not verified then 'unverified'
              when ${agentsThat('yes')} then 'breach'
              when ${agentsThat('no')} then 'unbound'
              else 'unclear' end as severity
          from (
            select agent_id, operator, verified, hostname, pathname, robots_rule as rule, robots_line as line,
              robots_grace is not null and robots_grace as grace, count(*) as n, min(timestamp) as first_seen,
              max(timestamp) as last_seen
            from agent_events where ${whereClause(plan, dialect)} and not robots_allowed
            group by agent_id, operator, verified, hostname, pathname, rule, line, grace) g) s
        where ${severity === undefined ? raw('true') : sql`severity = ${severity}`}`,
    )
    const data = found.map(({ rank: _, ...violation }) => formatInstants(violation))
    return { data, rows: data.length }
  },
})
