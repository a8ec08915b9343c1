import type { People } from '../../manage/people.js'
import { type Call, jsonResponse, parseBody, type Route } from '../route.js'
import { sessionCookie } from '../session-cookie.js'
import { jsonOnly } from './json-only.js'
import type { DescribeMe } from './me.js'
import {
  ConfirmEmail,
  ConfirmedEmail,
  ForgotPassword,
  LinkSignIn,
  Login,
  MailSent,
  Me,
  Register,
  ResetPassword,
} from './shapes.js'
import type { SignedOutActions } from './signed-out-actions.js'

/** An answer that begins a session. */
export function setSession(call: Pick<Call, 'request'>, response: Response, token: string | undefined): Response {
  response.headers.append('set-cookie', sessionCookie(call.request, token))
  return response
}

/** What is open to whoever is not signed in yet (contract 7: account). */
export function signedOutRoutes(deps: { entrance: SignedOutActions; people: People; me: DescribeMe }): Route[] {
  const { entrance, people, me } = deps
  const entered = async (call: Call, token: string, status: 200 | 201 = 200): Promise<Response> =>
    setSession(call, jsonResponse(await me(await people.authenticate(token)), undefined, status), token)
  const route = { method: 'post', access: 'sign_in', tag: 'account' } as const
  return [
    jsonOnly({
      ...route,
      path: '/api/auth/login',
      summary: 'Sign in: sets the session cookie',
      body: Login,
      data: Me,
      run: async (call) => entered(call, await entrance.login(call, await parseBody(call, Login))),
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/link',
      summary: 'Sign in by a link of `readership login-link`, which is good once and for 15 minutes',
      body: LinkSignIn,
      data: Me,
      run: async (call) => entered(call, await entrance.link(call, await parseBody(call, LinkSignIn))),
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/register',
      summary: 'Make an account, the owner of a new organisation of its own',
      body: Register,
      data: Me,
      status: 201,
      otherResponses: { 202: 'A mail was sent, and its link makes the account; the same for an address that has one.' },
      async run(call) {
        const token = await entrance.register(call, await parseBody(call, Register))
        return token === undefined ? jsonResponse({ sent: true }, undefined, 202) : entered(call, token, 201)
      },
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/forgot-password',
      summary: 'Ask for a link to choose another password; the answer is the same whether there is an account or not',
      body: ForgotPassword,
      data: MailSent,
      status: 202,
      async run(call) {
        entrance.forgot(call, await parseBody(call, ForgotPassword))
        return jsonResponse({ sent: true }, undefined, 202)
      },
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/reset-password',
      summary: 'Choose another password by a mailed link; ends all sessions',
      body: ResetPassword,
      status: 204,
      async run(call) {
        await entrance.reset(call, await parseBody(call, ResetPassword))
        return new Response(null, { status: 204 })
      },
    }),
    jsonOnly({
      ...route,
      path: '/api/auth/confirm-email',
      summary: 'Confirm an address by a mailed link: of a registration, or of an account that changes it',
      body: ConfirmEmail,
      data: ConfirmedEmail,
      run: async (call) => jsonResponse({ email: await entrance.confirm(call, await parseBody(call, ConfirmEmail)) }),
    }),
  ]
}
