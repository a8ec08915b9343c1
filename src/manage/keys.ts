import { createHash, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { ApiError } from '../errors.js'
import { sql } from '../sql.js'
import type { Records } from '../store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { Name } from './collection.js'
import { createLock } from './lock.js'
import { listOrgIds } from './orgs.js'
import type { Sites } from './sites.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

/** What a key may open (spec 5.2). */
export const SCOPES = ['stats:read', 'manage:read', 'manage:write', 'ingest:write'] as const
export type Scope = (typeof SCOPES)[number]

/** A key as the API shows it: never the secret, never its digest (spec 2.6). */
export const Key = z.object({
  id: z.int(),
  org: z.int(),
  /** The one site it reaches; absent: every site of its organisation. */
  site: z.int().optional(),
  name: z.string(),
  /** The first characters of the secret: a label and a look-up, not a secret. */
  prefix: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().optional(),
  revoked_at: z.iso.datetime().optional(),
})
export type Key = z.infer<typeof Key>

export const KeyUsage = z.object({ id: z.int(), requests: z.int(), last_used_at: z.iso.datetime().optional() })
export type KeyUsage = z.infer<typeof KeyUsage>

/** The body of `POST /api/keys` (contract 7). */
export const NewKey = z.strictObject({
  org: z.int().positive().optional().describe('Its organisation; needed by who is in several.'),
  name: Name,
  scopes: z.array(z.enum(SCOPES)).max(20, 'These are more scopes than there are.').default([]),
  site: z.int().positive().optional().describe('The one site it reaches; absent: all of its organisation.'),
  expires_at: z.iso.datetime({ offset: true, error: 'expires_at is an ISO-8601 instant.' }).optional(),
})
export type NewKey = z.infer<typeof NewKey>

const StoredKey = z.object({
  id: z.number(),
  org: z.number(),
  site: z.number().nullable(),
  name: z.string(),
  prefix: z.string(),
  digest: z.string(),
  scopes: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(z.array(z.enum(SCOPES))),
  created_at: z.date(),
  expires_at: z.date().nullable(),
  revoked_at: z.date().nullable(),
  last_used_at: z.date().nullable(),
  requests: z.number(),
})
type StoredKey = z.infer<typeof StoredKey>

const keyView = (stored: StoredKey): Key => ({
  id: stored.id,
  org: stored.org,
  ...(stored.site === null ? {} : { site: stored.site }),
  name: stored.name,
  prefix: stored.prefix,
  scopes: stored.scopes,
  created_at: stored.created_at.toISOString(),
  ...(stored.expires_at ? { expires_at: stored.expires_at.toISOString() } : {}),
  ...(stored.revoked_at ? { revoked_at: stored.revoked_at.toISOString() } : {}),
})

/** `svcg_` and 8 hex digits, then 32 random bytes: 256 bits that need no slow hash. */
const SECRET_PATTERN = /^(svcg_[0-9a-f]{8})_[\w-]{43}$/
const sha256 = (secret: string) => createHash('sha256').update(secret).digest('hex')

export interface Keys {
  /**
   * The only answer that carries the secret. Throws `not_found` for a site or organisation that is none, `conflict` for
   * too many.
   */
  create(asked: NewKey & { org: number }, deed: AuditContext): Promise<Key & { secret: string }>
  list(org?: number): Promise<Key[]>
  /** Throws `not_found`. */
  get(id: number): Promise<Key>
  /** In force for every request that arrives after it resolves; a second time changes nothing. Throws `not_found`. */
  revoke(id: number, deed: AuditContext): Promise<void>
  usage(id: number): Promise<KeyUsage>
  /** The key of a secret, counted as used; throws `unauthorized`. */
  authenticate(secret: string): Promise<Key>
  /** Whether a key that was let in still is: for an answer that takes its time, which is one use. */
  isActive(key: Pick<Key, 'prefix'>): Promise<boolean>
  /** Writes the counts of use that are still in memory. */
  flush(): Promise<void>
  /** After a write to the table that was not made here. */
  invalidate(): void
}

/** As many in force as an organisation may have. */
const MAX_ACTIVE_KEYS = 1_000

/** API keys over the records. `random(n)` gives n random bytes. */
export function createKeys(deps: {
  records: Records
  sites: Pick<Sites, 'get'>
  now(): Date
  random(bytes: number): Buffer
}): Keys {
  const { records, now } = deps
  const table = createTableCache(async () => {
    const rows = await records.query(sql`
      select id, org, site, name, prefix, digest, scopes, created_at, expires_at, revoked_at, last_used_at, requests
      from keys order by id`)
    return new Map(rows.map((row) => StoredKey.parse(row)).map((key) => [key.prefix, key]))
  })
  const byId = async (id: number): Promise<StoredKey> => {
    const found = [...(await table.get()).values()].find((key) => key.id === id)
    if (!found) throw new ApiError('not_found', 'There is no such key.')
    return found
  }
  // A write per request would cost more than the request: uses are counted here and written in batches.
  const used = new Map<number, { requests: number; last: Date }>()

  const turn = createLock()
  // In its own: twice at once would count them twice.
  const flushing = createLock()
  const write = createInvalidatingWrite(records, table)

  return {
    create: (asked, deed) =>
      turn(async () => {
        const at = now()
        if (!(await listOrgIds(records)).includes(asked.org))
          throw new ApiError('not_found', 'There is no such organisation.', 'org')
        if (asked.site !== undefined && (await deps.sites.get(asked.site))?.org !== asked.org)
          throw new ApiError('not_found', 'There is no such site in this organisation.', 'site')
        const expires_at = asked.expires_at === undefined ? null : new Date(asked.expires_at)
        if (expires_at && expires_at <= at)
          throw new ApiError('validation_error', 'expires_at lies in the past.', 'expires_at')
        const known = await table.get()
        const inForce = [...known.values()].filter(
          (key) => key.org === asked.org && !key.revoked_at && !(key.expires_at && key.expires_at <= at),
        )
        if (inForce.length >= MAX_ACTIVE_KEYS)
          throw new ApiError('conflict', `An organisation has at most ${MAX_ACTIVE_KEYS} keys in force.`)
        let prefix: string
        do prefix = `svcg_${deps.random(4).toString('hex')}`
        while (known.has(prefix))
        const secret = `${prefix}_${deps.random(32).toString('base64url')}`
        const scopes: Scope[] = asked.scopes.length > 0 ? [...new Set(asked.scopes)] : ['stats:read']
        const id = ([...known.values()].at(-1)?.id ?? 0) + 1
        const { org, name, site } = asked
        const details = { name, prefix, scopes, site, expires_at }
        await write(
          sql`insert into keys (id, org, site, name, prefix, digest, scopes, created_at, expires_at, revoked_at,
              last_used_at, requests)
            values (${id}, ${org}, ${site ?? null}, ${name}, ${prefix}, ${sha256(secret)}, ${JSON.stringify(scopes)},
              ${at}, ${expires_at}, null, null, 0)`,
          ...auditStatements(deed, { action: 'create', object: 'key', id, details }),
        )
        const made = (await table.get()).get(prefix)
        if (!made) throw new Error(`key ${prefix} was written and is not there`)
        return { ...keyView(made), secret }
      }),

    async list(org) {
      return [...(await table.get()).values()].filter((key) => org === undefined || key.org === org).map(keyView)
    },

    get: async (id) => keyView(await byId(id)),

    revoke: (id, deed) =>
      turn(async () => {
        const { name, prefix, revoked_at } = await byId(id)
        if (revoked_at) return
        await write(
          sql`update keys set revoked_at = ${now()} where id = ${id}`,
          ...auditStatements(deed, { action: 'revoke', object: 'key', id, details: { name, prefix } }),
        )
      }),

    async usage(id) {
      const key = await byId(id)
      const pending = used.get(id)
      const last = pending?.last ?? key.last_used_at
      return {
        id,
        requests: key.requests + (pending?.requests ?? 0),
        ...(last ? { last_used_at: last.toISOString() } : {}),
      }
    },

    async authenticate(secret) {
      const prefix = SECRET_PATTERN.exec(secret)?.[1]
      const key = prefix === undefined ? undefined : (await table.get()).get(prefix)
      if (!key || !timingSafeEqual(Buffer.from(key.digest, 'hex'), Buffer.from(sha256(secret), 'hex')))
        throw new ApiError('unauthorized', 'The API key is unknown.')
      const at = now()
      if (key.revoked_at) throw new ApiError('unauthorized', 'The API key is revoked.')
      if (key.expires_at && key.expires_at <= at) throw new ApiError('unauthorized', 'The API key has expired.')
      const before = used.get(key.id)
      used.set(key.id, { requests: (before?.requests ?? 0) + 1, last: at })
      return keyView(key)
    },

    async isActive({ prefix }) {
      const key = (await table.get()).get(prefix)
      return key !== undefined && !key.revoked_at && !(key.expires_at && key.expires_at <= now())
    },

    flush: () =>
      flushing(async () => {
        if (used.size === 0) return
        const writing = new Map(used)
        await records.write(
          ...[...writing].map(
            ([id, { requests, last }]) =>
              sql`update keys set requests = requests + ${requests}, last_used_at = ${last} where id = ${id}`,
          ),
        )
        // Not before: until it is written they are nowhere else. What was used meanwhile stays for the next time.
        for (const [id, { requests }] of writing) {
          const since = used.get(id)
          if (since && since.requests > requests) used.set(id, { ...since, requests: since.requests - requests })
          else used.delete(id)
        }
        table.invalidate()
      }),
    invalidate: table.invalidate,
  }
}
