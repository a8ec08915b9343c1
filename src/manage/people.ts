import { ApiError } from '../errors.js'
import type { Members } from './members.js'
import type { Orgs } from './orgs.js'
import type { Role } from './roles.js'
import type { Session, Sessions } from './sessions.js'
import { shownUser, type User, type Users } from './users.js'

/** Somebody who is signed in, as what they may do depends on it. */
export interface Person {
  readonly user: User
  readonly session: Session
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
  sessions: Pick<Sessions, 'authenticate'>
  users: Pick<Users, 'get'>
  members: Pick<Members, 'ofUser'>
  orgs: Pick<Orgs, 'list'>
}): People => ({
  async authenticate(token) {
    const session = await deps.sessions.authenticate(token)
    const stored = await deps.users.get(session.user_id)
    if (!stored) throw new ApiError('unauthorized', 'You are not signed in, or no longer.')
    const user = shownUser(stored)
    const orgs = new Map((await deps.orgs.list()).map((org) => [org.id, org]))
    const mine = (await deps.members.ofUser(user.id)).filter(({ org }) => orgs.has(org))
    return {
      user,
      session,
      roles: new Map(mine.map(({ org, role }) => [org, role])),
      locked: new Set(mine.flatMap(({ org }) => (orgs.get(org)?.require_totp && !user.totp ? [org] : []))),
    }
  },
})
