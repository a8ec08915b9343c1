import { isIn, raw, type Sql, sql } from '../../storage/sql.js'
import { filterCondition } from './conditions.js'
import { type Plan, planForUrlList } from './plan.js'
import type { ReadContext } from './read-context.js'

/** The rows of `sitemap_urls`, which are stored by hostname, that belong to the site and pass the plan's filters on URLs. */
export async function sitemapRows({ rows, site }: Pick<ReadContext, 'rows' | 'site'>, plan: Plan): Promise<Sql> {
  const known = await rows(sql`select distinct hostname from sitemap_urls`)
  const own = known.map(({ hostname }) => String(hostname)).filter((hostname) => site.owns(hostname))
  return sql`sitemap_urls where ${isIn(raw('hostname'), own)} and ${filterCondition(planForUrlList(plan))}`
}
