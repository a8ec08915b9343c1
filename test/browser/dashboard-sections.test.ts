import t from 'tap'
import { z } from 'zod'
import { openBrowser } from '../fixtures/browser.js'
import { shows } from '../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'

/** Sections in a browser: the lists above the pages, a click on one, and the field that writes them. */
const PICTURES = process.env.SECTION_PICTURES
const Rows = z.object({
  data: z.array(z.object({ value: z.string().optional(), pageviews: z.number() })),
})
const app = await startDashboard(t, { people: 900, agents: 900 })
const browser = await openBrowser(t)
const askSections = async (audience: string) => {
  const url = `/api/stats/breakdown?site=1&range=30d&dimension=section&limit=100&audience=${audience}`
  const { data } = Rows.parse(await app.ask(url))
  return data.toSorted((a, b) => b.pageviews - a.pageviews)
}

t.test('both readerships have their sections above the pages', { timeout: 300_000 }, async (t) => {
  const { context, page } = await signIn(browser, app)
  await page.goto(`${app.admin}/sites/1/pages`)
  const panel = page.locator('section.cell', { has: page.locator('h2', { hasText: 'Sections' }) })
  await eventually('both lists are there', async () => (await panel.count()) === 2)
  await eventually('with rows', async () => ((await panel.first().textContent()) ?? '').includes('/*'))
  for (const [i, audience] of ['human', 'agent'].entries()) {
    const [most] = await askSections(audience)
    const shown = (await panel.nth(i).textContent()) ?? ''
    t.ok(shown.includes(most?.value ?? 'Not in a section'), `${audience}: ${most?.value}`)
    t.ok(shown.includes(Number(most?.pageviews).toLocaleString('en-GB')), `${audience}: ${most?.pageviews}`)
  }
  for (const scheme of PICTURES ? (['light', 'dark'] as const) : [])
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme: scheme })
      await page.screenshot({ path: `${PICTURES}/sections-${scheme}-${width}.png`, fullPage: true })
    }
  await page.setViewportSize({ width: 1440, height: 900 })
  await panel.first().locator('button', { hasText: '/*' }).first().click()
  await shows(t, page, "new URL(location.href).search.includes('section')", true, 'a click filters by the section')
  await context.close()
})

t.test('the settings of a site have a field with a pattern on each line', { timeout: 300_000 }, async (t) => {
  const { context, page } = await signIn(browser, app)
  await page.goto(`${app.admin}/sites/1/settings/site`)
  const field = page.locator('[name=sections]')
  await field.fill('blog/*')
  await page.locator('main form button[type=submit]').first().click()
  await shows(t, page, "document.querySelector('main').textContent.includes('must begin with /')", true, 'an error')
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/settings.png`, fullPage: true })
  await field.fill('/p/1*\n/*')
  await page.locator('main form button[type=submit]').first().click()
  await eventually('the sections are stored', async () =>
    (await askSections('human')).some(({ value }) => value === '/*'),
  )
  t.same(
    (await askSections('human')).filter(({ value }) => value === undefined),
    [],
    'a pattern of every page leaves none outside',
  )
  await context.close()
})
