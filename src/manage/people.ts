import { ApiError } from '../errors.js'
import type { LoginSession, LoginSessions } from './login-sessions.js'
import type { Members } from './members.js'
import type { Orgs } from './orgs.js'
import type { Role } from './roles.js'
import { type User, type Users, userView } from './users.js'

/** Somebody who is signed in, as what they may do depends on it. */
export interface Person {
  readonly user: User
  readonly session: LoginSession
  /** What they are, by organisation. */
  readonly roles: ReadonlyMap<number, Role>
  /** Organisations that ask for two-factor sign-in, which this person has not set up. */
  readonly locked: ReadonlySet<number>
}

export interface People {
  /** The person of a session cookie's value; throws `unauthorized`. */
  authenticate(token: string): Promise<Person>
}

/** Sessions, accounts and memberships as one answer to "who is it". */
export const createPeople = (deps: {
  sessions: Pick<LoginSessions, 'authenticate'>
  users: Pick<Users, 'get'>
  members: Pick<Members, 'ofUser'>
  orgs: Pick<Orgs, 'get'>
}): People => ({
  async authenticate(token) {
    const session = await deps.sessions.authenticate(token)
    const stored = await deps.users.get(session.user_id)
    if (!stored) throw new ApiError('unauthorized', 'You are not signed in, or no longer.')
    const user = userView(stored)
    const roles = new Map<number, Role>()
    const locked = new Set<number>()
    for (const { org, role } of await deps.members.ofUser(user.id)) {
      const found = await deps.orgs.get(org)
      if (!found) continue
      roles.set(org, role)
      if (found.require_totp && !user.totp) locked.add(org)
    }
    return { user, session, roles, locked }
  },
})
