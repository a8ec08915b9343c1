import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'

/** Old logs come in from the dashboard: chosen, sent one after the other, counted, and taken out again. */
const app = await startDashboard(t, { people: 20, agents: 20 })
const browser = await openBrowser(t)

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
const BOT = 'Mozilla/5.0 (compatible; ClaudeBot/1.0; +claudebot@anthropic.com)'
const line = (second: number, address: string, path: string, agent: string, type = '01/Feb/2026'): string =>
  `${address} - - [${type}:10:00:${`${second}`.padStart(2, '0')} +0000] "GET ${path} HTTP/1.1" 200 5120 "-" "${agent}"`
/** Three pages of people, two fetches of an agent, a style sheet, and a line without a request. */
const SMALL = [
  line(1, '203.0.113.1', '/tides', BROWSER),
  line(2, '203.0.113.2', '/tides', BROWSER),
  line(3, '203.0.113.3', '/lamps', BROWSER),
  line(4, '203.0.113.9', '/tides', BOT),
  line(5, '203.0.113.9', '/lamps', BOT),
  line(6, '203.0.113.1', '/site.css', BROWSER),
  'this is no request',
].join('\n')
/** Two fetches of an agent on another day. */
const PACKED = gzipSync(
  [line(1, '203.0.113.9', '/', BOT, '03/Feb/2026'), line(2, '203.0.113.9', '/a', BOT, '03/Feb/2026')].join('\n'),
)
const WRONG = Array.from({ length: 50 }, (_, i) => `a poem has no requests, line ${i}`).join('\n')

const file = (name: string, content: string | Buffer) => ({
  name,
  mimeType: 'application/octet-stream',
  buffer: Buffer.from(content),
})
const row = (page: Page, name: string) => page.locator('.imports > li').filter({ hasText: name })
const totals = async (page: Page): Promise<unknown> =>
  page.evaluate(`Promise.all(['human', 'agent'].map((audience) =>
    fetch('/api/stats/overview?site=1&start=2026-02-01&end=2026-02-28&audience=' + audience)
      .then((response) => response.json()).then(({ data }) => data.pageviews)))`)

t.test('several logs are chosen at once', { timeout: 300_000 }, async (t) => {
  const { context, page } = await signIn(browser, app)
  await page.goto(`${app.admin}/sites/1/settings/imports`)
  await page.setInputFiles('input[type=file]', [
    file('access.log', SMALL),
    file('poem.txt', WRONG),
    file('access.log.1.gz', PACKED),
  ])
  await page.waitForSelector('.imports > li')
  // Another view is opened while the logs are sent.
  await page.click('.rail a[href*="/sites/1/pages"]')
  await page.waitForSelector('main .butterfly, main .state')
  await page.click('.rail a[href*="/sites/1/settings"]')
  await page.click('a[href*="settings/imports"]')
  const rows: [name: string, shown: RegExp, why: string][] = [
    ['access.log.1.gz', /0 pageviews of people and 2 fetches of agents from 2 lines/, 'the last one, unpacked'],
    ['poem.txt', /It ended early:.*format/s, 'no line is of a known format'],
    ['access.log', /3 pageviews of people and 2 fetches of agents from 7 lines/, 'the first one'],
  ]
  for (const [name, shown, why] of rows)
    await eventually(why, async () => {
      const texts = await row(page, name).allTextContents()
      return texts.some((text) => shown.test(text))
    })
  const first = page.locator('.imports > li').last()
  await first.locator('summary').click()
  t.match(
    await first.textContent(),
    /2 lines were not stored: why.*1 of people for anything but pages.*1 that are not/s,
  )
  t.same(await totals(page), [3, 4], 'pageviews, and reads of pages')

  await first.locator('button[aria-label="Undo: access.log"]').click()
  await page.click('dialog button[type=submit]')
  await eventually('it leaves the list', async () => (await page.locator('.imports > li').count()) === 2)
  t.same(await totals(page), [0, 2], 'its rows are gone')
  await context.close()
})

t.test('what cannot be sent says so, and is tried again', { timeout: 300_000 }, async (t) => {
  const { context, page } = await signIn(browser, app, { viewport: { width: 390, height: 844 } })
  await page.goto(`${app.admin}/sites/1/settings/imports`)
  const refuse = { code: 'database_error', message: 'The disk has no room for the log.' }
  const answers = [
    { status: 503, json: { error: refuse } },
    { status: 409, json: { error: { code: 'conflict', message: 'Another import runs.' } } },
  ]
  await page.route('**/api/imports?**', (route) => {
    const answer = route.request().method() === 'POST' ? answers.shift() : undefined
    return answer ? route.fulfill(answer) : route.continue()
  })
  await page.setInputFiles('input[type=file]', [file('later.log', PACKED)])
  await page.waitForSelector('.imports [role=alert]')
  t.match(await page.locator('.imports [role=alert]').textContent(), /no room for the log\. Nothing of this file/)
  t.equal(
    await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
    true,
    'nothing is wider than the phone',
  )
  await row(page, 'later.log').locator('button:text-is("Try again")').click()
  await eventually('it waits for the other import', async () =>
    /Waits until the import before/.test((await row(page, 'later.log').textContent()) ?? ''),
  )
  await eventually('it is sent at last, and all of it was stored before', async () =>
    /2 that were stored before/.test((await row(page, 'later.log').textContent()) ?? ''),
  )
  await context.close()
})
