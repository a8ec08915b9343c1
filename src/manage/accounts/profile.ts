import { ApiError } from '../../errors.js'
import { sql } from '../../sql.js'
import type { SignInClient } from '../login-sessions.js'
import { ORG_DELETION_GRACE_MS } from '../orgs.js'
import { createInvalidatingWrite } from '../table-cache.js'
import type { StoredUser } from '../users.js'
import { type AccountContext, accountAuditStatements } from './context.js'
import { refuseAddressAsPassword } from './password-rules.js'
import type { SecondFactor } from './second-factor.js'

/** What somebody changes of their own account, having proved that it is theirs. */
export interface Profile {
  rename(user: number, name: string): Promise<StoredUser>
  /** The new session: all of this person's sessions and links are over. Throws `validation_error`. */
  changePassword(user: number, password: string, from: SignInClient): Promise<string>
  /** The token that shows the new address to be theirs; undefined where it has an account. */
  prepareEmail(user: number, email: string): Promise<string | undefined>
  /** The address from now on, and the one before. Throws `unauthorized` for a token that is not good, `conflict`. */
  confirmEmail(token: string, ip: string): Promise<{ user: StoredUser; before: string }>
  /** The token by which somebody at this address may choose another password; undefined where there is no account. */
  prepareReset(email: string): Promise<string | undefined>
  /**
   * Another password by such a token: all sessions are over, and all tokens of theirs. Throws `unauthorized` for one that is
   * not good, `validation_error`.
   */
  reset(token: string, password: string, ip: string): Promise<StoredUser>
  /** The same by the operator. Throws as `refuseOwn`. */
  setPassword(user: StoredUser, password: string): Promise<void>
  /** For good. Throws `conflict` for the last owner of an organisation that has other members, as `used` for a code. */
  remove(user: number, code: string | undefined, from: SignInClient): Promise<void>
}

export function createProfile(ground: AccountContext, secondFactor: Pick<SecondFactor, 'consumeCode'>): Profile {
  const { records, users, members, orgs, sessions, tokens, passwords, now, turn } = ground

  const existing = async (id: number | null): Promise<StoredUser> => {
    const user = id === null ? undefined : await users.get(id)
    if (!user) throw new ApiError('unauthorized', 'There is no such account any more.')
    return user
  }
  const passwordIs = (id: number, kept: string) => [
    sql`update users set password = ${kept} where id = ${id}`,
    // Whoever knew the one before may have asked for another address too.
    sql`delete from tokens where user_id = ${id}`,
    sessions.endAllStatement(id),
  ]
  const write = createInvalidatingWrite(records, users, sessions)

  return {
    rename: (id, name) =>
      turn(async () => {
        await write(sql`update users set name = ${name} where id = ${id}`)
        return existing(id)
      }),
    async changePassword(id, password, from) {
      const before = await existing(id)
      refuseAddressAsPassword(password, before.email)
      const kept = await passwords.hash(password)
      return turn(async () => {
        const user = await existing(id)
        if (user.password !== before.password) throw new ApiError('conflict', 'The password was changed meanwhile.')
        const next = sessions.beginStatements(id, from)
        await write(
          ...passwordIs(id, kept),
          ...next.writing,
          ...(await accountAuditStatements(ground, user, from, { action: 'change_password' })),
        )
        return next.token
      })
    },
    prepareEmail: (id, email) =>
      turn(async () => {
        if (await users.byEmail(email)) return undefined
        const { token, writing } = tokens.issue('email', { user_id: id, email })
        await records.write(sql`delete from tokens where user_id = ${id} and kind = 'email'`, ...writing)
        return token
      }),
    confirmEmail: (token, ip) =>
      turn(async () => {
        const { user_id, email } = await tokens.find(['email'], token)
        const user = await existing(user_id)
        if (email === null || (await users.byEmail(email)))
          throw new ApiError('conflict', 'This address has an account by now.', 'email')
        await write(
          sql`update users set email = ${email} where id = ${user.id}`,
          // What went to the address before is no proof any more.
          sql`delete from tokens where user_id = ${user.id}`,
          // Invitations end with the membership of who sent them, who is known by the address.
          sql`update invitations set invited_by = ${email} where invited_by = ${user.email}`,
          ...(await accountAuditStatements(ground, user, { ip }, { action: 'change_email', details: { email } })),
        )
        return { user: await existing(user.id), before: user.email }
      }),
    prepareReset: (email) =>
      turn(async () => {
        const user = await users.byEmail(email)
        if (!user) return undefined
        const { token, writing } = tokens.issue('reset', { user_id: user.id })
        await records.write(...writing)
        return token
      }),
    async reset(token, password, ip) {
      const { user_id } = await tokens.find(['reset'], token)
      refuseAddressAsPassword(password, (await existing(user_id)).email)
      const kept = await passwords.hash(password)
      return turn(async () => {
        // Again: of two at once one has used it up.
        const user = await existing((await tokens.find(['reset'], token)).user_id)
        await write(
          ...passwordIs(user.id, kept),
          ...(await accountAuditStatements(ground, user, { ip }, { action: 'reset_password' })),
        )
        return user
      })
    },
    async setPassword(user, password) {
      refuseAddressAsPassword(password, user.email)
      const kept = await passwords.hash(password)
      await turn(async () => {
        const by = { kind: 'operator', name: 'operator' } as const
        await write(
          ...passwordIs(user.id, kept),
          ...(await accountAuditStatements(ground, user, by, { action: 'reset_password' })),
        )
      })
    },
    remove: (id, code, from) =>
      turn(async () => {
        const user = await existing(id)
        const empty: number[] = []
        for (const { org, role } of await members.ofUser(id)) {
          const others = (await members.ofOrg(org)).filter((member) => member.user_id !== id)
          if (others.length === 0) empty.push(org)
          else if (role === 'owner' && !others.some((member) => member.role === 'owner'))
            throw new ApiError(
              'conflict',
              `You are the last owner of ${(await orgs.get(org))?.name}: hand it over first.`,
            )
        }
        await secondFactor.consumeCode(user, code)
        const after = new Date(now().getTime() + ORG_DELETION_GRACE_MS)
        await createInvalidatingWrite(records, users, sessions, members, orgs)(
          ...(await accountAuditStatements(ground, user, from, { action: 'delete' })),
          ...empty.map(
            (org) => sql`update organisations set delete_after = coalesce(delete_after, ${after}) where id = ${org}`,
          ),
          sql`delete from recovery_codes where user_id = ${id}`,
          sql`delete from tokens where user_id = ${id}`,
          sql`delete from members where user_id = ${id}`,
          // What was sent in the name of one who is not there any more.
          sql`delete from invitations where invited_by = ${user.email} and accepted_at is null`,
          sessions.endAllStatement(id),
          sql`delete from users where id = ${id}`,
        )
      }),
  }
}
