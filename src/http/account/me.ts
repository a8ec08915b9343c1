import type { z } from 'zod'
import { ApiError } from '../../errors.js'
import type { Orgs } from '../../manage/orgs.js'
import type { Person } from '../../manage/people.js'
import type { Call } from '../route.js'
import { type Me, sessionView } from './shapes.js'

/** Who is signed in, as they see themselves. */
export type DescribeMe = (person: Person) => Promise<z.input<typeof Me>>

export const createDescribeMe =
  (orgs: Pick<Orgs, 'list'>): DescribeMe =>
  async ({ user, session, roles, locked }) => ({
    user,
    organisations: (await orgs.list()).flatMap(({ id, name }) => {
      const role = roles.get(id)
      return role === undefined ? [] : [{ id, name, role, locked: locked.has(id) }]
    }),
    session: sessionView(session, session.id),
  })

/** Whoever is signed in; throws `unauthorized` for the operator, who is nobody in particular. */
export function requirePerson({ principal }: Pick<Call, 'principal'>): Person {
  if (principal.kind === 'person') return principal
  throw new ApiError('unauthorized', 'Sign in: this is about whoever does.')
}
