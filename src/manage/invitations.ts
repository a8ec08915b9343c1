import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { createLock, type Lock } from '../base/lock.js'
import { HOUR_MS } from '../base/time-units.js'
import { type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type AuditActor, type AuditContext, auditStatements } from './audit.js'
import { Email } from './email.js'
import { toApiFields } from './fields.js'
import { insertWithNextId, lastId } from './ids.js'
import type { ActorId, Member, Members } from './members.js'
import { includesRole, ROLES, type Role } from './roles.js'
import { createToken, hashToken, TOKEN_PATTERN } from './secret-token.js'
import { createInvalidatingWrite } from './table-cache.js'

/** An invitation as the API shows it: never its token. */
export const Invitation = z.object({
  id: z.int(),
  org: z.int(),
  email: z.string(),
  role: z.enum(ROLES),
  invited_by: z.string().describe("The inviter's e-mail address."),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
})
export type Invitation = z.infer<typeof Invitation>

/** The body of `POST /api/orgs/{id}/invitations`. */
export const NewInvitation = z.strictObject({
  email: Email.describe('The address to invite: only an account with this address can accept.'),
  role: z.enum(ROLES).describe("The new member's role; not above the inviter's own."),
})
export type NewInvitation = z.infer<typeof NewInvitation>

/** The body of `POST /api/invitations/accept`. */
export const AcceptInvitation = z.strictObject({
  token: z.string().max(1_000).describe("The last part of the invitation's link."),
})

const INVITATION_LIFETIME_MS = 7 * 86_400_000
/** Bounds the open invitations of an organisation. */
const MAX_OPEN_INVITATIONS = 100
/** Bounds what one person sends in an hour: each is a mail to an address that did not ask for it. */
const MAX_INVITATIONS_PER_HOUR = 30

const StoredInvitation = z.object({
  id: z.number(),
  org: z.number(),
  email: z.string(),
  role: z.enum(ROLES),
  digest: z.string(),
  invited_by: z.string(),
  mailed: z.string(),
  created_at: z.date(),
  expires_at: z.date(),
  accepted_at: z.date().nullable(),
})
type StoredInvitation = z.infer<typeof StoredInvitation>

// Read from the table each time: there are few, they are rarely used, and memberships that end delete some.
async function readInvitations(records: Records, condition: Sql): Promise<StoredInvitation[]> {
  const rows = await records.query(sql`
    select id, org, email, role, digest, mailed, invited_by, created_at, expires_at, accepted_at from invitations
    where ${condition} order by id`)
  return rows.map((row) => StoredInvitation.parse(row))
}
const listOpen = (records: Records, org: number, at: Date): Promise<StoredInvitation[]> =>
  readInvitations(records, sql`org = ${org} and accepted_at is null and expires_at > ${at}`)

const invitationView = ({ digest: _, mailed: __, accepted_at: ___, ...invitation }: StoredInvitation): Invitation =>
  toApiFields(invitation)

/** An invitation as the holder of its link sees it. */
export interface ReceivedInvitation extends Pick<StoredInvitation, 'id' | 'org' | 'email' | 'role'> {
  /** Whether the token is the mailed one, which proves that its holder reads the address's mail. */
  readonly tokenWasMailed: boolean
  readonly accepted: boolean
}

export type Invitations = ReturnType<typeof createInvitations>

interface InvitationsDeps {
  records: Records
  members: Members
  emailOf(user: number): Promise<string | undefined>
  now(): Date
  random(bytes: number): Buffer
  lock?: Lock
}

/**
 * Invitations to organisations. Everything that writes accounts and memberships shares `lock`; `random(n)` gives n random
 * bytes, `emailOf` the address of an account.
 */
export function createInvitations(deps: InvitationsDeps) {
  const { records, members, emailOf, now, random, lock = createLock() } = deps
  const write = createInvalidatingWrite(records, members)

  return {
    /** Returns the invitation of a token. Throws `not_found` if the token is unknown or expired. */
    find: (token: string, at: Date): Promise<ReceivedInvitation> => findReceived(records, token, at),
    /** Returns an organisation's invitations that can still be accepted. */
    list: async (org: number): Promise<Invitation[]> => (await listOpen(records, org, now())).map(invitationView),

    /**
     * Invites an address; an earlier open invitation of it is replaced. Returns two tokens, which are not stored: `token`
     * for the inviter to pass on, `mailed` only for a mail to the address. Throws `forbidden` if the actor is not an admin or
     * `role` is above theirs, `conflict` if the address is a member already or too many invitations are open,
     * `rate_limited`.
     */
    create: (org: number, { email, role }: NewInvitation, actor: ActorId, audit: AuditContext) =>
      lock(async (): Promise<{ invitation: Invitation; token: string; mailed: string }> => {
        const { at, by } = audit
        // Inside the lock: the actor's membership may have ended since the request was authorised.
        checkInviter(await members.roleOf(org, actor), role)
        const emails = await Promise.all((await members.ofOrg(org)).map(({ user_id }) => emailOf(user_id)))
        if (emails.includes(email)) throw new ApiError('conflict', 'This address is already a member.', 'email')
        const others = (await listOpen(records, org, at)).filter((each) => each.email !== email)
        if (others.length >= MAX_OPEN_INVITATIONS)
          throw new ApiError('conflict', `At most ${MAX_OPEN_INVITATIONS} invitations can be open at once.`)
        await checkHourlyLimit(records, audit)
        // The current address of the inviter: the end of their membership looks it up.
        const invited_by = actor === undefined ? by.name : ((await emailOf(actor)) ?? by.name)
        const [token, mailed] = [createToken(random), createToken(random)]
        const digest = hashToken(token)
        const row = { org, email, role, digest, mailed: hashToken(mailed), invited_by }
        await records.write(...insertStatements(row, audit))
        const [created] = await readInvitations(records, sql`digest = ${digest}`)
        if (!created) throw new Error('an invitation was written but cannot be read back')
        return { invitation: invitationView(created), token, mailed }
      }),

    /** Withdraws an open invitation. Throws `not_found`. */
    delete: (org: number, id: number, audit: AuditContext) =>
      lock(async () => {
        const invitation = (await listOpen(records, org, audit.at)).find((each) => each.id === id)
        if (!invitation) throw new ApiError('not_found', 'There is no such invitation.')
        const { email, role } = invitation
        await records.write(
          sql`delete from invitations where id = ${id}`,
          ...auditStatements(audit, { action: 'delete', object: 'invitation', id, details: { email, role } }),
        )
      }),

    /**
     * Makes the signed-in holder of the invited address a member. Throws `not_found` for an unknown or expired token,
     * `forbidden` for another address, `conflict` if it was accepted before or they are a member already.
     */
    accept: (token: string, user: { id: number; email: string }, by: AuditActor, at: Date) =>
      lock(async (): Promise<Member> => {
        const invitation = await findReceived(records, token, at)
        const { org, role, email, accepted } = invitation
        if (email !== user.email)
          throw new ApiError('forbidden', 'This invitation is for another e-mail address: sign in with that one.')
        if (accepted || (await members.ofOrg(org)).some((each) => each.user_id === user.id))
          throw new ApiError('conflict', 'This invitation was already used, or you are a member already.')
        await write(...acceptInvitationStatements(invitation, user.id, by, at))
        return { org, user_id: user.id, role, created_at: at }
      }),

    /** Deletes expired invitations. */
    async prune(at: Date): Promise<void> {
      const isExpired = sql`expires_at <= ${at}`
      if ((await readInvitations(records, isExpired)).length === 0) return
      await records.write(sql`delete from invitations where ${isExpired}`)
    },
  }
}

async function findReceived(records: Records, token: string, at: Date): Promise<ReceivedInvitation> {
  const digest = hashToken(token)
  const [invitation] = TOKEN_PATTERN.test(token)
    ? await readInvitations(records, sql`(digest = ${digest} or mailed = ${digest}) and expires_at > ${at}`)
    : []
  if (!invitation) throw new ApiError('not_found', 'This invitation does not exist or has expired.')
  const { id, org, email, role, mailed, accepted_at } = invitation
  return { id, org, email, role, tokenWasMailed: mailed === digest, accepted: accepted_at !== null }
}

/** Throws `rate_limited`. */
async function checkHourlyLimit(records: Records, { by, at }: AuditContext): Promise<void> {
  const [row] = await records.query(sql`
    select count(*) as n from audit
    where action = 'invite' and actor_kind = ${by.kind} and actor = ${by.name}
      and happened_at > ${new Date(at.getTime() - HOUR_MS)}`)
  if (by.kind !== 'operator' && Number(row?.n) >= MAX_INVITATIONS_PER_HOUR)
    throw new ApiError('rate_limited', `One person can send at most ${MAX_INVITATIONS_PER_HOUR} invitations an hour.`)
}

/** Throws `forbidden` unless a member with `inviter` as their role may invite to `role`. */
function checkInviter(inviter: Role | undefined, role: Role): void {
  if (inviter === undefined || !includesRole(inviter, 'admin'))
    throw new ApiError('forbidden', 'Requires the admin role.')
  if (!includesRole(inviter, role))
    throw new ApiError('forbidden', 'You cannot invite to a role above your own.', 'role')
}

/** Returns the statements that write an invitation; an earlier open one of the address is replaced. */
const insertStatements = (
  row: Pick<StoredInvitation, 'org' | 'email' | 'role' | 'digest' | 'mailed' | 'invited_by'>,
  audit: AuditContext,
): Sql[] => {
  const { org, email, role, digest, mailed, invited_by } = row
  const expires_at = new Date(audit.at.getTime() + INVITATION_LIFETIME_MS)
  const line = { action: 'invite', object: 'invitation', id: lastId('invitations'), details: { email, role } }
  return [
    sql`delete from invitations where org = ${org} and email = ${email} and accepted_at is null`,
    ...insertWithNextId(
      'invitations',
      sql`insert into invitations (id, org, email, role, digest, mailed, invited_by, created_at, expires_at)`,
      sql`${org}, ${email}, ${role}, ${digest}, ${mailed}, ${invited_by}, ${audit.at}, ${expires_at}`,
    ),
    ...auditStatements(audit, line),
  ]
}

/** Returns the statements that make a user, by id or SQL, a member, for a transaction. */
export const acceptInvitationStatements = (
  { id, org, role }: ReceivedInvitation,
  user: number | Sql,
  by: AuditActor,
  at: Date,
): Sql[] => [
  sql`update invitations set accepted_at = ${at} where id = ${id}`,
  sql`insert into members (org, user_id, role, created_at) select ${org}, ${user}, ${role}, ${at}`,
  ...auditStatements({ by, org, at }, { action: 'accept', object: 'invitation', id, details: { role } }),
]
