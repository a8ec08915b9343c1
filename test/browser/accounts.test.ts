import type { Page } from 'playwright-core'
import t from 'tap'
import { accountService, PASSWORD } from '../fixtures/account-service.js'
import { openBrowser } from '../fixtures/browser.js'
import { mailServer } from '../fixtures/smtp.js'

/** The account pages in a real browser, which sends cookies, `Origin` and `Sec-Fetch-Site` itself, over HTTP on loopback. */
const NEW = 'the moon pulls both ways'
const GUEST = 'guest@example.com'

t.test('signed in by a link, invited, in, and in again by another password', async (t) => {
  const post = await mailServer(t)
  const { at, linkToken, visitor } = await accountService(t, { send: post.send })
  const browser = await openBrowser(t)
  const me = async (page: Page) => {
    const response = await page.request.get(`${at}/api/auth/me`)
    return { status: response.status(), text: await response.text() }
  }
  /**
   * Clicks and waits until the page has been at an address. It listens before the click: the dashboard leaves its first
   * address at once for that of a site.
   */
  const clickTo = async (page: Page, button: string, address: string) => {
    await Promise.all([page.waitForURL(at + address), page.click(button)])
  }
  const open = async () => {
    const context = await browser.newContext()
    return { context, page: await context.newPage() }
  }

  const owner = await open()
  await owner.page.goto(`${at}/sign-in?token=${await linkToken()}`)
  t.same(await owner.context.cookies(), [], 'to open it changes nothing')
  const style = (selector: string, name: string) =>
    owner.page.evaluate(`getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${name}')`)
  t.equal(await style('main', 'border-radius'), '12px', 'the policy lets the stylesheet through')
  t.equal(await style('button', 'background-color'), 'rgb(28, 29, 32)', 'buttons are the dashboard’s')
  t.equal(await style('header path.people', 'fill'), 'rgb(28, 92, 171)', 'the logo in its colours')
  await clickTo(owner.page, 'button:has-text("Sign in")', '/')
  const [cookie] = await owner.context.cookies()
  t.match(cookie, { name: 'service_session', httpOnly: true, sameSite: 'Lax', secure: false })
  t.equal(await owner.page.evaluate('document.cookie'), '', 'no script sees it')

  const host = visitor()
  await host.form('/sign-in', { token: await linkToken() })
  await host.ask('POST', '/api/orgs/1/invitations', { email: GUEST, role: 'viewer' })
  const guest = await open()
  await guest.page.goto((await post.next(GUEST)).link ?? '')
  await guest.page.fill('input[name=name]', 'Guest')
  await guest.page.fill('input[autocomplete=new-password]', PASSWORD)
  await clickTo(guest.page, 'text=Create account and accept', '/')
  t.match((await me(guest.page)).text, /"email":"guest@example.com".*"role":"viewer"/s)

  await guest.page.goto(`${at}/reset-password`)
  await guest.page.fill('input[name=email]', GUEST)
  await guest.page.click('text=Send me a link')
  await guest.page.waitForSelector('text=Check your inbox')
  await guest.page.goto((await post.next(GUEST)).link ?? '')
  await guest.page.fill('input[name=password]', NEW)
  await clickTo(guest.page, 'text=Save password', '/sign-in')
  t.equal((await me(guest.page)).status, 401, 'all sessions are over')
  for (const [password, next] of [
    [PASSWORD, 'text=The e-mail address or the password is wrong'],
    [NEW, undefined],
  ] as const) {
    await guest.page.fill('input[name=email]', GUEST)
    await guest.page.fill('input[name=password]', password)
    if (next === undefined) await clickTo(guest.page, 'button', '/')
    else {
      await guest.page.click('button')
      await guest.page.waitForSelector(next)
    }
  }
  t.equal((await me(guest.page)).status, 200)

  await host.ask('DELETE', '/api/orgs/1/members/2')
  const made = await host.ask('POST', '/api/orgs/1/invitations', { email: GUEST, role: 'member' })
  await guest.page.goto(made.data.link)
  await clickTo(guest.page, 'button:has-text("Accept")', '/')
  t.match((await me(guest.page)).text, /"role":"member"/, 'signed in already: one button')
})
