import { ApiError } from '../errors.js'
import type { Org, Orgs } from '../manage/orgs.js'
import type { User } from '../manage/users.js'
import { canReachOrg } from './auth.js'
import { type Call, pathId } from './route.js'

/** Where nobody says of which organisation they speak, the operator means the first. */
const FIRST_ORG_ID = 1

/** The organisation of the path; one that is out of reach is not there. */
export async function orgOfPath(call: Call, orgs: Pick<Orgs, 'get'>): Promise<Org> {
  const org = await orgs.get(pathId(call))
  if (org && canReachOrg(call, org.id)) return org
  throw new ApiError('not_found', 'There is no such organisation.')
}

/** The organisation that a body or a query names, or else the only one that the caller is in. */
export function chooseOrg(call: Call, org: number | undefined): number {
  const { principal } = call
  const mine = principal.kind === 'person' ? [...principal.roles.keys()] : [FIRST_ORG_ID]
  const [first] = mine
  if (org === undefined && mine.length > 1)
    throw new ApiError('validation_error', 'You are in several organisations: say which.', 'org')
  const one = org ?? first
  if (one !== undefined && canReachOrg(call, one)) return one
  throw new ApiError('not_found', 'There is no such organisation.', 'org')
}

/** Who is signed in. Throws `unauthorized` for the operator, who is no person. */
export function requireUser({ principal }: Pick<Call, 'principal'>): User {
  if (principal.kind === 'person') return principal.user
  throw new ApiError('unauthorized', 'This is for somebody who is signed in.')
}
