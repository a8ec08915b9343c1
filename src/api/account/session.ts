import type { z } from 'zod'
import type { SignIn } from '../../manage/accounts/sign-in.js'
import type { SignInClient } from '../../manage/login-sessions.js'
import type { Orgs } from '../../manage/orgs.js'
import type { Person } from '../../manage/people.js'
import type { Sites } from '../../manage/sites.js'
import { requirePerson } from '../org-access.js'
import type { Call } from '../route.js'
import { readSessionToken, sessionCookie } from '../session-cookie.js'
import type { AccountLimits } from './limits.js'
import { type Me, sessionView } from './shapes.js'

/** Sets the session cookie on a response, 204 if none is given; without a token the response removes the cookie. */
export function setSession(
  call: Pick<Call, 'request'>,
  token: string | undefined,
  response = new Response(null, { status: 204 }),
): Response {
  response.headers.append('set-cookie', sessionCookie(call.request, token))
  return response
}

/** The client of a request, as its session records it: user agent, address and the session before. */
export const sessionOrigin = ({ request, ip }: Pick<Call, 'request' | 'ip'>): SignInClient => {
  const token = readSessionToken(request.headers.get('cookie'))
  return { agent: request.headers.get('user-agent'), ip, ...(token === undefined ? {} : { token }) }
}

/** Describes a signed-in person to themselves: account, organisations, sites, session. */
export type DescribeMe = (person: Person) => Promise<z.input<typeof Me>>

export const createDescribeMe =
  (orgs: Pick<Orgs, 'list'>, sites: Pick<Sites, 'list'>, mail_server: boolean): DescribeMe =>
  async ({ user, session, roles, locked }) => ({
    user,
    organisations: (await orgs.list()).flatMap(({ id, name }) => {
      const role = roles.get(id)
      return role === undefined ? [] : [{ id, name, role, locked: locked.has(id) }]
    }),
    sites: (await sites.list())
      .filter(({ org }) => roles.has(org) && !locked.has(org))
      .map(({ id, org, name, domains, timezone, currency }) => ({ id, org, name, domains, timezone, currency })),
    session: sessionView(session, session.id),
    mail_server,
  })

/** Checks that the person at the browser knows the password, and did not just find the browser signed in. */
export type CheckPassword = (call: Call, password: string | undefined) => Promise<void>

/** Each check counts as a sign-in attempt. */
export const createCheckPassword =
  (signIn: Pick<SignIn, 'checkPassword'>, limits: Pick<AccountLimits, 'take'>): CheckPassword =>
  async (call, password) => {
    limits.take('login', call.ip)
    await signIn.checkPassword(requirePerson(call).user.id, password)
  }
