import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import type { Accounts } from '../../manage/accounts/accounts.js'
import type { LoginSessions } from '../../manage/login-sessions.js'
import { userView } from '../../manage/users.js'
import { requirePerson } from '../org-access.js'
import { parseBody, pathId, type Route, routeMaker, TotalMeta } from '../route.js'
import { jsonOnly } from './json-only.js'
import type { AccountLimits } from './limits.js'
import { accountMails } from './mail-texts.js'
import type { AccountMailer, LinkBuilder } from './mailer.js'
import { languageOf } from './page-language.js'
import { type CheckPassword, type DescribeMe, sessionOrigin, setSession } from './session.js'
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

interface ProfileDeps {
  accounts: Pick<Accounts, 'profile'>
  sessions: Pick<LoginSessions, 'list' | 'end'>
  me: DescribeMe
  post: AccountMailer
  linkTo: LinkBuilder
  checkPassword: CheckPassword
  limits: Pick<AccountLimits, 'take'>
}

/** The routes of signed-in people about their own account and sessions. */
export const profileRoutes = (deps: ProfileDeps): Route[] => [...profileEntries(deps), ...sessionEntries(deps)]

const route = routeMaker('account')

function profileEntries({ accounts: { profile }, me, post, linkTo, checkPassword, limits }: ProfileDeps): Route[] {
  const jsonRoutes = [
    route('patch', '/api/auth/me', 'person', {
      summary: 'Change your name',
      body: ChangeMe,
      data: Me,
      async run(call) {
        const person = requirePerson(call)
        const { name } = await parseBody(call, ChangeMe)
        const user = name === undefined ? person.user : userView(await profile.rename(person.user.id, name))
        return me({ ...person, user })
      },
    }),
    route('delete', '/api/auth/me', 'person', {
      summary: 'Delete your account; organisations without other members are deleted after seven days',
      body: SecondFactorProof,
      status: 204,
      mayConflict: true,
      async run(call) {
        const { user } = requirePerson(call)
        const { password, totp } = await parseBody(call, SecondFactorProof)
        await checkPassword(call, password)
        await profile.remove(user.id, totp, sessionOrigin(call))
        return setSession(call, undefined)
      },
    }),
    route('post', '/api/auth/change-password', 'person', {
      summary: 'Change your password; signs out your other sessions and gives this one a new cookie',
      body: ChangePassword,
      status: 204,
      async run(call) {
        const { user } = requirePerson(call)
        const { password, current_password } = await parseBody(call, ChangePassword)
        await checkPassword(call, current_password)
        const token = await profile.changePassword(user.id, password, sessionOrigin(call))
        post.sendLater(async () => accountMails(languageOf(call.request)).passwordChanged(user.email))
        return setSession(call, token)
      },
    }),
    route('post', '/api/auth/change-email', 'person', {
      summary: 'Change your e-mail address; takes effect when the link mailed to it is opened',
      body: ChangeEmail,
      data: MailSent,
      status: 202,
      async run(call) {
        const { user } = requirePerson(call)
        const { email, password } = await parseBody(call, ChangeEmail)
        await checkPassword(call, password)
        limits.take('forgot', call.ip)
        post.sendLater(async () => {
          const token = await profile.prepareEmail(user.id, email)
          if (token === undefined) return accountMails(languageOf(call.request)).emailTaken(email)
          return accountMails(languageOf(call.request)).newEmail(email, linkTo(call.request, '/confirm-email', token))
        })
        return { sent: true, mail_server: post.canSend }
      },
    }),
  ]
  return [
    route('get', '/api/auth/me', 'person', {
      summary: "Get the signed-in person's account, organisations with roles, and sites",
      data: Me,
      run: async (call) => me(requirePerson(call)),
    }),
    ...jsonRoutes.map(jsonOnly),
  ]
}

function sessionEntries({ sessions }: ProfileDeps): Route[] {
  return [
    route('post', '/api/auth/logout', 'person', {
      summary: 'Sign out of this session',
      status: 204,
      async run(call) {
        await sessions.end([requirePerson(call).session.id])
        return setSession(call, undefined)
      },
    }),
    route('get', '/api/auth/sessions', 'person', {
      summary: 'List your sessions, last used first',
      data: z.array(SessionView),
      meta: TotalMeta,
      async run(call) {
        const { user, session } = requirePerson(call)
        return (await sessions.list(user.id)).map((each) => sessionView(each, session.id))
      },
    }),
    route('delete', '/api/auth/sessions', 'person', {
      summary: 'Sign out all your other sessions',
      status: 204,
      async run(call) {
        const { user, session } = requirePerson(call)
        await sessions.end((await sessions.list(user.id)).map(({ id }) => id).filter((id) => id !== session.id))
      },
    }),
    route('delete', '/api/auth/sessions/{id}', 'person', {
      summary: 'Sign out one of your sessions',
      status: 204,
      async run(call) {
        const { user, session } = requirePerson(call)
        const id = pathId(call)
        if (!(await sessions.list(user.id)).some((each) => each.id === id))
          throw new ApiError('not_found', 'There is no such session.')
        await sessions.end([id])
        return id === session.id ? setSession(call, undefined) : undefined
      },
    }),
  ]
}
