import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import type { Accounts } from '../../manage/accounts/accounts.js'
import { NewPassword, refuseAddressAsPassword } from '../../manage/accounts/password-rules.js'
import { Email } from '../../manage/email.js'
import { Name } from '../../manage/fields.js'
import type { Members } from '../../manage/members.js'
import type { Passwords } from '../../manage/passwords.js'
import { ROLES } from '../../manage/roles.js'
import { type StoredUser, User, type Users, userView } from '../../manage/users.js'
import { auditContext } from '../auth.js'
import { parseBody, type Route, routeMaker, TotalMeta } from '../route.js'
import type { AccountMailer, LinkBuilder } from './mailer.js'

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
const UnsentLinkView = z.object({ at: z.iso.datetime(), to: z.string(), subject: z.string(), link: z.string() })

interface AccountControlDeps {
  accounts: Accounts
  users: Users
  members: Members
  passwords: Passwords
  post: AccountMailer
  linkTo: LinkBuilder
}

/** The operator's account routes; only the control socket serves them. */
export function accountControlRoutes(deps: AccountControlDeps): Route[] {
  const { accounts, users, members, passwords, post, linkTo } = deps
  const { registration, profile, secondFactor } = accounts
  const route = routeMaker('control')
  const viewOf = async (user: StoredUser): Promise<z.input<typeof UserView>> => ({
    ...userView(user),
    organisations: (await members.ofUser(user.id)).map(({ org, role }) => ({ org, role })),
  })
  const requireUser = (email: string) => findByEmail(users, email)
  return [
    route('get', '/control/users', 'operator', {
      summary: 'List the accounts of this instance',
      data: z.array(UserView),
      meta: TotalMeta,
      run: async () => Promise.all((await users.list()).map(viewOf)),
    }),
    route('post', '/control/users', 'operator', {
      summary: 'Create an account as a member of an existing organisation',
      body: NewUser,
      data: UserView,
      status: 201,
      mayConflict: true,
      async run(call) {
        const { email, name = email, org, role, password } = await parseBody(call, NewUser)
        if (password !== undefined) refuseAddressAsPassword(password, email)
        const hash = password === undefined ? null : await passwords.hash(password)
        const user = await registration.createMember(
          { email, name, org, role, password: hash },
          auditContext(call, org),
        )
        return viewOf(user)
      },
    }),
    route('post', '/control/users/reset-password', 'operator', {
      summary: "Set an account's password, or without one create a reset link for its owner",
      body: ResetUser,
      data: UserLink.partial({ link: true }),
      async run(call) {
        const { email, password } = await parseBody(call, ResetUser)
        const user = await requireUser(email)
        if (password !== undefined) {
          await profile.setPassword(user, password)
          return { email }
        }
        const token = await profile.prepareReset(email)
        return { email, link: linkTo(call.request, '/reset-password', token) }
      },
    }),
    route('post', '/control/users/disable-totp', 'operator', {
      summary: 'Turn off two-factor sign-in of an account whose owner has lost it; signs out its sessions',
      body: UserSelector,
      data: UserView,
      async run(call) {
        const { id, email } = await requireUser((await parseBody(call, UserSelector)).email)
        await secondFactor.revoke(id)
        return viewOf(await requireUser(email))
      },
    }),
    route('post', '/control/login-link', 'operator', {
      summary: 'Create a link that signs in once, within 15 minutes',
      body: NewLink,
      data: UserLink,
      async run(call) {
        const { email } = await parseBody(call, NewLink)
        const user = email === undefined ? await firstOwner(deps) : await requireUser(email)
        const { token, expires_at } = await accounts.createLoginLink(user.id)
        const link = linkTo(call.request, '/sign-in', token)
        return { email: user.email, link, expires_at: expires_at.toISOString() }
      },
    }),
    route('get', '/control/links', 'operator', {
      summary: 'List the last links that were not mailed, because no mail server is configured',
      data: z.array(UnsentLinkView),
      run: async () => post.unsentLinks(),
    }),
  ]
}

async function findByEmail(users: Users, email: string): Promise<StoredUser> {
  const user = await users.byEmail(email)
  if (!user) throw new ApiError('not_found', `There is no account ${email}; see readership users list.`, 'email')
  return user
}

/** The first owner of organisation 1, for sign-in links without an address. */
async function firstOwner({ members, users }: Pick<AccountControlDeps, 'members' | 'users'>): Promise<StoredUser> {
  const owner = (await members.ofOrg(1)).find(({ role }) => role === 'owner')
  const user = owner && (await users.get(owner.user_id))
  if (!user) throw new ApiError('not_found', 'Organisation 1 has no owner: name an account with --email.', 'email')
  return user
}
