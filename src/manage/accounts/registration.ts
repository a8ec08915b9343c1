import { z } from 'zod'
import { ApiError } from '../../errors.js'
import { type Sql, sql } from '../../sql.js'
import { type AuditContext, auditStatements } from '../audit.js'
import { insertWithNextId, lastId } from '../ids.js'
import type { Role } from '../roles.js'
import { createInvalidatingWrite } from '../table-cache.js'
import type { StoredUser } from '../users.js'
import type { AccountContext } from './context.js'

/** Who registers, their password as it is kept. */
const PendingRegistration = z.object({
  email: z.string(),
  name: z.string(),
  organisation: z.string(),
  password: z.string(),
})
export type Pending = z.infer<typeof PendingRegistration>

export interface Registration {
  /**
   * An account, and an organisation of its own, whose owner it is. Throws `conflict` where the address has an account.
   */
  register(asked: Pending, ip: string): Promise<StoredUser>
  /** The token by which the holder of the address does so; undefined where the address has an account. */
  prepare(asked: Pending): Promise<string | undefined>
  /** What was prepared. Throws `unauthorized` for a token that is not good, `conflict` as `register`. */
  complete(token: string, ip: string): Promise<StoredUser>
  /**
   * An account for who holds an invitation, which it accepts; `password` as it is kept. Throws `not_found` for a token
   * that is not good, `conflict` for one that was accepted and as `register`.
   */
  join(token: string, asked: { name: string; password: string }, ip: string): Promise<StoredUser>
  /** A member of an organisation that is there, by its operator. Throws `conflict` as `register`, `not_found` with `org`. */
  createMember(
    asked: { email: string; name: string; org: number; role: Role; password: string | null },
    deed: AuditContext,
  ): Promise<StoredUser>
  /**
   * The first start (contract 2): `owner@localhost`, without a password, of organisation 1, where there is nobody yet.
   */
  createFirstUser(): Promise<void>
}

const lastUser = lastId('users')
const lastOrg = lastId('organisations')

export function createRegistration(ground: AccountContext): Registration {
  const { records, users, members, orgs, invitations, tokens, now, turn } = ground

  const write = createInvalidatingWrite(records, users, members, orgs)
  const free = async (email: string): Promise<void> => {
    if (await users.byEmail(email)) throw new ApiError('conflict', 'This address has an account: sign in.', 'email')
  }
  const account = (email: string, name: string, password: string | null): Sql[] =>
    insertWithNextId(
      'users',
      sql`insert into users (id, email, name, password, totp_secret, totp_on, totp_step, created_at)`,
      sql`${email}, ${name}, ${password}, null, false, null, ${now()}`,
    )
  const written = async (email: string, ...writing: Sql[]): Promise<StoredUser> => {
    await write(...writing)
    const made = await users.byEmail(email)
    if (!made) throw new Error('an account was written and is not there')
    return made
  }
  const registered = async ({ email, name, organisation, password }: Pending, ip: string, ...more: Sql[]) => {
    await free(email)
    const at = now()
    return written(
      email,
      ...more,
      ...account(email, name, password),
      ...insertWithNextId(
        'organisations',
        sql`insert into organisations (id, name, created_at, require_totp)`,
        sql`${organisation}, ${at}, false`,
      ),
      sql`insert into members (org, user_id, role, created_at) select ${lastOrg}, ${lastUser}, 'owner', ${at}`,
      ...auditStatements(
        { by: { kind: 'user', name: email, ip }, org: lastOrg, at },
        { action: 'create', object: 'organisation', id: lastOrg, details: { name: organisation } },
      ),
    )
  }

  return {
    register: (asked, ip) => turn(() => registered(asked, ip)),
    prepare: (asked) =>
      turn(async () => {
        if (await users.byEmail(asked.email)) return undefined
        const { token, writing } = tokens.issue('register', { email: asked.email, pending: JSON.stringify(asked) })
        await records.write(...writing)
        return token
      }),
    complete: (token, ip) =>
      turn(async () => {
        const { pending } = await tokens.find(['register'], token)
        return registered(PendingRegistration.parse(JSON.parse(pending ?? '')), ip, tokens.spendStatement(token))
      }),
    join: (token, { name, password }, ip) =>
      turn(async () => {
        const at = now()
        const held = await invitations.find(token, at)
        const { email } = held
        if (held.accepted) throw new ApiError('conflict', 'This invitation was accepted: sign in.')
        await free(email)
        const by = { kind: 'user', name: email, ip } as const
        return written(
          email,
          ...account(email, name, password),
          ...invitations.acceptStatements(held, lastUser, by, at),
        )
      }),
    createMember: ({ email, name, org, role, password }, deed) =>
      turn(async () => {
        if (!(await orgs.get(org))) throw new ApiError('not_found', 'There is no such organisation.', 'org')
        await free(email)
        return written(
          email,
          ...account(email, name, password),
          sql`insert into members (org, user_id, role, created_at) select ${org}, ${lastUser}, ${role}, ${deed.at}`,
          ...auditStatements(deed, { action: 'create', object: 'account', id: lastUser, details: { email, role } }),
        )
      }),
    createFirstUser: () =>
      turn(async () => {
        if ((await users.list()).length > 0 || !(await orgs.get(1))) return
        const at = now()
        await written(
          'owner@localhost',
          ...account('owner@localhost', 'Owner', null),
          sql`insert into members (org, user_id, role, created_at) select 1, ${lastUser}, 'owner', ${at}`,
          ...auditStatements(
            { by: { kind: 'system', name: 'first start' }, org: 1, at },
            { action: 'create', object: 'account', id: lastUser, details: { email: 'owner@localhost', role: 'owner' } },
          ),
        )
      }),
  }
}
