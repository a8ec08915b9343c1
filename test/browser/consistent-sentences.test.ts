import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { askSingly } from '../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'
import { SETTLED } from '../fixtures/page-layout.js'

/** A sentence contradicts neither the rows below it nor the filters above it, and numbers name what they are a share of. */
const app = await startDashboard(t, { people: 400, agents: 400 })
const browser = await openBrowser(t)
const filter = (dimension: string, value: string) =>
  `filters=${encodeURIComponent(JSON.stringify([{ dimension, op: 'is', value }]))}`

async function open(page: Page, path: string): Promise<void> {
  await page.goto(`${app.admin}/sites/1/${path}`)
  await page.waitForSelector('main h1, main h2')
  await eventually(`${path} has its answers`, async () => (await page.evaluate(SETTLED)) === true)
}
const plain = (text: string | null) => String(text).replace(/[\u00a0\u202f]/g, ' ')

const part = (value: string | undefined, before: number, now: number) => ({
  ...(value === undefined ? {} : { value }),
  ...{ before, now, difference: now - before },
})
const list = (dimension: string, rose: object[], fell: object[] = []) => ({
  ...{ dimension, rose, fell },
  others: { values: 0, now: 0, before: 0, difference: 0 },
})
const changed = (before: number, now: number, dimensions: object[]) => ({
  ...{ measure: 'pageviews', compared: 1, verdict: 'spread', granularity: 'day', buckets: [] },
  ...{ before, now, difference: now - before, dimensions },
})
/** The country of nearly all rows is not named: it grew as all did. */
const COUNTRY = list('country', [part('US', 900, 1_800)])

t.test('where a change is spread out, the sentence names the first of the rows below it', async (t) => {
  const { context, page, trouble } = await signIn(browser, app)
  await askSingly(page)
  const rows: [data: object, sentence: string, first: string, why: string][] = [
    [
      changed(1_000, 2_000, [COUNTRY, list('pathname', [part('/a', 90, 150)]), list('agent_id', [part('x', 1, 9)])]),
      'The change is spread out; by page, the largest part is /a with 60 of 1,000.',
      '/a',
      'a small part',
    ],
    [
      changed(1_000, 2_000, [list('pathname', [part('/a', 90, 150)]), list('agent_id', [part('x', 400, 800)])]),
      'by agent, the largest part is x with 400 of 1,000; it had 40.0% of all before.',
      'x',
      'a large part says what it had',
    ],
    [
      changed(1_000, 1_100, [list('agent_id', [part('x', 200, 500)], [part('y', 400, 200)])]),
      'by agent, the largest part is x with +300; it had 20.0% of all before.',
      'x',
      'more than the whole',
    ],
    [
      changed(1_000, 800, [list('agent_id', [part('x', 200, 500)], [part('y', 700, 200), part('z', 9, 1)])]),
      'by agent, the largest part is y with −500; it had 70.0% of all before.',
      'x',
      'what fell, where the whole fell',
    ],
    [
      changed(100, 200, [list('pathname', [part('/a', 100, 200)]), list('agent_id', [part('x', 10, 30)])]),
      'by agent, the largest part is x with 20 of 100.',
      'x',
      'not the page that the question is about',
    ],
    [changed(100, 200, [COUNTRY]), 'The change is spread out.', '', 'nothing to name'],
  ]
  let data: object = {}
  await page.route('**/api/stats/changes?*', (route) =>
    route.fulfill({ json: { data, meta: { recorded: { gaps: [] }, warnings: [] } } }),
  )
  for (const [answer, sentence, first, why] of rows) {
    data = answer
    await open(page, 'changes?show=agent&range=7d')
    t.match(plain(await page.textContent('main .sentence')), sentence, why)
    await page.goto(`${app.admin}/sites/1/?show=agent&range=7d`)
    await page.waitForSelector('main .change-words')
    t.match(plain(await page.textContent('main .change-words')), sentence, `${why}: the overview`)
    const names = await page.locator('main .change-sides :is(.up, .down) th').allTextContents()
    t.match(names[0] ?? '', first, `${why}: the first row`)
  }
  t.same(trouble.lines, [])
  await context.close()
})

t.test('the overview says what its filters leave', async (t) => {
  const { context, page, trouble } = await signIn(browser, app)
  const rows: [query: string, said: RegExp][] = [
    ['range=90d', / read this site\. /],
    [`range=90d&${filter('pathname', '/p/1')}`, / read \/p\/1\./],
    [`range=90d&${filter('country', 'DE')}`, / (read|viewed) this site, filtered by Country/],
    [`range=90d&show=human&${filter('pathname', '/p/1')}`, / viewed \/p\/1\./],
    [`range=90d&show=agent&${filter('pathname', '/p/1')}`, / read \/p\/1, in /],
  ]
  for (const [query, said] of rows) {
    await open(page, `?${query}`)
    t.match(plain(await page.textContent('main .sentence')), said, query)
  }
  t.same(trouble.lines, [])
  await context.close()
})

t.test('a share of verified fetches says that it is one of those checked, and is the same everywhere', async (t) => {
  const { context, page } = await signIn(browser, app)
  await open(page, '?range=90d')
  const headline = page.locator('main .number.agent:has-text("Verified of checked") .value')
  const share = plain(await headline.textContent())
  t.match(share, /^\d/)
  await open(page, 'agents?range=90d')
  const sentence = plain(await page.textContent('main .sentence'))
  const [, checked, verified, said, spoofed] =
    /of ([\d,]+) checked, ([\d,]+) are verified \((.*?)\) and ([\d,]+) used/.exec(sentence) ?? []
  const number = (text = '') => Number(text.replaceAll(',', ''))
  t.equal(number(verified) + number(spoofed), number(checked))
  t.equal(said, share)
  await context.close()
})

t.test('lists of AI visits say which visits of a page they count', async (t) => {
  const { context, page } = await signIn(browser, app)
  const said = /Visits that viewed the page, wherever they began/
  await open(page, `agents?range=90d&${filter('pathname', '/p/1')}`)
  t.match(await page.textContent('main'), said)
  await open(page, 'agents?range=90d')
  t.notMatch(await page.textContent('main'), said, 'not without a page')
  await open(page, 'pages/%2Fp%2F1?range=90d')
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
  await page.waitForSelector('main :text("people who viewed it, wherever their visit began")')
  await context.close()
})

t.test('each mark of a note has its text', async (t) => {
  const { context, page } = await signIn(browser, app, { viewport: { width: 1440, height: 900 } })
  await askSingly(page)
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
  const texts = ['A text that is much longer than the room that its mark has', 'Second', 'Third']
  const data = [6, 4, 3.99].map((days, i) => ({
    ...{ id: i + 1, site: 1, at: daysAgo(days), text: texts[i], kind: 'note', by: 'Ada', version: 1 },
  }))
  await page.route('**/api/annotations?*', (route) => route.fulfill({ json: { data, meta: {} } }))
  await open(page, '?range=30d')
  await eventually('the notes are there', async () => (await page.locator('g.note').count()) === 3)
  const tips = await page.locator('g.note title').allTextContents()
  for (const [i, text] of texts.entries()) t.match(tips[i] ?? '', `: ${text}`)
  t.same(await page.locator('svg text.halo[aria-hidden]').allTextContents(), ['A text…', 'Third'], 'cut, or left out')
  await context.close()
})

t.test('a panel says nothing before it has its own answer', async (t) => {
  const { context, page } = await signIn(browser, app, { viewport: { width: 1440, height: 2_000 } })
  await askSingly(page)
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route('**/api/policy/violations/rules?*', async (route) => {
    await held
    await route.continue()
  })
  const totals = page.waitForResponse(/violations\/agents/)
  await page.goto(`${app.admin}/sites/1/?range=30d`)
  await totals
  await page.waitForSelector('main .sentence a')
  const panel = page.locator('section.cell', { hasText: 'What disobeyed robots.txt' })
  await panel.waitFor()
  t.equal(await panel.getAttribute('aria-busy'), 'true', 'it waits')
  t.notMatch(await panel.textContent(), 'No agent fetched')
  release()
  await eventually('its rows are there', async () => (await panel.locator('.violations > li').count()) > 0)
  await context.close()
})
