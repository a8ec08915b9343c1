import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import type { Member, MemberRef, Members } from '../manage/members.js'
import type { Orgs } from '../manage/orgs.js'
import { ROLES } from '../manage/roles.js'
import type { Users } from '../manage/users.js'
import { auditContext } from './auth.js'
import { inOrgOfPath, personId } from './org-access.js'
import { Id, parseBody, type Route, routeMaker, TotalMeta } from './route.js'

/** A member as the API shows it. */
export const MemberView = z.object({
  user: z.int(),
  email: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
  since: z.iso.datetime(),
})

const RoleChange = z.strictObject({ role: z.enum(ROLES).optional() })
const Transfer = z.strictObject({ user: z.int().positive().describe('The member who becomes an owner.') })

/** The members of an organisation, for people only. */
export function memberRoutes(deps: { orgs: Pick<Orgs, 'get'>; members: Members; users: Pick<Users, 'get'> }): Route[] {
  const { orgs, members, users } = deps
  const route = routeMaker('members')
  const inOrg = inOrgOfPath(orgs)
  /** An empty list for a member whose account was deleted meanwhile. */
  const viewsOf = async ({ user_id, role, created_at }: Member): Promise<z.infer<typeof MemberView>[]> => {
    const user = await users.get(user_id)
    if (!user) return []
    const { email, name } = user
    return [{ user: user_id, email, name, role, since: created_at.toISOString() }]
  }
  const viewResponse = async (member: Member) => (await viewsOf(member))[0]
  const findMember = async (org: number, id: unknown, field?: string): Promise<MemberRef & Member> => {
    const user = Id.safeParse(id).data
    const member = (await members.ofOrg(org)).find(({ user_id }) => user_id === user)
    const account = member && (await users.get(member.user_id))
    if (!account) throw new ApiError('not_found', 'There is no such member.', field)
    return { ...member, user: account.id, email: account.email }
  }
  return [
    route('get', '/api/orgs/{id}/members', 'viewer', {
      summary: 'List the members of an organisation with their roles',
      data: z.array(MemberView),
      meta: TotalMeta,
      run: inOrg(async (_, { id }) => (await Promise.all((await members.ofOrg(id)).map(viewsOf))).flat()),
    }),
    route('patch', '/api/orgs/{id}/members/{user}', 'admin', {
      summary: "Change a member's role; only owners change owners",
      body: RoleChange,
      data: MemberView,
      mayConflict: true,
      run: inOrg(async (call, { id }) => {
        const { role } = await parseBody(call, RoleChange)
        const member = await findMember(id, call.params.user)
        return viewResponse(
          role === undefined ? member : await members.change(id, member, role, personId(call), auditContext(call, id)),
        )
      }),
    }),
    route('delete', '/api/orgs/{id}/members/{user}', 'viewer', {
      summary: 'Remove a member, or leave the organisation',
      status: 204,
      mayConflict: true,
      run: inOrg(async (call, { id }) =>
        members.remove(id, await findMember(id, call.params.user), personId(call), auditContext(call, id)),
      ),
    }),
    route('post', '/api/orgs/{id}/transfer', 'owner', {
      summary: 'Transfer ownership: make a member an owner, and the calling owner an admin',
      body: Transfer,
      data: MemberView,
      run: inOrg(async (call, { id }) => {
        const { user } = await parseBody(call, Transfer)
        const member = await findMember(id, user, 'user')
        return viewResponse(await members.transfer(id, member, personId(call), auditContext(call, id)))
      }),
    }),
  ]
}
