import t from 'tap'
import { z } from 'zod'
import { openBrowser } from '../fixtures/browser.js'
import { routeRead } from '../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'
import { SETTLED } from '../fixtures/page-layout.js'

const Rows = z.array(z.looseObject({ fetches: z.int() }))

t.test(
  'the overview counts all violations, also of rules that its list does not show',
  { timeout: 300_000 },
  async (t) => {
    const app = await startDashboard(t, { people: 300, agents: 600 })
    const { data } = await app.ask('/api/policy/violations?site=1&range=90d&limit=1000')
    const all = Rows.parse(data).reduce((sum, { fetches }) => sum + fetches, 0)
    const { context, page } = await signIn(await openBrowser(t), app)
    // As on a site with more rules that were not obeyed than an answer lists.
    await routeRead(page, '**/api/policy/violations/rules?**', async (route) => {
      const body = await (await route.fetch()).json()
      await route.fulfill({ json: { ...body, data: body.data.slice(0, 1) } })
    })
    await page.goto(`${app.admin}/sites/1?range=90d`)
    await page.waitForSelector('.violations li')
    await eventually('answers', async () => (await page.evaluate(SETTLED)) === true)
    t.ok(all > 1, `${all} violations`)
    t.match(
      await page.locator('.cell:has(.violations) .foot').textContent(),
      new RegExp(`^${all.toLocaleString('en-GB')} fetches, each judged by`),
    )
    await context.close()
  },
)
