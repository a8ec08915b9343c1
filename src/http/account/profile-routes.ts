import { z } from 'zod'
import { ApiError } from '../../errors.js'
import type { Accounts } from '../../manage/accounts/accounts.js'
import type { LoginSessions } from '../../manage/login-sessions.js'
import { userView } from '../../manage/users.js'
import { jsonResponse, parseBody, pathId, type Route, TotalMeta } from '../route.js'
import { jsonOnly } from './json-only.js'
import type { AccountLimits } from './limits.js'
import type { LinkBuilder } from './links.js'
import { accountMails } from './mail-texts.js'
import type { AccountMailer } from './mailer.js'
import { type DescribeMe, requirePerson } from './me.js'
import type { CheckPassword } from './password-check.js'
import {
  ChangeEmail,
  ChangeMe,
  ChangePassword,
  MailSent,
  Me,
  SecondFactorProof,
  SessionView,
  sessionView,
} from './shapes.js'
import { sessionOrigin } from './signed-out-actions.js'
import { setSession } from './signed-out-routes.js'

const done = () => new Response(null, { status: 204 })

/** What somebody who is signed in does about their own account and sessions. */
export function profileRoutes(deps: {
  accounts: Accounts
  sessions: Pick<LoginSessions, 'list' | 'end'>
  me: DescribeMe
  post: AccountMailer
  linkTo: LinkBuilder
  prove: CheckPassword
  limits: Pick<AccountLimits, 'take'>
}): Route[] {
  const { sessions, me, post, linkTo, prove, limits } = deps
  const { profile: own } = deps.accounts
  const route = { access: 'person', tag: 'account' } as const
  return [
    {
      ...{ ...route, method: 'get', path: '/api/auth/me' },
      summary: 'Who is signed in, in which organisations and as what',
      data: Me,
      run: async (call) => jsonResponse(await me(requirePerson(call))),
    },
    jsonOnly({
      ...{ ...route, method: 'patch', path: '/api/auth/me' },
      summary: 'Change your name',
      body: ChangeMe,
      data: Me,
      async run(call) {
        const person = requirePerson(call)
        const { name } = await parseBody(call, ChangeMe)
        const user = name === undefined ? person.user : userView(await own.rename(person.user.id, name))
        return jsonResponse(await me({ ...person, user }))
      },
    }),
    jsonOnly({
      ...{ ...route, method: 'delete', path: '/api/auth/me' },
      summary: 'Delete your account; organisations that nobody is left in go a week later',
      body: SecondFactorProof,
      status: 204,
      mayConflict: true,
      async run(call) {
        const { user } = requirePerson(call)
        const { password, totp } = await parseBody(call, SecondFactorProof)
        await prove(call, password)
        await own.remove(user.id, totp, sessionOrigin(call))
        return setSession(call, done(), undefined)
      },
    }),
    {
      ...{ ...route, method: 'post', path: '/api/auth/logout' },
      summary: 'End this session',
      status: 204,
      async run(call) {
        await sessions.end([requirePerson(call).session.id])
        return setSession(call, done(), undefined)
      },
    },
    jsonOnly({
      ...{ ...route, method: 'post', path: '/api/auth/change-password' },
      summary: 'Change your password; your other sessions end, and this one goes on under another cookie',
      body: ChangePassword,
      status: 204,
      async run(call) {
        const { user } = requirePerson(call)
        const { password, current_password: current } = await parseBody(call, ChangePassword)
        await prove(call, current)
        const token = await own.changePassword(user.id, password, sessionOrigin(call))
        post.sendLater(async () => accountMails.passwordChanged(user.email))
        return setSession(call, done(), token)
      },
    }),
    jsonOnly({
      ...{ ...route, method: 'post', path: '/api/auth/change-email' },
      summary: 'Change your address, once the link that is mailed to it is opened',
      body: ChangeEmail,
      data: MailSent,
      status: 202,
      async run(call) {
        const { user } = requirePerson(call)
        const { email, password } = await parseBody(call, ChangeEmail)
        await prove(call, password)
        limits.take('forgot', call.ip)
        post.sendLater(async () => {
          const token = await own.prepareEmail(user.id, email)
          if (token === undefined) return accountMails.emailTaken(email)
          return accountMails.newEmail(email, linkTo(call.request, '/confirm-email', token))
        })
        return jsonResponse({ sent: true }, undefined, 202)
      },
    }),
    {
      ...{ ...route, method: 'get', path: '/api/auth/sessions' },
      summary: 'Where you are signed in, the last used first',
      data: z.array(SessionView),
      meta: TotalMeta,
      async run(call) {
        const { user, session } = requirePerson(call)
        const mine = await sessions.list(user.id)
        return jsonResponse(
          mine.map((one) => sessionView(one, session.id)),
          { total: mine.length },
        )
      },
    },
    {
      ...{ ...route, method: 'delete', path: '/api/auth/sessions' },
      summary: 'End all your other sessions',
      status: 204,
      async run(call) {
        const { user, session } = requirePerson(call)
        await sessions.end((await sessions.list(user.id)).map(({ id }) => id).filter((id) => id !== session.id))
        return done()
      },
    },
    {
      ...{ ...route, method: 'delete', path: '/api/auth/sessions/{id}' },
      summary: 'End one of your sessions',
      status: 204,
      async run(call) {
        const { user, session } = requirePerson(call)
        const id = pathId(call)
        if (!(await sessions.list(user.id)).some((one) => one.id === id))
          throw new ApiError('not_found', 'There is no such session.')
        await sessions.end([id])
        return id === session.id ? setSession(call, done(), undefined) : done()
      },
    },
  ]
}
