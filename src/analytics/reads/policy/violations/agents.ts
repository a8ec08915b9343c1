import { z } from 'zod'
import { raw, sql } from '../../../../storage/sql.js'
import { defineRead } from '../../../query/read.js'
import { groupedViolations, SEVERITIES, SEVERITY_RANK, violations } from '../../../query/violations.js'
import { Count, comparableRow, Fetches, formatInstants, VIOLATIONS_READ, violationSumShapes } from '../../shapes.js'

/** GET /api/policy/violations/agents: what robots.txt disallowed, summed per agent and severity. */
export default defineRead({
  path: '/api/policy/violations/agents',
  summary: 'Fetches that robots.txt disallowed at the time, per agent and severity',
  ...VIOLATIONS_READ,
  data: z.array(
    comparableRow({
      agent_id: z.string().describe('The agent, as the fetches claim.'),
      name: z.string(),
      operator: z.string().describe('As the fetches claim; with severity `unverified` it is not accused.'),
      severity: z.enum(SEVERITIES).describe('An agent has one row for each severity of its fetches.'),
      fetches: Fetches,
      urls: Count.describe('Distinct URLs.'),
      ...violationSumShapes,
    }),
  ),
  run: async (context, { severity }) => {
    const { catalog } = context
    const violators = await context.list(
      { key: ['agent_id', 'severity'], order: ['rank asc', 'fetches desc'], metrics: ['fetches'] },
      (plan) => {
        const url = plan.dialect.tuple([raw('hostname'), raw('pathname')])
        const rows = violations(plan, { catalog, only: severity })
        const more = { operator: raw('max(operator)'), urls: sql`count(distinct ${url})` }
        return sql`select *, ${SEVERITY_RANK} as rank from (${groupedViolations(plan, rows, ['agent_id', 'severity'], more)}) g`
      },
    )
    const data = violators.map(({ rank: _, ...row }) => ({
      ...formatInstants(row),
      name: context.agentNames(String(row.agent_id)).name,
    }))
    return { data, rows: data.length }
  },
})
