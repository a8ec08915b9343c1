import { z } from 'zod'
import { raw, sql } from '../../../../storage/sql.js'
import { defineRead } from '../../../query/read.js'
import { groupedViolations, SEVERITIES, SEVERITY_RANK, violations } from '../../../query/violations.js'
import { Count, comparableRow, Fetches, formatInstants, VIOLATIONS_READ, violationSumShapes } from '../../shapes.js'

const URL_KEY = ['hostname', 'pathname']
const SUMS = Object.fromEntries(
  SEVERITIES.map((name) => [name, raw(`sum(case when severity = '${name}' then fetches else 0 end)`)]),
)

/** GET /api/policy/violations/pages: what robots.txt disallowed, summed per URL. */
export default defineRead({
  path: '/api/policy/violations/pages',
  summary: 'Fetches that robots.txt disallowed at the time, per URL',
  ...VIOLATIONS_READ,
  data: z.array(
    comparableRow({
      hostname: z.string(),
      pathname: z.string(),
      severity: z.enum(SEVERITIES).describe('The most serious of its fetches.'),
      fetches: Fetches,
      severities: z.record(z.enum(SEVERITIES), Count).describe('Its fetches by severity.'),
      agents: Count.describe('Distinct agents, as the fetches claim.'),
      ...violationSumShapes,
    }),
  ),
  run: async (context, { severity }) => {
    const { catalog } = context
    const pages = await context.list(
      { key: URL_KEY, order: ['rank asc', 'fetches desc'], metrics: ['fetches', 'agents'] },
      (plan) => {
        const rows = violations(plan, { catalog, only: severity })
        const ranked = sql`select *, ${SEVERITY_RANK} as rank from (${rows}) r`
        const more = { rank: raw('min(rank)'), agents: raw('count(distinct agent_id)'), ...SUMS }
        return groupedViolations(plan, ranked, URL_KEY, more)
      },
    )
    const data = pages.map((row) => {
      const { rank, breach, unbound, unclear, unverified, grace, ...url } = formatInstants(row)
      return { ...url, severity: SEVERITIES[Number(rank)], severities: { breach, unbound, unclear, unverified, grace } }
    })
    return { data, rows: data.length }
  },
})
