import { z } from 'zod'
import { isIn, raw, type Sql, sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import { whereClause } from '../query/conditions.js'
import { IS_REFUSED } from '../query/metrics.js'
import { defineRead } from '../query/read.js'
import type { ReadContext } from '../query/read-context.js'
import { pathFetches, SEVERITIES } from '../query/violations.js'
import { Count, Fetches, formatInstants, Instant } from './shapes.js'

const Preferences = z.record(z.string(), z.string())
const Problem = z.object({ line: z.int().optional(), problem: z.string() })
const ContentUsage = z.object({ pattern: z.string(), preferences: Preferences, line: z.int() })
const fileShape = {
  url: z.string().describe('The final URL, redirects followed.'),
  status: z.int().describe('0: no response.'),
  standing: z
    .enum(['served', 'unavailable', 'unreachable'])
    .describe('`unavailable`: everything is allowed; `unreachable`: crawlers have to assume that nothing is.'),
  reason: z.string().optional().describe('Why it is unreachable.'),
  fetched_at: Instant.describe('When it was last fetched with this content.'),
  first_seen: Instant,
  sha256: z.string().optional(),
  truncated: z.boolean().optional().describe('The file is longer than the 512 KiB that are read.'),
}
const Link = z.object({
  title: z.string(),
  url: z.string(),
  notes: z.string().optional(),
  offsite: z.boolean(),
  disallowed: z.boolean().optional().describe('robots.txt disallows it for agents that it does not name.'),
  last_status: z
    .int()
    .optional()
    .describe('The status of the last fetch by an agent in the window that no rule refused.'),
})
const AgentDecision = z.object({
  agent_id: z.string().describe('`other`: an agent that is in no catalog.'),
  robots_token: z.string(),
  group: z.array(z.string()).describe('The tokens whose groups apply; `*` for the group of all others.'),
  allowed: z.boolean(),
  reason: z.string().describe('rule, no_rule, no_group, unavailable, unreachable or robots_txt.'),
  rule: z.string().optional(),
  line: z.int().optional(),
  rules: Count,
  crawl_delay: z.number().optional(),
  content_signals: Preferences.optional(),
  content_usage: z.array(ContentUsage).optional(),
})
const Seen = z.object({
  fetches: Fetches,
  spoofed: Count,
  disallowed: Count.describe('Fetches that the version of their time disallowed.'),
  severity: z
    .enum(SEVERITIES)
    .optional()
    .describe('The most serious of these, with the grades of `policy/violations`.'),
  last_seen: Instant,
})
export const PolicyReport = z.object({
  hostnames: z
    .array(z.string())
    .describe(
      "The site's hostnames with a recorded policy: those listed in its settings first, then those of its rows.",
    ),
  hostname: z
    .string()
    .optional()
    .describe('The hostname that this policy belongs to; absent: no policy is recorded yet.'),
  robots: z
    .object({
      ...fileShape,
      groups: z.array(
        z.object({
          user_agents: z.array(z.string()),
          line: z.int(),
          rules: z.array(z.object({ allow: z.boolean(), pattern: z.string(), line: z.int() })),
          crawl_delay: z.number().optional(),
          content_signals: Preferences.optional(),
          content_usage: z.array(ContentUsage).optional(),
        }),
      ),
      sitemaps: z.array(z.string()),
      licenses: z
        .array(z.object({ url: z.string(), line: z.int() }))
        .default([])
        .describe('Licences (RSL 1.0), which apply to the whole file.'),
      problems: z.array(Problem),
    })
    .optional(),
  llms: z
    .object({
      ...fileShape,
      title: z.string().optional(),
      summary: z.string().optional(),
      sections: z.array(z.object({ name: z.string(), optional: z.boolean(), links: z.array(Link) })),
      problems: z.array(Problem),
    })
    .optional(),
  path: z.string().describe('The path that `allowed` is about.'),
  agents: z.array(AgentDecision),
  versions: z.array(
    z.object({
      kind: z.enum(['robots', 'llms']),
      fetched_at: Instant.describe('When it was first seen.'),
      last_seen: Instant,
      status: z.int(),
      sha256: z.string().optional(),
    }),
  ),
})
const HeaderRows = z.array(
  z.object({
    pathname: z.string(),
    x_robots_tag: z.string().optional(),
    content_usage: z.string().optional(),
    fetches: Fetches,
  }),
)

/** Pages whose response headers are returned, the most fetched first; links of llms.txt whose status is looked up. */
const MAX_HEADER_ROWS = 50
const MAX_LINKS = 200

/** GET /api/policy: robots.txt and llms.txt as parsed, per agent. */
export default defineRead({
  path: '/api/policy',
  summary: 'robots.txt and llms.txt as parsed, what they allow each agent, and their versions',
  params: {
    hostname: z.string().min(1).max(255).optional().describe('A hostname of the site; default its first.'),
    agent_id: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Only this agent: its id, its name, or a robots.txt token.'),
    path: z
      .string()
      .startsWith('/')
      .max(8_192)
      .optional()
      .describe('Path and query that `allowed` is about; default `/`.'),
  },
  audience: { only: 'agent' },
  data: PolicyReport.extend({
    agents: z
      .array(
        AgentDecision.extend({
          name: z.string(),
          seen: Seen.optional().describe(
            'With `path`: its fetches of that path, without the query, on this hostname in the window. Absent: none.',
          ),
        }),
      )
      .describe('The decision for each known agent.'),
    headers: HeaderRows.describe('X-Robots-Tag and Content-Usage of responses to agents in the window, by page.'),
  }),
  run: async (context, { hostname, agent_id, path }) => {
    const asked = {
      ...(hostname === undefined ? {} : { hostname }),
      ...(agent_id === undefined ? {} : { agent_id }),
      ...(path === undefined ? {} : { path }),
    }
    const pathname = path?.split('?', 1)[0]
    const fetched =
      pathname === undefined ? [] : await context.rows(pathFetches(context.plan, context.catalog, pathname))
    const seen = [...new Set(fetched.map((row) => String(row.agent_id)))]
    const report = PolicyReport.parse(await context.policy({ ...asked, ...(seen.length > 0 ? { seen } : {}) }))
    const agents = report.agents.map((agent) => {
      const own = fetched.find((row) => row.hostname === report.hostname && row.agent_id === agent.agent_id)
      return { ...agent, name: context.agentNames(agent.agent_id).name, ...(own ? { seen: seenFields(own) } : {}) }
    })
    if (report.hostname === undefined) return { data: { ...report, agents, headers: [] }, rows: 0 }
    const of = sql`hostname = ${report.hostname}`
    const statuses = await lastStatuses(context, of, report)
    for (const link of report.llms?.sections.flatMap(({ links }) => links) ?? []) {
      const status = link.offsite ? undefined : statuses.get(pathOf(link.url))
      if (status !== undefined) link.last_status = status
    }
    const headers = HeaderRows.parse(
      await context.rows(sql`
        select pathname, x_robots_tag, content_usage, count(*) as fetches
        from agent_events
        where ${whereClause(context.plan)} and ${of} and (x_robots_tag is not null or content_usage is not null)
        group by pathname, x_robots_tag, content_usage
        order by fetches desc, pathname, x_robots_tag nulls last, content_usage nulls last
        limit ${MAX_HEADER_ROWS}`),
    )
    return { data: { ...report, agents, headers }, rows: agents.length }
  },
})

const seenFields = (row: ResultRow) => {
  const { fetches, spoofed, disallowed, rank, last_seen } = formatInstants(row)
  return {
    fetches,
    spoofed,
    disallowed,
    last_seen,
    ...(rank === undefined ? {} : { severity: SEVERITIES[Number(rank)] }),
  }
}

const pathOf = (url: string): string => (URL.canParse(url) ? new URL(url).pathname : '')

/** The status of the last fetch in the window that no rule refused, by path, for the links of llms.txt. */
async function lastStatuses(
  context: ReadContext,
  of: Sql,
  { llms }: z.output<typeof PolicyReport>,
): Promise<Map<string, number>> {
  const links = llms?.sections.flatMap((section) => section.links) ?? []
  const paths = [...new Set(links.filter((link) => !link.offsite).map((link) => pathOf(link.url)))].slice(0, MAX_LINKS)
  if (paths.length === 0) return new Map()
  const rows = await context.rows(sql`
    select pathname, ${context.plan.dialect.lastBy(sql`status`, sql`(timestamp, status)`)} as status
    from agent_events where ${whereClause(context.plan)} and ${of} and ${isIn(raw('pathname'), paths)} and not ${IS_REFUSED}
    group by pathname`)
  return new Map(rows.map((row) => [String(row.pathname), Number(row.status)]))
}
