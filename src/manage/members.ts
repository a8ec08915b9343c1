import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { createLock, type Lock } from '../base/lock.js'
import { type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { canAssignRole, ROLES, type Role } from './roles.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

const StoredMember = z.object({
  org: z.number(),
  user_id: z.number(),
  role: z.enum(ROLES),
  created_at: z.date(),
})
/** A person's membership of an organisation. */
export type Member = z.infer<typeof StoredMember>

/** The user who decides about a member; undefined for the operator, who may do what an owner may. */
export type ActorId = number | undefined

/** A member, with the e-mail address that goes into the audit log. */
export interface MemberRef {
  readonly user: number
  readonly email: string
}

export type Members = ReturnType<typeof createMembers>

/**
 * The members of all organisations. Everything that writes accounts and memberships shares `lock`.
 */
export function createMembers(records: Records, lock: Lock = createLock()) {
  const cache = createTableCache(() => loadMembers(records))
  const ofOrg = async (org: number): Promise<readonly Member[]> => (await cache.get()).ofOrg.get(org) ?? []
  const roleOf = async (org: number, actor: ActorId): Promise<Role | undefined> =>
    actor === undefined ? 'owner' : (await ofOrg(org)).find((each) => each.user_id === actor)?.role
  const find = async (org: number, user: number): Promise<Member> => {
    const member = (await ofOrg(org)).find((each) => each.user_id === user)
    if (!member) throw new ApiError('not_found', 'There is no such member.')
    return member
  }
  /** Returns the member if the actor may make them `to`. Called inside the lock, so it still holds when written. */
  const authorise = async (org: number, user: number, to: Role | undefined, actor: ActorId): Promise<Member> => {
    const member = await find(org, user)
    const role = await roleOf(org, actor)
    if (role === undefined || !canAssignRole(role, actor === user, member.role, to))
      throw new ApiError('forbidden', 'Your role does not allow this.')
    return member
  }
  const checkOwnerRemains = async (org: number, { user_id, role }: Member, to: Role | undefined) => {
    if (role !== 'owner' || to === 'owner') return
    const others = (await ofOrg(org)).filter((each) => each.role === 'owner' && each.user_id !== user_id)
    if (others.length === 0)
      throw new ApiError('conflict', 'This is the only owner of the organisation: make another member an owner first.')
  }
  const write = createInvalidatingWrite(records, cache)
  return {
    ofUser: async (user: number): Promise<readonly Member[]> => (await cache.get()).ofUser.get(user) ?? [],
    ofOrg,
    /** Returns the actor's role in the organisation; undefined if they are not a member. */
    roleOf,
    /**
     * Changes a member's role. Throws `not_found` if they are not a member, `forbidden` if the actor may not decide it,
     * `conflict` if the organisation would have no owner.
     */
    change: (org: number, { user, email }: MemberRef, role: Role, actor: ActorId, audit: AuditContext) =>
      lock(async (): Promise<Member> => {
        const member = await authorise(org, user, role, actor)
        if (member.role === role) return member
        await checkOwnerRemains(org, member, role)
        const details = { email, role, before: member.role }
        await write(
          setRole(org, user, role),
          ...(role === 'owner' ? [] : [deleteInvitations(org, user)]),
          ...auditStatements(audit, { action: 'change', object: 'member', id: user, details }),
        )
        return find(org, user)
      }),
    /** Ends a membership and deletes the open invitations of that member. Throws as `change` does. */
    remove: (org: number, { user, email }: MemberRef, actor: ActorId, audit: AuditContext) =>
      lock(async () => {
        const member = await authorise(org, user, undefined, actor)
        await checkOwnerRemains(org, member, undefined)
        const action = actor === user ? 'leave' : 'remove'
        await write(
          sql`delete from members where org = ${org} and user_id = ${user}`,
          deleteInvitations(org, user),
          ...auditStatements(audit, { action, object: 'member', id: user, details: { email, role: member.role } }),
        )
      }),
    /** Makes a member an owner, and the owner who hands over an admin. Throws as `change` does. */
    transfer: (org: number, { user, email }: MemberRef, actor: ActorId, audit: AuditContext) =>
      lock(async (): Promise<Member> => {
        if (actor === user) throw new ApiError('validation_error', '`user` must be another member, not you.', 'user')
        const member = await authorise(org, user, 'owner', actor)
        const details = { user, email, before: member.role }
        await write(
          setRole(org, user, 'owner'),
          ...(actor === undefined ? [] : [setRole(org, actor, 'admin'), deleteInvitations(org, actor)]),
          ...auditStatements(audit, { action: 'transfer', object: 'organisation', id: org, details }),
        )
        return find(org, user)
      }),
    /** Call it after another module has written to the table. */
    invalidate: cache.invalidate,
  }
}

async function loadMembers(records: Records) {
  const rows = await records.query(sql`select org, user_id, role, created_at from members order by created_at, user_id`)
  const ofUser = new Map<number, Member[]>()
  const ofOrg = new Map<number, Member[]>()
  for (const member of rows.map((row) => StoredMember.parse(row))) {
    ofUser.set(member.user_id, [...(ofUser.get(member.user_id) ?? []), member])
    ofOrg.set(member.org, [...(ofOrg.get(member.org) ?? []), member])
  }
  return { ofUser, ofOrg }
}

const setRole = (org: number, user: number, role: Role): Sql =>
  sql`update members set role = ${role} where org = ${org} and user_id = ${user}`

/** Deletes the open invitations of a member who may no longer invite; they are stored under the inviter's address. */
const deleteInvitations = (org: number, user: number): Sql =>
  sql`delete from invitations where org = ${org} and accepted_at is null
    and invited_by = (select email from users where id = ${user})`
