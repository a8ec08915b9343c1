import { z } from 'zod'
import { sql } from '../../../storage/sql.js'
import { defineRead } from '../../query/read.js'
import { SEVERITIES, SEVERITY_RANK, violations } from '../../query/violations.js'
import { Count, comparableRow, Fetches, formatInstants, Instant, VIOLATIONS_READ } from '../shapes.js'

const VIOLATION_KEY = ['agent_id', 'operator', 'verified', 'severity', 'hostname', 'pathname', 'rule', 'line']

/** GET /api/policy/violations: fetches of URLs that robots.txt disallowed at the time. */
export default defineRead({
  path: '/api/policy/violations',
  summary: 'Fetches of paths that robots.txt disallowed at the time, by rule and severity',
  ...VIOLATIONS_READ,
  data: z.array(
    comparableRow({
      agent_id: z.string().describe('The agent, as the fetches claim.'),
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
      fetches: Fetches,
      first_seen: Instant,
      last_seen: Instant,
    }),
  ),
  run: async (context, { severity }) => {
    const { catalog } = context
    const rows = await context.list(
      { key: VIOLATION_KEY, order: ['rank asc', 'fetches desc'], metrics: ['fetches'] },
      (plan) => sql`select *, ${SEVERITY_RANK} as rank from (${violations(plan, { catalog, only: severity })}) v`,
    )
    const data = rows.map(({ rank: _, ...violation }) => formatInstants(violation))
    return { data, rows: data.length }
  },
})
