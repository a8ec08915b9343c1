import t from 'tap'
import { SHARE_SCOPES } from '../../src/manage/shares.js'
import { openBrowser } from '../fixtures/browser.js'
import { signIn, startDashboard, watch } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'

/** All panels have their answers. */
const SETTLED = `!document.querySelector('[aria-busy="true"], .skeleton')`
const RANGE = 'range=90d'
/** The views that links of the content lead to, and those that the reader may choose. */
const viewsOf = (part: string) => `[...new Set([...document.querySelectorAll('${part} a[href*="/share/"]')]
  .map(({ pathname }) => pathname.split('/')[3] ?? 'overview'))]`
const [LINKED_VIEWS, LISTED_VIEWS] = [viewsOf('main'), viewsOf('nav')]
/** Views that a scope alone opens beside the overview, where it is not one. */
const VIEWS_OF: Readonly<Record<string, number>> = { overview: 0, timeseries: 0, breakdown: 0, agents: 11 }
/** Scopes whose views show more than one read. `VIEWS=all` visits those of every scope, in three minutes. */
const MIXED = ['overview', 'realtime', 'pages', 'agents'] as const

const app = await startDashboard(t, { people: 600, agents: 600 })
const browser = await openBrowser(t)

t.test('a page of a share link asks only for what the link opens', { timeout: 400_000 }, async (t) => {
  const { context: own, page } = await signIn(browser, app)
  const share = async (name: string, scopes: readonly string[]): Promise<string> => {
    const slug = await page.evaluate(`fetch('/api/shares', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: ${JSON.stringify(JSON.stringify({ site: 1, name, scopes }))},
    }).then((response) => response.json()).then(({ data }) => data.slug)`)
    return `${app.admin}/share/${slug}`
  }
  const context = await browser.newContext({ locale: 'en-GB' })
  const guest = await context.newPage()
  const { lines } = watch(guest, app.admin)
  const isWhole = process.env.VIEWS === 'all'
  const ALL: [string, readonly string[], number] = ['everything', SHARE_SCOPES, 25]
  const rows: [name: string, scopes: readonly string[], views: number][] = [
    ...(isWhole ? SHARE_SCOPES : MIXED).map((scope): (typeof rows)[number] => [scope, [scope], VIEWS_OF[scope] ?? 1]),
    ...(isWhole ? [ALL] : []),
  ]
  for (const [name, scopes, expected] of rows) {
    const address = await share(name, scopes)
    const visit = async (path: string) => {
      await guest.goto(path)
      await guest.waitForSelector('main h1, main h2')
      await eventually(`${name}: ${path} has its answers`, async () => (await guest.evaluate(SETTLED)) === true)
      t.same(lines.splice(0), [], `${name}: ${path.replace(address, '')}: nothing is refused`)
      const led: string[] = await guest.evaluate(LINKED_VIEWS)
      const open: string[] = await guest.evaluate(LISTED_VIEWS)
      t.same(
        led.filter((view) => !open.includes(view)),
        [],
        `${name}: ${path.replace(address, '')}: each link leads to a view that is open`,
      )
    }
    await visit(`${address}?${RANGE}`)
    const links: string[] = await guest.evaluate(
      `[...new Set([...document.querySelectorAll('nav a[href*="/share/"]')].map(({ pathname }) => pathname))]
        .filter((path) => path.split('/').length > 3)`,
    )
    t.equal(links.length, expected, `${name}: as many views as the link opens`)
    for (const path of links) await visit(`${app.admin}${path}?${RANGE}`)
  }
  await context.close()
  await own.close()
})
