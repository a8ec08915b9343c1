import { z } from 'zod'
import { ApiError } from '../errors.js'
import { type Sql, sql } from '../sql.js'
import type { Records } from '../store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { Name } from './collection.js'
import { insertWithNextId, lastId } from './ids.js'
import { createLock, type Lock } from './lock.js'
import { ROLES } from './roles.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

/** An organisation as the API shows it. */
export const Org = z.object({
  id: z.int(),
  name: z.string(),
  require_totp: z.boolean().describe('Whether its members must sign in with two factors.'),
  delete_after: z.iso.datetime().optional().describe('It is to be deleted, with all its sites, from then on.'),
})
export type Org = z.infer<typeof Org>
/** The same as one of its members sees it. */
export const OrgOfMember = Org.extend({ role: z.enum(ROLES).optional().describe('What the caller is in it.') })

/** The body of `POST /api/orgs`. */
export const NewOrg = z.strictObject({ name: Name })
/** The body of `PATCH /api/orgs/{id}`. */
export const OrgChange = z
  .strictObject({
    name: Name,
    require_totp: z.boolean().describe('Members without an authenticator are locked out until they have one.'),
  })
  .partial()
export type OrgChange = z.infer<typeof OrgChange>

/** Days in which a deletion can be taken back. */
export const ORG_DELETION_GRACE_MS = 7 * 86_400_000
/** As many as one person may be an owner of. */
const MAX_OWNED_ORGS = 20

const StoredOrg = z
  .object({ id: z.number(), name: z.string(), require_totp: z.boolean(), delete_after: z.date().nullable() })
  .transform(
    ({ delete_after, ...org }): Org => ({
      ...org,
      ...(delete_after ? { delete_after: delete_after.toISOString() } : {}),
    }),
  )

export interface Orgs {
  list(): Promise<readonly Org[]>
  get(id: number): Promise<Org | undefined>
  /**
   * A new one, owned by the person of that id; without one it has no members yet. Throws `conflict` for who owns too
   * many.
   */
  create(name: string, owner: number | undefined, at: Date, by: AuditContext['by']): Promise<Org>
  /** Throws `not_found`. */
  change(id: number, change: OrgChange, deed: AuditContext): Promise<Org>
  /** It goes `GRACE_MS` after the deed, when `expire` finds it; a second time changes nothing. Throws `not_found`. */
  delete(id: number, deed: AuditContext): Promise<void>
  /** It stays after all. Throws `not_found`. */
  restore(id: number, deed: AuditContext): Promise<Org>
  /**
   * Removes what was to go by `at`, and says how many that were. `end` takes an organisation's sites away, together with
   * what is given it to write (`Sites.deleteOf`).
   */
  expire(at: Date, end: (org: number, along: readonly Sql[]) => Promise<void>): Promise<number>
  /** After a write to the table that was not made here. */
  invalidate(): void
}

/**
 * The organisations of this instance, over its records. Who registers makes one as well: all that writes to accounts and
 * memberships shares the `turn`.
 */
export function createOrgs(records: Records, turn: Lock = createLock()): Orgs {
  const all = createTableCache(async () => {
    const rows = await records.query(sql`
      select id, name, require_totp, delete_after from organisations order by id`)
    return rows.map((row) => StoredOrg.parse(row))
  })
  const get = async (id: number) => (await all.get()).find((org) => org.id === id)
  const found = async (id: number): Promise<Org> => {
    const org = await get(id)
    if (!org) throw new ApiError('not_found', 'There is no such organisation.')
    return org
  }
  const write = createInvalidatingWrite(records, all)
  return {
    list: all.get,
    get,
    create: (name, owner, at, by) =>
      turn(async () => {
        if (owner !== undefined) {
          const [row] = await records.query(
            sql`select count(*) as n from members where user_id = ${owner} and role = 'owner'`,
          )
          if (Number(row?.n) >= MAX_OWNED_ORGS)
            throw new ApiError('conflict', `One person owns at most ${MAX_OWNED_ORGS} organisations.`)
        }
        const id = lastId('organisations')
        await write(
          ...insertWithNextId(
            'organisations',
            sql`insert into organisations (id, name, created_at, require_totp)`,
            sql`${name}, ${at}, false`,
          ),
          ...(owner === undefined
            ? []
            : [sql`insert into members (org, user_id, role, created_at) values (${id}, ${owner}, 'owner', ${at})`]),
          ...auditStatements({ by, org: id, at }, { action: 'create', object: 'organisation', id, details: { name } }),
        )
        const made = (await all.get()).at(-1)
        if (made?.name !== name) throw new Error(`the organisation ${name} was written and is not there`)
        return made
      }),
    change: (id, change, deed) =>
      turn(async () => {
        const now = await found(id)
        const { name = now.name, require_totp = now.require_totp } = change
        const details = {
          ...(name === now.name ? {} : { name }),
          ...(require_totp === now.require_totp ? {} : { require_totp }),
        }
        if (Object.keys(details).length === 0) return now
        await write(
          sql`update organisations set name = ${name}, require_totp = ${require_totp} where id = ${id}`,
          ...auditStatements(deed, { action: 'change', object: 'organisation', id, details }),
        )
        return found(id)
      }),
    delete: (id, deed) =>
      turn(async () => {
        if ((await found(id)).delete_after !== undefined) return
        const after = new Date(deed.at.getTime() + ORG_DELETION_GRACE_MS)
        await write(
          sql`update organisations set delete_after = ${after} where id = ${id}`,
          ...auditStatements(deed, { action: 'delete', object: 'organisation', id, details: { delete_after: after } }),
        )
      }),
    restore: (id, deed) =>
      turn(async () => {
        const now = await found(id)
        if (now.delete_after === undefined) return now
        await write(
          sql`update organisations set delete_after = null where id = ${id}`,
          ...auditStatements(deed, { action: 'restore', object: 'organisation', id }),
        )
        return found(id)
      }),
    expire: (at, end) =>
      turn(async () => {
        const due = (await all.get()).filter(
          ({ delete_after }) => delete_after !== undefined && new Date(delete_after) <= at,
        )
        for (const { id, name } of due) {
          const deed: AuditContext = { by: { kind: 'system', name: 'readership' }, org: id, at }
          try {
            await end(id, [
              sql`delete from members where org = ${id}`,
              sql`delete from invitations where org = ${id}`,
              sql`update keys set revoked_at = ${at} where org = ${id} and revoked_at is null`,
              sql`delete from organisations where id = ${id}`,
              ...auditStatements(deed, { action: 'remove', object: 'organisation', id, details: { name } }),
            ])
          } finally {
            all.invalidate()
          }
        }
        return due.length
      }),
    invalidate: all.invalidate,
  }
}

/** The organisations' ids, as the table has them. */
export async function listOrgIds(records: Records): Promise<number[]> {
  const rows = await records.query(sql`select id from organisations order by id`)
  return rows.map((row) => Number(row.id))
}

/**
 * The first start of an instance (contract 2): organisation 1 and its site 1, with the hostnames of `--domain`. Does
 * nothing when there is, or ever was, an organisation. `timezone` is an IANA name.
 */
export async function bootstrap(
  records: Records,
  first: { domains: readonly string[]; timezone: string; now: Date },
): Promise<void> {
  const [last] = await records.query(sql`select id from last_ids where kind = 'organisations'`)
  if (last?.id !== 0) return
  await records.write(
    sql`insert into organisations (id, name, created_at, require_totp)
      values (1, 'My organisation', ${first.now}, false)`,
    sql`insert into sites (id, org, name, domains, timezone, currency, excluded_paths, respect_gpc, visitor_salt,
        retention_days, citation_threshold, created_at, version)
      values (1, 1, ${first.domains[0] ?? 'My site'}, ${JSON.stringify(first.domains)}, ${first.timezone}, 'EUR', '[]',
        false, 'month', null, null, ${first.now}, 1)`,
    sql`update last_ids set id = 1 where kind in ('organisations', 'sites')`,
  )
}
