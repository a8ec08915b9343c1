import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { NewOrg, type Org, OrgChange, OrgOfMember, type Orgs } from '../manage/orgs.js'
import { auditContext } from './auth.js'
import { inOrgOfPath, personId } from './org-access.js'
import { type Call, parseBody, type Route, routeMaker, TotalMeta } from './route.js'

/** Adds the caller's role to an organisation. */
const withRole = ({ principal }: Pick<Call, 'principal'>, org: Org): z.infer<typeof OrgOfMember> => {
  const role = principal.kind === 'person' ? principal.roles.get(org.id) : undefined
  return { ...org, ...(role === undefined ? {} : { role }) }
}

/** `/api/orgs`, for people only. `joined` is called after a person became a member. */
export function orgRoutes({ orgs, joined }: { orgs: Orgs; joined(): void }): Route[] {
  const route = routeMaker('orgs')
  const inOrg = inOrgOfPath(orgs)
  return [
    route('get', '/api/orgs', 'person', {
      summary: "List the caller's organisations, with the caller's role in each",
      data: z.array(OrgOfMember),
      meta: TotalMeta,
      run: async (call) => {
        const { principal } = call
        const visible = (await orgs.list()).filter(({ id }) => principal.kind !== 'person' || principal.roles.has(id))
        return visible.map((org) => withRole(call, org))
      },
    }),
    route('post', '/api/orgs', 'person', {
      summary: 'Create an organisation; the caller becomes its owner',
      body: NewOrg,
      data: OrgOfMember,
      status: 201,
      mayConflict: true,
      run: async (call) => {
        const { name } = await parseBody(call, NewOrg)
        const owner = personId(call)
        const org = await orgs.create(name, owner, call.at, auditContext(call, 0).by)
        joined()
        return { ...org, ...(owner === undefined ? {} : { role: 'owner' }) }
      },
    }),
    route('get', '/api/orgs/{id}', 'viewer', {
      summary: 'Get an organisation',
      data: OrgOfMember,
      run: inOrg(withRole),
    }),
    route('patch', '/api/orgs/{id}', 'admin', {
      summary: 'Change fields of an organisation',
      body: OrgChange,
      data: OrgOfMember,
      mayConflict: true,
      run: inOrg(async (call, { id }) => {
        const change = await parseBody(call, OrgChange)
        const { principal } = call
        // Otherwise the rule would lock out the admin who sets it.
        if (change.require_totp && principal.kind === 'person' && !principal.user.totp)
          throw new ApiError('conflict', 'Set up two-factor sign-in for your own account first.', 'require_totp')
        return withRole(call, await orgs.change(id, change, auditContext(call, id)))
      }),
    }),
    route('delete', '/api/orgs/{id}', 'owner', {
      summary: 'Delete an organisation and all its sites, seven days from now',
      status: 204,
      run: inOrg((call, { id }) => orgs.delete(id, auditContext(call, id))),
    }),
    route('post', '/api/orgs/{id}/restore', 'owner', {
      summary: 'Cancel the deletion of an organisation',
      data: OrgOfMember,
      run: inOrg(async (call, { id }) => withRole(call, await orgs.restore(id, auditContext(call, id)))),
    }),
  ]
}
