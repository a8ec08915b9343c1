import { randomBytes } from 'node:crypto'
import { createAccountLimits } from '../../api/account/limits.js'
import { accountRoutes } from '../../api/account/routes.js'
import { auditRoutes } from '../../api/audit.js'
import { invitationRoutes } from '../../api/invitations.js'
import { memberRoutes } from '../../api/members.js'
import { orgRoutes } from '../../api/orgs.js'
import { createShareAccess, PASSWORD_ATTEMPTS } from '../../api/share/access.js'
import { shareRoutes } from '../../api/share/routes.js'
import { createAccounts } from '../../manage/accounts/accounts.js'
import { createPasswords } from '../../manage/passwords.js'
import type { Core } from './core.js'
import type { Mail } from './mail.js'

/** People and their rights: accounts, organisations, members, invitations, share links and the audit log. */
export async function createAccountArea(
  { workerClient, manage, losses, whenWriting, log, now, clock, newLimit }: Core,
  { post, linkTo }: Mail,
  disable_registration: boolean,
) {
  const { sites, sessions, users, members, orgs, invitations, people, audit, shares, managed } = manage
  const random = randomBytes
  const passwords = createPasswords()
  const limits = createAccountLimits({ now: clock, random })
  const accounts = createAccounts({
    records: workerClient.records,
    users,
    members,
    orgs,
    invitations,
    sessions,
    passwords,
    now,
    mayTry: limits.takeCodeAttempt,
    random,
    lock: manage.lock,
  })
  await whenWriting(accounts.registration.createFirstUser)
  const shareAccess = createShareAccess({
    shares,
    now,
    verify: passwords.verify,
    limits: {
      each: newLimit({ per: PASSWORD_ATTEMPTS.each, window: PASSWORD_ATTEMPTS.window }),
      all: newLimit({ per: PASSWORD_ATTEMPTS.all, window: PASSWORD_ATTEMPTS.window }),
    },
  })
  return {
    shareAccess,
    shareRoutes: shareRoutes({
      sites,
      shares,
      goals: managed.goals,
      access: shareAccess,
      store: workerClient.events,
      hash: passwords.hash,
      now,
      random,
    }),
    routes: [
      ...orgRoutes({ orgs, joined: members.invalidate }),
      ...memberRoutes({ orgs, members, users }),
      ...invitationRoutes({
        orgs,
        invitations,
        canSend: post.canSend,
        send: async (mail) => post.sendLater(async () => mail),
        link: (request, token) => linkTo(request, '/invitation', token),
        log: (error) => log.warn({ err: error }, 'an invitation could not be mailed; its link was returned'),
      }),
      ...auditRoutes({ orgs, audit }),
    ],
    accountRoutes: accountRoutes({
      accounts,
      invitations,
      people,
      users,
      members,
      orgs,
      sites,
      sessions,
      passwords,
      limits,
      post,
      linkTo,
      // Until the operator has decided about a loss: accounts that are created now would be lost with a restored backup.
      mayRegister: () => !disable_registration && losses.list().length === 0,
    }),
  }
}
