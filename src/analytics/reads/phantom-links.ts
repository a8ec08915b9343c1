import { z } from 'zod'
import { DAY_MS } from '../../base/time-units.js'
import { type Sql, sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import { dailyCounts } from '../query/counted-days.js'
import { columnsMatch } from '../query/key-match.js'
import { missingPageAgents, missingPageHistory, missingPages } from '../query/missing-pages.js'
import { createNearestPage, NEAR_REASONS } from '../query/nearest-page.js'
import { withoutUrlFilters, withWindow } from '../query/plan.js'
import { defineRead } from '../query/read.js'
import type { ReadContext } from '../query/read-context.js'
import { sitemapRows } from '../query/sitemap-rows.js'
import { Count, comparableRow, Fetches, formatInstants, Instant, urlKey } from './shapes.js'

const URL_KEY = ['hostname', 'pathname']
const COUNTS = ['requests', 'readers', 'lost', 'fetches']
/** Living pages that missing ones are compared with: the most read of these days, and as many URLs of sitemaps. */
const MAX_LIVING_PAGES = 5_000
const LIVING_DAYS = 90

/** GET /api/phantom-links: addresses that do not exist, by the readers who left there. */
export default defineRead({
  path: '/api/phantom-links',
  summary:
    "Per missing URL: people's and assistants' requests that ended 404 or 410, readers lost, nearest living page",
  params: {},
  list: true,
  audience: { only: 'all', mixesAudiences: true },
  data: z.array(
    comparableRow({
      hostname: z.string(),
      pathname: z.string(),
      requests: Count.describe('Requests of people that ended 404 or 410.'),
      readers: Count.describe('Distinct visitors who made them.'),
      lost: Count.describe('Visitors for whom a request for the URL was the last one of a visit.'),
      fetches: Fetches.describe('Fetches by agents of purpose assistant that ended 404 or 410, without spoofed ones.'),
      agents: z.array(z.object({ agent_id: z.string(), name: z.string(), fetches: Count })),
      status: z.int().optional().describe('The status of the last request.'),
      since: Instant.optional().describe('The first 404 or 410 after the page was last delivered. Absent: it is back.'),
      last_served: Instant.optional().describe('When the page was last delivered to anyone.'),
      nearest: z
        .object({
          pathname: z.string(),
          reason: z
            .enum(NEAR_REASONS)
            .describe(
              'Same name but for extension, slash or case; moved; one or two letters differ; same words; parent.',
            ),
          in_sitemap: z.boolean(),
        })
        .optional()
        .describe('The nearest living page of the hostname. Absent: none is near.'),
    }),
  ),
  run: async (context) => {
    const { plan } = context
    const page = await context.list(
      { key: URL_KEY, order: ['lost desc', 'requests desc', 'fetches desc'], metrics: COUNTS },
      missingPages,
    )
    const [probes = {}] = await context.rows(
      sql`select coalesce(sum(requests), 0) + coalesce(sum(fetches), 0) as n from (${missingPages(plan, { probes: true })}) p`,
    )
    if (Number(probes.n ?? 0) > 0) {
      const message = `${Number(probes.n)} requests for software that scanners look for, such as /wp-login.php, are left out.`
      context.warn({ metric: 'requests', code: 'probes_left_out', message })
    }
    if (page.length === 0) return { data: [], rows: 0 }
    const urls = columnsMatch(URL_KEY, page)
    const agents = await findAgents(context, urls)
    const history = new Map(
      (await context.rows(missingPageHistory(plan, urls))).map(({ hostname, pathname, ...row }) => [
        urlKey({ hostname, pathname }),
        formatInstants(row),
      ]),
    )
    const nearestPage = createNearestPage(await findLivingPages(context))
    const data = page.map((row) => {
      const name = urlKey(row)
      const facts = history.get(name) ?? {}
      const near =
        'since' in facts ? nearestPage({ hostname: String(row.hostname), pathname: String(row.pathname) }) : undefined
      const nearest = near && { pathname: near.pathname, reason: near.reason, in_sitemap: near.in_sitemap }
      return { ...row, agents: agents.get(name) ?? [], ...facts, ...(nearest && { nearest }) }
    })
    return { data, rows: data.length }
  },
})

async function findAgents({ plan, rows, agentNames }: ReadContext, urls: Sql) {
  const agents = new Map<string, { agent_id: string; name: string; fetches: number }[]>()
  for (const row of await rows(missingPageAgents(plan, urls))) {
    const agent_id = String(row.agent_id)
    const one = { agent_id, name: agentNames(agent_id).name, fetches: Number(row.fetches) }
    agents.set(urlKey(row), [...(agents.get(urlKey(row)) ?? []), one])
  }
  return agents
}

/** Returns the pages that people viewed most in the days before the window's end, then the URLs of sitemaps, without missing ones. */
async function findLivingPages(context: ReadContext) {
  const whole = withoutUrlFilters(context.plan)
  const { end } = whole.window
  const recent = withWindow(whole, { start: new Date(end.getTime() - LIVING_DAYS * DAY_MS), end })
  const isMissing = sql`(hostname, pathname) in (select hostname, pathname from (${missingPages(whole)}) m)`
  const viewed = await context.rows(sql`
    select hostname, pathname from (${dailyCounts(recent, 'daily_views', ['views'], { keys: URL_KEY })}) v
    where views > 0 and not ${isMissing} order by views desc, hostname, pathname limit ${MAX_LIVING_PAGES}`)
  const listed = await context.rows(sql`
    select distinct hostname, pathname from ${await sitemapRows(context, whole)} and not ${isMissing}
    order by hostname, pathname limit ${MAX_LIVING_PAGES}`)
  const inSitemap = new Set(listed.map(urlKey))
  const toPage = (row: ResultRow) => ({
    hostname: String(row.hostname),
    pathname: String(row.pathname),
    in_sitemap: inSitemap.has(urlKey(row)),
  })
  const known = new Set(viewed.map(urlKey))
  return [...viewed, ...listed.filter((row) => !known.has(urlKey(row)))].map(toPage)
}
