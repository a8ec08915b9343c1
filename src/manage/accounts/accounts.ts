import type { AccountContext } from './context.js'
import { createProfile } from './profile.js'
import { createRegistration } from './registration.js'
import { createSecondFactor } from './second-factor.js'
import { createSignIn } from './sign-in.js'
import { createTokens } from './tokens.js'

export type Accounts = ReturnType<typeof createAccounts>

/** Puts the account modules together. `mayTry` counts an attempt at a person's second factor and reports whether it is allowed. */
export function createAccounts(deps: Omit<AccountContext, 'tokens'> & { mayTry(user: number): boolean }) {
  const tokens = createTokens(deps)
  const context: AccountContext = { ...deps, tokens }
  const secondFactor = createSecondFactor(context, deps.mayTry, 'readership')
  const registration = createRegistration(context)
  const profile = createProfile(context, secondFactor)
  return {
    registration,
    signIn: createSignIn(context, secondFactor),
    secondFactor,
    profile,
    /**
     * Confirms what a mailed token is for: a registration, or a new address of an account, whose previous one is `before`.
     * Throws `unauthorized` for an invalid token, `conflict` if the address has an account by now.
     */
    async confirm(token: string, ip: string): Promise<{ email: string; before?: string }> {
      const { kind } = await tokens.find(['register', 'email'], token)
      if (kind === 'register') return { email: (await registration.complete(token, ip)).email }
      const { user, before } = await profile.confirmEmail(token, ip)
      return { email: user.email, before }
    },
    /** Returns the token of a sign-in link (`readership login-link`), valid once and for 15 minutes. */
    createLoginLink: (user: number) =>
      deps.lock(async (): Promise<{ token: string; expires_at: Date }> => {
        const { token, expires_at, writing } = tokens.issue('login', { user_id: user })
        await deps.records.write(...writing)
        return { token, expires_at }
      }),
  }
}
