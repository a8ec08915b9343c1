import { z } from 'zod'
import { ApiError } from '../errors.js'
import { NewOrg, type Org, OrgChange, OrgOfMember, type Orgs } from '../manage/orgs.js'
import { auditContext } from './auth.js'
import { orgOfPath } from './org-access.js'
import { type Call, jsonResponse, parseBody, type Route, TotalMeta } from './route.js'

/** The record with what the caller is in it. */
const shownTo = ({ principal }: Pick<Call, 'principal'>, org: Org): z.infer<typeof OrgOfMember> => {
  const role = principal.kind === 'person' ? principal.roles.get(org.id) : undefined
  return { ...org, ...(role === undefined ? {} : { role }) }
}

/** `/api/orgs` (contract 7): for people alone (spec 5.3 rule 4). `joined` is called when somebody became a member. */
export function orgRoutes({ orgs, joined }: { orgs: Orgs; joined(): void }): Route[] {
  const route = { tag: 'orgs' } as const
  return [
    {
      ...{ ...route, method: 'get', path: '/api/orgs', access: 'person' },
      summary: 'The organisations that the caller is in, and as what',
      data: z.array(OrgOfMember),
      meta: TotalMeta,
      run: async (call) => {
        const { principal } = call
        const mine = (await orgs.list()).filter(({ id }) => principal.kind !== 'person' || principal.roles.has(id))
        return jsonResponse(
          mine.map((org) => shownTo(call, org)),
          { total: mine.length },
        )
      },
    },
    {
      ...{ ...route, method: 'post', path: '/api/orgs', access: 'person' },
      summary: 'Make an organisation, whose owner is the caller',
      body: NewOrg,
      data: OrgOfMember,
      status: 201,
      mayConflict: true,
      run: async (call) => {
        const { name } = await parseBody(call, NewOrg)
        const owner = call.principal.kind === 'person' ? call.principal.user.id : undefined
        const made = await orgs.create(name, owner, call.at, auditContext(call, 0).by)
        joined()
        return jsonResponse({ ...made, ...(owner === undefined ? {} : { role: 'owner' }) }, undefined, 201)
      },
    },
    {
      ...{ ...route, method: 'get', path: '/api/orgs/{id}', access: 'viewer' },
      summary: 'One organisation',
      data: OrgOfMember,
      run: async (call) => jsonResponse(shownTo(call, await orgOfPath(call, orgs))),
    },
    {
      ...{ ...route, method: 'patch', path: '/api/orgs/{id}', access: 'admin' },
      summary: 'Change an organisation, in part',
      body: OrgChange,
      data: OrgOfMember,
      mayConflict: true,
      run: async (call) => {
        const { id } = await orgOfPath(call, orgs)
        const change = await parseBody(call, OrgChange)
        const { principal } = call
        // They would lock themselves out with all others.
        if (change.require_totp && principal.kind === 'person' && !principal.user.totp)
          throw new ApiError('conflict', 'Set up two-factor sign-in for your own account first.', 'require_totp')
        return jsonResponse(shownTo(call, await orgs.change(id, change, auditContext(call, id))))
      },
    },
    {
      ...{ ...route, method: 'delete', path: '/api/orgs/{id}', access: 'owner' },
      summary: 'Delete an organisation with all its sites, seven days from now',
      status: 204,
      run: async (call) => {
        const { id } = await orgOfPath(call, orgs)
        await orgs.delete(id, auditContext(call, id))
        return new Response(null, { status: 204 })
      },
    },
    {
      ...{ ...route, method: 'post', path: '/api/orgs/{id}/restore', access: 'owner' },
      summary: 'Take the deletion of an organisation back',
      data: OrgOfMember,
      run: async (call) => {
        const { id } = await orgOfPath(call, orgs)
        return jsonResponse(shownTo(call, await orgs.restore(id, auditContext(call, id))))
      },
    },
  ]
}
