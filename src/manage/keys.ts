import { timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { createLock } from '../base/lock.js'
import { sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { JsonText, Name, toApiFields } from './fields.js'
import { requireOrg } from './orgs.js'
import { createToken, hashToken } from './secret-token.js'
import type { Sites } from './sites.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

/** The rights that an API key can have. */
export const SCOPES = ['stats:read', 'manage:read', 'manage:write', 'ingest:write'] as const
export type Scope = (typeof SCOPES)[number]

/** A key as the API shows it: never the secret or its digest. */
export const Key = z.object({
  id: z.int(),
  org: z.int(),
  /** The only site that the key opens; absent: every site of its organisation. */
  site: z.int().optional(),
  name: z.string(),
  /** The first characters of the secret: public, used to look the key up. */
  prefix: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().optional(),
  revoked_at: z.iso.datetime().optional(),
})
export type Key = z.infer<typeof Key>

export const KeyUsage = z.object({ id: z.int(), requests: z.int(), last_used_at: z.iso.datetime().optional() })
export type KeyUsage = z.infer<typeof KeyUsage>

/** The body of `POST /api/keys`. */
export const NewKey = z.strictObject({
  org: z.int().positive().optional().describe('The organisation; required if the caller is in several.'),
  name: Name,
  scopes: z.array(z.enum(SCOPES)).max(20, `There are only ${SCOPES.length} scopes.`).default([]),
  site: z
    .int()
    .positive()
    .optional()
    .describe('The only site that the key opens; absent: every site of its organisation.'),
  expires_at: z.iso
    .datetime({ offset: true, error: '`expires_at` must be an ISO-8601 date and time, such as 2026-11-21T08:00:00Z.' })
    .optional(),
})
export type NewKey = z.infer<typeof NewKey>

const StoredKey = z.object({
  id: z.number(),
  org: z.number(),
  site: z.number().nullable(),
  name: z.string(),
  prefix: z.string(),
  digest: z.string(),
  scopes: JsonText.pipe(z.array(z.enum(SCOPES))),
  created_at: z.date(),
  expires_at: z.date().nullable(),
  revoked_at: z.date().nullable(),
  last_used_at: z.date().nullable(),
  requests: z.number(),
})
type StoredKey = z.infer<typeof StoredKey>

const keyView = ({ digest: _, last_used_at: __, requests: ___, ...key }: StoredKey): Key => toApiFields(key)
const isValid = ({ revoked_at, expires_at }: StoredKey, at: Date): boolean =>
  !revoked_at && !(expires_at && expires_at <= at)

/** `svcg_` with 8 hex digits, then 32 random bytes: 256 bits need no slow hash. */
const SECRET_PATTERN = /^(svcg_[0-9a-f]{8})_[\w-]{43}$/

/** Bounds the valid keys of an organisation. */
const MAX_ACTIVE_KEYS = 1_000

interface KeysDeps {
  records: Records
  sites: Pick<Sites, 'get'>
  now(): Date
  random(bytes: number): Buffer
}

export type Keys = ReturnType<typeof createKeys>

/** The API keys; `random(n)` gives n random bytes. */
export function createKeys(deps: KeysDeps) {
  const { records, now } = deps
  const cache = createTableCache(async () => {
    const rows = await records.query(sql`
      select id, org, site, name, prefix, digest, scopes, created_at, expires_at, revoked_at, last_used_at, requests
      from keys order by id`)
    return new Map(rows.map((row) => StoredKey.parse(row)).map((key) => [key.prefix, key]))
  })
  const find = async (id: number): Promise<StoredKey> => {
    const key = [...(await cache.get()).values()].find((each) => each.id === id)
    if (!key) throw new ApiError('not_found', 'There is no such key.')
    return key
  }
  const uses = createKeyUses(records, cache.invalidate)
  const lock = createLock()
  const write = createInvalidatingWrite(records, cache)

  return {
    /**
     * Creates a key and returns it with its secret, which is shown only here. Throws `not_found` for an unknown site or
     * organisation, `conflict` for too many keys.
     */
    create: (key: NewKey & { org: number }, audit: AuditContext) =>
      lock(async (): Promise<Key & { secret: string }> => {
        await checkOwner(deps, key)
        const { prefix, secret, statements } = draftKey(key, await cache.get(), deps, audit)
        await write(...statements)
        const created = (await cache.get()).get(prefix)
        if (!created) throw new Error(`key ${prefix} was written but cannot be read back`)
        return { ...keyView(created), secret }
      }),

    /** Returns the keys of an organisation, or all. */
    async list(org?: number): Promise<Key[]> {
      return [...(await cache.get()).values()].filter((key) => org === undefined || key.org === org).map(keyView)
    },

    /** Throws `not_found`. */
    get: async (id: number): Promise<Key> => keyView(await find(id)),

    /** Revokes a key for every request that arrives after this resolves; a second call changes nothing. Throws `not_found`. */
    revoke: (id: number, audit: AuditContext) =>
      lock(async () => {
        const { name, prefix, revoked_at } = await find(id)
        if (revoked_at) return
        await write(
          sql`update keys set revoked_at = ${now()} where id = ${id}`,
          ...auditStatements(audit, { action: 'revoke', object: 'key', id, details: { name, prefix } }),
        )
      }),

    /** Returns how often a key was used, and when last. Throws `not_found`. */
    usage: async (id: number): Promise<KeyUsage> => uses.addTo(await find(id)),

    /** Returns the key of a secret and counts a use. Throws `unauthorized`. */
    async authenticate(secret: string): Promise<Key> {
      const prefix = SECRET_PATTERN.exec(secret)?.[1]
      const key = prefix === undefined ? undefined : (await cache.get()).get(prefix)
      if (!key || !timingSafeEqual(Buffer.from(key.digest, 'hex'), Buffer.from(hashToken(secret), 'hex')))
        throw new ApiError('unauthorized', 'The API key is unknown.')
      const at = now()
      if (key.revoked_at) throw new ApiError('unauthorized', 'The API key has been revoked.')
      if (!isValid(key, at)) throw new ApiError('unauthorized', 'The API key has expired.')
      uses.count(key.id, at)
      return keyView(key)
    },

    /** Reports whether an authenticated key is still valid: for a response that takes long, which counts as one use. */
    async isActive({ prefix }: Pick<Key, 'prefix'>): Promise<boolean> {
      const key = (await cache.get()).get(prefix)
      return key !== undefined && isValid(key, now())
    },

    /** Writes the uses that are counted in memory. */
    flush: uses.flush,
    /** Call it after another module has written to the table. */
    invalidate: cache.invalidate,
  }
}

async function checkOwner({ records, sites }: KeysDeps, { org, site }: { org: number; site?: number | undefined }) {
  await requireOrg(records, org)
  if (site !== undefined && (await sites.get(site))?.org !== org)
    throw new ApiError('not_found', 'There is no such site in this organisation.', 'site')
}

/** Makes a key that is not among `keys`. Throws `validation_error` if it has expired already, `conflict` for too many keys. */
function draftKey(
  { org, name, site, ...rest }: NewKey & { org: number },
  keys: ReadonlyMap<string, StoredKey>,
  { now, random }: Pick<KeysDeps, 'now' | 'random'>,
  audit: AuditContext,
) {
  const at = now()
  const expires_at = rest.expires_at === undefined ? null : new Date(rest.expires_at)
  if (expires_at && expires_at <= at)
    throw new ApiError('validation_error', '`expires_at` must be in the future.', 'expires_at')
  if ([...keys.values()].filter((key) => key.org === org && isValid(key, at)).length >= MAX_ACTIVE_KEYS)
    throw new ApiError('conflict', `An organisation can have at most ${MAX_ACTIVE_KEYS} active keys.`)
  let prefix: string
  do prefix = `svcg_${random(4).toString('hex')}`
  while (keys.has(prefix))
  const secret = `${prefix}_${createToken(random)}`
  const scopes: Scope[] = rest.scopes.length > 0 ? [...new Set(rest.scopes)] : ['stats:read']
  const id = ([...keys.values()].at(-1)?.id ?? 0) + 1
  const details = { name, prefix, scopes, site, expires_at }
  const statements = [
    sql`insert into keys (id, org, site, name, prefix, digest, scopes, created_at, expires_at, revoked_at,
        last_used_at, requests)
      values (${id}, ${org}, ${site ?? null}, ${name}, ${prefix}, ${hashToken(secret)}, ${JSON.stringify(scopes)},
        ${at}, ${expires_at}, null, null, 0)`,
    ...auditStatements(audit, { action: 'create', object: 'key', id, details }),
  ]
  return { prefix, secret, statements }
}

/** Counts uses in memory and writes them in batches, because a write per request would cost more than the request. */
function createKeyUses(records: Records, onWritten: () => void) {
  const uses = new Map<number, { requests: number; last: Date }>()
  /** Uses whose write failed, although the store may have made it or make it yet. */
  let uncertain: typeof uses | undefined
  // Two flushes at once would count a use twice.
  const lock = createLock()
  /** Writes uncertain uses again, where their time shows that they are not stored; else all that are counted now. */
  const write = async (): Promise<void> => {
    const isRepeat = uncertain !== undefined
    uncertain ??= new Map(uses)
    const writing = uncertain
    await records.write(
      ...[...writing].map(
        ([id, { requests, last }]) => sql`
          update keys set requests = requests + ${requests}, last_used_at = ${last} where id = ${id}
            ${isRepeat ? sql`and last_used_at is distinct from ${last}` : sql``}`,
      ),
    )
    // Only after the write: until then the counts are nowhere else. Uses during the write stay for the next flush.
    for (const [id, { requests }] of writing) {
      const use = uses.get(id)
      if (use && use.requests > requests) uses.set(id, { ...use, requests: use.requests - requests })
      else uses.delete(id)
    }
    uncertain = undefined
    onWritten()
  }
  return {
    count: (id: number, last: Date) => uses.set(id, { requests: (uses.get(id)?.requests ?? 0) + 1, last }),
    /** Adds the uses that are not written to those that are. */
    addTo({ id, requests, last_used_at }: StoredKey): KeyUsage {
      const pending = uses.get(id)
      return toApiFields({
        id,
        requests: requests + (pending?.requests ?? 0),
        last_used_at: pending?.last ?? last_used_at,
      })
    },
    flush: () =>
      lock(async () => {
        if (uncertain) await write()
        if (uses.size > 0) await write()
      }),
  }
}
