import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { createLock, type Lock } from '../base/lock.js'
import { type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { Name, toApiFields } from './fields.js'
import { insertWithNextId, lastId } from './ids.js'
import { ROLES } from './roles.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

/** An organisation as the API shows it. */
export const Org = z.object({
  id: z.int(),
  name: z.string(),
  require_totp: z.boolean().describe('Whether members must use two-factor sign-in.'),
  delete_after: z.iso.datetime().optional().describe('When the organisation and all its sites will be deleted.'),
})
export type Org = z.infer<typeof Org>
/** An organisation as one of its members sees it. */
export const OrgOfMember = Org.extend({ role: z.enum(ROLES).optional().describe("The caller's role in it.") })

/** The body of `POST /api/orgs`. */
export const NewOrg = z.strictObject({ name: Name })
/** The body of `PATCH /api/orgs/{id}`. */
export const OrgChange = z
  .strictObject({
    name: Name,
    require_totp: z.boolean().describe('Members without two-factor sign-in are locked out until they set it up.'),
  })
  .partial()
export type OrgChange = z.infer<typeof OrgChange>

/** How long a deletion can be undone. */
export const ORG_DELETION_GRACE_MS = 7 * 86_400_000
const MAX_OWNED_ORGS = 20

const StoredOrg = z
  .object({ id: z.number(), name: z.string(), require_totp: z.boolean(), delete_after: z.date().nullable() })
  .transform((row): Org => toApiFields(row))

export type Orgs = ReturnType<typeof createOrgs>

/**
 * The organisations. Registration creates some too: everything that writes accounts and memberships shares `lock`.
 */
export function createOrgs(records: Records, lock: Lock = createLock()) {
  const cache = createTableCache(async () => {
    const rows = await records.query(sql`
      select id, name, require_totp, delete_after from organisations order by id`)
    return rows.map((row) => StoredOrg.parse(row))
  })
  const get = async (id: number): Promise<Org | undefined> => (await cache.get()).find((org) => org.id === id)
  const find = async (id: number): Promise<Org> => {
    const org = await get(id)
    if (!org) throw new ApiError('not_found', 'There is no such organisation.')
    return org
  }
  const write = createInvalidatingWrite(records, cache)
  return {
    list: (): Promise<readonly Org[]> => cache.get(),
    get,
    /** Creates an organisation; without an owner's id it has no members yet. Throws `conflict` if the person owns too many. */
    create: (name: string, owner: number | undefined, at: Date, by: AuditContext['by']) =>
      lock(async (): Promise<Org> => {
        if (owner !== undefined) await checkOwnedOrgs(records, owner)
        await write(...insertStatements(name, owner, at, by))
        const created = (await cache.get()).at(-1)
        if (created?.name !== name) throw new Error(`the organisation ${name} was written but cannot be read back`)
        return created
      }),
    /** Throws `not_found`. */
    change: (id: number, change: OrgChange, audit: AuditContext) =>
      lock(async (): Promise<Org> => {
        const org = await find(id)
        const { name = org.name, require_totp = org.require_totp } = change
        const details = {
          ...(name === org.name ? {} : { name }),
          ...(require_totp === org.require_totp ? {} : { require_totp }),
        }
        if (Object.keys(details).length === 0) return org
        await write(
          sql`update organisations set name = ${name}, require_totp = ${require_totp} where id = ${id}`,
          ...auditStatements(audit, { action: 'change', object: 'organisation', id, details }),
        )
        return find(id)
      }),
    /** Schedules the deletion after `ORG_DELETION_GRACE_MS`; a second call changes nothing. Throws `not_found`. */
    delete: (id: number, audit: AuditContext) =>
      lock(async () => {
        if ((await find(id)).delete_after !== undefined) return
        const after = new Date(audit.at.getTime() + ORG_DELETION_GRACE_MS)
        await write(...deletionDateStatements(id, after, audit))
      }),
    /** Cancels the deletion. Throws `not_found`. */
    restore: (id: number, audit: AuditContext) =>
      lock(async (): Promise<Org> => {
        const org = await find(id)
        if (org.delete_after === undefined) return org
        await write(...deletionDateStatements(id, null, audit))
        return find(id)
      }),
    /**
     * Deletes the organisations whose grace period has ended by `at` and returns how many those were. `deleteSites` deletes
     * an organisation's sites in one transaction with the given statements (`Sites.deleteAllOfOrg`).
     */
    expire: (at: Date, deleteSites: (org: number, along: readonly Sql[]) => Promise<void>) =>
      lock(async (): Promise<number> => {
        const due = (await cache.get()).filter(
          ({ delete_after }) => delete_after !== undefined && new Date(delete_after) <= at,
        )
        for (const { id, name } of due) {
          try {
            await deleteSites(id, deletionStatements(id, name, at))
          } finally {
            cache.invalidate()
          }
        }
        return due.length
      }),
    /** Call it after another module has written to the table. */
    invalidate: cache.invalidate,
  }
}

/** Throws `conflict` if the person owns too many organisations. */
async function checkOwnedOrgs(records: Records, owner: number): Promise<void> {
  const [row] = await records.query(sql`select count(*) as n from members where user_id = ${owner} and role = 'owner'`)
  if (Number(row?.n) >= MAX_OWNED_ORGS)
    throw new ApiError('conflict', `A person can own at most ${MAX_OWNED_ORGS} organisations.`)
}

const insertStatements = (name: string, owner: number | undefined, at: Date, by: AuditContext['by']): Sql[] => {
  const id = lastId('organisations')
  return [
    ...insertWithNextId(
      'organisations',
      sql`insert into organisations (id, name, created_at, require_totp)`,
      sql`${name}, ${at}, false`,
    ),
    ...(owner === undefined
      ? []
      : [sql`insert into members (org, user_id, role, created_at) values (${id}, ${owner}, 'owner', ${at})`]),
    ...auditStatements({ by, org: id, at }, { action: 'create', object: 'organisation', id, details: { name } }),
  ]
}

const deletionDateStatements = (id: number, delete_after: Date | null, audit: AuditContext): Sql[] => [
  sql`update organisations set delete_after = ${delete_after} where id = ${id}`,
  ...auditStatements(audit, {
    object: 'organisation',
    id,
    ...(delete_after === null ? { action: 'restore' } : { action: 'delete', details: { delete_after } }),
  }),
]

const deletionStatements = (id: number, name: string, at: Date): Sql[] => [
  sql`delete from members where org = ${id}`,
  sql`delete from invitations where org = ${id}`,
  sql`update keys set revoked_at = ${at} where org = ${id} and revoked_at is null`,
  sql`delete from organisations where id = ${id}`,
  ...auditStatements(
    { by: { kind: 'system', name: 'readership' }, org: id, at },
    { action: 'remove', object: 'organisation', id, details: { name } },
  ),
]

/** Throws `not_found` if the table has no such organisation. */
export async function requireOrg(records: Records, id: number): Promise<void> {
  const [org] = await records.query(sql`select id from organisations where id = ${id}`)
  if (!org) throw new ApiError('not_found', 'There is no such organisation.', 'org')
}

/**
 * Creates organisation 1 and its site, with the hostnames of `--domain`, at an instance's first start. Does nothing if
 * an organisation exists or ever existed. The site's id is 1, unless stored rows have that id already. `timezone` is an
 * IANA name.
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
    ...insertWithNextId(
      'sites',
      sql`insert into sites (id, org, name, domains, timezone, currency, excluded_paths, respect_gpc, visitor_salt,
        retention_days, citation_threshold, created_at, version)`,
      sql`1, ${first.domains[0] ?? 'My site'}, ${JSON.stringify(first.domains)}, ${first.timezone}, 'EUR', '[]', false,
        'month', null, null, ${first.now}, 1`,
    ),
    sql`insert into first_site select ${lastId('sites')}`,
    sql`update last_ids set id = 1 where kind = 'organisations'`,
  )
}
