import { html } from 'hono/html'
import { ApiError } from '../../errors.js'
import type { Invitations, ReceivedInvitation } from '../../manage/invitations.js'
import type { Orgs } from '../../manage/orgs.js'
import type { People, Person } from '../../manage/people.js'
import { renderError, validate } from '../error-response.js'
import type { Call, Route } from '../route.js'
import { isProvenSameOrigin } from '../same-origin.js'
import { readSessionToken, sessionCookie } from '../session-cookie.js'
import { type Html, htmlResponse, passwordField, readForm, redirectTo, renderPage, tokenField } from './html.js'
import type { AccountLimits } from './limits.js'
import { JoinByInvitation, Login } from './shapes.js'
import type { SignedOutActions } from './signed-out-actions.js'

const renderInvitationError = (why: string): Html => renderPage('Invitation', html``, why)

/** What whoever holds the link is asked; the same whether the address has an account or not. */
function renderInvitation(
  given: { held: ReceivedInvitation; org: string; word: string; me: string | undefined; mayJoin: boolean },
  why?: string,
) {
  const { held, org, word, me, mayJoin } = given
  const about = html`<p>To the organisation <b>${org}</b>, as ${held.role}, for ${held.email}.</p>`
  const act = (value: 'accept' | 'sign-in' | 'join', says: string) =>
    html`<button name="act" value="${value}">${says}</button>`
  const whose = html`<label>E-mail<input type="email" autocomplete="username" value="${held.email}" readonly></label>`
  if (me === held.email)
    return renderPage(
      'Invitation',
      html`${about}<form method="post">${tokenField(word)}${act('accept', 'Accept')}</form>`,
      why,
    )
  return renderPage(
    'Invitation',
    html`${about}${me === undefined ? '' : html`<p>You are signed in as ${me}: go on as who is invited.</p>`}
<h2>With your account</h2><form method="post">${tokenField(word)}${whose}${passwordField('Password', 'current-password')}
<label>Code, where your account asks for one<input name="totp" autocomplete="one-time-code"></label>
${act('sign-in', 'Sign in and accept')}</form><h2>Without an account</h2>${
      mayJoin
        ? html`<form method="post">${tokenField(word)}${whose}<label>Name<input name="name" autocomplete="name" required></label>
${passwordField('New password, at least 10 characters', 'new-password')}${act('join', 'Make an account and accept')}</form>`
        : html`<p>Open the link in the mail that went to ${held.email}: it shows that the address is yours.</p>`
    }`,
    why,
  )
}

/**
 * Where the link of an invitation leads, without a script: to open it changes nothing. Who is signed in as who is invited
 * accepts; anybody else signs in first, or makes their account, also where nobody registers: the invitation is the door.
 */
export function invitationPageRoutes(deps: {
  entrance: SignedOutActions
  invitations: Pick<Invitations, 'find' | 'accept'>
  orgs: Pick<Orgs, 'get'>
  people: People
  limits: Pick<AccountLimits, 'take'>
}): Route[] {
  const { entrance, invitations, orgs, people, limits } = deps
  const route = { access: 'sign_in', tag: 'account', type: 'text/html', path: '/invitation' } as const

  const signedIn = async ({ request }: Call): Promise<Person | undefined> => {
    const cookie = readSessionToken(request.headers.get('cookie'))
    if (cookie === undefined) return undefined
    return people.authenticate(cookie).catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 'unauthorized') return undefined
      throw error
    })
  }
  const shown = async (call: Call, word: string, why?: string): Promise<Html> => {
    limits.take('look', call.ip)
    const held = await invitations.find(word, call.at)
    const org = (await orgs.get(held.org))?.name ?? ''
    const me = (await signedIn(call))?.user.email
    return renderInvitation({ held, org, word, me, mayJoin: entrance.mayJoin(held) }, why)
  }
  const accept = async (call: Call, word: string, { user }: Person) =>
    invitations.accept(word, user, { kind: 'user', name: user.email, ip: call.ip }, call.at)

  return [
    {
      ...{ ...route, method: 'get' },
      summary: 'Page: accept an invitation',
      async run(call) {
        try {
          return htmlResponse(await shown(call, call.query.get('token') ?? ''))
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          return htmlResponse(renderInvitationError(error.message), renderError(error, () => {}).status)
        }
      },
    },
    {
      ...{ ...route, method: 'post' },
      summary: "What the page's form sends: accept an invitation",
      otherResponses: { 303: 'Done: it goes on at another page.' },
      async run(call) {
        const { act, token: word = '', totp = '', ...given } = await readForm(call)
        let cookie: string | undefined
        try {
          limits.take('look', call.ip)
          if (act === 'join') {
            const session = await entrance.join(call, validate(JoinByInvitation, { token: word, ...given }))
            return redirectTo('./', sessionCookie(call.request, session))
          }
          if (act === 'sign-in') {
            const { email } = await invitations.find(word, call.at)
            const login = validate(Login, { ...given, email, ...(totp === '' ? {} : { totp }) })
            const session = await entrance.login(call, login)
            cookie = sessionCookie(call.request, session)
            await accept(call, word, await people.authenticate(session))
            return redirectTo('./', cookie)
          }
          if (!isProvenSameOrigin(call.request))
            throw new ApiError('forbidden', 'A page of another origin cannot do this in your name.')
          const person = await signedIn(call)
          if (!person) throw new ApiError('unauthorized', 'You are not signed in any more.')
          await accept(call, word, person)
          return redirectTo('./')
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          const { status } = renderError(error, () => {})
          return htmlResponse(
            await shown(call, word, error.message).catch(() => renderInvitationError(error.message)),
            status,
            cookie,
          )
        }
      },
    },
  ]
}
