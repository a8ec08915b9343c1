import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ApiError } from '../errors.js'
import { sql } from '../sql.js'
import type { Records } from '../store.js'
import { audited, type By, type Deed } from './audit.js'
import { Email } from './email.js'
import type { Member, Members } from './members.js'
import { lastOf, numbered } from './numbered.js'
import { createWrite } from './remember.js'
import { ROLES, type Role, suffices } from './roles.js'
import { createTurn, type Turn } from './turn.js'

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
export const Accepted = z.strictObject({
  token: z.string().max(1_000).describe("The last part of the invitation's link."),
})

/** How long one is good. */
export const VALID_MS = 7 * 86_400_000
/** Open ones of an organisation. */
const MOST = 100
/** As many one person sends in an hour: each is a mail to a stranger. */
const AN_HOUR = 30
const HOUR_MS = 3_600_000

const Stored = z.object({
  id: z.number(),
  org: z.number(),
  email: z.string(),
  role: z.enum(ROLES),
  digest: z.string(),
  invited_by: z.string(),
  created_at: z.date(),
  expires_at: z.date(),
  accepted_at: z.date().nullable(),
})
type Stored = z.infer<typeof Stored>

const shown = ({ digest: _, accepted_at: __, created_at, expires_at, ...invitation }: Stored): Invitation => ({
  ...invitation,
  created_at: created_at.toISOString(),
  expires_at: expires_at.toISOString(),
})

export interface Invitations {
  /** Those of an organisation that can still be accepted. */
  list(org: number): Promise<Invitation[]>
  /**
   * Invites an address, in place of what it was invited by before; the token is kept nowhere. `has` is the role of who
   * invites. Throws `forbidden` for more than that, `conflict` for who is a member, and for too many, `rate_limited`.
   */
  create(org: number, asked: NewInvitation, has: Role, deed: Deed): Promise<{ invitation: Invitation; token: string }>
  /** Takes one back. Throws `not_found`. */
  delete(org: number, id: number, deed: Deed): Promise<void>
  /**
   * Makes the holder of the invited address a member, once. Throws `not_found` for a token that is not good or no longer,
   * `forbidden` for another address, `conflict` where it was accepted, or they are a member already.
   */
  accept(token: string, user: { id: number; email: string }, by: By, at: Date): Promise<Member>
  /** Removes those that nobody can accept any more. */
  prune(at: Date): Promise<void>
}

/** 256 bits, which need no slow hash. */
const digestOf = (token: string) => createHash('sha256').update(token).digest('hex')
const TOKEN = /^[\w-]{43}$/

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
  turn?: Turn
}): Invitations {
  const { records, members, emailOf, now, random, turn = createTurn() } = deps
  const write = createWrite(records, members)
  // Asked of the table each time: they are few and seldom, and memberships that end take some with them.
  const all = async () => {
    const rows = await records.query(sql`
      select id, org, email, role, digest, invited_by, created_at, expires_at, accepted_at from invitations order by id`)
    return rows.map((row) => Stored.parse(row))
  }
  const open = async (org: number, at: Date) =>
    (await all()).filter((each) => each.org === org && each.accepted_at === null && each.expires_at > at)
  const emails = async (org: number): Promise<(string | undefined)[]> =>
    Promise.all((await members.ofOrg(org)).map(({ user_id }) => emailOf(user_id)))
  const notTooMany = async ({ by, at }: Deed) => {
    const [row] = await records.query(sql`
      select count(*) as n from audit
      where action = 'invite' and actor_kind = ${by.kind} and actor = ${by.name}
        and happened_at > ${new Date(at.getTime() - HOUR_MS)}`)
    if (by.kind !== 'operator' && Number(row?.n) >= AN_HOUR)
      throw new ApiError('rate_limited', `One person sends at most ${AN_HOUR} invitations an hour.`)
  }

  return {
    list: async (org) => (await open(org, now())).map(shown),

    create: (org, { email, role }, has, deed) =>
      turn(async () => {
        const { at, by } = deed
        if (!suffices(has, role)) throw new ApiError('forbidden', 'Nobody invites into a role above their own.', 'role')
        if ((await emails(org)).includes(email)) throw new ApiError('conflict', 'They are a member already.', 'email')
        const others = (await open(org, at)).filter((each) => each.email !== email)
        if (others.length >= MOST) throw new ApiError('conflict', `At most ${MOST} invitations are open at once.`)
        await notTooMany(deed)
        const token = random(32).toString('base64url')
        const digest = digestOf(token)
        const expires_at = new Date(at.getTime() + VALID_MS)
        await records.write(
          sql`delete from invitations where org = ${org} and email = ${email} and accepted_at is null`,
          ...numbered(
            'invitations',
            sql`insert into invitations (id, org, email, role, digest, invited_by, created_at, expires_at)`,
            sql`${org}, ${email}, ${role}, ${digest}, ${by.name}, ${at}, ${expires_at}`,
          ),
          ...audited(deed, {
            ...{ action: 'invite', object: 'invitation', id: lastOf('invitations') },
            details: { email, role },
          }),
        )
        const made = (await all()).find((each) => each.digest === digest)
        if (!made) throw new Error('an invitation was written and is not there')
        return { invitation: shown(made), token }
      }),

    delete: (org, id, deed) =>
      turn(async () => {
        const found = (await open(org, deed.at)).find((each) => each.id === id)
        if (!found) throw new ApiError('not_found', 'There is no such invitation.')
        const { email, role } = found
        await records.write(
          sql`delete from invitations where id = ${id}`,
          ...audited(deed, { action: 'delete', object: 'invitation', id, details: { email, role } }),
        )
      }),

    accept: (token, user, by, at) =>
      turn(async () => {
        const digest = TOKEN.test(token) ? digestOf(token) : undefined
        const found = (await all()).find((each) => each.digest === digest)
        if (!found || found.expires_at <= at)
          throw new ApiError('not_found', 'There is no such invitation, or no longer.')
        if (found.email !== user.email)
          throw new ApiError('forbidden', 'This invitation is for another e-mail address: sign in with that one.')
        const { id, org, role } = found
        if (found.accepted_at || (await members.ofOrg(org)).some((each) => each.user_id === user.id))
          throw new ApiError('conflict', 'You are a member already, or have been.')
        await write(
          sql`update invitations set accepted_at = ${at} where id = ${id}`,
          sql`insert into members (org, user_id, role, created_at) values (${org}, ${user.id}, ${role}, ${at})`,
          ...audited({ by, org, at }, { action: 'accept', object: 'invitation', id, details: { role } }),
        )
        return { org, user_id: user.id, role, created_at: at }
      }),

    async prune(at) {
      if ((await all()).every((each) => each.expires_at > at)) return
      await records.write(sql`delete from invitations where expires_at <= ${at}`)
    },
  }
}
