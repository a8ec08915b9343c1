import type { Accounts } from '../../manage/accounts/accounts.js'
import type { Invitations } from '../../manage/invitations.js'
import type { LoginSessions } from '../../manage/login-sessions.js'
import type { Members } from '../../manage/members.js'
import type { Orgs } from '../../manage/orgs.js'
import type { Passwords } from '../../manage/passwords.js'
import type { People } from '../../manage/people.js'
import type { Sites } from '../../manage/sites.js'
import type { Users } from '../../manage/users.js'
import type { Route } from '../route.js'
import { accountControlRoutes } from './control.js'
import { invitationPageRoutes } from './invitation-page.js'
import type { AccountLimits } from './limits.js'
import type { AccountMailer, LinkBuilder } from './mailer.js'
import { pageRoutes } from './page-routes.js'
import { profileRoutes } from './profile-routes.js'
import { createCheckPassword, createDescribeMe } from './session.js'
import { createSignedOutActions } from './signed-out-actions.js'
import { signedOutRoutes } from './signed-out-routes.js'
import { totpRoutes } from './totp.js'

interface AccountDeps {
  accounts: Accounts
  invitations: Invitations
  people: People
  users: Users
  members: Members
  orgs: Orgs
  sites: Pick<Sites, 'list'>
  sessions: LoginSessions
  passwords: Passwords
  limits: AccountLimits
  post: AccountMailer
  linkTo: LinkBuilder
  /** Whether registration is open. */
  mayRegister: () => boolean
}

/** All account routes, the pages of mailed links, and the operator's account routes. */
export function accountRoutes(deps: AccountDeps): Route[] {
  const { mayRegister, post } = deps
  const { canSend } = post
  const actions = createSignedOutActions(deps)
  const me = createDescribeMe(deps.orgs, deps.sites, canSend)
  const checkPassword = createCheckPassword(deps.accounts.signIn, deps.limits)
  return [
    ...signedOutRoutes({ actions, people: deps.people, me, canSend }),
    ...profileRoutes({ ...deps, me, checkPassword }),
    ...totpRoutes(deps.accounts, checkPassword),
    ...pageRoutes(actions, { mayRegister, canSend }),
    ...invitationPageRoutes({ ...deps, actions }),
    ...accountControlRoutes(deps),
  ]
}
