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
const Changes = z.object({ data: z.array(z.object({ comparison: z.object({}).optional() })) })
const Pages = z.object({ data: z.array(z.object({ pathname: z.string() })) })
const Fits = z.object({
  data: z.object({
    sections: z.array(z.object({ origin: z.enum(['written', 'found']) })),
    fits: z.object({ pages: z.number(), examples: z.array(z.string()) }),
  }),
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
  const [before] = Changes.parse(
    await app.ask('/api/stats/breakdown?site=1&range=30d&dimension=section&limit=100&compare=previous'),
  ).data
  t.ok(before?.comparison, 'the read compares')
  t.match(await panel.first().textContent(), /[▲▼]|new|no change/, 'each row has its change')
  const section = (await askSections('human')).find(({ value }) => value !== undefined)?.value ?? ''
  const row = panel.first().locator('.sections > li', { hasText: section }).first()
  await row.locator('[aria-expanded]').click()
  const inside = encodeURIComponent(JSON.stringify([{ dimension: 'section', op: 'is', value: section }]))
  const pages = Pages.parse(await app.ask(`/api/stats/pages?site=1&range=30d&limit=5&filters=${inside}`)).data
  await eventually('an opened section shows its pages', async () => {
    const shown = await row.locator('.section-pages').textContent()
    return pages.length > 0 && pages.every(({ pathname }) => shown?.includes(pathname))
  })
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/sections-open.png` })
  await panel.first().locator('button.cut', { hasText: '/*' }).first().click()
  await shows(t, page, "new URL(location.href).search.includes('section')", true, 'a click filters by the section')
  await context.close()
})

t.test('the settings of a site have a field with a pattern on each line', { timeout: 300_000 }, async (t) => {
  const { context, page } = await signIn(browser, app)
  await page.goto(`${app.admin}/sites/1/settings/site`)
  const field = page.locator('[name=sections]')
  const fits = page.locator('.section-fits')
  const asked = async (pattern: string) => {
    const { status, body } = await page.evaluate(
      async (url) => {
        const response = await fetch(url)
        return { status: response.status, body: await response.json() }
      },
      `${app.admin}/api/sites/1/sections?pattern=${encodeURIComponent(pattern)}`,
    )
    if (status === 422) return undefined
    return Fits.parse(body).data
  }
  t.equal(await asked('/a*b*c*d*'), undefined, 'too many stars are refused')
  for (const pattern of ['/p/1*', "/' or 1=1 --*"]) {
    await field.fill(`/p/2\n${pattern}`)
    const { pages, examples } = (await asked(pattern))?.fits ?? { pages: -1, examples: [] }
    const words = pages === 0 ? 'fits no page' : `fits ${pages} page`
    await eventually(`${pattern} ${words}`, async () => ((await fits.textContent()) ?? '').includes(words))
    const shown = (await fits.textContent()) ?? ''
    t.ok(
      examples.every((example) => shown.includes(example)),
      `${pattern}: its examples`,
    )
  }
  t.equal((await asked('/p/1*'))?.sections.length, await page.locator('.sections-in-effect li').count(), 'in effect')
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/settings-fits.png`, fullPage: true })
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

t.test('the search finds sections', { timeout: 300_000 }, async (t) => {
  const { context, page } = await signIn(browser, app)
  await page.goto(`${app.admin}/sites/1`)
  await page.locator('button.find').click()
  await page.locator('dialog.search input').fill('/*')
  const found = page.locator('#found li', { hasText: 'Sections' })
  await eventually('the section is found', async () => (await found.count()) > 0)
  await found.first().locator('button').click()
  await shows(t, page, "location.pathname.endsWith('/pages') && location.search.includes('section')", true, 'its pages')
  await context.close()
})
