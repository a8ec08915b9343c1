import { z } from 'zod'
import { raw, sql } from '../../../../storage/sql.js'
import { defineRead } from '../../../query/read.js'
import { SEVERITIES, SEVERITY_RANK, violations } from '../../../query/violations.js'
import { Count, comparableRow, Fetches, formatInstants, Instant, VIOLATIONS_READ } from '../../shapes.js'

const RULE_KEY = ['agent_id', 'severity', 'rule', 'line']

/** GET /api/policy/violations/rules: what robots.txt disallowed, summed per agent, severity and deciding line. */
export default defineRead({
  path: '/api/policy/violations/rules',
  summary: 'Fetches that robots.txt disallowed at the time, per agent, severity and deciding line',
  ...VIOLATIONS_READ,
  data: z.array(
    comparableRow({
      agent_id: z.string().describe('The agent, as the fetches claim.'),
      name: z.string(),
      operator: z.string().describe('As the fetches claim; with severity `unverified` it is not accused.'),
      severity: z.enum(SEVERITIES),
      rule: z
        .string()
        .optional()
        .describe('The pattern that disallowed them; absent if everything was disallowed without a rule.'),
      line: Count.optional().describe(
        'Line of that pattern in the version active at the time: a rule that moved has a row for each line.',
      ),
      fetches: Fetches,
      urls: Count.describe('Distinct URLs.'),
      first_seen: Instant,
      last_seen: Instant,
    }),
  ),
  run: async (context, { severity }) => {
    const { catalog } = context
    const rows = await context.list(
      { key: RULE_KEY, order: ['rank asc', 'fetches desc'], metrics: ['fetches'] },
      (plan) => {
        const url = plan.dialect.tuple([raw('hostname'), raw('pathname')])
        const names = raw(RULE_KEY.join(', '))
        return sql`select *, ${SEVERITY_RANK} as rank from (
          select ${names}, max(operator) as operator, count(distinct ${url}) as urls, sum(fetches) as fetches,
            min(first_seen) as first_seen, max(last_seen) as last_seen
          from (${violations(plan, { catalog, only: severity })}) v group by ${names}) g`
      },
    )
    const data = rows.map(({ rank: _, ...row }) => ({
      ...formatInstants(row),
      name: context.agentNames(String(row.agent_id)).name,
    }))
    return { data, rows: data.length }
  },
})
