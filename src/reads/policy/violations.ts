import { z } from 'zod'
import { whereClause } from '../../query/conditions.js'
import { defineRead } from '../../query/read.js'
import { isIn, join, raw, type Sql, sql } from '../../sql.js'
import { Count, comparableRow, formatInstants, Instant } from '../shapes.js'

/** The most serious first. */
const SEVERITIES = ['breach', 'unbound', 'unclear', 'unverified', 'grace'] as const
const SEVERITY_RANK = join(
  SEVERITIES.map((severity, i) => raw(`when '${severity}' then ${i}`)),
  ' ',
)
const VIOLATION_KEY = ['agent_id', 'operator', 'verified', 'severity', 'hostname', 'pathname', 'rule', 'line']

/** GET /api/policy/violations: fetches of URLs that robots.txt disallowed at the time. */
export default defineRead({
  path: '/api/policy/violations',
  summary: 'Fetches of paths that robots.txt disallowed at the time, by rule and severity',
  params: {
    severity: z.enum(SEVERITIES).optional().describe('Only this severity; default all, the most serious first.'),
  },
  list: true,
  audience: { only: 'agent' },
  data: z.array(
    comparableRow({
      agent_id: z.string(),
      operator: z.string().describe('As the fetch claims. Unless `verified` is true, this operator is not accused.'),
      verified: z.boolean().optional().describe('False: spoofed. Absent: it could not be verified.'),
      severity: z
        .enum(SEVERITIES)
        .describe(
          'The first that applies: `grace`: a version less than 24 h old allowed it; `unverified`: the claim is not verified; then by what the operator documents: `breach`: the agent obeys robots.txt, `unbound`: it does not, `unclear`: no statement.',
        ),
      hostname: z.string(),
      pathname: z.string(),
      rule: z
        .string()
        .optional()
        .describe('The pattern that disallowed it; absent if everything was disallowed without a rule.'),
      line: Count.optional().describe('Line of that pattern in the version active at the time.'),
      fetches: Count,
      first_seen: Instant,
      last_seen: Instant,
    }),
  ),
  run: async (context, { severity }) => {
    const { catalog } = context
    const agentsThat = (answer: 'yes' | 'no'): Sql => {
      const ids = catalog.filter(({ respects_robots }) => respects_robots === answer).map((agent) => agent.agent_id)
      return isIn(raw('agent_id'), ids)
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
            from agent_events where ${whereClause(plan)} and not robots_allowed
            group by agent_id, operator, verified, hostname, pathname, rule, line, grace) g) s
        where ${severity === undefined ? raw('true') : sql`severity = ${severity}`}`,
    )
    const data = found.map(({ rank: _, ...violation }) => formatInstants(violation))
    return { data, rows: data.length }
  },
})
