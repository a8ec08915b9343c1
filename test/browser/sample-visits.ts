import type { Browser, Page } from 'playwright-core'
import { isFullBrowser } from '../fixtures/browser.js'
import { framed, openTab, painted, VITALS, WINDOW } from '../fixtures/tracked.js'

/** Visits to the sample site by a browser, and the rows that each leaves, worked out by hand. */

const FROM = { referer: 'https://www.google.com/' }
const follow = async (tab: Page, path: string) => {
  await tab.click(`:is(header, main, footer) a[href="${path}"]`)
  await tab.waitForURL((url) => url.pathname === path)
  await settle(tab)
}
/** Waits until something was painted, and then 100 ms, so that the page has engaged time. */
const settle = async (tab: Page) => {
  await painted(tab)
  await framed(tab)
  await tab.waitForTimeout(100)
}
const submit = async (tab: Page) => {
  await tab.fill('#email', 'reader@example.com')
  await tab.click('main button')
  await tab.waitForURL('**/thank-you')
  await settle(tab)
}
const hide = (hidden: boolean) => `
  ${hidden ? "Object.defineProperty(document, 'hidden', { configurable: true, get: () => true })" : 'delete document.hidden'}
  document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`

/** Kind and path of a row, the status if the server recorded it, the event's name, the vitals' names, other columns. */
export type Row = [kind: string, pathname: string, ...rest: (string | number | object)[]]
const left = (pathname: string, ...rest: object[]): Row => ['engagement', pathname, 'engaged', ...rest]
const vitals = (pathname: string, ...rest: object[]): Row => ['web_vitals', pathname, VITALS, ...rest]

/** Milliseconds with another tab in front. */
const HIDDEN = 600
/** The rows of a visit, the console's messages, and an upper bound of its duration. */
interface Visit {
  rows: Row[]
  said: string[]
  ms: number
}
const READER = { identified_id: 'reader-3' }
const backFromFile: Row = ['pageview', '/press', READER]

/** Reads the site page by page, with an event, an error, a link to the origin `elsewhere`, a download and a form. */
export async function plainVisit(browser: Browser, at: string, elsewhere: string): Promise<Visit> {
  const began = Date.now()
  const { tab, said } = await openTab(await browser.newContext(WINDOW))
  await tab.goto(`${at}/`, FROM)
  await tab.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
  await settle(tab)
  await follow(tab, '/articles')
  await follow(tab, '/articles/two-bulges')
  await tab.evaluate("readership.track('read', { depth: 2 }); readership.identify('reader-3', { plan: 'yearly' })")
  await tab.addScriptTag({ content: 'setTimeout(() => { throw new RangeError("no tide") })\n//# sourceURL=tide.js' })
  await settle(tab)
  await tab.evaluate(hide(true))
  await tab.waitForTimeout(HIDDEN)
  await tab.evaluate(hide(false))
  await settle(tab)
  await tab.evaluate(
    `document.querySelector('main').innerHTML += '<a id="out" href="${elsewhere}/about?from=us#top">out</a>'`,
  )
  await tab.click('#out')
  await tab.waitForURL((url) => url.origin === elsewhere)
  await tab.goBack({ waitUntil: 'commit' })
  await settle(tab)
  await follow(tab, '/press')
  // npm's Chromium shows no PDF: it downloads the file, and the page stays.
  const opened = isFullBrowser ? tab.waitForURL('**/*.pdf') : tab.waitForEvent('download')
  await tab.click('a[href$=".pdf"]')
  await opened
  if (isFullBrowser) await tab.goBack({ waitUntil: 'commit' })
  await settle(tab)
  await follow(tab, '/subscribe')
  await submit(tab)
  await follow(tab, '/gauge')
  await tab.waitForFunction("/^-?\\d\\.\\d{3} m$/.test(document.querySelector('#gauge').textContent)")
  await tab.close({ runBeforeUnload: true })
  const rows: Row[] = [
    ['pageview', '/', 200],
    left('/'),
    vitals('/'),
    ['pageview', '/articles', 200],
    left('/articles'),
    vitals('/articles'),
    ['pageview', '/articles/two-bulges', 200],
    ['custom', '/articles/two-bulges', 'read', { depth: 2 }],
    ['engagement', '/articles/two-bulges', { ...READER, traits: { plan: 'yearly' } }],
    ['error', '/articles/two-bulges', { ...READER, type: 'RangeError', message: 'no tide' }],
    left('/articles/two-bulges', READER),
    vitals('/articles/two-bulges', READER),
    ['outbound', '/articles/two-bulges', { ...READER, url: `${elsewhere}/about?from=us#top` }],
    left('/articles/two-bulges', READER),
    ['pageview', '/articles/two-bulges', READER],
    // Without a back/forward cache the page is painted again.
    ...(isFullBrowser ? [] : [vitals('/articles/two-bulges', READER)]),
    left('/articles/two-bulges', READER),
    ['pageview', '/press', 200, READER],
    ['file_download', '/press', { ...READER, url: `${at}/files/tide-card.pdf` }],
    left('/press', READER),
    vitals('/press', READER),
    ...(isFullBrowser ? [backFromFile, left('/press', READER)] : []),
    ['pageview', '/subscribe', 200, READER],
    ['form', '/subscribe', { ...READER, form: '/subscribe' }],
    left('/subscribe', READER),
    vitals('/subscribe', READER),
    ['pageview', '/thank-you', 200, READER],
    left('/thank-you', READER),
    vitals('/thank-you', READER),
    ['pageview', '/gauge', 200, READER],
    left('/gauge', READER),
    vitals('/gauge', READER),
  ]
  return { rows, said: [...new Set(said)], ms: Date.now() - began - HIDDEN }
}

/** The site's own links, turned as some applications do: the next page is fetched, and only its main part is shown. */
const TURNING = `
  const turn = async (href, push) => {
    const next = new DOMParser().parseFromString(await (await fetch(href)).text(), 'text/html')
    if (push) history.pushState({}, '', href)
    document.title = next.title
    document.querySelector('main').replaceWith(next.querySelector('main'))
    scrollTo(0, 0)
  }
  addEventListener('click', (event) => {
    const link = event.target.closest('a')
    if (!link || link.host !== location.host) return
    event.preventDefault()
    turn(link.href, true)
  })
  addEventListener('popstate', () => turn(location.href, false))`

/** Reads the site as a single-page application. */
export async function applicationVisit(browser: Browser, at: string): Promise<Visit> {
  const began = Date.now()
  const { tab, said } = await openTab(await browser.newContext(WINDOW))
  await tab.addInitScript(TURNING)
  await tab.goto(`${at}/tides`, FROM)
  await settle(tab)
  const shows = async (title: string) => {
    await tab.waitForFunction(`document.querySelector('h1').textContent === '${title}'`)
    await settle(tab)
  }
  await follow(tab, '/articles')
  await shows('Articles')
  await follow(tab, '/contact')
  await shows('Contact')
  await tab.evaluate("readership.track('read', { depth: 1 })")
  await tab.goBack()
  await shows('Articles')
  await tab.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
  await settle(tab)
  await tab.goForward()
  await shows('Contact')
  await follow(tab, '/subscribe')
  await shows('Subscribe')
  await submit(tab)
  await tab.close({ runBeforeUnload: true })
  const rows: Row[] = [
    ['pageview', '/tides', 200],
    left('/tides'),
    ['pageview', '/articles'],
    left('/articles'),
    ['pageview', '/contact'],
    ['custom', '/contact', 'read', { depth: 1 }],
    left('/contact'),
    ['pageview', '/articles'],
    left('/articles'),
    ['pageview', '/contact'],
    left('/contact'),
    ['pageview', '/subscribe'],
    ['form', '/subscribe', { form: '/subscribe' }],
    left('/subscribe'),
    vitals('/tides'),
    ['pageview', '/thank-you', 200],
    left('/thank-you'),
    vitals('/thank-you'),
  ]
  return { rows, said, ms: Date.now() - began }
}

/** Reads two pages, as visitors who opt out and an agent do; returns the console's messages. */
export async function shortVisit(browser: Browser, at: string, entry: string, ...between: string[]): Promise<string[]> {
  const { tab, said } = await openTab(await browser.newContext(WINDOW))
  await tab.goto(at + entry)
  await settle(tab)
  for (const code of between) await tab.evaluate(code)
  await follow(tab, '/articles')
  await tab.evaluate("readership.track('read'); history.pushState({}, '', '/press')")
  await settle(tab)
  await tab.close({ runBeforeUnload: true })
  return said
}

/** The rows of a short visit that begins at `/privacy`. */
export const SHORT_VISIT_ROWS: Row[] = [
  ['pageview', '/privacy', 200],
  left('/privacy'),
  vitals('/privacy'),
  ['pageview', '/articles', 200],
  ['custom', '/articles', 'read'],
  left('/articles'),
  ['pageview', '/press'],
  left('/press'),
  vitals('/articles'),
]
