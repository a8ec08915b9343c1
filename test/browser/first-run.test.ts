import { get } from 'node:http'
import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { command } from '../fixtures/command.js'
import { signIn } from '../fixtures/dashboard-service.js'
import { CHROME, dataDir, eventually, freePort, startInstance, startOrigin } from '../fixtures/instance.js'

/** The first screen of a new owner: whether the site responds, its name, robots.txt, old logs; and it ends by itself. */
const browser = await openBrowser(t)

t.test('a site that responds', { timeout: 300_000 }, async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const app = await startInstance(origin.url, dataDir(t))
  t.teardown(() => app.stop())
  const { context, page } = await signIn(browser, app, { timezoneId: 'Europe/Oslo' })
  await page.waitForSelector('.first-run')
  t.equal(await page.locator('.setup-steps > li').count(), 5)
  t.equal(await page.locator('.setup-steps input[type=file]').count(), 1, 'old logs can be chosen here')
  const snippets = () => page.locator('.setup-steps > li:last-child .code').allTextContents()
  t.match((await snippets()).join(), /npx readership proxy http:/, 'at first the proxy')
  for (const name of ['Express', 'Hono', 'Node']) {
    await page.click(`.setup-steps .tabs-line a:text-is("${name}")`)
    await eventually(`${name} has its program`, async () =>
      (await snippets()).join().includes(`readership/${name.toLowerCase()}`),
    )
    t.match(await snippets(), [/^npm install readership/, /openReadership\({ origin: '/], `the program for ${name}`)
  }
  await page.click('.setup-steps .tabs-line a:text-is("Script")')
  await eventually('the tag of the script', async () => /<script [^>]*src=/.test((await snippets()).join()))
  await page.fill('.setup-steps input[name=name]', 'Slack Water')
  t.equal(
    await page.inputValue('.setup-steps input[name=timezone]'),
    'Europe/Oslo',
    'the zone of the browser is suggested',
  )
  await page.click('.setup-steps button[type=submit]')
  await eventually(
    'its name is stored',
    async () => (await page.locator('main h1').textContent()) === 'Set up Slack Water',
  )
  const picture = async (name: string) =>
    process.env.PICTURES && page.screenshot({ path: `${process.env.PICTURES}/${name}.png`, fullPage: true })
  await picture('firstrun')
  await page.setViewportSize({ width: 390, height: 844 })
  t.equal(
    await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
    true,
    'nothing is wider than the phone',
  )
  await picture('firstrun-phone')
  await fetch(app.site, { headers: { 'user-agent': 'GPTBot/1.3' } })
  await page.waitForSelector('.first-run', { state: 'detached' })
  t.equal(await page.locator('main h1').textContent(), 'Overview', 'the dashboard opens by itself with the first fetch')
  await page.goto(`${app.admin}/sites/1/settings/install`)
  const arrivals = async () => (await page.locator('.arrivals > li').allTextContents()).join(' | ')
  const arrives = (what: RegExp) => eventually(`${what}`, async () => what.test(await arrivals()))
  await arrives(/An agent came: .?GPTBot.?\d\d:\d\d:\d\d, the front page, 200\./)
  t.match(await arrivals(), /Waiting for a person \| Script: not seen in 24 hours/)
  await fetch(`${app.site}/about`, { headers: { 'user-agent': CHROME, accept: 'text/html' } })
  await arrives(/A person came\d\d:\d\d:\d\d, \/about, 200\.\s+\| Script: not seen/)
  const hit = { s: 1, u: `${app.site}/about`, w: 1440 }
  const headers = { 'user-agent': CHROME, 'content-type': 'application/json' }
  await fetch(`${app.site}/_readership/api/track`, { method: 'POST', headers, body: JSON.stringify(hit) })
  await arrives(/The script reports$/)
  t.equal(
    await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
    true,
    'nothing is wider than the phone',
  )
  await picture('install-phone')
  await page.click('main a:text-is("See the numbers")')
  await page.waitForURL(/\/sites\/1\/?$/)
  await eventually('the line below says since when', async () =>
    /^Recorded since /.test((await page.textContent('.foot-line')) ?? ''),
  )
  await context.close()
})

t.test('a site that is not running', { timeout: 300_000 }, async (t) => {
  const app = await startInstance(`http://127.0.0.1:${await freePort()}`, dataDir(t))
  t.teardown(() => app.stop())
  const { context, page } = await signIn(browser, app, { locale: 'de-DE' })
  await page.waitForSelector('.first-run')
  await eventually('the page says when the site did not respond', async () =>
    /Sie antwortete um \d\d:\d\d:\d\d nicht: http:\/\/127\.0\.0\.1:\d+ cannot be reached/.test(
      (await page.locator('.setup-steps').textContent()) ?? '',
    ),
  )
  if (process.env.PICTURES)
    await page.screenshot({ path: `${process.env.PICTURES}/firstrun-refused.png`, fullPage: true })
  await context.close()
})

/** Requests the front page under a hostname, as a client may that chooses the header. */
const request = (url: string, host: string) =>
  new Promise<void>((resolve, reject) => {
    const headers = { host, 'user-agent': 'GPTBot/1.3' }
    get(url, { headers }, (response) => response.resume().on('end', resolve)).on('error', reject)
  })

t.test('a hostname that the site does not list', { timeout: 300_000 }, async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const app = await startInstance(origin.url, dataDir(t))
  t.teardown(() => app.stop())
  await command('sites', 'update', '1', '--data', app.data, '--domain', 'www.one.example')
  const { context, page, trouble } = await signIn(browser, app, { viewport: { width: 390, height: 844 } })
  await page.waitForSelector('.first-run')
  await request(app.site, '<script>alert(1)</script>')
  await request(app.site, '-rf')
  await request(app.site, 'staging.one.example:8080')
  const expected = 'npx readership sites update 1 --domain www.one.example --domain staging.one.example'
  const commands = async () =>
    (await page.locator('main .code > span').allTextContents()).filter((one) => /sites/.test(one))
  await eventually('the page has the command that adds it', async () => (await commands()).length > 0)
  t.strictSame(await commands(), [expected], 'for the hostname that can be one, alone')
  t.match(await page.textContent('main'), 'Requests for staging.one.example arrive and are refused')
  t.equal(
    await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
    true,
    'nothing is wider than the phone',
  )
  await page.goto(`${app.admin}/sites/1/settings/install`)
  await eventually('the page of installation has it too', async () => (await commands()).includes(expected))
  await page.goto(`${app.admin}/sites/1/`)
  await page.waitForSelector('.first-run')
  await command(...expected.split(' ').slice(2), '--data', app.data)
  await request(app.site, 'staging.one.example')
  await page.waitForSelector('.first-run', { state: 'detached' })
  t.same(trouble.lines, [])
  await context.close()
})
