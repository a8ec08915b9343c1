import { ApiError } from '../../errors.js'
import { type Sql, sql } from '../../sql.js'
import type { SignInClient } from '../login-sessions.js'
import { createInvalidatingWrite } from '../table-cache.js'
import type { StoredUser } from '../users.js'
import type { AccountContext } from './context.js'
import type { SecondFactor } from './second-factor.js'

/** A session that has begun: its cookie's value, and whose it is. */
export interface SignedIn {
  readonly token: string
  readonly user: number
}

export interface SignIn {
  /**
   * Throws `unauthorized`, the same and in the same time for an address that is unknown, one without a password and a
   * password that is wrong; with the field `totp`, and only then, where the password is right and a code is wanted.
   */
  byPassword(
    given: { email: string; password: string; totp?: string | undefined },
    from: SignInClient,
  ): Promise<SignedIn>
  /** By a token of `login-link`, which is the operator's word: no code is asked for. Throws `unauthorized`. */
  byLink(token: string, from: SignInClient): Promise<SignedIn>
  /** Throws `unauthorized` where it is not the password of this person; nothing where they have none. */
  checkPassword(user: number, password: string | undefined): Promise<void>
}

export function createSignIn(ground: AccountContext, secondFactor: Pick<SecondFactor, 'consumeCode'>): SignIn {
  const { records, users, sessions, tokens, passwords, turn } = ground
  const begun = async (user: number, from: SignInClient, ...more: Sql[]): Promise<SignedIn> => {
    const { token, writing } = sessions.beginStatements(user, from)
    await createInvalidatingWrite(records, sessions, ...(more.length > 0 ? [users] : []))(...more, ...writing)
    return { token, user }
  }
  /** What the password is kept as from now on, where its parameters are not today's. */
  const refreshed = async ({ password: kept }: StoredUser, password: string): Promise<string | undefined> =>
    kept !== null && passwords.isStale(kept) ? passwords.hash(password) : undefined

  return {
    async byPassword({ email, password, totp }, from) {
      const user = await users.byEmail(email)
      const fits = await passwords.verify(user?.password ?? null, password)
      if (!user || !fits) throw new ApiError('unauthorized', 'The e-mail address or the password is wrong.')
      const fresh = await refreshed(user, password)
      return turn(async () => {
        const now = await users.get(user.id)
        // It was changed, or the account removed, while the hash was computed.
        if (now?.password !== user.password)
          throw new ApiError('unauthorized', 'The e-mail address or the password is wrong.')
        const used = await secondFactor.consumeCode(now, totp)
        const rehashed = fresh === undefined ? [] : [sql`update users set password = ${fresh} where id = ${user.id}`]
        return begun(user.id, from, ...used, ...rehashed)
      })
    },
    byLink: (token, from) =>
      turn(async () => {
        const { user_id } = await tokens.find(['login'], token)
        const user = user_id === null ? undefined : await users.get(user_id)
        if (!user) throw new ApiError('unauthorized', 'There is no such account any more.', 'token')
        return begun(user.id, from, tokens.spendStatement(token))
      }),
    async checkPassword(id, password) {
      const kept = (await users.get(id))?.password ?? null
      if (kept === null) return
      if (password === undefined || !(await passwords.verify(kept, password)))
        throw new ApiError('unauthorized', 'The current password is wrong.', 'password')
    },
  }
}
