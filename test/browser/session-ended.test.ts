import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'

const PASSWORD = 'slack water at noon'

t.test(
  'a half-made funnel outlives its session, and is saved after signing in over it or in another tab',
  async (t) => {
    const app = await startDashboard(t, { people: 50, agents: 50 })
    const browser = await openBrowser(t)
    const { context, page } = await signIn(browser, app)
    const status = await page.evaluate(`fetch('/api/auth/change-password', {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ password: '${PASSWORD}' }),
  }).then(({ status }) => status)`)
    t.equal(status, 204)
    await page.goto(`${app.admin}/sites/1/funnels/new`)
    const fields = page.locator('.builder input:not([type=number])')
    await fields.first().waitFor()
    await fields.first().fill('To the price')
    for (let i = 1; i < (await fields.count()); i++) await fields.nth(i).fill(`/page-${i}`)
    const typed = () => fields.evaluateAll((inputs) => inputs.map((one) => Reflect.get(one, 'value')))
    const before = await typed()
    t.match(before, ['To the price', '/page-1', '/page-2'])

    const ended = page.locator('dialog[aria-label="Your session has ended"]')
    const cookies = await context.cookies()
    const save = () => page.locator('.builder button[type=submit]').click()
    await context.clearCookies()
    await save()
    await ended.waitFor()
    t.notMatch(await page.textContent('body'), 'API key', 'nothing that is meant for programs')
    t.same(await typed(), before, 'what was typed stays')
    // Another tab signs in: the dialog looks again when this one is returned to.
    await context.addCookies(cookies)
    await page.evaluate("window.dispatchEvent(new Event('focus'))")
    await ended.waitFor({ state: 'detached' })
    t.same(await typed(), before, 'after signing in elsewhere')

    await context.clearCookies()
    await save()
    await ended.waitFor()
    await ended.locator('input[name=password]').fill('not the one')
    await ended.locator('button[type=submit]').click()
    await ended.locator('[role=alert]').waitFor()
    t.match(await ended.locator('[role=alert]').textContent(), 'The e-mail address or the password is wrong.')
    await ended.locator('input[name=password]').fill(PASSWORD)
    await ended.locator('button[type=submit]').click()
    await ended.waitFor({ state: 'detached' })
    t.same(await typed(), before, 'after signing in over the page')
    await save()
    await page.waitForSelector('.builder', { state: 'detached' })
    const funnels = await page.evaluate("fetch('/api/funnels?site=1').then((answer) => answer.json())")
    t.match(funnels, { data: [{ name: 'To the price' }] }, 'it is saved')
  },
)
