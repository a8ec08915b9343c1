import type { Accounts } from '../../manage/accounts/accounts.js'
import type { Invitations } from '../../manage/invitations.js'
import type { LoginSessions } from '../../manage/login-sessions.js'
import type { Members } from '../../manage/members.js'
import type { Orgs } from '../../manage/orgs.js'
import type { Passwords } from '../../manage/passwords.js'
import type { People } from '../../manage/people.js'
import type { Users } from '../../manage/users.js'
import type { Route } from '../route.js'
import { accountControlRoutes } from './control.js'
import { invitationPageRoutes } from './invitation-page.js'
import type { AccountLimits } from './limits.js'
import type { LinkBuilder } from './links.js'
import type { AccountMailer } from './mailer.js'
import { createDescribeMe } from './me.js'
import { pageRoutes } from './page-routes.js'
import { createCheckPassword } from './password-check.js'
import { profileRoutes } from './profile-routes.js'
import { createSignedOutActions } from './signed-out-actions.js'
import { signedOutRoutes } from './signed-out-routes.js'
import { totpRoutes } from './totp.js'

export interface AccountDeps {
  accounts: Accounts
  invitations: Invitations
  people: People
  users: Users
  members: Members
  orgs: Orgs
  sessions: LoginSessions
  passwords: Passwords
  limits: AccountLimits
  post: AccountMailer
  linkTo: LinkBuilder
  /** Whether nobody registers (spec 5.4). */
  closed: boolean
}

/** Everything about accounts (spec 4.10, 5.4; contract 7), and what the operator does about them (contract 2). */
export function accountRoutes(deps: AccountDeps): Route[] {
  const entrance = createSignedOutActions(deps)
  const me = createDescribeMe(deps.orgs)
  const prove = createCheckPassword(deps.accounts.signIn, deps.limits)
  return [
    ...signedOutRoutes({ entrance, people: deps.people, me }),
    ...profileRoutes({ ...deps, me, prove }),
    ...totpRoutes(deps.accounts, prove),
    ...pageRoutes(entrance),
    ...invitationPageRoutes({ ...deps, entrance }),
    ...accountControlRoutes(deps),
  ]
}
