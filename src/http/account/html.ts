import { html } from 'hono/html'
import type { Call } from '../route.js'

/** Markup; values are inserted as escaped text. */
export type Html = ReturnType<typeof html>

const STYLE = `:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:22rem;margin:12vh auto;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}label{display:block;margin:.8rem 0}input{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.45rem}
button{font:inherit;padding:.5rem 1rem;margin-top:.4rem}[role=alert]{border-left:.25rem solid #c33;padding-left:.6rem}`

/** Renders a page without scripts; `problem` is shown as an alert. */
export const renderPage = (title: string, body: Html, problem?: string): Html =>
  html`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title} - readership</title><style>${STYLE}</style><main><h1>${title}</h1>
${problem === undefined ? '' : html`<p role="alert">${problem}</p>`}${body}</main></html>`

export const tokenField = (value: string | undefined) => html`<input type="hidden" name="token" value="${value ?? ''}">`
export const currentPasswordField = html`<label>Password<input type="password" name="password" autocomplete="current-password" required></label>`
export const newPasswordField = html`<label>New password, at least 10 characters<input type="password" name="password" autocomplete="new-password" required></label>`
export const codeField = html`<label>Two-factor code, if your account uses one<input name="totp" autocomplete="one-time-code"></label>`
export const emailField = (value: string | undefined) =>
  html`<label>E-mail<input type="email" name="email" autocomplete="username" value="${value ?? ''}" required></label>`

export const htmlResponse = (body: Html, status = 200, cookie?: string): Response =>
  new Response(String(body), {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...(cookie === undefined ? {} : { 'set-cookie': cookie }),
    },
  })

/** Redirects to a relative location, because the service may be served below a base path. */
export const redirectTo = (location: './' | 'sign-in', cookie?: string): Response =>
  new Response(null, { status: 303, headers: { location, ...(cookie === undefined ? {} : { 'set-cookie': cookie }) } })

/** Reads the fields of a form; any other body has no fields. */
export const readForm = async ({ request }: Pick<Call, 'request'>): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries(new URLSearchParams(await request.text()))

/** Leaves out the field `totp` if the form's input was empty. */
export const withoutEmptyCode = ({ totp = '', ...rest }: Readonly<Record<string, string>>): Record<string, string> =>
  totp === '' ? rest : { ...rest, totp }
