import { html } from 'hono/html'
import { ApiError } from '../../errors.js'
import { renderError, validate } from '../error-response.js'
import type { Call, Route } from '../route.js'
import { sessionCookie } from '../session-cookie.js'
import {
  emailField,
  type Html,
  htmlResponse,
  passwordField,
  readForm,
  redirectTo,
  renderPage,
  tokenField,
} from './html.js'
import { ConfirmEmail, ForgotPassword, LinkSignIn, Login, ResetPassword } from './shapes.js'
import type { SignedOutActions } from './signed-out-actions.js'

/** What a form is about: the page to be sent back, with why where it did not work. */
type RenderForm = (given: Readonly<Record<string, string>>, why?: string) => Html

const renderSignIn: RenderForm = (given, why) =>
  given.token === undefined
    ? renderPage(
        'Sign in',
        html`<form method="post">${emailField(given.email)}${passwordField('Password', 'current-password')}
<label>Code, where your account asks for one<input name="totp" autocomplete="one-time-code"></label>
<button>Sign in</button></form><p><a href="reset-password">Choose another password</a></p>`,
        why,
      )
    : renderPage(
        'Sign in',
        html`<form method="post">${tokenField(given.token)}<button>Sign in by this link</button></form>`,
        why,
      )

const renderResetPassword: RenderForm = (given, why) =>
  given.token === undefined
    ? renderPage(
        'Another password',
        html`<form method="post">${emailField(given.email)}<button>Send me a link</button></form>`,
        why,
      )
    : renderPage(
        'Another password',
        html`<form method="post">${tokenField(given.token)}${passwordField('New password, at least 10 characters', 'new-password')}
<button>Use it from now on</button></form>`,
        why,
      )

const renderConfirmEmail: RenderForm = (given, why) =>
  renderPage(
    'Your address',
    html`<form method="post">${tokenField(given.token)}<button>It is mine</button></form>`,
    why,
  )

const MAIL_SENT_PAGE = renderPage(
  'Look into your mail',
  html`<p>If the address has an account, a link is on its way.</p>`,
)

/**
 * Where mailed links lead, without a script. To open one changes nothing, so that whatever looks through mails for links
 * does no harm: only its button does.
 */
export function pageRoutes(entrance: SignedOutActions): Route[] {
  const route = { access: 'sign_in', tag: 'account', type: 'text/html' } as const
  const routes = (
    path: string,
    summary: string,
    form: RenderForm,
    act: (call: Call, given: Readonly<Record<string, string>>) => Promise<Response>,
  ): Route[] => [
    {
      ...{ ...route, method: 'get', path },
      summary: `Page: ${summary}`,
      run: async ({ query }) => htmlResponse(form(Object.fromEntries(query))),
    },
    {
      ...{ ...route, method: 'post', path },
      summary: `What the page's form sends: ${summary}`,
      otherResponses: { 303: 'Done: it goes on at another page.' },
      async run(call) {
        const given = await readForm(call)
        try {
          return await act(call, given)
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          const { status } = renderError(error, () => {})
          return htmlResponse(form(given, error.message), status)
        }
      },
    },
  ]
  const entered = async (call: Call, session: Promise<string>) =>
    redirectTo('./', sessionCookie(call.request, await session))
  return [
    ...routes('/sign-in', 'sign in, or follow a sign-in link', renderSignIn, (call, given) => {
      if (given.token !== undefined) return entered(call, entrance.link(call, validate(LinkSignIn, given)))
      const { totp = '', ...rest } = given
      return entered(call, entrance.login(call, validate(Login, { ...rest, ...(totp === '' ? {} : { totp }) })))
    }),
    ...routes('/reset-password', 'choose another password', renderResetPassword, async (call, given) => {
      if (given.token === undefined) {
        entrance.forgot(call, validate(ForgotPassword, given))
        return htmlResponse(MAIL_SENT_PAGE)
      }
      await entrance.reset(call, validate(ResetPassword, given))
      return redirectTo('sign-in')
    }),
    ...routes('/confirm-email', 'confirm an address', renderConfirmEmail, async (call, given) => {
      await entrance.confirm(call, validate(ConfirmEmail, given))
      return redirectTo('sign-in')
    }),
  ]
}
