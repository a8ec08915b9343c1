import { z } from 'zod'
import { ApiError } from '../../errors.js'
import type { Accounts } from '../../manage/accounts/accounts.js'
import { NewPassword, refuseAddressAsPassword } from '../../manage/accounts/password-rules.js'
import { Email } from '../../manage/email.js'
import { Name } from '../../manage/fields.js'
import type { Members } from '../../manage/members.js'
import type { Passwords } from '../../manage/passwords.js'
import { ROLES } from '../../manage/roles.js'
import { type StoredUser, User, type Users, userView } from '../../manage/users.js'
import { auditContext } from '../auth.js'
import { jsonResponse, parseBody, type Route, TotalMeta } from '../route.js'
import type { LinkBuilder } from './links.js'
import type { AccountMailer } from './mailer.js'

const NewUser = z.strictObject({
  email: Email,
  name: Name.optional(),
  org: z.int().positive().default(1),
  role: z.enum(ROLES).default('owner'),
  password: NewPassword.optional(),
})
const ResetUser = z.strictObject({ email: Email, password: NewPassword.optional() })
const NewLink = z.strictObject({ email: Email.optional() })
const UserSelector = z.strictObject({ email: Email })

/** A user as the operator sees them. */
export const UserView = User.extend({
  organisations: z.array(z.object({ org: z.int(), role: z.enum(ROLES) })),
})
export const UserLink = z.object({ email: z.string(), link: z.string(), expires_at: z.iso.datetime().optional() })
export const UnsentLinkView = z.object({ at: z.iso.datetime(), to: z.string(), subject: z.string(), link: z.string() })

/** What the operator does about accounts, through the control socket alone. */
export function accountControlRoutes(deps: {
  accounts: Accounts
  users: Users
  members: Members
  passwords: Passwords
  post: AccountMailer
  linkTo: LinkBuilder
}): Route[] {
  const { accounts, users, members, passwords, post, linkTo } = deps
  const { registration, profile: own, secondFactor } = accounts
  const route = { access: 'operator', tag: 'control' } as const

  const listed = async (user: StoredUser): Promise<z.input<typeof UserView>> => ({
    ...userView(user),
    organisations: (await members.ofUser(user.id)).map(({ org, role }) => ({ org, role })),
  })
  const existing = async (email: string): Promise<StoredUser> => {
    const user = await users.byEmail(email)
    if (!user) throw new ApiError('not_found', `There is no account ${email}; see readership users list.`, 'email')
    return user
  }
  /** The account that a sign-in link is for where nobody is named: the first owner of organisation 1. */
  const first = async (): Promise<StoredUser> => {
    const owner = (await members.ofOrg(1)).find(({ role }) => role === 'owner')
    const user = owner && (await users.get(owner.user_id))
    if (!user) throw new ApiError('not_found', 'Organisation 1 has no owner: name an account with --email.', 'email')
    return user
  }

  return [
    {
      ...{ ...route, method: 'get', path: '/control/users' },
      summary: 'The accounts of this instance',
      data: z.array(UserView),
      meta: TotalMeta,
      async run() {
        const all = await Promise.all((await users.list()).map(listed))
        return jsonResponse(all, { total: all.length })
      },
    },
    {
      ...{ ...route, method: 'post', path: '/control/users' },
      summary: 'Make an account, a member of an organisation that is there',
      body: NewUser,
      data: UserView,
      status: 201,
      mayConflict: true,
      async run(call) {
        const { email, name = email, org, role, password } = await parseBody(call, NewUser)
        if (password !== undefined) refuseAddressAsPassword(password, email)
        const kept = password === undefined ? null : await passwords.hash(password)
        const made = await registration.createMember(
          { email, name, org, role, password: kept },
          auditContext(call, org),
        )
        return jsonResponse(await listed(made), undefined, 201)
      },
    },
    {
      ...{ ...route, method: 'post', path: '/control/users/reset-password' },
      summary: "Set an account's password, or without one make a link by which its owner does",
      body: ResetUser,
      data: UserLink.partial({ link: true }),
      async run(call) {
        const { email, password } = await parseBody(call, ResetUser)
        const user = await existing(email)
        if (password !== undefined) {
          await own.setPassword(user, password)
          return jsonResponse({ email })
        }
        const token = await own.prepareReset(email)
        return jsonResponse({ email, link: linkTo(call.request, '/reset-password', token) })
      },
    },
    {
      ...{ ...route, method: 'post', path: '/control/users/disable-totp' },
      summary: 'Switch the two-factor sign-in of an account off, whose owner has lost it; ends its sessions',
      body: UserSelector,
      data: UserView,
      async run(call) {
        const { id, email } = await existing((await parseBody(call, UserSelector)).email)
        await secondFactor.revoke(id)
        return jsonResponse(await listed(await existing(email)))
      },
    },
    {
      ...{ ...route, method: 'post', path: '/control/login-link' },
      summary: 'A link that signs in once, within 15 minutes',
      body: NewLink,
      data: UserLink,
      async run(call) {
        const { email } = await parseBody(call, NewLink)
        const user = email === undefined ? await first() : await existing(email)
        const { token, expires_at } = await accounts.createLoginLink(user.id)
        return jsonResponse({
          email: user.email,
          link: linkTo(call.request, '/sign-in', token),
          expires_at: expires_at.toISOString(),
        })
      },
    },
    {
      ...{ ...route, method: 'get', path: '/control/links' },
      summary: 'The last links that could not be mailed, where no mail server is set',
      data: z.array(UnsentLinkView),
      run: async () => jsonResponse(post.unsentLinks()),
    },
  ]
}
