import { html, raw } from 'hono/html'
import { z } from 'zod'
import { LOGO_PATHS } from '../logo.js'
import type { Call } from '../route.js'

/** Markup; values are inserted as escaped text. */
export type Html = ReturnType<typeof html>

/** The stylesheet of these pages, with the dashboard's colours; the service's policy allows it by its hash. */
export const PAGE_STYLE = `:root{color-scheme:light dark;--canvas:light-dark(#f6f5f1,#101113);--panel:light-dark(#fffefb,#17181b);
--ink:light-dark(#1c1d20,#ecebe6);--muted:light-dark(#5d6068,#a3a6ad);--rule:light-dark(#e3e1da,#2c2e33);--line:light-dark(#8a8c92,#777a82);
--people:light-dark(#1c5cab,#7fb4ff);--agents:light-dark(#a84a0b,#f2a35e);--alert:light-dark(#9f1246,#ff90b1);--alert-soft:light-dark(#f9dfe8,#42192a);
--serif:ui-serif,"New York","Iowan Old Style",Charter,Georgia,serif}
*{box-sizing:border-box}
body{margin:0 auto;padding:10vh 16px 48px;max-width:432px;background:var(--canvas);color:var(--ink);font:14px/20px ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
header{display:flex;gap:10px;padding:0 24px 16px;font:600 18px/24px var(--serif)}
header svg{margin-top:2px}.people{fill:var(--people)}.agents{fill:none;stroke:var(--agents);stroke-width:2;stroke-linejoin:round}
main{padding:24px;background:var(--panel);border:1px solid var(--rule);border-radius:12px}
h1{margin:0 0 16px;font:400 24px/32px var(--serif)}h2{margin:32px 0 0;font-size:14px;line-height:20px}
p{margin:16px 0 0}h1+p{margin:0}a{color:inherit;text-decoration-color:var(--line);text-underline-offset:3px}
label{display:block;margin-top:16px;font-weight:500}
input{display:block;width:100%;height:36px;margin-top:4px;padding:0 12px;font:inherit;font-weight:400;color:inherit;background:var(--canvas);border:1px solid var(--line);border-radius:8px}
input[readonly]{color:var(--muted);border-color:var(--rule)}
button{height:36px;margin-top:24px;padding:0 16px;font:inherit;font-weight:600;color:var(--panel);background:var(--people);border:0;border-radius:8px;cursor:pointer}
button:hover{background:var(--ink)}:focus-visible{outline:2px solid var(--people);outline-offset:2px}
[role=alert]{margin:0 0 16px;padding:8px 12px;color:var(--alert);background:var(--alert-soft);border-radius:8px}
.aside{color:var(--muted)}`

/** Renders a page without scripts; `problem` is shown as an alert. */
export const renderPage = (title: string, body: Html, problem?: string): Html =>
  html`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title} - readership</title><link rel="icon" href="favicon.svg" type="image/svg+xml"><style>${raw(PAGE_STYLE)}</style>
<header><svg width="24" height="20" viewBox="0 0 24 20" aria-hidden="true"><path class="people" d="${LOGO_PATHS.people}"/><path class="agents" d="${LOGO_PATHS.agents}"/></svg>readership</header>
<main><h1>${title}</h1>
${problem === undefined ? '' : html`<p role="alert">${problem}</p>`}${body}</main></html>`

/** The query parameter of pages that a mailed link opens. */
export const MailedToken = z
  .string()
  .optional()
  .describe('The token of a mailed link.')
  .meta({ example: 'x'.repeat(43) })

/** The other responses of a page's form. */
export const FORM_RESPONSES = {
  303: 'Done; redirects to the next page.',
  422: 'A value is wrong; the page shows the form again with the reason.',
}

export const nameField = html`<label>Name<input name="name" autocomplete="name" required></label>`
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
export const redirectTo = (location: `./${string}` | 'sign-in', cookie?: string): Response =>
  new Response(null, { status: 303, headers: { location, ...(cookie === undefined ? {} : { 'set-cookie': cookie }) } })

/** Reads the fields of a form; any other body has no fields. */
export const readForm = async ({ request }: Pick<Call, 'request'>): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries(new URLSearchParams(await request.text()))

/** Leaves out the field `totp` if the form's input was empty. */
export const withoutEmptyCode = ({ totp = '', ...rest }: Readonly<Record<string, string>>): Record<string, string> =>
  totp === '' ? rest : { ...rest, totp }
