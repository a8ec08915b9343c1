import { z } from 'zod'
import { ApiError } from '../errors.js'
import { type Sql, sql } from '../sql.js'
import type { Records } from '../store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { createLock, type Lock } from './lock.js'
import { canAssignRole, ROLES, type Role } from './roles.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

const StoredMember = z.object({
  org: z.number(),
  user_id: z.number(),
  role: z.enum(ROLES),
  created_at: z.date(),
})
/** That a person is in an organisation, and as what. */
export type Member = z.infer<typeof StoredMember>

/** One who decides about a member: a member's id, or undefined for the operator, who may do what an owner may. */
export type ActorId = number | undefined

/** A member as those see who are told of it by name: the e-mail address goes into the log. */
export interface MemberRef {
  readonly user: number
  readonly email: string
}

export interface Members {
  ofUser(user: number): Promise<readonly Member[]>
  ofOrg(org: number): Promise<readonly Member[]>
  /**
   * Makes a member what `role` says. Throws `not_found` for who is none, `forbidden` for what the actor may not decide,
   * `conflict` where the organisation would be without an owner.
   */
  change(org: number, whom: MemberRef, role: Role, actor: ActorId, deed: AuditContext): Promise<Member>
  /** Ends a membership, with the invitations that were sent in its name. Throws as `change`. */
  remove(org: number, whom: MemberRef, actor: ActorId, deed: AuditContext): Promise<void>
  /** Makes a member an owner, and the owner who gives it away an admin. Throws as `change`. */
  transfer(org: number, whom: MemberRef, actor: ActorId, deed: AuditContext): Promise<Member>
  /** After a write to the table that was not made here. */
  invalidate(): void
}

/** Who is in which organisation, over the records. All that writes to accounts and memberships shares the `turn`. */
export function createMembers(records: Records, turn: Lock = createLock()): Members {
  const all = createTableCache(async () => {
    const rows = await records.query(
      sql`select org, user_id, role, created_at from members order by created_at, user_id`,
    )
    const ofUser = new Map<number, Member[]>()
    const ofOrg = new Map<number, Member[]>()
    for (const member of rows.map((row) => StoredMember.parse(row))) {
      ofUser.set(member.user_id, [...(ofUser.get(member.user_id) ?? []), member])
      ofOrg.set(member.org, [...(ofOrg.get(member.org) ?? []), member])
    }
    return { ofUser, ofOrg }
  })
  const ofOrg = async (org: number): Promise<readonly Member[]> => (await all.get()).ofOrg.get(org) ?? []
  const find = async (org: number, user: number): Promise<Member> => {
    const member = (await ofOrg(org)).find((each) => each.user_id === user)
    if (!member) throw new ApiError('not_found', 'There is no such member.')
    return member
  }
  /** The member, as what somebody of the organisation may decide about; read in turn, so that it is true when written. */
  const decided = async (org: number, user: number, to: Role | undefined, actor: ActorId): Promise<Member> => {
    const member = await find(org, user)
    const has = actor === undefined ? 'owner' : (await ofOrg(org)).find((each) => each.user_id === actor)?.role
    if (has === undefined || !canAssignRole(has, actor === user, member.role, to))
      throw new ApiError('forbidden', 'Your role does not let you decide that.')
    return member
  }
  const keepsAnOwner = async (org: number, { user_id, role }: Member, to: Role | undefined) => {
    if (role !== 'owner' || to === 'owner') return
    const others = (await ofOrg(org)).filter((each) => each.role === 'owner' && each.user_id !== user_id)
    if (others.length === 0)
      throw new ApiError('conflict', 'They are its only owner: somebody else has to be made one first.')
  }
  const set = (org: number, user: number, role: Role): Sql =>
    sql`update members set role = ${role} where org = ${org} and user_id = ${user}`
  const write = createInvalidatingWrite(records, all)
  /** What was sent in the name of one who may invite nobody any more, which is what they are called by now. */
  const uninvited = (org: number, user: number): Sql =>
    sql`delete from invitations where org = ${org} and accepted_at is null
      and invited_by = (select email from users where id = ${user})`

  return {
    ofUser: async (user) => (await all.get()).ofUser.get(user) ?? [],
    ofOrg,
    change: (org, { user, email }, role, actor, deed) =>
      turn(async () => {
        const now = await decided(org, user, role, actor)
        if (now.role === role) return now
        await keepsAnOwner(org, now, role)
        await write(
          set(org, user, role),
          ...(role === 'owner' ? [] : [uninvited(org, user)]),
          ...auditStatements(deed, {
            ...{ action: 'change', object: 'member', id: user },
            details: { email, role, before: now.role },
          }),
        )
        return find(org, user)
      }),
    remove: (org, { user, email }, actor, deed) =>
      turn(async () => {
        const now = await decided(org, user, undefined, actor)
        await keepsAnOwner(org, now, undefined)
        await write(
          sql`delete from members where org = ${org} and user_id = ${user}`,
          uninvited(org, user),
          ...auditStatements(deed, {
            ...{ action: actor === user ? 'leave' : 'remove', object: 'member', id: user },
            details: { email, role: now.role },
          }),
        )
      }),
    transfer: (org, { user, email }, actor, deed) =>
      turn(async () => {
        if (actor === user) throw new ApiError('validation_error', 'That is you.', 'user')
        const now = await decided(org, user, 'owner', actor)
        await write(
          set(org, user, 'owner'),
          ...(actor === undefined ? [] : [set(org, actor, 'admin'), uninvited(org, actor)]),
          ...auditStatements(deed, {
            ...{ action: 'transfer', object: 'organisation', id: org },
            details: { user, email, before: now.role },
          }),
        )
        return find(org, user)
      }),
    invalidate: all.invalidate,
  }
}
