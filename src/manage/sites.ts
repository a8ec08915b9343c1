import { z } from 'zod'
import { parseTimeZone } from '../analytics/query/calendar.js'
import { MAX_SECTIONS, SectionPattern } from '../analytics/query/section-pattern.js'
import { ApiError } from '../base/errors.js'
import { asciiHostname } from '../base/hostname.js'
import { createLock } from '../base/lock.js'
import { PathPattern } from '../capture/path-pattern.js'
import { withoutWww } from '../capture/site.js'
import { join, raw, type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { changeRecord, encodeColumns, insertRecord, requireVersion } from './collection.js'
import { JsonText, Name, omitNulls, Version } from './fields.js'
import { insertWithNextId, lastId } from './ids.js'
import { DELETE_UNUSED_SECRET } from './imports.js'
import { requireOrg } from './orgs.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

/** A site as the API shows it. */
export const ManagedSite = z.object({
  id: z.int(),
  version: Version,
  org: z.int(),
  name: z.string(),
  /** Lower case, without port. Empty: the site takes every hostname that is served. */
  domains: z.array(z.string()),
  timezone: z.string(),
  currency: z.string(),
  excluded_paths: z.array(z.string()),
  respect_gpc: z.boolean(),
  visitor_salt: z.enum(['day', 'week', 'month', 'never']),
  retention_days: z.int().optional().describe('Age in days at which rows are deleted; absent: they are kept.'),
  citation_threshold: z.number().optional(),
  price_per_gigabyte: z.number().optional().describe('For 10^9 bytes sent to agents, in `currency`.'),
  price_per_thousand_requests: z.number().optional().describe('For 1,000 fetches by agents, in `currency`.'),
  price_per_origin_second: z.number().optional().describe('For a second of origin time for agents, in `currency`.'),
  indexnow_key: z
    .string()
    .optional()
    .describe('Changed pages are announced with it by IndexNow; absent: they are not.'),
  indexnow_key_location: z.string().optional().describe('The URL of the file with that key, of one host.'),
  sections: z.array(z.string()),
  origin: z
    .string()
    .optional()
    .describe('The origin whose robots.txt and llms.txt apply to rows that other servers send.'),
})
export type ManagedSite = z.infer<typeof ManagedSite>

const MAX_SITES_PER_ORG = 1_000

const Hostname = z.string().transform((text, context) => {
  const ascii = asciiHostname(text)
  if (ascii !== undefined && ascii.length <= 253) return ascii
  context.addIssue('A domain must be a hostname, without scheme, port and path.')
  return z.NEVER
})
const Domains = z.array(Hostname).max(100, 'A site has at most 100 domains.')
const Zone = z.string().transform((word, context) => {
  const name = parseTimeZone(word)
  if (name !== undefined) return name
  context.addIssue('`timezone` must be an IANA time zone, such as Europe/Berlin.')
  return z.NEVER
})
const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'))
const Origin = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin
  context.addIssue('`origin` must be an http(s) URL of a host only, such as https://www.example.com.')
  return z.NEVER
})

/** Costs are computed in millionths (analytics/query/bill.ts). */
const Price = z
  .number()
  .nonnegative()
  .max(1_000_000)
  .refine((price) => Number(price.toFixed(6)) === price, 'A price has at most six digits after the point.')
  .describe('In `currency`, at most six digits after the point.')

const KeyLocation = z
  .string()
  .max(2_000)
  .refine((text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    return url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.hash
  }, '`indexnow_key_location` must be an http(s) URL without user, password and fragment.')

const siteFields = {
  name: Name,
  timezone: Zone.describe("IANA time zone of the site's days."),
  currency: z
    .string()
    .refine((code) => CURRENCIES.has(code), '`currency` must be an ISO 4217 code, such as EUR.')
    .describe('ISO 4217.'),
  excluded_paths: z
    .array(PathPattern)
    .max(100, 'A site has at most 100 excluded paths.')
    .transform((patterns) => [...new Set(patterns)])
    .describe('Paths whose views are not recorded: `*` matches within a segment, `**` across segments.'),
  sections: z
    .array(SectionPattern)
    .max(MAX_SECTIONS, `A site has at most ${MAX_SECTIONS} sections.`)
    .transform((patterns) => [...new Set(patterns)])
    .describe(
      'Groups of pages, in the order in which they are tried: the first pattern that fits a path decides. `*` stands for any text, slashes included; `/blog/*` also fits `/blog`.',
    ),
  respect_gpc: z.boolean().describe('Whether `Sec-GPC: 1` and `DNT: 1` are honoured.'),
  visitor_salt: z
    .enum(['day', 'week', 'month', 'never'])
    .describe('How long a visitor keeps the same id: when the salt changes.'),
}
/** Settings that a site may lack; null removes one in a change. */
const optionalFields = {
  retention_days: z.int().min(1).max(3_650).describe('Age in days at which rows are deleted.'),
  citation_threshold: z.number().positive().max(1_000_000),
  price_per_gigabyte: Price,
  price_per_thousand_requests: Price,
  price_per_origin_second: Price,
  indexnow_key: z
    .string()
    .regex(/^[a-zA-Z0-9-]{8,128}$/, '`indexnow_key` must have 8 to 128 letters, digits and hyphens.')
    .describe(
      'The key that the origin serves as `https://HOST/KEY.txt`. Changed pages are announced by IndexNow with it.',
    ),
  indexnow_key_location: KeyLocation.describe("Another URL of the key's file, for the pages of the URL's host."),
  origin: Origin.describe(
    'An http(s) URL of a host only, where robots.txt and llms.txt are fetched for rows that other servers send.',
  ),
}

/** The body of `POST /api/sites`. */
export const NewSite = z.strictObject({
  ...z.object({ ...siteFields, ...optionalFields }).partial().shape,
  org: z.int().positive().optional().describe('The organisation; required if the caller is in several.'),
  name: Name,
  domains: Domains.min(1, 'A site needs at least one domain.').describe(
    "The site's hostnames, in any case. No other site may have one of them, with or without `www.`.",
  ),
})
export type NewSite = z.infer<typeof NewSite>

/** The body of `PATCH /api/sites/{id}`. */
export const SiteChange = z
  .strictObject({
    ...siteFields,
    domains: Domains.describe('As in `POST /api/sites`; empty only if the site has none.'),
    retention_days: optionalFields.retention_days.nullable(),
    citation_threshold: optionalFields.citation_threshold.nullable(),
    price_per_gigabyte: Price.nullable(),
    price_per_thousand_requests: Price.nullable(),
    price_per_origin_second: Price.nullable(),
    indexnow_key: optionalFields.indexnow_key.nullable(),
    indexnow_key_location: KeyLocation.nullable(),
    origin: optionalFields.origin.nullable(),
  })
  .partial()
export type SiteChange = z.infer<typeof SiteChange>

const JsonStrings = JsonText.pipe(z.array(z.string()))
const StoredSite = z
  .object({
    ...ManagedSite.shape,
    domains: JsonStrings,
    excluded_paths: JsonStrings,
    // Null in rows that are older than the column.
    sections: JsonStrings.nullable().transform((patterns) => patterns ?? []),
    retention_days: z.number().nullable(),
    citation_threshold: z.number().nullable(),
    price_per_gigabyte: z.number().nullable(),
    price_per_thousand_requests: z.number().nullable(),
    price_per_origin_second: z.number().nullable(),
    indexnow_key: z.string().nullable(),
    indexnow_key_location: z.string().nullable(),
    origin: z.string().nullable(),
  })
  .transform((row): ManagedSite => omitNulls(row))

/** Returns a hostname of `domains` that a site other than `id` has: the owner of `a.com` also has `www.a.com`. */
function findTakenDomain(domains: readonly string[], sites: readonly ManagedSite[], id?: number): string | undefined {
  const taken = new Set(sites.flatMap((site) => (site.id === id ? [] : site.domains.map(withoutWww))))
  return domains.find((domain) => taken.has(withoutWww(domain)))
}

/** Throws `conflict` if another site has one of the hostnames. */
function checkDomainsFree(domains: readonly string[], sites: readonly ManagedSite[], id?: number): void {
  const taken = findTakenDomain(domains, sites, id)
  if (taken !== undefined) throw new ApiError('conflict', `Another site has the domain ${taken}.`, 'domains')
}

/** Throws as `checkDomainsFree` does, and `conflict` if the organisation has too many sites. */
function checkAddable(org: number, domains: readonly string[], sites: readonly ManagedSite[]): void {
  checkDomainsFree(domains, sites)
  if (sites.filter((site) => site.org === org).length >= MAX_SITES_PER_ORG)
    throw new ApiError('conflict', `An organisation can have at most ${MAX_SITES_PER_ORG} sites.`)
}

/** Throws as `checkDomainsFree` does, and `validation_error` if the site would lose its last hostname. */
function checkDomainChange(site: ManagedSite, domains: readonly string[], sites: readonly ManagedSite[]): void {
  // Only the operator, at the start, makes a site that takes every hostname.
  if (domains.length === 0 && site.domains.length > 0)
    throw new ApiError('validation_error', 'A site needs at least one domain.', 'domains')
  const added = domains.filter((domain) => !site.domains.includes(domain))
  checkDomainsFree(added, sites, site.id)
}

/** Returns the hostnames that neither the site nor another one has. */
const listAddable = (domains: readonly string[], site: ManagedSite, sites: readonly ManagedSite[]): string[] =>
  domains.filter((domain) => !site.domains.includes(domain) && !findTakenDomain([domain], sites, site.id))

async function loadSites(records: Records): Promise<ManagedSite[]> {
  const rows = await records.query(sql`
    select id, version, org, name, domains, timezone, currency, excluded_paths, respect_gpc, visitor_salt,
      retention_days, citation_threshold, origin, sections, price_per_gigabyte, price_per_thousand_requests, price_per_origin_second,
      indexnow_key, indexnow_key_location
    from sites order by id`)
  return rows.map((row) => StoredSite.parse(row))
}

export type Sites = ReturnType<typeof createSites>

/**
 * The sites of this instance. `onChange` is awaited after every write and before the caller gets its result, so that other
 * caches that depend on sites are current by then.
 */
export function createSites(records: Records, onChange: () => Promise<void> = async () => {}) {
  const cache = createTableCache(() => loadSites(records))
  const get = async (id: number): Promise<ManagedSite | undefined> => (await cache.get()).find((site) => site.id === id)
  const findVersion = async (id: number, version?: number) => requireVersion(await get(id), version, 'site')
  const invalidate = async (): Promise<void> => {
    cache.invalidate()
    await onChange()
  }
  const write = createInvalidatingWrite(records, { invalidate })
  // Keeps the check that a hostname is free true until it is written.
  const lock = createLock()
  return {
    list: (): Promise<readonly ManagedSite[]> => cache.get(),
    get,
    /**
     * Creates a site and writes `along` in the same transaction, where `lastId('sites')` is its id. Throws `not_found` for
     * an unknown organisation, `conflict` if another site has one of the hostnames.
     */
    create: ({ org, domains, ...settings }: NewSite & { org: number }, audit: AuditContext, ...along: Sql[]) =>
      lock(async (): Promise<ManagedSite> => {
        await requireOrg(records, org)
        const sites = await cache.get()
        checkAddable(org, domains, sites)
        const site = applyChange(DEFAULT_SETTINGS, { ...settings, domains })
        const { name } = settings
        const details = { name, domains }
        await write(
          ...insertRecord('sites', { org, created_at: audit.at, ...encodeColumns(site, SETTINGS) }),
          ...along,
          ...auditStatements(audit, { action: 'create', object: 'site', id: lastId('sites'), details }),
        )
        const created = (await cache.get()).at(-1)
        if (created?.name !== name) throw new Error(`the site ${name} was written but cannot be read back`)
        return created
      }),
    /** Throws `not_found`, and `conflict` as `create` does and for another `version`. */
    change: (id: number, change: SiteChange, audit: AuditContext, version?: number) =>
      lock(async (): Promise<ManagedSite> => {
        const site = await findVersion(id, version)
        if (change.domains) checkDomainChange(site, change.domains, await cache.get())
        const before = encodeColumns(site, SETTINGS)
        const columns = encodeColumns(applyChange(site, change), SETTINGS)
        const fields = Object.keys(columns).filter((name) => columns[name] !== before[name])
        if (fields.length === 0) return site
        const details = { name: columns.name, fields }
        await write(
          changeRecord('sites', id, columns),
          ...auditStatements(audit, { action: 'change', object: 'site', id, details }),
        )
        return findVersion(id)
      }),
    /** Deletes a site with everything that belongs to it, for good. Throws as `change` does. */
    delete: (id: number, audit: AuditContext, version?: number) =>
      lock(async () => {
        const { name, domains } = await findVersion(id, version)
        await write(
          ...siteDeletionStatements({ id, domains }, audit.at),
          ...auditStatements(audit, { action: 'delete', object: 'site', id, details: { name, domains } }),
        )
      }),
    /** Deletes the sites of an organisation, in one transaction with `along`. */
    deleteAllOfOrg: (org: number, at: Date, along: readonly Sql[]) =>
      lock(async () => {
        const sites = (await cache.get()).filter((site) => site.org === org)
        await write(...sites.flatMap((site) => siteDeletionStatements(site, at)), ...along)
      }),
    /** Adds the hostnames that the operator named at the start to the first site, except those of others; removes none. */
    addDomains: (domains: readonly string[]) =>
      lock(async () => {
        const [first] = await records.query(sql`select id from first_site`)
        const site = await get(Number(first?.id))
        const missing = site ? listAddable(domains, site, await cache.get()) : []
        if (!site || missing.length === 0) return
        await write(changeRecord('sites', site.id, { domains: JSON.stringify([...site.domains, ...missing]) }))
      }),
    /** Call it after another module has written to the table. */
    invalidate,
  }
}

const SiteSettings = ManagedSite.omit({ id: true, version: true, org: true })
type SiteSettings = z.infer<typeof SiteSettings>
const SETTINGS = SiteSettings.keyof().options

const DEFAULT_SETTINGS: SiteSettings = {
  name: '',
  domains: [],
  timezone: 'UTC',
  currency: 'EUR',
  excluded_paths: [],
  sections: [],
  respect_gpc: false,
  visitor_salt: 'month',
}

/** Returns the settings after a change; null removes one. */
function applyChange(site: SiteSettings, { domains = site.domains, ...change }: SiteChange): SiteSettings {
  const given = Object.entries(change).filter(([, value]) => value !== undefined)
  const changed = { ...site, ...Object.fromEntries(given), domains: [...new Set(domains)] }
  return SiteSettings.parse(omitNulls(changed))
}

/** Tables whose rows belong to one site each. */
const SITE_TABLES = [
  'goals',
  'funnels',
  'segments',
  'flags',
  'shares',
  'alerts',
  'reports',
  'annotations',
  'annotation_causes',
  'rules',
  'redirects',
  'robots_texts',
  'ingest_keys',
  'asset_names',
  'imports',
  'import_sessions',
  'histories',
  'history_days',
  'history_pages',
]

/**
 * Returns the statements that delete a site, for one transaction: its records and policies go at once, its API keys are
 * revoked, its waiting notices are dropped and its domains become free. Its rows go in the background: wake
 * `Removals` after the transaction.
 */
export const siteDeletionStatements = (
  { id, domains }: { readonly id: number; readonly domains: readonly string[] },
  at: Date,
): Sql[] => [
  ...SITE_TABLES.map((table) => sql`delete from ${raw(table)} where site = ${id}`),
  DELETE_UNUSED_SECRET,
  sql`delete from notices where site = ${id} and state = 'waiting'`,
  sql`update keys set revoked_at = ${at} where site = ${id} and revoked_at is null`,
  sql`delete from sites where id = ${id}`,
  ...insertWithNextId(
    'removals',
    sql`insert into removals (id, site, kind, hostnames, requested_at)`,
    sql`${id}, 'site', ${JSON.stringify(domains)}, ${at}`,
  ),
  sql`delete from drops where site = ${id}`,
  ...(domains.length === 0
    ? []
    : [
        sql`delete from policies where hostname in (${join(
          domains.map((domain) => sql`${domain}`),
          ', ',
        )})`,
      ]),
]
