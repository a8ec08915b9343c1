import { z } from 'zod'
import { ApiError } from '../../errors.js'
import type { Accounts } from '../../manage/accounts/accounts.js'
import type { Sessions } from '../../manage/sessions.js'
import { shownUser } from '../../manage/users.js'
import { answer, bodyOf, idOf, type Route, Total } from '../route.js'
import type { LinkTo } from './address.js'
import { withSession } from './entering.js'
import { fromOf } from './entrance.js'
import { jsonOnly } from './json.js'
import { letters } from './letters.js'
import type { AccountLimits } from './limits.js'
import { type MeOf, personOf } from './me.js'
import type { Post } from './post.js'
import type { Prove } from './prove.js'
import { ChangeEmail, ChangeMe, ChangePassword, Me, Proof, Sent, SessionShown, shownSession } from './shapes.js'

const done = () => new Response(null, { status: 204 })

/** What somebody who is signed in does about their own account and sessions. */
export function ownRoutes(deps: {
  accounts: Accounts
  sessions: Pick<Sessions, 'list' | 'end'>
  me: MeOf
  post: Post
  linkTo: LinkTo
  prove: Prove
  limits: Pick<AccountLimits, 'take'>
}): Route[] {
  const { sessions, me, post, linkTo, prove, limits } = deps
  const { own } = deps.accounts
  const route = { access: 'person', tag: 'account' } as const
  return [
    {
      ...{ ...route, method: 'get', path: '/api/auth/me' },
      summary: 'Who is signed in, in which organisations and as what',
      data: Me,
      run: async (call) => answer(await me(personOf(call))),
    },
    jsonOnly({
      ...{ ...route, method: 'patch', path: '/api/auth/me' },
      summary: 'Change your name',
      body: ChangeMe,
      data: Me,
      async run(call) {
        const person = personOf(call)
        const { name } = await bodyOf(call, ChangeMe)
        const user = name === undefined ? person.user : shownUser(await own.rename(person.user.id, name))
        return answer(await me({ ...person, user }))
      },
    }),
    jsonOnly({
      ...{ ...route, method: 'delete', path: '/api/auth/me' },
      summary: 'Delete your account; organisations that nobody is left in go a week later',
      body: Proof,
      status: 204,
      conflicts: true,
      async run(call) {
        const { user } = personOf(call)
        const { password, totp } = await bodyOf(call, Proof)
        await prove(call, password)
        await own.remove(user.id, totp, fromOf(call))
        return withSession(call, done(), undefined)
      },
    }),
    {
      ...{ ...route, method: 'post', path: '/api/auth/logout' },
      summary: 'End this session',
      status: 204,
      async run(call) {
        await sessions.end([personOf(call).session.id])
        return withSession(call, done(), undefined)
      },
    },
    jsonOnly({
      ...{ ...route, method: 'post', path: '/api/auth/change-password' },
      summary: 'Change your password; your other sessions end, and this one goes on under another cookie',
      body: ChangePassword,
      status: 204,
      async run(call) {
        const { user } = personOf(call)
        const { password, current_password: current } = await bodyOf(call, ChangePassword)
        await prove(call, current)
        const token = await own.changePassword(user.id, password, fromOf(call))
        post.behind(async () => letters.passwordChanged(user.email))
        return withSession(call, done(), token)
      },
    }),
    jsonOnly({
      ...{ ...route, method: 'post', path: '/api/auth/change-email' },
      summary: 'Change your address, once the link that is mailed to it is opened',
      body: ChangeEmail,
      data: Sent,
      status: 202,
      async run(call) {
        const { user } = personOf(call)
        const { email, password } = await bodyOf(call, ChangeEmail)
        await prove(call, password)
        limits.take('forgot', call.ip)
        post.behind(async () => {
          const token = await own.prepareEmail(user.id, email)
          if (token === undefined) return letters.emailTaken(email)
          return letters.newEmail(email, linkTo(call.request, '/confirm-email', token))
        })
        return answer({ sent: true }, undefined, 202)
      },
    }),
    {
      ...{ ...route, method: 'get', path: '/api/auth/sessions' },
      summary: 'Where you are signed in, the last used first',
      data: z.array(SessionShown),
      meta: Total,
      async run(call) {
        const { user, session } = personOf(call)
        const mine = await sessions.list(user.id)
        return answer(
          mine.map((one) => shownSession(one, session.id)),
          { total: mine.length },
        )
      },
    },
    {
      ...{ ...route, method: 'delete', path: '/api/auth/sessions' },
      summary: 'End all your other sessions',
      status: 204,
      async run(call) {
        const { user, session } = personOf(call)
        await sessions.end((await sessions.list(user.id)).map(({ id }) => id).filter((id) => id !== session.id))
        return done()
      },
    },
    {
      ...{ ...route, method: 'delete', path: '/api/auth/sessions/{id}' },
      summary: 'End one of your sessions',
      status: 204,
      async run(call) {
        const { user, session } = personOf(call)
        const id = idOf(call)
        if (!(await sessions.list(user.id)).some((one) => one.id === id))
          throw new ApiError('not_found', 'There is no such session.')
        await sessions.end([id])
        return id === session.id ? withSession(call, done(), undefined) : done()
      },
    },
  ]
}
