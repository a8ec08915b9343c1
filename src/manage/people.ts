import { ApiError } from '../base/errors.js'
import type { LoginSession, LoginSessions } from './login-sessions.js'
import type { Members } from './members.js'
import type { Orgs } from './orgs.js'
import type { Role } from './roles.js'
import { type User, type Users, userView } from './users.js'

/** A signed-in person with everything that their rights depend on. */
export interface Person {
  readonly user: User
  readonly session: LoginSession
  /** The person's role in each of their organisations, by organisation id. */
  readonly roles: ReadonlyMap<number, Role>
  /** Organisations that require two-factor sign-in, which this person has not set up. */
  readonly locked: ReadonlySet<number>
}

export type People = ReturnType<typeof createPeople>

/** Authenticates people from their session, account and memberships. */
export const createPeople = (deps: {
  sessions: Pick<LoginSessions, 'authenticate'>
  users: Pick<Users, 'get'>
  members: Pick<Members, 'ofUser'>
  orgs: Pick<Orgs, 'get'>
}) => ({
  /** Returns the person whose session cookie has this value. Throws `unauthorized`. */
  async authenticate(token: string): Promise<Person> {
    const session = await deps.sessions.authenticate(token)
    const stored = await deps.users.get(session.user_id)
    if (!stored) throw new ApiError('unauthorized', 'You are not signed in.')
    const user = userView(stored)
    const roles = new Map<number, Role>()
    const locked = new Set<number>()
    for (const { org: id, role } of await deps.members.ofUser(user.id)) {
      const org = await deps.orgs.get(id)
      if (!org) continue
      roles.set(id, role)
      if (org.require_totp && !user.totp) locked.add(id)
    }
    return { user, session, roles, locked }
  },
})
