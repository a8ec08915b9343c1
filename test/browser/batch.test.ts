import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { texts } from '../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'
import { SETTLED } from '../fixtures/page-layout.js'

t.test('a view has its answers where a proxy lets no batch through', { timeout: 300_000 }, async (t) => {
  const app = await startDashboard(t, { people: 60, agents: 60 })
  const { context, page } = await signIn(await openBrowser(t), app)
  const read = async () => {
    await page.goto(`${app.admin}/sites/1/sources?range=90d`)
    await page.waitForSelector('main h1, main h2')
    await eventually('answers', async () => (await page.evaluate(SETTLED)) === true)
    return page.evaluate(texts('main tbody th'))
  }
  const expected = await read()
  t.match(expected, [/\S/], 'there are sources')
  const rows: [why: string, answer: Parameters<typeof page.route>[1]][] = [
    ['it refuses it', (route) => route.fulfill({ status: 403, body: '<h1>No</h1>' })],
    ['it ends the connection', (route) => route.abort('connectionreset')],
    ['it sends a page of its own', (route) => route.fulfill({ body: '<h1>Sign in</h1>\n' })],
  ]
  for (const [why, answer] of rows) {
    await page.route('**/api/batch', answer)
    t.same(await read(), expected, why)
    await page.unroute('**/api/batch')
  }
  await context.close()
})
