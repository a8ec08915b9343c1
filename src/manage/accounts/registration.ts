import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import { type Sql, sql } from '../../storage/sql.js'
import { type AuditContext, auditStatements } from '../audit.js'
import { insertWithNextId, lastId } from '../ids.js'
import { acceptInvitationStatements } from '../invitations.js'
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

type NewAccount = Pick<StoredUser, 'email' | 'name' | 'password'>

const memberStatement = (org: number | Sql, role: Role, at: Date): Sql =>
  sql`insert into members (org, user_id, role, created_at) select ${org}, ${lastUser}, ${role}, ${at}`

/** Returns the statements that create the organisation of a new account, for the transaction that creates the account. */
const organisationStatements = ({ email, organisation }: PendingRegistration, ip: string, at: Date): Sql[] => [
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
]

/** Returns the statements that make a new account a member, for the transaction that creates the account. */
const memberStatements = ({ email, org, role }: { email: string; org: number; role: Role }, audit: AuditContext) => [
  memberStatement(org, role, audit.at),
  ...auditStatements(audit, { action: 'create', object: 'account', id: lastUser, details: { email, role } }),
]

/** Creates accounts. */
export function createRegistration(context: AccountContext) {
  const { records, users, members, orgs, invitations, tokens, now, lock } = context

  const write = createInvalidatingWrite(records, users, members, orgs)
  /** Writes an account, with the id `lastUser`, and `along`. Throws `conflict` if the address has an account. */
  const writeAccount = async ({ email, name, password }: NewAccount, ...along: Sql[]): Promise<StoredUser> => {
    if (await users.byEmail(email))
      throw new ApiError('conflict', 'This address already has an account: sign in.', 'email')
    await write(
      ...insertWithNextId(
        'users',
        sql`insert into users (id, email, name, password, totp_secret, totp_on, totp_step, created_at)`,
        sql`${email}, ${name}, ${password}, null, false, null, ${now()}`,
      ),
      ...along,
    )
    const created = await users.byEmail(email)
    if (!created) throw new Error('an account was written but cannot be read back')
    return created
  }

  return {
    /** Creates an account and its own organisation. Throws `conflict` if the address has an account. */
    register: (registration: PendingRegistration, ip: string) =>
      lock(() => writeAccount(registration, ...organisationStatements(registration, ip, now()))),
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
        const registration = PendingRegistration.parse(JSON.parse(pending ?? ''))
        const along = organisationStatements(registration, ip, now())
        return writeAccount(registration, ...along, tokens.spendStatement(token))
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
        const by = { kind: 'user', name: email, ip } as const
        return writeAccount({ email, name, password }, ...acceptInvitationStatements(invitation, lastUser, by, at))
      }),
    /** Creates a member of an existing organisation, by its operator. Throws `conflict` as `register` does, `not_found` with the field `org`. */
    createMember: (account: NewAccount & { org: number; role: Role }, audit: AuditContext) =>
      lock(async () => {
        if (!(await orgs.get(account.org))) throw new ApiError('not_found', 'There is no such organisation.', 'org')
        return writeAccount(account, ...memberStatements(account, audit))
      }),
    /** Creates `owner@localhost`, without a password, in organisation 1 if there is no account yet: at the first start. */
    createFirstUser: () =>
      lock(async () => {
        if ((await users.list()).length > 0 || !(await orgs.get(1))) return
        const by = { kind: 'system', name: 'first start' } as const
        const account = { email: 'owner@localhost', name: 'Owner', password: null, org: 1, role: 'owner' } as const
        await writeAccount(account, ...memberStatements(account, { by, org: 1, at: now() }))
      }),
  }
}
