import { ApiError } from '../../base/errors.js'
import { sql } from '../../storage/sql.js'
import type { SignInClient } from '../login-sessions.js'
import { ORG_DELETION_GRACE_MS } from '../orgs.js'
import { createInvalidatingWrite } from '../table-cache.js'
import type { StoredUser } from '../users.js'
import { type AccountContext, accountAuditStatements, BY_OPERATOR, createAccountWrite } from './context.js'
import { refuseAddressAsPassword } from './password-rules.js'
import type { SecondFactor } from './second-factor.js'

async function findUser({ users }: AccountContext, id: number | null): Promise<StoredUser> {
  const user = id === null ? undefined : await users.get(id)
  if (!user) throw new ApiError('unauthorized', 'This account no longer exists.')
  return user
}

/** Changes of passwords, by people who have proved their identity and by the operator. */
function createPasswordChanges(context: AccountContext) {
  const { records, users, sessions, tokens, passwords, lock } = context
  const write = createAccountWrite(context)
  /** Sets the password and ends all sessions and tokens: a thief of the old one may have requested a new address. */
  const passwordStatements = (id: number, hash: string) => [
    sql`update users set password = ${hash} where id = ${id}`,
    sql`delete from tokens where user_id = ${id}`,
    sessions.endAllStatement(id),
  ]

  return {
    /** Changes the password and returns a new session; all others end, and so do all tokens. Throws `validation_error`. */
    async changePassword(id: number, password: string, client: SignInClient): Promise<string> {
      const before = await findUser(context, id)
      refuseAddressAsPassword(password, before.email)
      const hash = await passwords.hash(password)
      return lock(async () => {
        const user = await findUser(context, id)
        if (user.password !== before.password)
          throw new ApiError('conflict', 'The password was changed in the meantime.')
        const next = sessions.beginStatements(id, client)
        await write([...passwordStatements(id, hash), ...next.writing], user, client, { action: 'change_password' })
        return next.token
      })
    },
    /** Returns a token that allows setting a new password, to be mailed; undefined if the address has no account. */
    prepareReset: (email: string) =>
      lock(async (): Promise<string | undefined> => {
        const user = await users.byEmail(email)
        if (!user) return undefined
        const { token, writing } = tokens.issue('reset', { user_id: user.id })
        await records.write(...writing)
        return token
      }),
    /** Sets a new password by such a token; all sessions and tokens end. Throws `unauthorized` for an invalid token, `validation_error`. */
    async reset(token: string, password: string, ip: string): Promise<StoredUser> {
      const { user_id } = await tokens.find(['reset'], token)
      refuseAddressAsPassword(password, (await findUser(context, user_id)).email)
      const hash = await passwords.hash(password)
      return lock(async () => {
        // Checked again inside the lock: of two concurrent requests one has used the token up.
        const user = await findUser(context, (await tokens.find(['reset'], token)).user_id)
        await write(passwordStatements(user.id, hash), user, { ip }, { action: 'reset_password' })
        return user
      })
    },
    /** Sets a new password by the operator. Throws `validation_error`. */
    async setPassword(user: StoredUser, password: string): Promise<void> {
      refuseAddressAsPassword(password, user.email)
      const hash = await passwords.hash(password)
      await lock(() => write(passwordStatements(user.id, hash), user, BY_OPERATOR, { action: 'reset_password' }))
    },
  }
}

/** Changes that people make to their own accounts, after they have proved their identity. */
export function createProfile(context: AccountContext, secondFactor: Pick<SecondFactor, 'consumeCode'>) {
  const { records, users, members, orgs, sessions, tokens, now, lock } = context
  const write = createAccountWrite(context)

  return {
    ...createPasswordChanges(context),
    rename: (id: number, name: string) =>
      lock(async (): Promise<StoredUser> => {
        await createInvalidatingWrite(records, users)(sql`update users set name = ${name} where id = ${id}`)
        return findUser(context, id)
      }),
    /** Returns a token that confirms the new address, to be mailed there; undefined if that address has an account. */
    prepareEmail: (id: number, email: string) =>
      lock(async (): Promise<string | undefined> => {
        if (await users.byEmail(email)) return undefined
        const { token, writing } = tokens.issue('email', { user_id: id, email })
        await records.write(sql`delete from tokens where user_id = ${id} and kind = 'email'`, ...writing)
        return token
      }),
    /** Changes the address to the confirmed one; `before` is the previous one. Throws `unauthorized` for an invalid token, `conflict`. */
    confirmEmail: (token: string, ip: string) =>
      lock(async (): Promise<{ user: StoredUser; before: string }> => {
        const { user_id, email } = await tokens.find(['email'], token)
        const user = await findUser(context, user_id)
        if (email === null || (await users.byEmail(email)))
          throw new ApiError('conflict', 'Another account uses this address by now.', 'email')
        const statements = [
          sql`update users set email = ${email} where id = ${user.id}`,
          // Tokens that went to the previous address prove nothing any more.
          sql`delete from tokens where user_id = ${user.id}`,
          // Open invitations are stored under the inviter's address and end with their membership.
          sql`update invitations set invited_by = ${email} where invited_by = ${user.email}`,
        ]
        await write(statements, user, { ip }, { action: 'change_email', details: { email } })
        return { user: await findUser(context, user.id), before: user.email }
      }),
    /**
     * Deletes the account for good; organisations that would be empty are scheduled for deletion. Throws `conflict` for the
     * last owner of an organisation with other members, and what `consumeCode` throws.
     */
    remove: (id: number, code: string | undefined, client: SignInClient) =>
      lock(async () => {
        const user = await findUser(context, id)
        const emptied: number[] = []
        for (const { org, role } of await members.ofUser(id)) {
          const others = (await members.ofOrg(org)).filter((member) => member.user_id !== id)
          if (others.length === 0) emptied.push(org)
          else if (role === 'owner' && !others.some((member) => member.role === 'owner'))
            throw new ApiError(
              'conflict',
              `You are the last owner of ${(await orgs.get(org))?.name}: transfer it to another member first.`,
            )
        }
        await secondFactor.consumeCode(user, code)
        const after = new Date(now().getTime() + ORG_DELETION_GRACE_MS)
        await createInvalidatingWrite(records, users, sessions, members, orgs)(
          ...(await accountAuditStatements(context, user, client, { action: 'delete' })),
          ...emptied.map(
            (org) => sql`update organisations set delete_after = coalesce(delete_after, ${after}) where id = ${org}`,
          ),
          sql`delete from recovery_codes where user_id = ${id}`,
          sql`delete from tokens where user_id = ${id}`,
          sql`delete from members where user_id = ${id}`,
          sql`delete from invitations where invited_by = ${user.email} and accepted_at is null`,
          sessions.endAllStatement(id),
          sql`delete from users where id = ${id}`,
        )
      }),
  }
}
