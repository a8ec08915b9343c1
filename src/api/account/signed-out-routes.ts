import type { People } from '../../manage/people.js'
import { type Call, jsonResponse, parseBody, type Route, routeMaker } from '../route.js'
import { jsonOnly } from './json-only.js'
import { type DescribeMe, setSession } from './session.js'
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

/** The account routes that need no session. */
export function signedOutRoutes(deps: {
  actions: SignedOutActions
  people: People
  me: DescribeMe
  /** Whether a mail server is set. */
  canSend: boolean
}): Route[] {
  const { actions, people, me, canSend } = deps
  const route = routeMaker('account')
  const startSession = async (call: Call, token: string, status: 200 | 201 = 200): Promise<Response> =>
    setSession(call, token, jsonResponse(await me(await people.authenticate(token)), undefined, status))
  return [
    route('post', '/api/auth/login', 'sign_in', {
      summary: 'Sign in: sets the session cookie',
      body: Login,
      data: Me,
      run: async (call) => startSession(call, await actions.login(call, await parseBody(call, Login))),
    }),
    route('post', '/api/auth/link', 'sign_in', {
      summary: 'Sign in with a link from `readership login-link`, which works once within 15 minutes',
      body: LinkSignIn,
      data: Me,
      run: async (call) => startSession(call, await actions.link(call, await parseBody(call, LinkSignIn))),
    }),
    route('post', '/api/auth/register', 'sign_in', {
      summary: 'Create an account and a new organisation that it owns',
      body: Register,
      data: Me,
      status: 201,
      otherResponses: {
        202: 'A mail was sent; its link creates the account. The same for an address that has an account.',
      },
      async run(call) {
        const token = await actions.register(call, await parseBody(call, Register))
        return token === undefined
          ? jsonResponse({ sent: true, mail_server: canSend }, undefined, 202)
          : startSession(call, token, 201)
      },
    }),
    route('post', '/api/auth/forgot-password', 'sign_in', {
      summary: 'Request a password reset link; the response is the same whether the account exists or not',
      body: ForgotPassword,
      data: MailSent,
      status: 202,
      async run(call) {
        actions.forgot(call, await parseBody(call, ForgotPassword))
        return { sent: true, mail_server: canSend }
      },
    }),
    route('post', '/api/auth/reset-password', 'sign_in', {
      summary: 'Set a new password with a mailed link; signs out all sessions',
      body: ResetPassword,
      status: 204,
      run: async (call) => actions.reset(call, await parseBody(call, ResetPassword)),
    }),
    route('post', '/api/auth/confirm-email', 'sign_in', {
      summary: 'Confirm an e-mail address with a mailed link: of a registration, or of an account that changes it',
      body: ConfirmEmail,
      data: ConfirmedEmail,
      run: async (call) => ({ email: await actions.confirm(call, await parseBody(call, ConfirmEmail)) }),
    }),
  ].map(jsonOnly)
}
