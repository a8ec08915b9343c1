import { html, raw } from 'hono/html'
import { z } from 'zod'
import type { ApiError } from '../../base/errors.js'
import { LOGO_PATHS } from '../logo.js'
import type { Call } from '../route.js'
import { type Language, languageOf } from './page-language.js'
import { type PageTexts, pageTexts } from './page-texts.js'

/** Markup; values are inserted as escaped text. */
export type Html = ReturnType<typeof html>

/** Colours and type of the dashboard, for pages without its stylesheet. */
export const TOKENS = `:root{color-scheme:light dark;--canvas:light-dark(#f6f5f1,#101113);--panel:light-dark(#fffefb,#17181b);
--hover:light-dark(#f3f1ea,#1f2125);--ink:light-dark(#1c1d20,#ecebe6);--muted:light-dark(#5d6068,#a3a6ad);
--rule:light-dark(#e3e1da,#2c2e33);--line:light-dark(#8a8c92,#777a82);--people:light-dark(#1c5cab,#7fb4ff);
--agents:light-dark(#a84a0b,#f2a35e);--alert:light-dark(#9f1246,#ff90b1);--alert-soft:light-dark(#f9dfe8,#42192a);
--sans:ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
--serif:ui-serif,"New York","Iowan Old Style",Charter,Georgia,serif;
--mono:ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,monospace}`

/** The stylesheet of these pages; the service's policy allows it by its hash. */
export const PAGE_STYLE = `${TOKENS}
*{box-sizing:border-box}
body{margin:0 auto;padding:10vh 16px 48px;max-width:432px;background:var(--canvas);color:var(--ink);font:14px/20px var(--sans);-webkit-font-smoothing:antialiased}
body.two{max-width:848px}
header{display:flex;gap:10px;padding:0 24px 16px;font:600 18px/24px var(--serif)}
header svg{margin-top:2px}.people{fill:var(--people)}.agents{fill:none;stroke:var(--agents);stroke-width:2;stroke-linejoin:round}
main{background:var(--panel);border:1px solid var(--rule);border-radius:12px}
main>div{padding:28px 24px 32px}
h1{margin:0 0 16px;font:400 24px/32px var(--serif)}h2{margin:32px 0 0;font-size:14px;line-height:20px;font-weight:600}.owner h2:first-child{margin:0}
p{margin:16px 0 0}h1+p,[role=alert]+p{margin-top:0}h2+p{margin-top:6px}a{color:inherit;text-decoration-color:var(--line);text-underline-offset:3px}
label{display:block;margin-top:16px;font-weight:500}
input{display:block;width:100%;height:36px;margin-top:4px;padding:0 12px;font:inherit;font-weight:400;color:inherit;background:var(--canvas);border:1px solid var(--line);border-radius:8px}
input[readonly]{color:var(--muted);border-color:var(--rule)}
button{min-height:36px;margin:24px 16px 0 0;padding:0 16px;font:inherit;font-weight:500;color:var(--panel);background:var(--ink);border:0;border-radius:8px;cursor:pointer}
:focus-visible{outline:2px solid var(--people);outline-offset:2px}
[role=alert]{margin:0 0 16px;padding:8px 12px;color:var(--alert);background:var(--alert-soft);border-radius:8px}
code{display:block;margin-top:8px;padding:8px 16px;font:13px/20px var(--mono);background:var(--hover);border-radius:8px;overflow-wrap:anywhere;-webkit-user-select:all;user-select:all}
.aside{color:var(--muted)}
footer{display:flex;gap:16px;padding:16px 24px 0;color:var(--muted);font-size:13px}
@media(min-width:760px){.two main{display:grid;grid-template-columns:1fr 1fr}.two main>div+div{border-left:1px solid var(--rule)}}
@media(max-width:759px){.two main>div+div{border-top:1px solid var(--rule)}}`

/** A page's language, and the addresses of the same page in the other one. */
export interface Page {
  readonly texts: PageTexts
  readonly language: Language
  /** The address that the form and links of the page keep. */
  readonly query: URLSearchParams
}

/** Reads from a request in which language its page is drawn. */
export function pageOf({ request }: Pick<Call, 'request'>): Page {
  const language = languageOf(request)
  return { language, texts: pageTexts[language], query: new URL(request.url).searchParams }
}

const LANGUAGES = [
  ['de', 'Deutsch'],
  ['en', 'English'],
] as const

/** Links to the same page in the other language; the address of the page stays otherwise. */
const languageLinks = ({ language, query }: Page): Html[] =>
  LANGUAGES.map(([tag, name]) => {
    if (tag === language) return html`<span lang="${tag}">${name}</span>`
    const other = new URLSearchParams(query)
    other.set('lang', tag)
    return html`<a href="?${other}" lang="${tag}" hreflang="${tag}">${name}</a>`
  })

/** Returns a problem in the page's language; the API's own sentence stands where the texts have none. */
export const problemText = ({ texts: { problems } }: Page, { code, field, message }: ApiError): string =>
  problems[code]?.[field ?? 'any'] ?? problems[code]?.any ?? message

/** The path of another page, in the same language if it was chosen by hand. */
export const linkTo = <P extends string>({ query, language }: Page, path: P): P | `${P}?lang=${Language}` =>
  query.has('lang') ? `${path}?lang=${language}` : path

/** Renders a page without scripts. `problem` is shown as an alert, `beside` in a second column. */
export const renderPage = (
  page: Page,
  {
    title,
    body,
    problem,
    beside,
  }: { title: string; body: Html; problem?: string | undefined; beside?: Html | undefined },
): Html =>
  html`<!doctype html><html lang="${page.language}"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title} - readership</title><link rel="icon" href="favicon.svg" type="image/svg+xml"><style>${raw(PAGE_STYLE)}</style>
<body${beside === undefined ? '' : raw(' class="two"')}><header><svg width="24" height="20" viewBox="0 0 24 20" aria-hidden="true"><path class="people" d="${LOGO_PATHS.people}"/><path class="agents" d="${LOGO_PATHS.agents}"/></svg>readership</header>
<main><div><h1>${title}</h1>
${problem === undefined ? '' : html`<p role="alert">${problem}</p>`}${body}</div>${
    beside === undefined ? '' : html`<div class="owner">${beside}</div>`
  }</main><footer>${languageLinks(page)}</footer></body></html>`

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

/** A language that is chosen by hand; it wins over the browser's. */
export const ChosenLanguage = z
  .string()
  .optional()
  .describe('`en` or `de`: the language of the page; without it, the first of `Accept-Language` that exists.')
  .meta({ example: 'de' })

export const tokenField = (value: string | undefined) => html`<input type="hidden" name="token" value="${value ?? ''}">`
/** The fields of forms, in a page's words. */
export const fieldsOf = ({ texts }: Page) => ({
  name: html`<label>${texts.name}<input name="name" autocomplete="name" required></label>`,
  currentPassword: html`<label>${texts.password}<input type="password" name="password" autocomplete="current-password" required></label>`,
  newPassword: html`<label>${texts.newPassword}<input type="password" name="password" autocomplete="new-password" required></label>`,
  code: html`<label>${texts.code}<input name="totp" autocomplete="one-time-code"></label>`,
  email: (value: string | undefined) =>
    html`<label>${texts.email}<input type="email" name="email" autocomplete="username" value="${value ?? ''}" required></label>`,
})

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
export const redirectTo = (location: `./${string}` | `sign-in${string}`, cookie?: string): Response =>
  new Response(null, { status: 303, headers: { location, ...(cookie === undefined ? {} : { 'set-cookie': cookie }) } })

/** Reads the fields of a form; any other body has no fields. */
export const readForm = async ({ request }: Pick<Call, 'request'>): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries(new URLSearchParams(await request.text()))

/** Leaves out the field `totp` if the form's input was empty. */
export const withoutEmptyCode = ({ totp = '', ...rest }: Readonly<Record<string, string>>): Record<string, string> =>
  totp === '' ? rest : { ...rest, totp }
