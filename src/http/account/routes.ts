import type { Accounts } from '../../manage/accounts/accounts.js'
import type { Invitations } from '../../manage/invitations.js'
import type { Members } from '../../manage/members.js'
import type { Orgs } from '../../manage/orgs.js'
import type { Passwords } from '../../manage/passwords.js'
import type { People } from '../../manage/people.js'
import type { Sessions } from '../../manage/sessions.js'
import type { Users } from '../../manage/users.js'
import type { Route } from '../route.js'
import type { LinkTo } from './address.js'
import { accountControl } from './control.js'
import { enteringRoutes } from './entering.js'
import { createEntrance } from './entrance.js'
import { invitationPage } from './invitation.js'
import type { AccountLimits } from './limits.js'
import { createMe } from './me.js'
import { ownRoutes } from './own.js'
import { pageRoutes } from './pages.js'
import type { Post } from './post.js'
import { createProve } from './prove.js'
import { totpRoutes } from './totp.js'

export interface AccountDeps {
  accounts: Accounts
  invitations: Invitations
  people: People
  users: Users
  members: Members
  orgs: Orgs
  sessions: Sessions
  passwords: Passwords
  limits: AccountLimits
  post: Post
  linkTo: LinkTo
  /** Whether nobody registers (spec 5.4). */
  closed: boolean
}

/** Everything about accounts (spec 4.10, 5.4; contract 7), and what the operator does about them (contract 2). */
export function accountRoutes(deps: AccountDeps): Route[] {
  const entrance = createEntrance(deps)
  const me = createMe(deps.orgs)
  const prove = createProve(deps.accounts.signIn, deps.limits)
  return [
    ...enteringRoutes({ entrance, people: deps.people, me }),
    ...ownRoutes({ ...deps, me, prove }),
    ...totpRoutes(deps.accounts, prove),
    ...pageRoutes(entrance),
    ...invitationPage({ ...deps, entrance }),
    ...accountControl(deps),
  ]
}
