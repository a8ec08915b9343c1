import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { lastId } from './ids.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

/** A site's ingest key as the API shows it, to admins only. */
export const IngestKey = z.object({
  site: z.int(),
  ingest_key: z.string().describe('The whole key that servers sign with, including `svci_`.'),
  created_at: z.iso.datetime(),
  previous_until: z.iso.datetime().optional().describe('Until then the previous key is valid too.'),
})
export type IngestKey = z.infer<typeof IngestKey>

const StoredKey = z.object({
  site: z.number(),
  key: z.string(),
  created_at: z.date(),
  expires_at: z.date().nullable(),
})

/** After a rotation every server of a fleet has a day to receive the new key. */
const INGEST_KEY_OVERLAP_MS = 24 * 3_600_000

/** Formats 256 random bits, which need no slow hash, with a prefix that secret scanners recognise. */
const formatKey = (random: Buffer): string => `svci_${random.toString('base64url')}`

export type IngestKeys = ReturnType<typeof createIngestKeys>

/** The sites' ingest keys, stored unhashed: checking an HMAC takes the key itself. */
export function createIngestKeys(deps: { records: Records; now(): Date; random(bytes: number): Buffer }) {
  const { records, now, random } = deps
  const cache = createTableCache(async () => {
    const rows = await records.query(sql`select site, key, created_at, expires_at from ingest_keys`)
    return rows.map((row) => StoredKey.parse(row))
  })
  const write = createInvalidatingWrite(records, cache)
  const insert = (site: number | Sql) =>
    sql`insert into ingest_keys (site, key, created_at, expires_at) values (${site}, ${formatKey(random(32))}, ${now()}, null)`
  const findValid = async (site: number) =>
    (await cache.get()).filter((key) => key.site === site && (key.expires_at === null || key.expires_at > now()))
  const get = async (site: number): Promise<IngestKey> => {
    const keys = await findValid(site)
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
    /** Throws `not_found`. */
    get,
    /** Returns the key as `get` does, and logs that it was shown. */
    async show(site: number, audit: AuditContext): Promise<IngestKey> {
      const key = await get(site)
      await records.write(...auditStatements(audit, { action: 'show', object: 'ingest_key', id: site }))
      return key
    },
    /**
     * Creates a new key. The previous one stays valid for `INGEST_KEY_OVERLAP_MS`; the one before that ends now, so
     * rotating twice ends a leaked key. Throws `not_found`.
     */
    async rotate(site: number, audit: AuditContext): Promise<IngestKey> {
      await get(site)
      await write(
        sql`delete from ingest_keys where site = ${site} and expires_at is not null`,
        sql`update ingest_keys set expires_at = ${new Date(now().getTime() + INGEST_KEY_OVERLAP_MS)} where site = ${site}`,
        insert(site),
        ...auditStatements(audit, { action: 'rotate', object: 'ingest_key', id: site }),
      )
      return get(site)
    },
    /** Returns the keys that a site's signatures may use: two at most, none for an unknown site. */
    listValid: async (site: number): Promise<readonly string[]> => (await findValid(site)).map(({ key }) => key),
    /** Creates keys for those of the sites that have none. */
    async ensure(sites: readonly number[]): Promise<void> {
      const known = new Set((await cache.get()).map(({ site }) => site))
      const missing = sites.filter((site) => !known.has(site))
      if (missing.length > 0) await write(...missing.map((site) => insert(site)))
    },
    /** Returns the statement that gives a site its first key, for the transaction that creates the site. */
    firstKeyStatement: (): Sql => insert(lastId('sites')),
    /** Call it after another module has written to the table. */
    invalidate: cache.invalidate,
  }
}
