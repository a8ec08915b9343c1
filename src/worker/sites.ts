import { z } from 'zod'
import { createSiteLookup, type Site, type SiteByHostname, type SiteById } from '../capture/site.js'
import { sql } from '../sql.js'
import type { Records } from '../store.js'

const list = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.array(z.string()))

const SiteRow = z.object({
  id: z.int(),
  domains: list,
  timezone: z.string(),
  respect_gpc: z.boolean(),
  visitor_salt: z.enum(['day', 'week', 'month', 'never']),
  excluded_paths: list,
})

export interface Sites {
  siteOf: SiteByHostname
  siteById: SiteById
}

/**
 * The sites, and which of them a hostname belongs to, as the records said when they were looked at last. Throws, and so
 * does `look`, what the records throw.
 */
export async function openSites(records: Pick<Records, 'query'>): Promise<Sites & { reload(): Promise<void> }> {
  let sites = await loadSites(records)
  let begun = 0
  let held = 0
  return {
    siteOf: (hostname) => sites.siteOf(hostname),
    siteById: (id) => sites.siteById(id),
    async reload() {
      begun += 1
      const mine = begun
      const found = await loadSites(records)
      // Of looks at the same time one that began before may end behind, with what was before.
      if (mine < held) return
      held = mine
      sites = found
    },
  }
}

async function loadSites(records: Pick<Records, 'query'>): Promise<Sites> {
  const rows = await records.query(sql`
    select id, domains, timezone, respect_gpc, visitor_salt, excluded_paths from sites order by id`)
  const sites = rows.map((row): Site => SiteRow.parse(row))
  const byId = new Map(sites.map((site) => [site.id, site]))
  return { siteOf: createSiteLookup(sites), siteById: (id) => byId.get(id) }
}
