import { html } from 'hono/html'
import { ApiError } from '../../errors.js'
import { sessionCookie } from '../cookie.js'
import { check, renderError } from '../error.js'
import type { Call, Route } from '../route.js'
import type { Entrance } from './entrance.js'
import { ByLink, Confirm, Forgot, Login, Reset } from './shapes.js'

type Html = ReturnType<typeof html>

const STYLE = `:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:22rem;margin:12vh auto;padding:0 1rem}
h1{font-size:1.4rem}label{display:block;margin:.8rem 0}input{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.45rem}
button{font:inherit;padding:.5rem 1rem;margin-top:.4rem}[role=alert]{border-left:.25rem solid #c33;padding-left:.6rem}`

/** What a form is about: the page to be sent back, with why where it did not work. */
type Form = (given: Readonly<Record<string, string>>, why?: string) => Html

const page = (title: string, body: Html, why?: string): Html =>
  html`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title} - readership</title><style>${STYLE}</style><main><h1>${title}</h1>
${why === undefined ? '' : html`<p role="alert">${why}</p>`}${body}</main></html>`

const token = (value: string | undefined) => html`<input type="hidden" name="token" value="${value ?? ''}">`
const password = (label: string, complete: 'current-password' | 'new-password') =>
  html`<label>${label}<input type="password" name="password" autocomplete="${complete}" required></label>`
const email = (value: string | undefined) =>
  html`<label>E-mail<input type="email" name="email" autocomplete="username" value="${value ?? ''}" required></label>`

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

const reply = (body: Html, status = 200): Response =>
  new Response(String(body), { status, headers: { 'content-type': 'text/html; charset=utf-8' } })
/** Relative: the service may lie under a base path. */
const onward = (location: './' | 'sign-in', cookie?: string): Response =>
  new Response(null, { status: 303, headers: { location, ...(cookie === undefined ? {} : { 'set-cookie': cookie }) } })

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
        // Whatever came: what is no form has no fields.
        const given = Object.fromEntries(new URLSearchParams(await call.request.text()))
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
