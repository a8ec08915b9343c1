import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import { type Sql, sql } from '../../storage/sql.js'
import { type AuditContext, auditStatements } from '../audit.js'
import { insertWithNextId, lastId } from '../ids.js'
import type { Role } from '../roles.js'
import { createInvalidatingWrite } from '../table-cache.js'
import type { StoredUser } from '../users.js'
import type { AccountContext } from './context.js'

/** A registration; `password` is a hash. */
const PendingRegistration = z.object({
  email: z.string(),
  name: z.string(),
  organisation: z.string(),
  password: z.string(),
})
export type PendingRegistration = z.infer<typeof PendingRegistration>

const lastUser = lastId('users')
const lastOrg = lastId('organisations')

/** Creates accounts. Long because its methods share the statements that write one. */
export function createRegistration(context: AccountContext) {
  const { records, users, members, orgs, invitations, tokens, now, lock } = context

  const write = createInvalidatingWrite(records, users, members, orgs)
  const checkAddressFree = async (email: string): Promise<void> => {
    if (await users.byEmail(email))
      throw new ApiError('conflict', 'This address already has an account: sign in.', 'email')
  }
  const accountStatements = (email: string, name: string, password: string | null): Sql[] =>
    insertWithNextId(
      'users',
      sql`insert into users (id, email, name, password, totp_secret, totp_on, totp_step, created_at)`,
      sql`${email}, ${name}, ${password}, null, false, null, ${now()}`,
    )
  const memberStatement = (org: number | Sql, role: Role, at: Date): Sql =>
    sql`insert into members (org, user_id, role, created_at) select ${org}, ${lastUser}, ${role}, ${at}`
  const writeAccount = async (email: string, ...writing: Sql[]): Promise<StoredUser> => {
    await write(...writing)
    const created = await users.byEmail(email)
    if (!created) throw new Error('an account was written but cannot be read back')
    return created
  }
  const registerLocked = async (registration: PendingRegistration, ip: string, ...more: Sql[]) => {
    const { email, name, organisation, password } = registration
    await checkAddressFree(email)
    const at = now()
    return writeAccount(
      email,
      ...more,
      ...accountStatements(email, name, password),
      ...insertWithNextId(
        'organisations',
        sql`insert into organisations (id, name, created_at, require_totp)`,
        sql`${organisation}, ${at}, false`,
      ),
      memberStatement(lastOrg, 'owner', at),
      ...auditStatements(
        { by: { kind: 'user', name: email, ip }, org: lastOrg, at },
        { action: 'create', object: 'organisation', id: lastOrg, details: { name: organisation } },
      ),
    )
  }

  return {
    /** Creates an account and its own organisation. Throws `conflict` if the address has an account. */
    register: (registration: PendingRegistration, ip: string) => lock(() => registerLocked(registration, ip)),
    /** Returns a token that completes the registration, to be mailed; undefined if the address has an account. */
    prepare: (registration: PendingRegistration) =>
      lock(async (): Promise<string | undefined> => {
        const { email } = registration
        if (await users.byEmail(email)) return undefined
        const { token, writing } = tokens.issue('register', { email, pending: JSON.stringify(registration) })
        await records.write(...writing)
        return token
      }),
    /** Completes a prepared registration. Throws `unauthorized` for an invalid token, `conflict` as `register` does. */
    complete: (token: string, ip: string) =>
      lock(async () => {
        const { pending } = await tokens.find(['register'], token)
        return registerLocked(PendingRegistration.parse(JSON.parse(pending ?? '')), ip, tokens.spendStatement(token))
      }),
    /**
     * Creates an account for the holder of an invitation and accepts it; `password` is a hash. Throws `not_found` for an
     * unknown or expired token, `conflict` for a used one and as `register` does.
     */
    join: (token: string, { name, password }: { name: string; password: string }, ip: string) =>
      lock(async () => {
        const at = now()
        const invitation = await invitations.find(token, at)
        const { email } = invitation
        if (invitation.accepted) throw new ApiError('conflict', 'This invitation was already accepted: sign in.')
        await checkAddressFree(email)
        const by = { kind: 'user', name: email, ip } as const
        return writeAccount(
          email,
          ...accountStatements(email, name, password),
          ...invitations.acceptStatements(invitation, lastUser, by, at),
        )
      }),
    /** Creates a member of an existing organisation, by its operator. Throws `conflict` as `register` does, `not_found` with the field `org`. */
    createMember: (
      account: { email: string; name: string; org: number; role: Role; password: string | null },
      audit: AuditContext,
    ) =>
      lock(async () => {
        const { email, name, org, role, password } = account
        if (!(await orgs.get(org))) throw new ApiError('not_found', 'There is no such organisation.', 'org')
        await checkAddressFree(email)
        return writeAccount(
          email,
          ...accountStatements(email, name, password),
          memberStatement(org, role, audit.at),
          ...auditStatements(audit, { action: 'create', object: 'account', id: lastUser, details: { email, role } }),
        )
      }),
    /** Creates `owner@localhost`, without a password, in organisation 1 if there is no account yet: at the first start. */
    createFirstUser: () =>
      lock(async () => {
        if ((await users.list()).length > 0 || !(await orgs.get(1))) return
        const at = now()
        const email = 'owner@localhost'
        await writeAccount(
          email,
          ...accountStatements(email, 'Owner', null),
          memberStatement(1, 'owner', at),
          ...auditStatements(
            { by: { kind: 'system', name: 'first start' }, org: 1, at },
            { action: 'create', object: 'account', id: lastUser, details: { email, role: 'owner' } },
          ),
        )
      }),
  }
}
