import { ApiError } from '../../base/errors.js'
import { type Sql, sql } from '../../storage/sql.js'
import type { SignInClient } from '../login-sessions.js'
import { createInvalidatingWrite } from '../table-cache.js'
import type { AccountContext } from './context.js'
import type { SecondFactor } from './second-factor.js'

/** A new session: its cookie's value and its user. */
export interface SignedIn {
  readonly token: string
  readonly user: number
}

export type SignIn = ReturnType<typeof createSignIn>

export function createSignIn(context: AccountContext, secondFactor: Pick<SecondFactor, 'consumeCode'>) {
  const { records, users, sessions, tokens, passwords, lock } = context
  const beginSession = async (user: number, client: SignInClient, ...more: Sql[]): Promise<SignedIn> => {
    const { token, writing } = sessions.beginStatements(user, client)
    await createInvalidatingWrite(records, sessions, ...(more.length > 0 ? [users] : []))(...more, ...writing)
    return { token, user }
  }
  const wrongPassword = () => new ApiError('unauthorized', 'The e-mail address or the password is wrong.')

  return {
    /**
     * Signs in by password. Throws `unauthorized`, with the same message and in the same time, for an unknown address, an
     * account without password and a wrong password; with the field `totp` only if the password is right and a code is
     * needed.
     */
    async byPassword(
      { email, password, totp }: { email: string; password: string; totp?: string | undefined },
      client: SignInClient,
    ): Promise<SignedIn> {
      const user = await users.byEmail(email)
      const matches = await passwords.verify(user?.password ?? null, password)
      if (!user || !matches) throw wrongPassword()
      // A hash with outdated parameters is replaced.
      const rehash =
        user.password !== null && passwords.isStale(user.password) ? await passwords.hash(password) : undefined
      return lock(async () => {
        const current = await users.get(user.id)
        // The password was changed, or the account removed, while the hash was computed.
        if (current?.password !== user.password) throw wrongPassword()
        const codeStatements = await secondFactor.consumeCode(current, totp)
        const rehashStatements =
          rehash === undefined ? [] : [sql`update users set password = ${rehash} where id = ${user.id}`]
        return beginSession(user.id, client, ...codeStatements, ...rehashStatements)
      })
    },
    /** Signs in by a token of `readership login-link`. The operator vouches for it, so no code is needed. Throws `unauthorized`. */
    byLink: (token: string, client: SignInClient) =>
      lock(async () => {
        const { user_id } = await tokens.find(['login'], token)
        const user = user_id === null ? undefined : await users.get(user_id)
        if (!user) throw new ApiError('unauthorized', 'This account no longer exists.', 'token')
        return beginSession(user.id, client, tokens.spendStatement(token))
      }),
    /** Checks a person's current password; does nothing if they have none. Throws `unauthorized`. */
    async checkPassword(id: number, password: string | undefined): Promise<void> {
      const stored = (await users.get(id))?.password ?? null
      if (stored === null) return
      if (password === undefined || !(await passwords.verify(stored, password)))
        throw new ApiError('unauthorized', 'The current password is wrong.', 'password')
    },
  }
}
