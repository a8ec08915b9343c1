import { z } from 'zod'
import { ApiError } from '../errors.js'
import { type Sql, sql } from '../sql.js'
import type { Records } from '../store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { lastId } from './ids.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

/** A site's ingest key as the API shows it, to those who may see it (spec 5.3 rule 3). */
export const IngestKey = z.object({
  site: z.int(),
  ingest_key: z.string().describe('What its servers sign with, whole: `svci_` belongs to it.'),
  created_at: z.iso.datetime(),
  previous_until: z.iso.datetime().optional().describe('Until then the key before it is good as well.'),
})
export type IngestKey = z.infer<typeof IngestKey>

const StoredKey = z.object({
  site: z.number(),
  key: z.string(),
  created_at: z.date(),
  expires_at: z.date().nullable(),
})

/** After a rotation every server of a fleet has a day to hear of the new key. */
export const INGEST_KEY_OVERLAP_MS = 24 * 3_600_000

export interface IngestKeys {
  /** Throws `not_found` for a site that has none. */
  get(site: number): Promise<IngestKey>
  /**
   * A new key. The one before stays good for `OVERLAP_MS`; the one before that ends now, so that rotating twice ends a
   * key that was let out. Throws `not_found`.
   */
  rotate(site: number, deed: AuditContext): Promise<IngestKey>
  /** As `get`, for somebody who is shown it: the log says so. */
  show(site: number, deed: AuditContext): Promise<IngestKey>
  /** What signatures of a site are good by, at most two; none for a site that is none. */
  listValid(site: number): Promise<readonly string[]>
  /** Makes the keys of those of the sites that have none. */
  ensure(sites: readonly number[]): Promise<void>
  /** The statement that gives a site its first, for the transaction that makes the site. */
  firstKeyStatement(): Sql
  /** After a write to the table that was not made here. */
  invalidate(): void
}

/** 256 bits that need no slow hash, and a name that secret scanners can find. */
const formatKey = (random: Buffer): string => `svci_${random.toString('base64url')}`

/** The sites' ingest keys over the records, where they lie as they are: whoever checks an HMAC needs the key itself. */
export function createIngestKeys(deps: { records: Records; now(): Date; random(bytes: number): Buffer }): IngestKeys {
  const { records, now, random } = deps
  const table = createTableCache(async () => {
    const rows = await records.query(sql`select site, key, created_at, expires_at from ingest_keys`)
    return rows.map((row) => StoredKey.parse(row))
  })
  const write = createInvalidatingWrite(records, table)
  const insert = (site: number | Sql) =>
    sql`insert into ingest_keys (site, key, created_at, expires_at) values (${site}, ${formatKey(random(32))}, ${now()}, null)`
  const good = async (site: number) =>
    (await table.get()).filter((key) => key.site === site && (key.expires_at === null || key.expires_at > now()))
  const get = async (site: number): Promise<IngestKey> => {
    const keys = await good(site)
    const current = keys.find(({ expires_at }) => expires_at === null)
    if (!current) throw new ApiError('not_found', 'There is no such site.')
    const until = keys.find(({ expires_at }) => expires_at !== null)?.expires_at
    return {
      site,
      ingest_key: current.key,
      created_at: current.created_at.toISOString(),
      ...(until ? { previous_until: until.toISOString() } : {}),
    }
  }

  return {
    get,
    async show(site, deed) {
      const key = await get(site)
      await records.write(...auditStatements(deed, { action: 'show', object: 'ingest_key', id: site }))
      return key
    },
    async rotate(site, deed) {
      await get(site)
      await write(
        sql`delete from ingest_keys where site = ${site} and expires_at is not null`,
        sql`update ingest_keys set expires_at = ${new Date(now().getTime() + INGEST_KEY_OVERLAP_MS)} where site = ${site}`,
        insert(site),
        ...auditStatements(deed, { action: 'rotate', object: 'ingest_key', id: site }),
      )
      return get(site)
    },
    listValid: async (site) => (await good(site)).map(({ key }) => key),
    async ensure(sites) {
      const known = new Set((await table.get()).map(({ site }) => site))
      const without = sites.filter((site) => !known.has(site))
      if (without.length === 0) return
      await write(...without.map((site) => insert(site)))
    },
    firstKeyStatement: () => insert(lastId('sites')),
    invalidate: table.invalidate,
  }
}
