import { isIn, raw, type Sql, sql } from '../../storage/sql.js'
import { whereClause } from './conditions.js'
import { NOT_SPOOFED } from './metrics.js'
import type { Plan } from './plan.js'

const onHostname = (plan: Plan, hostname: string | undefined): Sql =>
  hostname === undefined ? whereClause(plan) : sql`${whereClause(plan)} and hostname = ${hostname}`

/**
 * Selects the fetches of the window that are not spoofed, by page and agent: `hostname, pathname, agent_id, fetches, bytes`.
 * The rows of a page stand together.
 */
export const fetchesByPage = (plan: Plan, hostname: string | undefined): Sql => sql`
  select hostname, pathname, agent_id, count(*) as fetches, sum(coalesce(bytes, 0)) as bytes
  from agent_events where ${onHostname(plan, hostname)} and ${NOT_SPOOFED}
  group by hostname, pathname, agent_id order by hostname, pathname, agent_id`

/**
 * Selects for each agent `agent_id, fetches, spoofed, ignored, breaches, reads, read_at`. `ignored` are fetches that are not spoofed,
 * that robots.txt disallowed at their time and that no copy of the day before allowed; `breaches` those of verified agents.
 * `read_at` is the first time that the agent read robots.txt since `since`.
 */
export function obedience(plan: Plan, hostname: string | undefined, since: Date): Sql {
  const ignored = raw(
    'robots_allowed is not null and not robots_allowed and (robots_grace is null or not robots_grace)',
  )
  const isRead = raw("pathname = '/robots.txt'")
  const count = (condition: Sql) => sql`sum(case when ${condition} then 1 else 0 end)`
  return sql`
    select agent_id, ${count(NOT_SPOOFED)} as fetches, ${count(sql`not (${NOT_SPOOFED})`)} as spoofed,
      ${count(sql`${NOT_SPOOFED} and ${ignored}`)} as ignored,
      ${count(sql`${ignored} and verified is not null and verified`)} as breaches,
      ${count(sql`${NOT_SPOOFED} and ${isRead}`)} as reads,
      min(case when ${NOT_SPOOFED} and ${isRead} and timestamp >= ${since} then timestamp end) as read_at
    from agent_events where ${onHostname(plan, hostname)} group by agent_id`
}

/** Selects the pages that the sitemaps of these hostnames list: `hostname, pathname`. */
export const sitemapPages = (hostnames: readonly string[], limit: number): Sql => sql`
  select hostname, pathname from sitemap_urls where ${isIn(raw('hostname'), hostnames)}
  group by hostname, pathname order by hostname, pathname limit ${limit}`
