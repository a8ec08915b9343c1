import t from 'tap'
import { z } from 'zod'
import { openBrowser } from '../fixtures/browser.js'
import { shows } from '../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'
import { SETTLED } from '../fixtures/page-layout.js'

/** The path explorer: lists make the chain longer, each step is in the address, a cross cuts, Backspace undoes. */

const app = await startDashboard(t, { people: 1_500, agents: 1_500 })
const browser = await openBrowser(t)
const Neighbours = z.array(z.object({ kind: z.string(), pathname: z.string().optional() }))
const Answer = z.object({ data: z.object({ before: Neighbours, after: Neighbours }) })
const titlesIn = (side: string) =>
  `[...document.querySelector('.path-band').querySelectorAll('.${side} li button')].map(({ title }) => title)`
/** The pages that the API names on one side of /p/1, for people. */
const named = async (side: 'before' | 'after') => {
  const asked = `/api/stats/journeys/steps?site=1&range=90d&audience=human&steps=${encodeURIComponent('["/p/1"]')}`
  return Answer.parse(await app.ask(asked)).data[side].flatMap(({ pathname }) => pathname ?? [])
}
/** Pictures of the view are written here, if it is set. */
const PICTURES = process.env.PICTURES

for (const [name, width, colorScheme, locale] of [
  ['a desktop in the dark', 1440, 'dark', 'en-GB'],
  ['a phone in German', 390, 'light', 'de-DE'],
] as const)
  t.test(`the explorer follows its lists, on ${name}`, { timeout: 300_000 }, async (t) => {
    const { context, page, trouble } = await signIn(browser, app, {
      viewport: { width, height: 1000 },
      colorScheme,
      locale,
    })
    const steps = (): string[] => JSON.parse(new URL(page.url()).searchParams.get('steps') ?? '[]')
    const settled = () => eventually('the answers are there', async () => (await page.evaluate(SETTLED)) === true)
    const chain = () => page.locator('.trail > li > b').evaluateAll((all) => all.map(({ title }) => title))
    await page.goto(`${app.admin}/sites/1/journeys?range=90d&steps=${encodeURIComponent('["/p/1"]')}`)
    // The view may not be loaded yet, and a page without requests is settled.
    await page.locator('.path-band').first().waitFor()
    await settled()
    t.equal(await page.locator('.path-band').count(), 2, 'both readerships')
    const after = page.locator('.path-band').first().locator('.after li button')
    for (const side of ['before', 'after'] as const)
      await shows(t, page, titlesIn(side), await named(side), `the pages ${side} stand on their side`)
    const next = (await after.first().getAttribute('title')) ?? ''
    await after.first().click()
    await settled()
    t.same(steps(), ['/p/1', next], 'the right list appends')
    t.same(await chain(), steps(), 'the chain shows what the address says')
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/paths-${width}-${colorScheme}.png`, fullPage: true })
    const before = page.locator('.path-band').first().locator('.before li button')
    if ((await before.count()) > 0) {
      const previous = (await before.first().getAttribute('title')) ?? ''
      await before.first().click()
      await settled()
      t.same(steps(), [previous, '/p/1', next], 'the left list prepends')
      await page.locator('main h1').evaluate((heading) => heading.ownerDocument.body.focus())
      await page.keyboard.press('Backspace')
      await settled()
    }
    t.same(steps(), ['/p/1', next], 'Backspace undoes')
    await page.locator('.trail .take-off').last().click()
    await settled()
    t.same(steps(), ['/p/1'], 'the last cross ends the chain before its step')
    await page.goBack()
    await settled()
    t.same(steps(), ['/p/1', next], "the browser's back button goes back")
    await page.locator('.trail .take-off').first().click()
    await settled()
    t.same(steps(), [next], 'the first cross takes the first step alone')
    t.same(trouble.lines, [], 'no error')
    await context.close()
  })

t.test('an address without steps begins with the page that is viewed most', { timeout: 120_000 }, async (t) => {
  const { context, page } = await signIn(browser, app)
  await page.goto(`${app.admin}/sites/1/journeys?range=90d&steps=nonsense`)
  await eventually('the chain has one page', async () => (await page.locator('.trail > li').count()) === 3)
  t.equal(await page.locator('.trail .take-off').count(), 0, 'a page alone cannot be taken off')
  await context.close()
})
