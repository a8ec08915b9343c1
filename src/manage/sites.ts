import { z } from 'zod'
import { ApiError } from '../errors.js'
import { asciiHostname } from '../hostname.js'
import { zoneName } from '../query/calendar.js'
import { sql } from '../sql.js'
import type { Records } from '../store.js'
import { Name } from './collection.js'
import { numbered } from './numbered.js'
import { organisationIds } from './orgs.js'
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

const Hostname = z.string().transform((text, context) => {
  const ascii = asciiHostname(text)
  if (ascii !== undefined && ascii.length <= 253) return ascii
  context.addIssue('A domain is a hostname, without scheme, port or path.')
  return z.NEVER
})
const Zone = z.string().transform((word, context) => {
  const name = zoneName(word)
  if (name !== undefined) return name
  context.addIssue('no IANA time zone such as Europe/Berlin')
  return z.NEVER
})

/** The body of `POST /api/sites` (contract 7). */
export const NewSite = z.strictObject({
  org: z.int().positive().default(1).describe('Its organisation.'),
  name: Name,
  domains: z
    .array(Hostname)
    .min(1, 'A site needs a domain.')
    .max(100, 'A site has at most 100 domains.')
    .describe('Its hostnames, in any case; no other site may have one of them.'),
  timezone: Zone.default('UTC').describe("IANA time zone of the site's days."),
})
export type NewSite = z.infer<typeof NewSite>

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
  /** Throws `not_found` for an organisation that is none, `conflict` where another site has one of the hostnames. */
  create(asked: NewSite, at: Date): Promise<Site>
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
  // One after the other: a hostname is of one site.
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work, work)
    last = next.catch(() => {})
    return next
  }
  return {
    list: sites.get,
    get,
    create: ({ org, name, domains, timezone }, at) =>
      inTurn(async () => {
        if (!(await organisationIds(records)).includes(org))
          throw new ApiError('not_found', 'No such organisation.', 'org')
        const all = await sites.get()
        const taken = domains.find((domain) => all.some((site) => site.domains.includes(domain)))
        if (taken !== undefined) throw new ApiError('conflict', `Another site has the domain ${taken}.`, 'domains')
        await records.write(
          ...numbered(
            'sites',
            sql`insert into sites (id, org, name, domains, timezone, currency, excluded_paths, respect_gpc, visitor_salt,
              created_at, version)`,
            sql`${org}, ${name}, ${JSON.stringify([...new Set(domains)])}, ${timezone}, 'EUR', '[]', false, 'month', ${at}, 1`,
          ),
        )
        sites.forget()
        const made = (await sites.get()).at(-1)
        if (made?.name !== name) throw new Error(`the site ${name} was written and is not there`)
        return made
      }),
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
