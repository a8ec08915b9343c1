import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ApiError } from '../errors.js'
import { type Sql, sql } from '../sql.js'
import type { Records } from '../store.js'
import { type AuditActor, type AuditContext, auditStatements } from './audit.js'
import { Email } from './email.js'
import { insertWithNextId, lastId } from './ids.js'
import { createLock, type Lock } from './lock.js'
import type { ActorId, Member, Members } from './members.js'
import { includesRole, ROLES } from './roles.js'
import { createInvalidatingWrite } from './table-cache.js'

/** An invitation as the API shows it: never its token. */
export const Invitation = z.object({
  id: z.int(),
  org: z.int(),
  email: z.string(),
  role: z.enum(ROLES),
  invited_by: z.string().describe('The e-mail address of who sent it.'),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
})
export type Invitation = z.infer<typeof Invitation>

/** The body of `POST /api/orgs/{id}/invitations`. */
export const NewInvitation = z.strictObject({
  email: Email.describe('Whom: only an account of this address can accept it.'),
  role: z.enum(ROLES).describe("What they will be; never more than one's own role."),
})
export type NewInvitation = z.infer<typeof NewInvitation>

/** The body of `POST /api/invitations/accept`. */
export const AcceptInvitation = z.strictObject({
  token: z.string().max(1_000).describe("The last part of the invitation's link."),
})

/** How long one is good. */
export const INVITATION_LIFETIME_MS = 7 * 86_400_000
/** Open ones of an organisation. */
const MAX_OPEN_INVITATIONS = 100
/** As many one person sends in an hour: each is a mail to a stranger. */
const MAX_INVITATIONS_PER_HOUR = 30
const HOUR_MS = 3_600_000

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
const SELECT = sql`
  select id, org, email, role, digest, mailed, invited_by, created_at, expires_at, accepted_at from invitations`

const invitationView = ({
  digest: _,
  mailed: __,
  accepted_at: ___,
  created_at,
  expires_at,
  ...invitation
}: StoredInvitation): Invitation => ({
  ...invitation,
  created_at: created_at.toISOString(),
  expires_at: expires_at.toISOString(),
})

/** An invitation as whoever holds its link is told of it. */
export interface ReceivedInvitation extends Pick<StoredInvitation, 'id' | 'org' | 'email' | 'role'> {
  /** Whether it was the link in the mail: who holds that reads the mails of the address. */
  readonly tokenWasMailed: boolean
  readonly accepted: boolean
}

export interface Invitations {
  /** Those of an organisation that can still be accepted. */
  list(org: number): Promise<Invitation[]>
  /**
   * Invites an address, in place of what it was invited by before; the tokens are kept nowhere: one for who invites, to
   * hand on, and one to be mailed to the address and told nobody else. Throws `forbidden` where the actor is no admin, and for
   * more than they are, `conflict` for who is a member, and for too many, `rate_limited`.
   */
  create(
    org: number,
    asked: NewInvitation,
    actor: ActorId,
    deed: AuditContext,
  ): Promise<{ invitation: Invitation; token: string; mailed: string }>
  /** Takes one back. Throws `not_found`. */
  delete(org: number, id: number, deed: AuditContext): Promise<void>
  /**
   * Makes the holder of the invited address a member, once. Throws `not_found` for a token that is not good or no longer,
   * `forbidden` for another address, `conflict` where it was accepted, or they are a member already.
   */
  accept(token: string, user: { id: number; email: string }, by: AuditActor, at: Date): Promise<Member>
  /** What a token is for; throws `not_found` for one that is not good or no longer. */
  find(token: string, at: Date): Promise<ReceivedInvitation>
  /** For the transaction in which a person, or what gives its id, becomes a member by it. */
  acceptStatements(held: ReceivedInvitation, user: number | Sql, by: AuditActor, at: Date): Sql[]
  /** Removes those that nobody can accept any more. */
  prune(at: Date): Promise<void>
}

/** 256 bits, which need no slow hash. */
const sha256 = (token: string) => createHash('sha256').update(token).digest('hex')
const TOKEN_PATTERN = /^[\w-]{43}$/

/**
 * Invitations over the records. All that writes to accounts and memberships shares the `turn`; `random(n)` gives n
 * random bytes, `emailOf` the address of an account.
 */
export function createInvitations(deps: {
  records: Records
  members: Members
  emailOf(user: number): Promise<string | undefined>
  now(): Date
  random(bytes: number): Buffer
  turn?: Lock
}): Invitations {
  const { records, members, emailOf, now, random, turn = createLock() } = deps
  const write = createInvalidatingWrite(records, members)
  // Asked of the table each time: they are few and seldom, and memberships that end take some with them.
  const all = async () => {
    const rows = await records.query(sql`${SELECT} order by id`)
    return rows.map((row) => StoredInvitation.parse(row))
  }
  const open = async (org: number, at: Date) =>
    (await all()).filter((each) => each.org === org && each.accepted_at === null && each.expires_at > at)
  const emails = async (org: number): Promise<(string | undefined)[]> =>
    Promise.all((await members.ofOrg(org)).map(({ user_id }) => emailOf(user_id)))
  const notTooMany = async ({ by, at }: AuditContext) => {
    const [row] = await records.query(sql`
      select count(*) as n from audit
      where action = 'invite' and actor_kind = ${by.kind} and actor = ${by.name}
        and happened_at > ${new Date(at.getTime() - HOUR_MS)}`)
    if (by.kind !== 'operator' && Number(row?.n) >= MAX_INVITATIONS_PER_HOUR)
      throw new ApiError('rate_limited', `One person sends at most ${MAX_INVITATIONS_PER_HOUR} invitations an hour.`)
  }

  const find: Invitations['find'] = async (token, at) => {
    const digest = TOKEN_PATTERN.test(token) ? sha256(token) : undefined
    const rows =
      digest === undefined
        ? []
        : await records.query(sql`${SELECT} where (digest = ${digest} or mailed = ${digest}) and expires_at > ${at}`)
    const [found] = rows.map((row) => StoredInvitation.parse(row))
    if (!found) throw new ApiError('not_found', 'There is no such invitation, or no longer.')
    const { id, org, email, role, mailed, accepted_at } = found
    return { id, org, email, role, tokenWasMailed: mailed === digest, accepted: accepted_at !== null }
  }
  const accepting: Invitations['acceptStatements'] = ({ id, org, role }, user, by, at) => [
    sql`update invitations set accepted_at = ${at} where id = ${id}`,
    sql`insert into members (org, user_id, role, created_at) select ${org}, ${user}, ${role}, ${at}`,
    ...auditStatements({ by, org, at }, { action: 'accept', object: 'invitation', id, details: { role } }),
  ]

  return {
    find,
    acceptStatements: accepting,
    list: async (org) => (await open(org, now())).map(invitationView),

    create: (org, { email, role }, actor, deed) =>
      turn(async () => {
        const { at, by } = deed
        // In turn: their membership may have ended since they were let in, and what they had sent by then with it.
        const has =
          actor === undefined ? 'owner' : (await members.ofOrg(org)).find(({ user_id }) => user_id === actor)?.role
        if (has === undefined || !includesRole(has, 'admin'))
          throw new ApiError('forbidden', 'This takes the role admin.')
        if (!includesRole(has, role))
          throw new ApiError('forbidden', 'Nobody invites into a role above their own.', 'role')
        if ((await emails(org)).includes(email)) throw new ApiError('conflict', 'They are a member already.', 'email')
        const others = (await open(org, at)).filter((each) => each.email !== email)
        if (others.length >= MAX_OPEN_INVITATIONS)
          throw new ApiError('conflict', `At most ${MAX_OPEN_INVITATIONS} invitations are open at once.`)
        await notTooMany(deed)
        // As whose it ends with their membership, by whichever address they were let in.
        const invited_by = actor === undefined ? by.name : ((await emailOf(actor)) ?? by.name)
        const [token, mailed] = [random(32).toString('base64url'), random(32).toString('base64url')]
        const digest = sha256(token)
        const expires_at = new Date(at.getTime() + INVITATION_LIFETIME_MS)
        await records.write(
          sql`delete from invitations where org = ${org} and email = ${email} and accepted_at is null`,
          ...insertWithNextId(
            'invitations',
            sql`insert into invitations (id, org, email, role, digest, mailed, invited_by, created_at, expires_at)`,
            sql`${org}, ${email}, ${role}, ${digest}, ${sha256(mailed)}, ${invited_by}, ${at}, ${expires_at}`,
          ),
          ...auditStatements(deed, {
            ...{ action: 'invite', object: 'invitation', id: lastId('invitations') },
            details: { email, role },
          }),
        )
        const made = (await all()).find((each) => each.digest === digest)
        if (!made) throw new Error('an invitation was written and is not there')
        return { invitation: invitationView(made), token, mailed }
      }),

    delete: (org, id, deed) =>
      turn(async () => {
        const found = (await open(org, deed.at)).find((each) => each.id === id)
        if (!found) throw new ApiError('not_found', 'There is no such invitation.')
        const { email, role } = found
        await records.write(
          sql`delete from invitations where id = ${id}`,
          ...auditStatements(deed, { action: 'delete', object: 'invitation', id, details: { email, role } }),
        )
      }),

    accept: (token, user, by, at) =>
      turn(async () => {
        const held = await find(token, at)
        const { org, role, email, accepted } = held
        if (email !== user.email)
          throw new ApiError('forbidden', 'This invitation is for another e-mail address: sign in with that one.')
        if (accepted || (await members.ofOrg(org)).some((each) => each.user_id === user.id))
          throw new ApiError('conflict', 'You are a member already, or have been.')
        await write(...accepting(held, user.id, by, at))
        return { org, user_id: user.id, role, created_at: at }
      }),

    async prune(at) {
      if ((await all()).every((each) => each.expires_at > at)) return
      await records.write(sql`delete from invitations where expires_at <= ${at}`)
    },
  }
}
