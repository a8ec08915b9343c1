import { z } from 'zod'
import { DAY_MS } from '../../base/time-units.js'
import { sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import { dailyCounts } from '../query/counted-days.js'
import { columnsMatch } from '../query/key-match.js'
import { missingPageAgents, missingPageHistory, missingPages, redirectedRequests } from '../query/missing-pages.js'
import { createNearestPage, NEAR_REASONS } from '../query/nearest-page.js'
import { withoutUrlFilters, withWindow } from '../query/plan.js'
import { defineRead } from '../query/read.js'
import type { ReadContext } from '../query/read-context.js'
import { sitemapRows } from '../query/sitemap-rows.js'
import { Count, comparableRow, Fetches, formatInstants, groupByUrl, Instant, Share, urlKey } from './shapes.js'

const URL_KEY = ['hostname', 'pathname']
const COUNTS = ['requests', 'readers', 'lost', 'fetches']
/** Living pages that missing ones are compared with: the most read of these days, and as many URLs of sitemaps. */
const MAX_LIVING_PAGES = 5_000
const LIVING_DAYS = 90

/** Requests below which a share of readers is chance. */
const MIN_REQUESTS_OF_SHARE = 20

const Side = z.object({
  requests: Count.describe('Requests of people that ended 404 or 410, or were redirected.'),
  readers: Count.describe('Distinct visitors who made them.'),
  lost: Count.describe('Those for whom one of the requests was the last one of a visit.'),
  share: Share.optional().describe(`\`lost\` of \`readers\`. Absent below ${MIN_REQUESTS_OF_SHARE} requests.`),
})
const Redirect = z.object({
  id: z.int(),
  since: Instant.describe('When it was created.'),
  days: Count.describe('Whole days of the window before and since then that are compared: as many on each side.'),
  before: Side.optional().describe('In the `days` before. Absent without a whole day on each side.'),
  after: Side.optional().describe('In the `days` since then.'),
})

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
      redirect: Redirect.optional().describe('The redirect of the path. Absent: it has none.'),
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
    const agentsOf = groupByUrl(await context.rows(missingPageAgents(plan, urls)), ({ agent_id, fetches }) => ({
      ...{ agent_id, name: context.agentNames(String(agent_id)).name, fetches },
    }))
    const history = new Map(
      (await context.rows(missingPageHistory(plan, urls))).map(({ hostname, pathname, ...row }) => [
        urlKey({ hostname, pathname }),
        formatInstants(row),
      ]),
    )
    const redirects = await readRedirects(context, page)
    const nearestPage = createNearestPage(await findLivingPages(context))
    const data = page.map((row) => {
      const name = urlKey(row)
      const facts = history.get(name) ?? {}
      const near =
        'since' in facts ? nearestPage({ hostname: String(row.hostname), pathname: String(row.pathname) }) : undefined
      const nearest = near && { pathname: near.pathname, reason: near.reason, in_sitemap: near.in_sitemap }
      const redirect = redirects.get(name)
      const found = { ...(nearest && { nearest }), ...(redirect && { redirect }) }
      return { ...row, agents: agentsOf(row), ...facts, ...found }
    })
    return { data, rows: data.length }
  },
})

/** Returns the redirects of these URLs, each with what people's requests came to before it and since. */
async function readRedirects({ plan, now, rows, redirects }: ReadContext, page: readonly ResultRow[]) {
  const redirectOf = await redirects()
  const { start, end } = plan.window
  const redirected = page.flatMap((row) => {
    const { hostname, pathname } = { hostname: String(row.hostname), pathname: String(row.pathname) }
    const redirect = redirectOf(pathname)
    if (redirect === undefined) return []
    const { id, created_at } = redirect
    const at = created_at.getTime()
    const room = Math.min(at - start.getTime(), Math.min(end.getTime(), now.getTime()) - at)
    const days = Math.max(0, Math.floor(room / DAY_MS))
    const span = { start: new Date(at - days * DAY_MS), end: new Date(at + days * DAY_MS) }
    return { hostname, pathname, id, created_at, days, ...span }
  })
  const compared = redirected.filter(({ days }) => days > 0)
  const sides = new Map<string, z.output<typeof Side>>()
  if (compared.length > 0)
    for (const row of await rows(redirectedRequests(plan, compared))) {
      const [requests, readers, lost] = [Number(row.requests), Number(row.readers), Number(row.lost)]
      const share = requests < MIN_REQUESTS_OF_SHARE ? {} : { share: lost / readers }
      sides.set(`${urlKey(row)} ${Number(row.since)}`, { requests, readers, lost, ...share })
    }
  const none = { requests: 0, readers: 0, lost: 0 }
  return new Map(
    redirected.map(({ id, created_at, days, ...url }) => {
      const name = urlKey(url)
      const [before, after] = [0, 1].map((side) => sides.get(`${name} ${side}`) ?? none)
      const counted = days === 0 ? {} : { before, after }
      return [name, { id, since: created_at.toISOString(), days, ...counted }]
    }),
  )
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
