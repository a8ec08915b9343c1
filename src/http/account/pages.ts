import { html } from 'hono/html'
import { ApiError } from '../../errors.js'
import { sessionCookie } from '../cookie.js'
import { check, renderError } from '../error.js'
import type { Call, Route } from '../route.js'
import type { Entrance } from './entrance.js'
import { email, fieldsOf, type Html, onward, page, password, reply, token } from './page.js'
import { ByLink, Confirm, Forgot, Login, Reset } from './shapes.js'

/** What a form is about: the page to be sent back, with why where it did not work. */
type Form = (given: Readonly<Record<string, string>>, why?: string) => Html

const signIn: Form = (given, why) =>
  given.token === undefined
    ? page(
        'Sign in',
        html`<form method="post">${email(given.email)}${password('Password', 'current-password')}
<label>Code, where your account asks for one<input name="totp" autocomplete="one-time-code"></label>
<button>Sign in</button></form><p><a href="reset-password">Choose another password</a></p>`,
        why,
      )
    : page('Sign in', html`<form method="post">${token(given.token)}<button>Sign in by this link</button></form>`, why)

const resetPassword: Form = (given, why) =>
  given.token === undefined
    ? page(
        'Another password',
        html`<form method="post">${email(given.email)}<button>Send me a link</button></form>`,
        why,
      )
    : page(
        'Another password',
        html`<form method="post">${token(given.token)}${password('New password, at least 10 characters', 'new-password')}
<button>Use it from now on</button></form>`,
        why,
      )

const confirmEmail: Form = (given, why) =>
  page('Your address', html`<form method="post">${token(given.token)}<button>It is mine</button></form>`, why)

const sent = page('Look into your mail', html`<p>If the address has an account, a link is on its way.</p>`)

/**
 * Where mailed links lead, without a script. To open one changes nothing, so that whatever looks through mails for links
 * does no harm: only its button does.
 */
export function pageRoutes(entrance: Entrance): Route[] {
  const route = { access: 'sign_in', tag: 'account', type: 'text/html' } as const
  const routes = (
    path: string,
    summary: string,
    form: Form,
    act: (call: Call, given: Readonly<Record<string, string>>) => Promise<Response>,
  ): Route[] => [
    {
      ...{ ...route, method: 'get', path },
      summary: `Page: ${summary}`,
      run: async ({ query }) => reply(form(Object.fromEntries(query))),
    },
    {
      ...{ ...route, method: 'post', path },
      summary: `What the page's form sends: ${summary}`,
      failures: { 303: 'Done: it goes on at another page.' },
      async run(call) {
        const given = await fieldsOf(call)
        try {
          return await act(call, given)
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          const { status } = renderError(error, () => {})
          return reply(form(given, error.message), status)
        }
      },
    },
  ]
  const entered = async (call: Call, session: Promise<string>) =>
    onward('./', sessionCookie(call.request, await session))
  return [
    ...routes('/sign-in', 'sign in, or follow a sign-in link', signIn, (call, given) => {
      if (given.token !== undefined) return entered(call, entrance.link(call, check(ByLink, given)))
      const { totp = '', ...rest } = given
      return entered(call, entrance.login(call, check(Login, { ...rest, ...(totp === '' ? {} : { totp }) })))
    }),
    ...routes('/reset-password', 'choose another password', resetPassword, async (call, given) => {
      if (given.token === undefined) {
        entrance.forgot(call, check(Forgot, given))
        return reply(sent)
      }
      await entrance.reset(call, check(Reset, given))
      return onward('sign-in')
    }),
    ...routes('/confirm-email', 'confirm an address', confirmEmail, async (call, given) => {
      await entrance.confirm(call, check(Confirm, given))
      return onward('sign-in')
    }),
  ]
}
