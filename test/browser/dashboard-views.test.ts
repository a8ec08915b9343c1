import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'

/**
 * The views of the dashboard over two months of rows, in a real browser: no fault of accessibility that axe finds, in
 * light and in dark, on a desktop and on a phone; no error, no refused content, no request beyond the instance.
 */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const VIEWS = [
  ...['', 'live', 'pages', 'pages/%2Fp%2F1', 'sources', 'places', 'devices', 'events', 'goals', 'funnels', 'journeys'],
  ...['retention', 'sessions', 'visitors', 'performance', 'errors', 'agents', 'agents/gptbot', 'coverage'],
  ...['citation-gap', 'policy', 'violations', 'decay', 'catalog', 'no-such-view'],
  // The other sections consist of the same parts.
  ...['site', 'install', 'shares', 'alerts', 'keys', 'members', 'account'].map((section) => `settings/${section}`),
]

/** Views with each kind of panel. `VIEWS=all` visits every view on every screen, which takes four minutes of two cores. */
const KINDS = [
  '',
  'live',
  'pages/%2Fp%2F1',
  'places',
  'funnels',
  'journeys',
  'agents/gptbot',
  'policy',
  'settings/site',
]
const CHOSEN = process.env.VIEWS === 'all' ? VIEWS : KINDS

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** The whole set of rules once; on the other screens the rules that colours and sizes decide. */
const SCREENS = [
  { name: 'desktop, light', width: 1440, height: 900, colorScheme: 'light', views: CHOSEN, rules: RULES },
  { name: 'desktop, dark', width: 1440, height: 900, colorScheme: 'dark', views: CHOSEN, rules: ['color-contrast'] },
  {
    name: 'phone, light',
    width: 390,
    height: 844,
    colorScheme: 'light',
    views: CHOSEN,
    rules: ['color-contrast', 'target-size'],
  },
] as const

/** All panels have their answers. */
const SETTLED = `!document.querySelector('[aria-busy="true"], .skeleton')`
const FITS = 'document.documentElement.scrollWidth <= document.documentElement.clientWidth'

interface AxeResult {
  violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[]
}

const app = await startDashboard(t, { people: 1_500, agents: 1_500 })
const browser = await openBrowser(t)

for (const { name, width, height, colorScheme, views, rules } of SCREENS)
  t.test(name, { timeout: 240_000 }, async (t) => {
    const { context, page, trouble } = await signIn(browser, app, { viewport: { width, height }, colorScheme })
    for (const view of views) {
      await page.goto(`${app.admin}/sites/1/${view}?range=90d`)
      await page.waitForSelector('main h1, main h2')
      await eventually(`${view} has its answers`, async () => (await page.evaluate(SETTLED)) === true)
      await page.evaluate(AXE)
      const result: AxeResult = await page.evaluate(`axe.run(${JSON.stringify({ runOnly: rules })})`)
      const faults = result.violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
      )
      t.same(faults, [], `${view || 'overview'}: axe`)
      t.equal(await page.evaluate(FITS), true, `${view || 'overview'}: nothing is wider than the screen`)
      t.same(trouble.lines.splice(0), [], `${view || 'overview'}: no error, no request elsewhere`)
    }
    await context.close()
  })

t.test('a view whose script is gone after an upgrade reloads the page, once', { timeout: 60_000 }, async (t) => {
  const { context, page } = await signIn(browser, app)
  await page.waitForSelector('main h1')
  let gone: RegExp | undefined
  let reloads = 0
  await page.route('**/assets/*', (route) =>
    gone?.test(`${route.request().method()} ${route.request().url()}`)
      ? route.fulfill({ status: 404 })
      : route.continue(),
  )
  const rows: [view: string, gone: RegExp, staysGone: boolean, reloads: number, shown: string, why: string][] = [
    ['sources', /\/sources-/, true, 0, '[role="alert"]', 'the build is the same'],
    ['pages', /^HEAD|\/pages-/, false, 1, 'main h1', 'the reload brings the new build'],
    ['devices', /^HEAD|\/devices-/, true, 0, '[role="alert"]', 'a reload brought the same build'],
  ]
  let staysGone = true
  page.on('request', (request) => {
    if (request.resourceType() !== 'document') return
    reloads++
    if (!staysGone) gone = undefined
  })
  for (const [view, pattern, stays, expected, shown, why] of rows) {
    ;[gone, staysGone, reloads] = [pattern, stays, 0]
    await page.click(`a[href*="/sites/1/${view}"]`)
    await eventually(why, async () => reloads === expected && (await page.locator(shown).count()) > 0, 10_000)
    t.equal(reloads, expected, why)
  }
  await context.close()
})
