import { z } from 'zod'
import { ApiError } from '../errors.js'
import type { Member, MemberRef, Members } from '../manage/members.js'
import type { Orgs } from '../manage/orgs.js'
import { ROLES } from '../manage/roles.js'
import type { Users } from '../manage/users.js'
import { auditContext } from './auth.js'
import { orgOfPath } from './org-access.js'
import { type Call, Id, jsonResponse, parseBody, type Route, TotalMeta } from './route.js'

/** A member as the API shows them. */
export const MemberView = z.object({
  user: z.int(),
  email: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
  since: z.iso.datetime(),
})

const RoleChange = z.strictObject({ role: z.enum(ROLES).optional() })
const Transfer = z.strictObject({ user: z.int().positive().describe('A member, who becomes an owner.') })

/** Who is in an organisation (contract 7): for people alone (spec 5.3 rule 4). */
export function memberRoutes(deps: { orgs: Pick<Orgs, 'get'>; members: Members; users: Pick<Users, 'get'> }): Route[] {
  const { orgs, members, users } = deps
  const shown = async ({ user_id, role, created_at }: Member): Promise<z.infer<typeof MemberView>[]> => {
    const user = await users.get(user_id)
    const { email, name } = user ?? {}
    return email === undefined || name === undefined
      ? []
      : [{ user: user_id, email, name, role, since: created_at.toISOString() }]
  }
  const one = async (member: Member) => jsonResponse((await shown(member))[0])
  /** A member of the organisation by their account's id. */
  const known = async (org: number, id: unknown, field?: string): Promise<MemberRef & Member> => {
    const user = Id.safeParse(id).data
    const member = (await members.ofOrg(org)).find(({ user_id }) => user_id === user)
    const account = member && (await users.get(member.user_id))
    if (!account) throw new ApiError('not_found', 'There is no such member.', field)
    return { ...member, user: account.id, email: account.email }
  }
  const actorOf = ({ principal }: Call) => (principal.kind === 'person' ? principal.user.id : undefined)
  const route = { tag: 'members' } as const
  return [
    {
      ...{ ...route, method: 'get', path: '/api/orgs/{id}/members', access: 'viewer' },
      summary: 'Who is in an organisation, and as what',
      data: z.array(MemberView),
      meta: TotalMeta,
      run: async (call) => {
        const { id } = await orgOfPath(call, orgs)
        const all = (await Promise.all((await members.ofOrg(id)).map(shown))).flat()
        return jsonResponse(all, { total: all.length })
      },
    },
    {
      ...{ ...route, method: 'patch', path: '/api/orgs/{id}/members/{user}', access: 'admin' },
      summary: 'Change what a member is; only owners decide about owners',
      body: RoleChange,
      data: MemberView,
      mayConflict: true,
      run: async (call) => {
        const { id } = await orgOfPath(call, orgs)
        const { role } = await parseBody(call, RoleChange)
        const member = await known(id, call.params.user)
        return one(
          role === undefined ? member : await members.change(id, member, role, actorOf(call), auditContext(call, id)),
        )
      },
    },
    {
      ...{ ...route, method: 'delete', path: '/api/orgs/{id}/members/{user}', access: 'viewer' },
      summary: 'Remove a member, or leave',
      status: 204,
      mayConflict: true,
      run: async (call) => {
        const { id } = await orgOfPath(call, orgs)
        await members.remove(id, await known(id, call.params.user), actorOf(call), auditContext(call, id))
        return new Response(null, { status: 204 })
      },
    },
    {
      ...{ ...route, method: 'post', path: '/api/orgs/{id}/transfer', access: 'owner' },
      summary: 'Make a member an owner, and the owner who asks an admin',
      body: Transfer,
      data: MemberView,
      run: async (call) => {
        const { id } = await orgOfPath(call, orgs)
        const { user } = await parseBody(call, Transfer)
        return one(await members.transfer(id, await known(id, user, 'user'), actorOf(call), auditContext(call, id)))
      },
    },
  ]
}
