import { z } from 'zod'
import { sql } from '../sql.js'
import type { Records } from '../store.js'
import { remember } from './remember.js'

const names = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.array(z.string()))

/** A site as the API shows it (contract 7). */
export const Site = z.object({
  id: z.int(),
  org: z.int(),
  name: z.string(),
  /** Lower case, without port; empty: every hostname that is served is the site's. */
  domains: z.array(z.string()),
  timezone: z.string(),
  currency: z.string(),
  excluded_paths: z.array(z.string()),
  respect_gpc: z.boolean(),
  visitor_salt: z.enum(['day', 'week', 'month', 'never']),
  retention_days: z.int().optional(),
  citation_threshold: z.number().optional(),
})
export type Site = z.infer<typeof Site>

const Stored = z
  .object({
    ...Site.shape,
    domains: names,
    excluded_paths: names,
    retention_days: z.number().nullable(),
    citation_threshold: z.number().nullable(),
  })
  .transform(
    ({ retention_days, citation_threshold, ...site }): Site => ({
      ...site,
      ...(retention_days === null ? {} : { retention_days }),
      ...(citation_threshold === null ? {} : { citation_threshold }),
    }),
  )

export interface Sites {
  list(): Promise<readonly Site[]>
  get(id: number): Promise<Site | undefined>
  /** Hostnames the operator named at the start are site 1's from now on; none is taken away. */
  addDomains(id: number, domains: readonly string[]): Promise<void>
}

/** The sites of this instance, over its records. */
export function createSites(records: Records): Sites {
  const sites = remember(async () => {
    const rows = await records.query(sql`
      select id, org, name, domains, timezone, currency, excluded_paths, respect_gpc, visitor_salt,
        retention_days, citation_threshold
      from sites order by id`)
    return rows.map((row) => Stored.parse(row))
  })
  const get = async (id: number) => (await sites.get()).find((site) => site.id === id)
  return {
    list: sites.get,
    get,
    async addDomains(id, domains) {
      const site = await get(id)
      const missing = domains.filter((domain) => !site?.domains.includes(domain))
      if (!site || missing.length === 0) return
      await records.write(
        sql`update sites set domains = ${JSON.stringify([...site.domains, ...missing])} where id = ${id}`,
      )
      sites.forget()
    },
  }
}
