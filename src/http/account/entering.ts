import type { People } from '../../manage/people.js'
import { sessionCookie } from '../cookie.js'
import { answer, bodyOf, type Call, type Route } from '../route.js'
import type { Entrance } from './entrance.js'
import { jsonOnly } from './json.js'
import type { MeOf } from './me.js'
import { Address, ByLink, Confirm, Forgot, Login, Me, Register, Reset, Sent } from './shapes.js'

/** An answer that begins a session. */
export function withSession(call: Pick<Call, 'request'>, response: Response, token: string | undefined): Response {
  response.headers.append('set-cookie', sessionCookie(call.request, token))
  return response
}

/** What is open to whoever is not signed in yet (contract 7: account). */
export function enteringRoutes(deps: { entrance: Entrance; people: People; me: MeOf }): Route[] {
  const { entrance, people, me } = deps
  const entered = async (call: Call, token: string, status: 200 | 201 = 200): Promise<Response> =>
    withSession(call, answer(await me(await people.authenticate(token)), undefined, status), token)
  const route = { method: 'post', access: 'sign_in', tag: 'account' } as const
  return [
    jsonOnly({
      ...route,
      path: '/api/auth/login',
      summary: 'Sign in: sets the session cookie',
      body: Login,
      data: Me,
      run: async (call) => entered(call, await entrance.login(call, await bodyOf(call, Login))),
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/link',
      summary: 'Sign in by a link of `readership login-link`, which is good once and for 15 minutes',
      body: ByLink,
      data: Me,
      run: async (call) => entered(call, await entrance.link(call, await bodyOf(call, ByLink))),
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/register',
      summary: 'Make an account, the owner of a new organisation of its own',
      body: Register,
      data: Me,
      status: 201,
      failures: { 202: 'A mail was sent, and its link makes the account; the same for an address that has one.' },
      async run(call) {
        const token = await entrance.register(call, await bodyOf(call, Register))
        return token === undefined ? answer({ sent: true }, undefined, 202) : entered(call, token, 201)
      },
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/forgot-password',
      summary: 'Ask for a link to choose another password; the answer is the same whether there is an account or not',
      body: Forgot,
      data: Sent,
      status: 202,
      async run(call) {
        entrance.forgot(call, await bodyOf(call, Forgot))
        return answer({ sent: true }, undefined, 202)
      },
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/reset-password',
      summary: 'Choose another password by a mailed link; ends all sessions',
      body: Reset,
      status: 204,
      async run(call) {
        await entrance.reset(call, await bodyOf(call, Reset))
        return new Response(null, { status: 204 })
      },
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/confirm-email',
      summary: 'Confirm an address by a mailed link: of a registration, or of an account that changes it',
      body: Confirm,
      data: Address,
      run: async (call) => answer({ email: await entrance.confirm(call, await bodyOf(call, Confirm)) }),
    }),
  ]
}
