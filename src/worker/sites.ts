import { z } from 'zod'
import { createSiteOf, type Site, type SiteById, type SiteOf } from '../record/site.js'
import { sql } from '../sql.js'
import type { Records } from '../store.js'

const list = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.array(z.string()))

const Row = z.object({
  id: z.int(),
  domains: list,
  timezone: z.string(),
  respect_gpc: z.boolean(),
  visitor_salt: z.enum(['day', 'week', 'month', 'never']),
  excluded_paths: list,
})

export interface Sites {
  siteOf: SiteOf
  siteById: SiteById
}

/** The sites, and which of them a hostname belongs to, as the records say at this moment. */
export async function loadSites(records: Pick<Records, 'query'>): Promise<Sites> {
  const rows = await records.query(sql`
    select id, domains, timezone, respect_gpc, visitor_salt, excluded_paths from sites order by id`)
  const sites = rows.map((row): Site => Row.parse(row))
  const byId = new Map(sites.map((site) => [site.id, site]))
  return { siteOf: createSiteOf(sites), siteById: (id) => byId.get(id) }
}
