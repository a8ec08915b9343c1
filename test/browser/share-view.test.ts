import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { signIn, startDashboard, watch } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'
import { SETTLED } from '../fixtures/page-layout.js'

/** "Share this view": the link opens what the member saw, and says why where it may not. */
const app = await startDashboard(t, { people: 300, agents: 300 })
const browser = await openBrowser(t)
const FILTERS = encodeURIComponent(JSON.stringify([{ dimension: 'pathname', op: 'starts_with', value: '/p' }]))

async function settle(page: Page): Promise<void> {
  await page.waitForSelector('main h1, main h2')
  await eventually('it has its answers', async () => (await page.evaluate(SETTLED)) === true)
}

/** Makes a link in the dialog and returns its address. */
async function share(page: Page): Promise<string> {
  await page.click('.bar button[aria-label="Share this view"]')
  await page.click('dialog button[type=submit]')
  await page.waitForSelector('dialog [role=status] .code')
  return (await page.locator('dialog [role=status] .code span').textContent()) ?? ''
}

t.test('a link opens exactly the view, for everybody', { timeout: 300_000 }, async (t) => {
  const { context, page } = await signIn(browser, app, { permissions: ['clipboard-read', 'clipboard-write'] })
  const visit = async (path: string) => {
    await page.goto(`${app.admin}/sites/1/${path}`)
    await settle(page)
  }
  const guests = await browser.newContext({ locale: 'en-GB' })
  const guest = await guests.newPage()
  const { lines } = watch(guest, app.admin)
  const views: [path: string, selector: string, why: string][] = [
    [`?range=90d&filters=${FILTERS}&compare=none`, '.number .value', 'totals, with filter and without comparison'],
    ['pages?range=90d&show=agent&page=1', '.butterfly tbody th', 'agents alone'],
    ['agents?range=90d&purpose=training', '.agent-rows tbody th', 'the tab of the view'],
    ['sources?range=90d', '.measures tbody th', 'sources'],
    ['devices?range=90d', 'main tbody th', 'devices'],
    ['journeys?range=90d', 'main h2', 'journeys'],
  ]
  for (const [path, selector, why] of views) {
    await visit(path)
    const own = await page.locator(selector).allTextContents()
    const address = await share(page)
    const [before, after] = [new URL(page.url()), new URL(address)]
    t.match(after.pathname, /^\/share\/[\w-]+/, why)
    t.same([...after.searchParams].sort(), [...before.searchParams].sort(), `${why}: window, filters and readership`)
    t.equal(await page.evaluate('navigator.clipboard.readText()'), address, `${why}: copied`)
    await guest.goto(address)
    await settle(guest)
    t.same(await guest.locator(selector).allTextContents(), own, `${why}: the same`)
    t.notMatch(await guest.locator('main').textContent(), /This link does not show/, `${why}: no panel is closed`)
    t.equal(await guest.locator('.bar button[aria-label="Share this view"]').count(), 0)
    t.same(lines.splice(0), [], `${why}: nothing is refused`)
  }
  // A second link of one view has a name of its own.
  await visit('sources?range=90d')
  const address = await share(page)
  await guest.goto(address.replace('/sources', '/agents'))
  await guest.waitForSelector('main h1')
  t.match(
    await guest.locator('main').textContent(),
    /does not show Agents.*lacks the right “Agents and policy”/s,
    'another view says which right is missing',
  )
  await guest.goto(address.replace('/sources', '/sessions'))
  await guest.waitForSelector('main h1')
  t.match(await guest.locator('main').textContent(), /No share link shows Visits/)
  lines.splice(0)
  await page.click('dialog button:text-is("Take it back")')
  await page.waitForSelector('.toast:has-text("does not work any more")')
  await guest.goto(address)
  await guest.waitForSelector('main h1')
  t.equal(await guest.locator('main h1').textContent(), 'This link does not work', 'revoked')
  await guests.close()
  await context.close()
})

t.test('a password is asked, visits are for members, and the keyboard is enough', async (t) => {
  const { context, page } = await signIn(browser, app, { viewport: { width: 390, height: 844 }, locale: 'de-DE' })
  await page.goto(`${app.admin}/sites/1/pages?range=90d`)
  await settle(page)
  await page.locator('.bar button[aria-label="Diese Ansicht teilen"]').focus()
  await page.keyboard.press('Enter')
  t.equal(await page.locator('dialog .code span').first().textContent(), page.url(), 'the plain address for members')
  await page.fill('dialog input[name=password]', 'tides and lamps')
  await page.keyboard.press('Enter')
  await page.waitForSelector('dialog [role=status] .code')
  const address = (await page.locator('dialog [role=status] .code span').textContent()) ?? ''
  t.equal(
    await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
    true,
    'nothing is wider than the phone',
  )
  await page.keyboard.press('Escape')
  await page.waitForSelector('dialog', { state: 'detached' })
  const guests = await browser.newContext({ locale: 'en-GB' })
  const guest = await guests.newPage()
  await guest.goto(address)
  await guest.fill('input[name=password]', 'tides and lamps')
  await guest.click('button[type=submit]')
  await guest.waitForSelector('.butterfly tbody th')
  t.equal(new URL(guest.url()).search, '?range=90d')
  await page.goto(`${app.admin}/sites/1/sessions?range=90d`)
  await settle(page)
  await page.click('.bar button[aria-label="Diese Ansicht teilen"]')
  t.equal(await page.locator('dialog form').count(), 0, 'no link shows single visits')
  await guests.close()
  await context.close()
})
