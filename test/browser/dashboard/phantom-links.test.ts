import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowser } from '../../fixtures/browser.js'
import { shows, texts } from '../../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../../fixtures/dashboard-service.js'
import { COUNT_SHIFTS, SETTLED, SHIFTS, UNREADABLE } from '../../fixtures/page-layout.js'
import { agentRow } from '../../fixtures/rows.js'

/** The view of missing pages in a browser: assistants ask for two addresses that do not exist. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const LAST = Date.parse('2026-11-01T12:00:00Z')
const asked = (pathname: string, n: number) =>
  Array.from({ length: n }, (_, i) =>
    agentRow({
      ...{ agent_id: 'chatgpt-user', operator: 'OpenAI', purpose: 'assistant', verification: 'unverifiable' },
      ...{ timestamp: new Date(LAST - i * 60 * 60_000), hostname: 'one.example', pathname, status: 404 },
      is_pageview: false,
    }),
  )
const app = await startDashboard(t, {
  people: 800,
  agents: 0,
  fetches: [...asked('/p/1.html', 24), ...asked('/surge-calculator', 12)],
})
const browser = await openBrowser(t)
const redirects = (page: Page) =>
  page.evaluate(
    "fetch('/api/redirects?site=1').then((answer) => answer.json()).then(({ data }) => data.map(({ from, to, status }) => [from, to, status].join(' ')))",
  )
const BUTTONS = `${texts('main tbody button')}.map((text) => text.trim())`
const DESKTOP = { viewport: { width: 1440, height: 900 } }

async function open(page: Page): Promise<void> {
  await page.goto(`${app.admin}/sites/1/phantom-links`)
  await page.waitForSelector('main h1', { state: 'attached' })
  await shows(t, page, SETTLED, true, 'the view has its answers')
}

t.test('two clicks lead from a missing page to its redirect', async (t) => {
  const { page, context, trouble } = await signIn(browser, app, DESKTOP)
  await page.goto(`${app.admin}/sites/1`)
  await page.click('nav a:text-is("Phantom links")')
  await shows(t, page, BUTTONS, ['Redirect', 'Choose…'], 'the nearest page is named, or none')
  await page.click('main button:text-is("Redirect")')
  await shows(t, page, BUTTONS, ['Undo', 'Choose…', 'Delete'], 'it acts at once')
  t.same(await redirects(page), ['/p/1.html /p/1 301'])
  await page.click('.toast button:text-is("Undo")')
  await shows(t, page, BUTTONS, ['Redirect', 'Choose…'], 'undone')
  t.same(await redirects(page), [])
  await page.click('main button:text-is("Choose…")')
  await page.fill('dialog input[name="to"]', '/surge-calculator')
  await page.click('dialog .button:text-is("Redirect")')
  t.match(await page.textContent('dialog .wrong'), /cannot be redirected to itself/, 'a loop is refused at its field')
  await page.fill('dialog input[name="to"]', '/p/2')
  await page.click('dialog .button:text-is("Redirect")')
  await shows(t, page, BUTTONS, ['Redirect', 'Undo', 'Delete'], 'chosen by hand')
  t.same(await redirects(page), ['/surge-calculator /p/2 301'])
  t.same(
    trouble.lines.filter((line) => !/422/.test(line)),
    [],
    'the console has the refusal alone',
  )
  await context.close()
})

t.test('the view holds still, fits the screen, and has no fault that axe finds', async (t) => {
  const { page, context } = await signIn(browser, app, DESKTOP)
  await page.addInitScript(COUNT_SHIFTS)
  for (const [width, height] of [
    [1440, 900],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height })
    await open(page)
    const shifts: { value: number }[] = await page.evaluate(SHIFTS)
    const sum = shifts.reduce((all, { value }) => all + value, 0)
    t.ok(sum < 0.02, `at ${width} it shifts by ${sum.toFixed(3)}`, { shifts: shifts.slice(0, 3) })
    t.same(await page.evaluate(UNREADABLE), [], `at ${width}: each text can be read`)
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `at ${width}: no sideways scroll`)
    await page.evaluate(`window.axe === undefined && (() => { ${AXE} })()`)
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      const faults = await page.evaluate(
        'axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html.slice(0, 160))))',
      )
      t.same(faults, [], `at ${width}, ${colorScheme}: axe`)
    }
    if (process.env.SHOT) await page.screenshot({ path: `/tmp/e-phantom-${width}.png` })
  }
  await context.close()
})
