import { z } from 'zod'
import { withoutWww } from '../capture/site.js'
import { ApiError } from '../errors.js'
import { asciiHostname } from '../hostname.js'
import { parseTimeZone } from '../query/calendar.js'
import { join, type Param, raw, type Sql, sql } from '../sql.js'
import type { Records } from '../store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { Name, Version } from './collection.js'
import { insertWithNextId, lastId } from './ids.js'
import { createLock } from './lock.js'
import { listOrgIds } from './orgs.js'
import { siteDeletionStatements } from './site-deletion.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

const JsonStrings = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.array(z.string()))

/** A site as the API shows it (contract 7). */
export const Site = z.object({
  id: z.int(),
  version: Version,
  org: z.int(),
  name: z.string(),
  /** Lower case, without port; empty: every hostname that is served is the site's. */
  domains: z.array(z.string()),
  timezone: z.string(),
  currency: z.string(),
  excluded_paths: z.array(z.string()),
  respect_gpc: z.boolean(),
  visitor_salt: z.enum(['day', 'week', 'month', 'never']),
  retention_days: z.int().optional().describe('Rows go when they are so old; absent: they stay.'),
  citation_threshold: z.number().optional(),
  origin: z.string().optional().describe('Where robots.txt and llms.txt are read for rows that other servers send.'),
})
export type Site = z.infer<typeof Site>

/** As many an organisation may have. */
const MAX_SITES_PER_ORG = 1_000

const Hostname = z.string().transform((text, context) => {
  const ascii = asciiHostname(text)
  if (ascii !== undefined && ascii.length <= 253) return ascii
  context.addIssue('A domain is a hostname, without scheme, port or path.')
  return z.NEVER
})
const Domains = z.array(Hostname).max(100, 'A site has at most 100 domains.')
const Zone = z.string().transform((word, context) => {
  const name = parseTimeZone(word)
  if (name !== undefined) return name
  context.addIssue('no IANA time zone such as Europe/Berlin')
  return z.NEVER
})
const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'))
const Pattern = z
  .string()
  .max(200, 'A pattern has at most 200 characters.')
  .regex(/^[/*]/, 'A pattern is a whole path: it begins with / or *.')
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'A pattern has no control characters.')
  .refine((text) => (text.match(/\*\*/g) ?? []).length <= 2, 'A pattern has ** at most twice.')
const Origin = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin
  context.addIssue('An origin is http or https and a host alone, as in https://www.example.com.')
  return z.NEVER
})

/** What may be said of a site when it is made and later. */
const siteFields = {
  name: Name,
  timezone: Zone.describe("IANA time zone of the site's days."),
  currency: z
    .string()
    .refine((code) => CURRENCIES.has(code), 'A currency is one of ISO 4217, such as EUR.')
    .describe('ISO 4217.'),
  excluded_paths: z
    .array(Pattern)
    .max(100, 'A site has at most 100 excluded paths.')
    .transform((patterns) => [...new Set(patterns)])
    .describe('Paths of which no view is recorded: `*` within a segment, `**` across.'),
  respect_gpc: z.boolean().describe('Whether `Sec-GPC: 1` and `DNT: 1` are honoured.'),
  visitor_salt: z.enum(['day', 'week', 'month', 'never']).describe('How long a visitor is known as the same.'),
}
/** What a site may be without: null, in a change, takes it away. */
const optionalFields = {
  retention_days: z.int().min(1).max(3_650).describe('Rows go when they are so old.'),
  citation_threshold: z.number().positive().max(1_000_000),
  origin: Origin.describe('http(s) and a host alone: where robots.txt and llms.txt are read for rows sent by others.'),
}

/** The body of `POST /api/sites` (contract 7). */
export const NewSite = z.strictObject({
  ...z.object({ ...siteFields, ...optionalFields }).partial().shape,
  org: z.int().positive().optional().describe('Its organisation; needed by who is in several.'),
  name: Name,
  domains: Domains.min(1, 'A site needs a domain.').describe(
    'Its hostnames, in any case; no other site may have one of them, with or without `www.`.',
  ),
})
export type NewSite = z.infer<typeof NewSite>

/** The body of `PATCH /api/sites/{id}`. */
export const SiteChange = z
  .strictObject({
    ...siteFields,
    domains: Domains.describe('As when it is made; none only where it has none.'),
    retention_days: optionalFields.retention_days.nullable(),
    citation_threshold: optionalFields.citation_threshold.nullable(),
    origin: optionalFields.origin.nullable(),
  })
  .partial()
export type SiteChange = z.infer<typeof SiteChange>

const StoredSite = z
  .object({
    ...Site.shape,
    domains: JsonStrings,
    excluded_paths: JsonStrings,
    retention_days: z.number().nullable(),
    citation_threshold: z.number().nullable(),
    origin: z.string().nullable(),
  })
  .transform(
    ({ retention_days, citation_threshold, origin, ...site }): Site => ({
      ...site,
      ...(retention_days === null ? {} : { retention_days }),
      ...(citation_threshold === null ? {} : { citation_threshold }),
      ...(origin === null ? {} : { origin }),
    }),
  )

export interface Sites {
  list(): Promise<readonly Site[]>
  get(id: number): Promise<Site | undefined>
  /**
   * `along` is written in the same transaction, where the site's id is the last one of its kind. Throws `not_found` for
   * an organisation that is none, `conflict` where another site has one of the hostnames.
   */
  create(asked: NewSite & { org: number }, deed: AuditContext, ...along: Sql[]): Promise<Site>
  /** Throws `not_found`, `conflict` as `create` does and where it is not of the `version` that is asked for. */
  change(id: number, change: SiteChange, deed: AuditContext, version?: number): Promise<Site>
  /** With everything of it, for good. Throws as `change` does. */
  delete(id: number, deed: AuditContext, version?: number): Promise<void>
  /** Those of an organisation that ends at `at`, in one transaction with `along`. */
  deleteAllOfOrg(org: number, at: Date, along: readonly Sql[]): Promise<void>
  /** Hostnames the operator named at the start are site 1's from now on, where no other site has them; none is taken away. */
  addDomains(id: number, domains: readonly string[]): Promise<void>
  /** After a write to the table that was not made here. */
  invalidate(): Promise<void>
}

/** A hostname of `domains` that another of the sites has: who has `a.com` is asked for `www.a.com` as well. */
function findTakenDomain(domains: readonly string[], others: readonly Site[]): string | undefined {
  const theirs = new Set(others.flatMap((site) => site.domains.map(withoutWww)))
  return domains.find((domain) => theirs.has(withoutWww(domain)))
}

/**
 * The sites of this instance, over its records. `told` is awaited after every write, before anybody is answered:
 * whoever holds what was read of sites, or of what went with one, reads it anew.
 */
export function createSites(records: Records, told: () => Promise<void> = async () => {}): Sites {
  const sites = createTableCache(async () => {
    const rows = await records.query(sql`
      select id, version, org, name, domains, timezone, currency, excluded_paths, respect_gpc, visitor_salt,
        retention_days, citation_threshold, origin
      from sites order by id`)
    return rows.map((row) => StoredSite.parse(row))
  })
  const get = async (id: number) => (await sites.get()).find((site) => site.id === id)
  const current = async (id: number, version: number | undefined): Promise<Site> => {
    const found = await get(id)
    if (!found) throw new ApiError('not_found', 'There is no such site.')
    if (version === undefined || version === found.version) return found
    throw new ApiError('conflict', `The site was changed meanwhile: it is version ${found.version} now.`)
  }
  const invalidate = async () => {
    sites.invalidate()
    await told()
  }
  const free = async (domains: readonly string[], id?: number) => {
    const taken = findTakenDomain(
      domains,
      (await sites.get()).filter((site) => site.id !== id),
    )
    if (taken !== undefined) throw new ApiError('conflict', `Another site has the domain ${taken}.`, 'domains')
  }
  const write = createInvalidatingWrite(records, { invalidate })
  // One after the other: a hostname is of one site.
  const turn = createLock()
  return {
    list: sites.get,
    get,
    create: ({ org, domains, ...asked }, deed, ...along) =>
      turn(async () => {
        if (!(await listOrgIds(records)).includes(org))
          throw new ApiError('not_found', 'There is no such organisation.', 'org')
        await free(domains)
        if ((await sites.get()).filter((site) => site.org === org).length >= MAX_SITES_PER_ORG)
          throw new ApiError('conflict', `An organisation has at most ${MAX_SITES_PER_ORG} sites.`)
        const columns = toColumns(applyChange(DEFAULT_SETTINGS, { ...asked, domains }))
        const { names: into, values } = splitColumns(columns)
        await write(
          ...insertWithNextId(
            'sites',
            sql`insert into sites (id, org, version, created_at, ${join(into, ', ')})`,
            sql`${org}, 1, ${deed.at}, ${join(values, ', ')}`,
          ),
          ...along,
          ...auditStatements(deed, {
            action: 'create',
            object: 'site',
            id: lastId('sites'),
            details: { name: asked.name, domains },
          }),
        )
        const made = (await sites.get()).at(-1)
        if (made?.name !== asked.name) throw new Error(`the site ${asked.name} was written and is not there`)
        return made
      }),
    change: (id, change, deed, version) =>
      turn(async () => {
        const now = await current(id, version)
        // That it takes what no other site has is the operator's to say, at the start.
        if (change.domains?.length === 0 && now.domains.length > 0)
          throw new ApiError('validation_error', 'A site needs a domain.', 'domains')
        const added = (change.domains ?? []).filter((domain) => !now.domains.includes(domain))
        await free(added, id)
        const before = toColumns(now)
        const columns = toColumns(applyChange(now, change))
        const fields = Object.keys(columns).filter((name) => columns[name] !== before[name])
        if (fields.length === 0) return now
        const { names: into, values } = splitColumns(columns)
        const set = into.map((name, i) => sql`${name} = ${values[i] ?? null}`)
        await write(
          sql`update sites set version = version + 1, ${join(set, ', ')} where id = ${id}`,
          ...auditStatements(deed, { action: 'change', object: 'site', id, details: { name: columns.name, fields } }),
        )
        return current(id, undefined)
      }),
    delete: (id, deed, version) =>
      turn(async () => {
        const { name, domains } = await current(id, version)
        await write(
          ...siteDeletionStatements({ id, domains }, deed.at),
          ...auditStatements(deed, { action: 'delete', object: 'site', id, details: { name, domains } }),
        )
      }),
    deleteAllOfOrg: (org, at, along) =>
      turn(async () => {
        const mine = (await sites.get()).filter((site) => site.org === org)
        await write(...mine.flatMap((site) => siteDeletionStatements(site, at)), ...along)
      }),
    addDomains: (id, domains) =>
      turn(async () => {
        const site = await get(id)
        const others = (await sites.get()).filter((each) => each.id !== id)
        const missing = domains.filter(
          (domain) => !site?.domains.includes(domain) && findTakenDomain([domain], others) === undefined,
        )
        if (!site || missing.length === 0) return
        await write(
          sql`update sites set domains = ${JSON.stringify([...site.domains, ...missing])}, version = version + 1
            where id = ${id}`,
        )
      }),
    invalidate,
  }
}

const splitColumns = (columns: Readonly<Record<string, Param>>) => ({
  names: Object.keys(columns).map(raw),
  values: Object.values(columns).map((value) => sql`${value}`),
})

type SiteSettings = Omit<Site, 'id' | 'version' | 'org'>

/** A new site of which nothing more is said. */
const DEFAULT_SETTINGS: SiteSettings = {
  ...{ name: '', domains: [], timezone: 'UTC', currency: 'EUR', excluded_paths: [] },
  ...{ respect_gpc: false, visitor_salt: 'month' },
}

/** With a change in it; null takes away. */
function applyChange(now: SiteSettings, change: SiteChange): SiteSettings {
  const {
    retention_days = now.retention_days,
    citation_threshold = now.citation_threshold,
    origin = now.origin,
    domains = now.domains,
  } = change
  return {
    name: change.name ?? now.name,
    domains: [...new Set(domains)],
    timezone: change.timezone ?? now.timezone,
    currency: change.currency ?? now.currency,
    excluded_paths: change.excluded_paths ?? now.excluded_paths,
    respect_gpc: change.respect_gpc ?? now.respect_gpc,
    visitor_salt: change.visitor_salt ?? now.visitor_salt,
    ...(typeof retention_days === 'number' ? { retention_days } : {}),
    ...(typeof citation_threshold === 'number' ? { citation_threshold } : {}),
    ...(typeof origin === 'string' ? { origin } : {}),
  }
}

const toColumns = (site: SiteSettings): Record<string, Param> => ({
  name: site.name,
  domains: JSON.stringify(site.domains),
  timezone: site.timezone,
  currency: site.currency,
  excluded_paths: JSON.stringify(site.excluded_paths),
  respect_gpc: site.respect_gpc,
  visitor_salt: site.visitor_salt,
  retention_days: site.retention_days ?? null,
  citation_threshold: site.citation_threshold ?? null,
  origin: site.origin ?? null,
})
