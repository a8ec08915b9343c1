import { z } from 'zod'
import { IS_GENUINE } from '../../../storage/aggregates/daily-counts.js'
import { raw, type Sql, sql } from '../../../storage/sql.js'
import type { ResultRow } from '../../../storage/store.js'
import { filterCondition } from '../../query/conditions.js'
import { agentsOfUrls, dailyCounts } from '../../query/counted-days.js'
import { columnsMatch } from '../../query/key-match.js'
import { type Plan, planForTable, withWindow } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import type { ReadContext } from '../../query/read-context.js'
import { sitemapRows } from '../../query/sitemap-rows.js'
import { beforeWindowEnd } from '../../query/window-conditions.js'
import { Count, comparableRow, formatInstants, groupByUrl, Instant, metricShapes, urlKey } from '../shapes.js'

const URL_KEY = ['hostname', 'pathname']
const RANKING = {
  fetches: ['fetches desc', 'pageviews desc'],
  stale: ['never desc', 'last_crawl asc', 'pageviews desc', 'fetches desc'],
} as const

/**
 * GET /api/agents/coverage: which URLs agents fetched and how old their copy is; and which URLs of the sitemaps, or
 * read by people in the window, no agent fetched.
 */
export default defineRead({
  path: '/api/agents/coverage',
  summary: 'Per URL: first and last crawl, freshness gap, agents; and URLs that no agent fetched',
  params: {
    order: z
      .enum(['fetches', 'stale'])
      .default('fetches')
      .describe('`fetches`: most fetched first (default); `stale`: never fetched first, then longest ago.'),
  },
  list: true,
  audience: { only: 'agent', mixesAudiences: true },
  data: z.array(
    comparableRow({
      hostname: z.string(),
      pathname: z.string(),
      first_crawl: Instant.optional().describe(
        'In the window. Like everything about crawls, it leaves out spoofed fetches.',
      ),
      last_crawl: Instant.optional().describe("Up to the window's end, possibly before its start. Absent: never."),
      freshness_gap: z.number().nonnegative().optional().describe("Seconds from `last_crawl` to the window's end."),
      ...metricShapes(['fetches', 'spoofed']),
      agents: z.array(z.string()).describe('The agents that fetched it in the window, by agent_id.'),
      last_status: z.int().optional(),
      robots_allowed: z.boolean().optional().describe('For the last crawl, like `llms_listed`.'),
      llms_listed: z.union([z.literal(0), z.literal(1)]).optional(),
      in_sitemap: z.boolean().describe("Whether one of the site's sitemaps lists it."),
      pageviews: Count.optional().describe('Pageviews by people in the window; absent if nothing was recorded.'),
    }),
  ),
  run: async (context, { order }) => {
    const { plan } = context
    const sitemap = await sitemapRows(context, plan)
    const page = await context.list(
      { key: URL_KEY, order: RANKING[order], metrics: ['fetches', 'spoofed', 'pageviews'] },
      (p) => sql`select *, case when last_crawl is null then 1 else 0 end as never from (${urlRows(p, sitemap)}) u`,
    )
    const crawlers = agentsOfUrls(plan, columnsMatch(URL_KEY, page), { genuine: true })
    const agentsOf = groupByUrl(
      await context.rows(sql`select distinct hostname, pathname, agent_id from (${crawlers}) a order by agent_id`),
      ({ agent_id }) => String(agent_id),
    )
    const last = await lastCrawlByUrl(context, page)
    const data = page.map(({ never: _, listed, ...url }) => {
      const at = url.last_crawl instanceof Date ? url.last_crawl.getTime() : undefined
      return {
        ...formatInstants(url),
        ...(at === undefined ? {} : { freshness_gap: (plan.window.end.getTime() - at) / 1000 }),
        agents: agentsOf(url),
        ...last.get(urlKey(url)),
        in_sitemap: listed === 1,
      }
    })
    return { data, rows: data.length }
  },
})

/** Selects every URL: `hostname, pathname, first_crawl, last_crawl, fetches, spoofed, pageviews, listed`. */
const urlRows = (plan: Plan, sitemap: Sql): Sql => {
  const nothing = raw('null as first_crawl, null as last_crawl, 0 as fetches, 0 as spoofed')
  const before = withWindow(plan, { start: new Date(0), end: plan.window.start })
  return sql`
    select * from (
      select hostname, pathname, min(first_crawl) as first_crawl, max(last_crawl) as last_crawl, sum(fetches) as fetches,
        sum(spoofed) as spoofed, sum(v) as pageviews, max(l) as listed
      from (
        select hostname, pathname, first_crawl, last_crawl, fetches, spoofed, 0 as v, 0 as l
        from (${dailyCounts(plan, 'daily_urls', ['fetches', 'spoofed', 'first_crawl', 'last_crawl'])}) now
        union all
        select hostname, pathname, null as first_crawl, last_crawl, 0 as fetches, 0 as spoofed, 0 as v, 0 as l
        from (${dailyCounts(before, 'daily_urls', ['last_crawl'])}) earlier
        union all
        select hostname, pathname, ${nothing}, views as v, 0 as l
        from (${dailyCounts(plan, 'daily_views', ['views'], { keys: URL_KEY })}) p
        union all
        select hostname, pathname, ${nothing}, 0 as v, 1 as l from ${sitemap}) b
      group by hostname, pathname) u
    where fetches > 0 or pageviews > 0 or listed = 1`
}

/** The result of the last crawl of each of these URLs; of several in one millisecond the worst. */
async function lastCrawlByUrl({ plan, rows: query }: ReadContext, page: readonly ResultRow[]) {
  const side = planForTable(plan, 'agent_events')
  const crawled = page.filter(({ last_crawl }) => last_crawl !== undefined)
  const at = crawled.map((url) => ({ ...url, timestamp: url.last_crawl }))
  // With these bounds the engine skips most rows.
  const times = at.flatMap(({ timestamp }) => (timestamp instanceof Date ? [timestamp.getTime()] : []))
  const near = sql`timestamp >= ${new Date(times.reduce((a, b) => Math.min(a, b), plan.window.end.getTime()))}`
  const latest = await query(sql`
    select hostname, pathname, max(status) as last_status, min(case when robots_allowed then 1 else 0 end) as allowed,
      count(*) filter (where robots_allowed is null) as unknown, min(llms_listed) as llms_listed
    from agent_events
    where ${beforeWindowEnd(side)} and ${near} and ${filterCondition(side)} and ${raw(IS_GENUINE)}
      and ${columnsMatch([...URL_KEY, 'timestamp'], at)}
    group by hostname, pathname`)
  return new Map(
    latest.map((row) => [
      urlKey(row),
      {
        last_status: row.last_status,
        ...(row.unknown === 0 ? { robots_allowed: row.allowed === 1 } : {}),
        ...(row.llms_listed === undefined ? {} : { llms_listed: row.llms_listed }),
      },
    ]),
  )
}
