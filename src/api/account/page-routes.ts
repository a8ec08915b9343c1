import { html } from 'hono/html'
import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import { renderError } from '../error-response.js'
import { type Call, type Route, routeMaker } from '../route.js'
import { sessionCookie } from '../session-cookie.js'
import { validate } from '../validation.js'
import {
  ChosenLanguage,
  FORM_RESPONSES,
  fieldsOf,
  type Html,
  htmlResponse,
  linkTo,
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
import { ConfirmEmail, ForgotPassword, LinkSignIn, Login, Register, ResetPassword } from './shapes.js'
import type { SignedOutActions } from './signed-out-actions.js'

type Fields = Readonly<Record<string, string>>

const PageQuery = z.object({ lang: ChosenLanguage })
const MailedLinkQuery = PageQuery.extend({ token: MailedToken })
const SignInQuery = MailedLinkQuery.extend({
  next: z
    .string()
    .optional()
    .describe(
      "The dashboard's address to open after signing in, relative to the service: `sites/1/pages?range=7d`. Anything else leads to the dashboard's start.",
    )
    .meta({ example: 'sites/1/pages?range=7d' }),
})

/** Renders a page with its form, and with the problem of the last attempt. */
type RenderForm = (page: Page, fields: Fields, problem?: string) => Html

interface PageConditions {
  /** Whether registration is open. */
  readonly mayRegister: () => boolean
  /** Whether a mail server is set. */
  readonly canSend: boolean
}

/** Tells owners how they get in without a password, and others what an account of their own opens. */
const signInHelp = (page: Page, mayRegister: boolean): Html => {
  const { own, invited, newOrganisation } = page.texts.signIn
  return html`<h2>${own.title}</h2><p class="aside">${own.text}</p><p>${own.again}</p><code>npx readership login-link</code>
<h2>${invited.title}</h2><p class="aside">${invited.text}${
    mayRegister ? html` <a href="${linkTo(page, 'register')}">${newOrganisation.link}</a>${newOrganisation.text}` : ''
  }</p>`
}

const signInForm =
  ({ mayRegister }: PageConditions): RenderForm =>
  (page, { email, token }, problem) => {
    const { title, action, forgot, byLink } = page.texts.signIn
    const field = fieldsOf(page)
    if (token !== undefined && problem === undefined)
      return renderPage(page, {
        title,
        body: html`<p>${byLink}</p><form method="post">${tokenField(token)}<button>${action}</button></form>`,
      })
    return renderPage(page, {
      ...{ title, problem, beside: signInHelp(page, mayRegister()) },
      body: html`<form method="post">${field.email(email)}${field.currentPassword}${field.code}
<button>${action}</button><a href="${linkTo(page, 'reset-password')}">${forgot}</a></form>`,
    })
  }

const registrationForm =
  ({ mayRegister }: PageConditions): RenderForm =>
  (page, { name, email, organisation }, problem) => {
    const { texts } = page
    const { register } = texts
    const field = fieldsOf(page)
    const signIn = html`<p class="aside">${register.hasAccount} <a href="${linkTo(page, 'sign-in')}">${texts.signIn.action}</a></p>`
    return renderPage(page, {
      ...{ title: register.title, problem },
      body: mayRegister()
        ? html`<p>${register.warning}</p><form method="post"><label>${texts.name}<input name="name" autocomplete="name" value="${name ?? ''}" required></label>
<label>${register.organisation}<input name="organisation" value="${organisation ?? ''}" required></label>
${field.email(email)}${field.newPassword}<button>${register.action}</button></form>${signIn}`
        : html`<p>${register.closed}</p>${signIn}`,
    })
  }

/** The command that prints a reset link on the server. */
const resetCommand = html`<code>readership users reset-password name@example.com</code>`

const resetForm =
  ({ canSend }: PageConditions): RenderForm =>
  (page, { email, token }, problem) => {
    const { title, action, save, noMail } = page.texts.reset
    const field = fieldsOf(page)
    return renderPage(page, {
      ...{ title, problem },
      body:
        token === undefined
          ? html`${canSend ? '' : html`<p>${noMail}</p>${resetCommand}`}<form method="post">${field.email(email)}<button>${action}</button></form>`
          : html`<form method="post">${tokenField(token)}${field.newPassword}<button>${save}</button></form>`,
    })
  }

const renderConfirmEmail: RenderForm = (page, { token }, problem) =>
  renderPage(page, {
    ...{ title: page.texts.confirm.title, problem },
    body: html`<form method="post">${tokenField(token)}<button>${page.texts.confirm.action}</button></form>`,
  })

const renderRegistrationSent = (page: Page): Html =>
  renderPage(page, { title: page.texts.inbox.title, body: html`<p>${page.texts.inbox.registration}</p>` })

/** Says that a mail is on its way, or without a mail server how the operator prints the link. */
function renderResetSent(page: Page, { canSend }: PageConditions): Html {
  const { inbox, reset } = page.texts
  return canSend
    ? renderPage(page, { title: inbox.title, body: html`<p>${inbox.reset}</p>` })
    : renderPage(page, { title: reset.notSent.title, body: html`<p>${reset.notSent.text}</p>${resetCommand}` })
}

/**
 * The pages that mailed links lead to; they need no script. Opening a link changes nothing, so that mail scanners that
 * open links do no harm: only the page's button acts.
 */
export function pageRoutes(actions: SignedOutActions, conditions: PageConditions): Route[] {
  // The form is sent to the page's own address, which keeps `next` while the person tries again.
  const startSession = async (call: Call, session: Promise<string>) =>
    redirectTo(returnAddress(call.query.get('next')), sessionCookie(call.request, await session))
  return [
    ...formRoutes('/sign-in', {
      purpose: 'sign in, or follow a sign-in link',
      query: SignInQuery,
      render: signInForm(conditions),
      submit: (call, fields) =>
        startSession(
          call,
          fields.token === undefined
            ? actions.login(call, validate(Login, withoutEmptyCode(fields)))
            : actions.link(call, validate(LinkSignIn, fields)),
        ),
    }),
    ...formRoutes('/register', {
      purpose: 'create an account',
      query: PageQuery,
      render: registrationForm(conditions),
      async submit(call, fields) {
        const token = await actions.register(call, validate(Register, fields))
        return token === undefined
          ? htmlResponse(renderRegistrationSent(pageOf(call)))
          : redirectTo('./', sessionCookie(call.request, token))
      },
    }),
    ...formRoutes('/reset-password', {
      purpose: 'reset a password',
      query: MailedLinkQuery,
      render: resetForm(conditions),
      async submit(call, fields) {
        if (fields.token === undefined) {
          actions.forgot(call, validate(ForgotPassword, fields))
          return htmlResponse(renderResetSent(pageOf(call), conditions))
        }
        await actions.reset(call, validate(ResetPassword, fields))
        return redirectTo(linkTo(pageOf(call), 'sign-in'))
      },
    }),
    ...formRoutes('/confirm-email', {
      purpose: 'confirm an e-mail address',
      query: MailedLinkQuery,
      render: renderConfirmEmail,
      async submit(call, fields) {
        await actions.confirm(call, validate(ConfirmEmail, fields))
        return redirectTo(linkTo(pageOf(call), 'sign-in'))
      },
    }),
  ]
}

interface FormPage {
  readonly purpose: string
  readonly query: z.ZodObject
  readonly render: RenderForm
  submit(call: Call, fields: Fields): Promise<Response>
}

/** The route of a page and the route of its form, which shows the page again with the problem after an error. */
function formRoutes(path: string, { purpose, query, render, submit }: FormPage): Route[] {
  const route = routeMaker('account')
  const contentType = 'text/html'
  return [
    route('get', path, 'sign_in', {
      contentType,
      summary: `Page: ${purpose}`,
      query,
      run: async (call) => htmlResponse(render(pageOf(call), Object.fromEntries(call.query))),
    }),
    route('post', path, 'sign_in', {
      contentType,
      summary: `Form of the page: ${purpose}`,
      query,
      otherResponses: FORM_RESPONSES,
      async run(call) {
        const fields = await readForm(call)
        try {
          return await submit(call, fields)
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          const { status } = renderError(error, () => {})
          const page = pageOf(call)
          return htmlResponse(render(page, fields, problemText(page, error)), status)
        }
      },
    }),
  ]
}

const MAX_LENGTH = 4_000
/** Addresses of the dashboard, relative to the service: printable ASCII, as browsers write an address. */
const APP_ADDRESS = /^(?:sites|settings|account|share)(?:[/?][!-~]*)?$/
/** A backslash is a slash to browsers, and dots would lead out of the dashboard. */
const LEADS_ELSEWHERE = /\\|(?:^|\/)(?:\.|%2e){1,2}(?:[/?]|$)/i

/**
 * Returns the address to open after signing in: `next` if it is an address of the dashboard, relative to the service's
 * root and without a leading slash, and the root otherwise: the author of the link chose `next`.
 */
const returnAddress = (next: string | null): `./${string}` =>
  next !== null && next.length <= MAX_LENGTH && APP_ADDRESS.test(next) && !LEADS_ELSEWHERE.test(next)
    ? `./${next}`
    : './'
