import type { Records } from '../../store.js'
import type { Invitations } from '../invitations.js'
import type { Lock } from '../lock.js'
import type { LoginSessions } from '../login-sessions.js'
import type { Members } from '../members.js'
import type { Orgs } from '../orgs.js'
import type { Passwords } from '../passwords.js'
import type { Users } from '../users.js'
import { createProfile, type Profile } from './profile.js'
import { createRegistration, type Registration } from './registration.js'
import { createSecondFactor, type SecondFactor } from './second-factor.js'
import { createSignIn, type SignIn } from './sign-in.js'
import { createTokens } from './tokens.js'

/** Everything that becomes of an account, by who does it. */
export interface Accounts {
  readonly registration: Registration
  readonly signIn: SignIn
  readonly secondFactor: SecondFactor
  readonly profile: Profile
  /**
   * What a mailed token confirms: a registration, or the address of an account, which was `before`. Throws `unauthorized`
   * for one that is not good, `conflict` where the address has an account by now.
   */
  confirm(token: string, ip: string): Promise<{ email: string; before?: string }>
  /** The token of a sign-in link (contract 2: `login-link`), good once and for 15 minutes. */
  createLoginLink(user: number): Promise<{ token: string; expires_at: Date }>
}

/**
 * Accounts over the records. `mayTry` counts a try of a person's second factor and says whether it may be made;
 * `random(n)` gives n random bytes.
 */
export function createAccounts(deps: {
  records: Records
  users: Users
  members: Members
  orgs: Orgs
  invitations: Pick<Invitations, 'find' | 'acceptStatements'>
  sessions: LoginSessions
  passwords: Passwords
  now(): Date
  random(bytes: number): Buffer
  mayTry(user: number): boolean
  /** What changes who owns an organisation is made in it too. */
  turn: Lock
}): Accounts {
  const tokens = createTokens(deps)
  const ground = { ...deps, tokens }
  const secondFactor = createSecondFactor(ground, deps.mayTry, 'readership')
  const signIn = createSignIn(ground, secondFactor)
  const registration = createRegistration(ground)
  const own = createProfile(ground, secondFactor)
  return {
    registration,
    signIn,
    secondFactor,
    profile: own,
    async confirm(token, ip) {
      const { kind } = await tokens.find(['register', 'email'], token)
      if (kind === 'register') return { email: (await registration.complete(token, ip)).email }
      const { user, before } = await own.confirmEmail(token, ip)
      return { email: user.email, before }
    },
    createLoginLink: (user) =>
      ground.turn(async () => {
        const { token, expires_at, writing } = tokens.issue('login', { user_id: user })
        await deps.records.write(...writing)
        return { token, expires_at }
      }),
  }
}
