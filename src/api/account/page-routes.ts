import { html } from 'hono/html'
import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import { renderError } from '../error-response.js'
import { type Call, type Route, routeMaker } from '../route.js'
import { sessionCookie } from '../session-cookie.js'
import { validate } from '../validation.js'
import {
  codeField,
  currentPasswordField,
  emailField,
  FORM_RESPONSES,
  type Html,
  htmlResponse,
  MailedToken,
  newPasswordField,
  readForm,
  redirectTo,
  renderPage,
  tokenField,
  withoutEmptyCode,
} from './html.js'
import { ConfirmEmail, ForgotPassword, LinkSignIn, Login, Register, ResetPassword } from './shapes.js'
import type { SignedOutActions } from './signed-out-actions.js'

type Fields = Readonly<Record<string, string>>

const MailedLinkQuery = z.object({ token: MailedToken })
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
type RenderForm = (fields: Fields, problem?: string) => Html

const signInForm =
  (mayRegister: () => boolean): RenderForm =>
  ({ email, token }, problem) =>
    renderPage(
      'Sign in',
      token === undefined
        ? html`<form method="post">${emailField(email)}${currentPasswordField}${codeField}
<button>Sign in</button></form><p class="aside"><a href="reset-password">Reset password</a>${
            mayRegister() ? html` · <a href="register">Create an account</a>` : ''
          }</p>`
        : html`<p>The button signs you in on this device.</p><form method="post">${tokenField(token)}<button>Sign in</button></form>`,
      problem,
    )

const registrationForm =
  (mayRegister: () => boolean): RenderForm =>
  ({ name, email, organisation }, problem) =>
    renderPage(
      'Create an account',
      mayRegister()
        ? html`<form method="post"><label>Name<input name="name" autocomplete="name" value="${name ?? ''}" required></label>
<label>Organisation<input name="organisation" value="${organisation ?? ''}" required></label>
${emailField(email)}${newPasswordField}<button>Create account</button></form>
<p class="aside"><a href="sign-in">Sign in</a> if you have an account.</p>`
        : html`<p>Registration is closed: ask for an invitation. <a href="sign-in">Sign in</a> if you have an account.</p>`,
      problem,
    )

const renderResetPassword: RenderForm = ({ email, token }, problem) =>
  renderPage(
    'Reset password',
    token === undefined
      ? html`<form method="post">${emailField(email)}<button>Send me a link</button></form>`
      : html`<form method="post">${tokenField(token)}${newPasswordField}<button>Save password</button></form>`,
    problem,
  )

const renderConfirmEmail: RenderForm = ({ token }, problem) =>
  renderPage(
    'Confirm your e-mail address',
    html`<form method="post">${tokenField(token)}<button>Confirm</button></form>`,
    problem,
  )

const REGISTRATION_PAGE = renderPage(
  'Check your inbox',
  html`<p>A link that completes the registration is on its way.</p>`,
)
const MAIL_SENT_PAGE = renderPage('Check your inbox', html`<p>If the address has an account, a link is on its way.</p>`)

/**
 * The pages that mailed links lead to; they need no script. Opening a link changes nothing, so that mail scanners that
 * open links do no harm: only the page's button acts.
 */
export function pageRoutes(actions: SignedOutActions, mayRegister: () => boolean): Route[] {
  // The form is sent to the page's own address, which keeps `next` while the person tries again.
  const startSession = async (call: Call, session: Promise<string>) =>
    redirectTo(returnAddress(call.query.get('next')), sessionCookie(call.request, await session))
  return [
    ...formRoutes('/sign-in', {
      purpose: 'sign in, or follow a sign-in link',
      query: SignInQuery,
      render: signInForm(mayRegister),
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
      query: z.object({}),
      render: registrationForm(mayRegister),
      async submit(call, fields) {
        const token = await actions.register(call, validate(Register, fields))
        return token === undefined
          ? htmlResponse(REGISTRATION_PAGE)
          : redirectTo('./', sessionCookie(call.request, token))
      },
    }),
    ...formRoutes('/reset-password', {
      purpose: 'reset a password',
      query: MailedLinkQuery,
      render: renderResetPassword,
      async submit(call, fields) {
        if (fields.token === undefined) {
          actions.forgot(call, validate(ForgotPassword, fields))
          return htmlResponse(MAIL_SENT_PAGE)
        }
        await actions.reset(call, validate(ResetPassword, fields))
        return redirectTo('sign-in')
      },
    }),
    ...formRoutes('/confirm-email', {
      purpose: 'confirm an e-mail address',
      query: MailedLinkQuery,
      render: renderConfirmEmail,
      async submit(call, fields) {
        await actions.confirm(call, validate(ConfirmEmail, fields))
        return redirectTo('sign-in')
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
      run: async (call) => htmlResponse(render(Object.fromEntries(call.query))),
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
          return htmlResponse(render(fields, error.message), status)
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
