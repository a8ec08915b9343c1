import { z } from 'zod'
import { createSiteLookup, type SiteByHostname, type SiteById, type SiteSettings } from '../capture/site.js'
import { sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'

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
  origin: z.string().nullable(),
  managed_robots: z.string().nullable(),
})

interface StoredSite extends SiteSettings {
  /** The origin of a site that has its own. */
  readonly origin: string | null
  /** The robots.txt that readership serves for the site; null if the origin's is served. */
  readonly managed_robots: string | null
}

/** Sites by id and by hostname, as the records had them when they were last read. Throws what the records throw. */
export async function openSites(records: Pick<Records, 'query'>): Promise<{
  siteOf: SiteByHostname
  siteById: SiteById
  /** Returns the same array until the records were read again. */
  listSites: () => readonly StoredSite[]
  /** Reads the records again. Throws what the records throw. */
  reload(): Promise<void>
}> {
  let sites = await loadSites(records)
  let lastReload = 0
  let newest = 0
  return {
    siteOf: (hostname) => sites.siteOf(hostname),
    siteById: (id) => sites.siteById(id),
    listSites: () => sites.list,
    async reload() {
      lastReload += 1
      const reload = lastReload
      const loaded = await loadSites(records)
      // Concurrent reloads may finish out of order; results older than the newest are ignored.
      if (reload < newest) return
      newest = reload
      sites = loaded
    },
  }
}

async function loadSites(records: Pick<Records, 'query'>) {
  const rows = await records.query(sql`
    select s.id, s.domains, s.timezone, s.respect_gpc, s.visitor_salt, s.excluded_paths, s.origin,
      r.text as managed_robots
    from sites s left join robots_texts r on r.id = s.managed_robots order by s.id`)
  const sites = rows.map((row): StoredSite => SiteRow.parse(row))
  const byId = new Map<number, SiteSettings>(sites.map((site) => [site.id, site]))
  return { list: sites, siteOf: createSiteLookup(sites), siteById: (id: number) => byId.get(id) }
}
