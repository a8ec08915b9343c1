import { ApiError } from '../base/errors.js'
import type { Org, Orgs } from '../manage/orgs.js'
import type { Person } from '../manage/people.js'
import type { ManagedSite, Sites } from '../manage/sites.js'
import { canReachOrg, canReachSite, type Grant } from './auth.js'
import { type Call, pathId } from './route.js'

/** The organisation that the operator means when a request names none. */
const FIRST_ORG_ID = 1

/** Returns the organisation of the path; throws `not_found` if the caller cannot reach it. */
async function orgOfPath(call: Call, orgs: Pick<Orgs, 'get'>): Promise<Org> {
  const org = await orgs.get(pathId(call))
  if (org && canReachOrg(call, org.id)) return org
  throw new ApiError('not_found', 'There is no such organisation.')
}

/** Returns a function that makes handlers: `run` is called with the organisation of the path, if the caller can reach it. */
export const inOrgOfPath =
  (orgs: Pick<Orgs, 'get'>) =>
  (run: (call: Call, org: Org) => unknown) =>
  async (call: Call): Promise<unknown> =>
    run(call, await orgOfPath(call, orgs))

/** Returns the organisation that a body or query names, or the caller's only one; throws `not_found` or `validation_error`. */
export function chooseOrg(call: Call, org: number | undefined): number {
  const { principal } = call
  const orgs = principal.kind === 'person' ? [...principal.roles.keys()] : [FIRST_ORG_ID]
  const [first] = orgs
  if (org === undefined && orgs.length > 1)
    throw new ApiError('validation_error', 'org is required, because you are a member of several organisations.', 'org')
  const chosen = org ?? first
  if (chosen !== undefined && canReachOrg(call, chosen)) return chosen
  throw new ApiError('not_found', 'There is no such organisation.', 'org')
}

/** Returns a site; throws `not_found`, with the field that named the site, if the caller cannot reach it. */
export async function requireSite(
  grant: Grant,
  sites: Pick<Sites, 'get'>,
  id: number,
  field?: string,
): Promise<ManagedSite> {
  const site = await sites.get(id)
  if (site && canReachSite(grant, site)) return site
  throw new ApiError('not_found', 'There is no such site.', field)
}

/** Returns the id of the signed-in person; undefined for the operator. */
export const personId = ({ principal }: Pick<Call, 'principal'>): number | undefined =>
  principal.kind === 'person' ? principal.user.id : undefined

/** Returns the signed-in person; throws `unauthorized` for the operator, who is not a person. */
export function requirePerson({ principal }: Pick<Call, 'principal'>): Person {
  if (principal.kind === 'person') return principal
  throw new ApiError('unauthorized', 'Only a signed-in person can do this.')
}
