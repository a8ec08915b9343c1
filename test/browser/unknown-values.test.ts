import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'

/** All panels have their answers. */
const SETTLED = `!document.querySelector('[aria-busy="true"], .skeleton')`

t.test('a filter is unknown if a person set it, not if the view did', { timeout: 600_000 }, async (t) => {
  const app = await startDashboard(t, { people: 60, agents: 60 })
  const { context, page } = await signIn(await openBrowser(t), app)
  const germany = JSON.stringify([{ dimension: 'country', op: 'is', value: 'Germany' }])
  const rows: [view: string, query: string, expected: boolean, why: string][] = [
    ['/pages/%2Fnone', '', false, 'the view of a page asks about its path'],
    ['', `&filters=${encodeURIComponent(germany)}`, true, 'a name instead of a code'],
  ]
  for (const [view, query, expected, why] of rows) {
    await page.goto(`${app.admin}/sites/1${view}?range=90d${query}`)
    await page.waitForSelector('main h1')
    await eventually(`${why}: answers`, async () => (await page.evaluate(SETTLED)) === true)
    const text = await page.locator('main').textContent()
    t.equal(/No row of people in this period has the value “Germany” \(country\)/.test(text ?? ''), expected, why)
    t.notMatch(text, /has the value “\/none”/, why)
  }
  await context.close()
})
