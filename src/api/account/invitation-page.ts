import { html } from 'hono/html'
import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import type { Invitations, ReceivedInvitation } from '../../manage/invitations.js'
import type { Orgs } from '../../manage/orgs.js'
import type { People, Person } from '../../manage/people.js'
import { renderError } from '../error-response.js'
import { type Call, type Route, routeMaker } from '../route.js'
import { isProvenSameOrigin, readSessionToken, sessionCookie } from '../session-cookie.js'
import { validate } from '../validation.js'
import {
  ChosenLanguage,
  FORM_RESPONSES,
  fieldsOf,
  type Html,
  htmlResponse,
  MailedToken,
  type Page,
  pageOf,
  problemText,
  readForm,
  redirectTo,
  renderPage,
  tokenField,
  withoutEmptyCode,
} from './html.js'
import type { AccountLimits } from './limits.js'
import { JoinByInvitation, Login } from './shapes.js'
import type { SignedOutActions } from './signed-out-actions.js'

const renderInvitationError = (page: Page, error: ApiError): Html =>
  renderPage(page, { title: page.texts.invitation.title, body: html``, problem: problemText(page, error) })

interface InvitationView {
  invitation: ReceivedInvitation
  /** The name of the organisation. */
  org: string
  token: string
  /** The address of the signed-in person. */
  signedInAs: string | undefined
  mayJoin: boolean
}

/** Renders the page of an invitation; it is the same whether the invited address has an account or not. */
function renderInvitation(page: Page, view: InvitationView, problem?: string) {
  const { invitation, org, token, signedInAs, mayJoin } = view
  const { email, role } = invitation
  const texts = page.texts.invitation
  const field = fieldsOf(page)
  const about = html`<p>${texts.to(org, texts.roles[role], email)}</p>`
  const actButton = (value: 'accept' | 'sign-in' | 'join', label: string) =>
    html`<button name="act" value="${value}">${label}</button>`
  const address = html`<label>${page.texts.email}<input type="email" autocomplete="username" value="${email}" readonly></label>`
  if (signedInAs === email)
    return renderPage(page, {
      ...{ title: texts.title, problem },
      body: html`${about}<form method="post">${tokenField(token)}${actButton('accept', texts.accept)}</form>`,
    })
  return renderPage(page, {
    ...{ title: texts.title, problem },
    body: html`${about}${signedInAs === undefined ? '' : html`<p>${texts.otherPerson(signedInAs)}</p>`}
<h2>${texts.withAccount}</h2><form method="post">${tokenField(token)}${address}${field.currentPassword}${field.code}
${actButton('sign-in', texts.signIn)}</form><h2>${texts.withoutAccount}</h2>${
      mayJoin
        ? html`<form method="post">${tokenField(token)}${address}${field.name}
${field.newPassword}${actButton('join', texts.join)}</form>`
        : html`<p>${texts.openMail(email)}</p>`
    }`,
  })
}

/** Returns the signed-in person, if the request has a session that lasts. */
async function findPerson(people: People, { request }: Call): Promise<Person | undefined> {
  const cookie = readSessionToken(request.headers.get('cookie'))
  if (cookie === undefined) return undefined
  return people.authenticate(cookie).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'unauthorized') return undefined
    throw error
  })
}

/**
 * The page that an invitation's link leads to; it needs no script, and opening it changes nothing. The invited person
 * accepts when signed in. Others sign in first or create their account, also where registration is closed.
 */
export function invitationPageRoutes(deps: {
  actions: SignedOutActions
  invitations: Pick<Invitations, 'find' | 'accept'>
  orgs: Pick<Orgs, 'get'>
  people: People
  limits: Pick<AccountLimits, 'take'>
}): Route[] {
  const { actions, invitations, orgs, people, limits } = deps
  const route = routeMaker('account')
  const contentType = 'text/html'

  const render = async (call: Call, token: string, problem?: string): Promise<Html> => {
    limits.take('look', call.ip)
    const invitation = await invitations.find(token, call.at)
    const org = (await orgs.get(invitation.org))?.name ?? ''
    const signedInAs = (await findPerson(people, call))?.user.email
    const view = { invitation, org, token, signedInAs, mayJoin: actions.mayJoin(invitation) }
    return renderInvitation(pageOf(call), view, problem)
  }
  const renderAgain = (call: Call, token: string, error: ApiError): Promise<Html> =>
    render(call, token, problemText(pageOf(call), error)).catch(() => renderInvitationError(pageOf(call), error))
  const accept = async (call: Call, token: string, { user }: Person) =>
    invitations.accept(token, user, { kind: 'user', name: user.email, ip: call.ip }, call.at)

  return [
    route('get', '/invitation', 'sign_in', {
      contentType,
      summary: 'Page: accept an invitation',
      query: z.object({ token: MailedToken, lang: ChosenLanguage }),
      async run(call) {
        try {
          return htmlResponse(await render(call, call.query.get('token') ?? ''))
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          return htmlResponse(renderInvitationError(pageOf(call), error), renderError(error, () => {}).status)
        }
      },
    }),
    route('post', '/invitation', 'sign_in', {
      contentType,
      summary: 'Form of the page: accept an invitation',
      otherResponses: FORM_RESPONSES,
      async run(call) {
        const { act, token = '', totp = '', ...fields } = await readForm(call)
        let cookie: string | undefined
        try {
          limits.take('look', call.ip)
          if (act === 'join') {
            const session = await actions.join(call, validate(JoinByInvitation, { token, ...fields }))
            return redirectTo('./', sessionCookie(call.request, session))
          }
          if (act === 'sign-in') {
            const { email } = await invitations.find(token, call.at)
            const session = await actions.login(call, validate(Login, withoutEmptyCode({ ...fields, email, totp })))
            cookie = sessionCookie(call.request, session)
            await accept(call, token, await people.authenticate(session))
            return redirectTo('./', cookie)
          }
          if (!isProvenSameOrigin(call.request))
            throw new ApiError('forbidden', 'Pages of another origin cannot do this on your behalf.')
          const person = await findPerson(people, call)
          if (!person) throw new ApiError('unauthorized', 'You are no longer signed in.')
          await accept(call, token, person)
          return redirectTo('./')
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          const { status } = renderError(error, () => {})
          const body = await renderAgain(call, token, error)
          return htmlResponse(body, status, cookie)
        }
      },
    }),
  ]
}
