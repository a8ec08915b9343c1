import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { command } from '../fixtures/command.js'
import { shows } from '../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'
import { COUNT_SHIFTS, SETTLED, SHIFTS, UNREADABLE } from '../fixtures/page-layout.js'
import { agentRow } from '../fixtures/rows.js'

/**
 * Every view of the rail, the settings, and one page of each detail, over two months of rows: each view
 * holds still while it loads without a cache, each label has its value, no text is cut without a sign or lies on another,
 * and axe finds no fault in either theme.
 * `LAYOUT=table` prints the shift of each view.
 */
const RANGE = 'range=90d'
const MAX_SHIFT = 0.02
/** The page, its script, what views share, its styles and its view; then the session, the view's questions, and what follows from their answers. */
const MAX_REQUESTS = 8
/** A view is loaded at each width, and then resized to the others. */
const SCREENS = [
  { width: 390, height: 844, resized: [768] },
  { width: 1440, height: 900, resized: [1280, 1920] },
]
/** From the first width above a tablet's to the last below a desktop's, with both sides of each rule between them. */
const LAPTOPS = [961, 1100, 1180, 1181, 1240, 1241, 1280, 1366, 1439]
/** Views with tables of many headings, or with tags, which are longer in German. */
const TABLES = [
  ...['', 'citation-gap', 'answers', 'agents', 'sources', 'coverage', 'sessions', 'catalog'],
  ...['decay', 'violations', 'goals', 'performance', 'agents/gptbot'],
]
/** The longest name of a time. */
const OWN_TIME = 'start=2026-10-01T10:30:00Z&end=2026-10-31T22:30:00Z'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** Rules that are decided by colours, of which the dark theme has others. */
const COLOUR_RULES = ['color-contrast']
/** Not among the standard's rules of axe: what a reader sees of a control is in the name by which they call it. */
const LABEL_RULE = 'label-content-name-mismatch'

/** An agent of whose fetches three of four are verified: the longest tag of a title. */
const fetches = [true, true, true, false].map((verified) =>
  agentRow({
    ...{ verified, timestamp: new Date('2026-10-29T10:00:00Z') },
    verification: verified ? 'verified' : 'spoofed',
  }),
)
const app = await startDashboard(t, { people: 1_500, agents: 1_500, fetches })
const browser = await openBrowser(t)

/** The headings of panels in whose row the sheet is not filled. */
const HOLES = `(() => {
  const [sheet] = document.querySelectorAll('.sheet')
  const cells = [...sheet.querySelectorAll(':scope > .cell')].map((cell) => ({ cell, box: cell.getBoundingClientRect() }))
  return cells.filter(({ box }) => {
    const row = cells.filter((other) => Math.abs(other.box.top - box.top) < 2)
    return row.reduce((sum, other) => sum + other.box.width, 0) < sheet.clientWidth - 4 * row.length
  }).map(({ cell }) => cell.querySelector('h2')?.textContent ?? cell.textContent.slice(0, 60))
})()`

/** Links of the site within a part of the page, as paths below the site. */
const linksIn = async (page: Page, part: string): Promise<string[]> =>
  page.evaluate(`[...new Set([...document.querySelectorAll('${part} a[href*="/sites/1"]')]
    .map(({ pathname }) => pathname.replace(/^.*?\\/sites\\/1\\/?/, '')))]`)

async function isSettled(page: Page, path: string): Promise<void> {
  await page.waitForSelector('main h1, main h2')
  await eventually(`${path} has its answers`, async () => (await page.evaluate(SETTLED)) === true)
}

async function open(page: Page, path: string, when = RANGE): Promise<void> {
  await page.goto(`${app.admin}/sites/1/${path}?${when}`)
  await isSettled(page, path)
}

/** The faults that axe finds: the whole set of rules in light, and those of colours in dark. */
async function axeFaults(page: Page): Promise<string[]> {
  const run = (options: object): Promise<{ id: string; html: string }[]> =>
    page.evaluate(`axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => ({ id, html: html.slice(0, 160) }))))`)
  await page.evaluate(`window.axe === undefined && (() => { ${AXE} })()`)
  const light = await run({ runOnly: RULES, rules: { [LABEL_RULE]: { enabled: true } } })
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await run({ runOnly: COLOUR_RULES })
  await page.emulateMedia({ colorScheme: 'light' })
  return [...light.map(({ id, html }) => `${id}: ${html}`), ...dark.map(({ id, html }) => `dark, ${id}: ${html}`)]
}

/** Makes what the empty site lacks, and lists every view and one page of each detail. */
async function listViews(page: Page): Promise<string[]> {
  const post = (path: string, body: object) =>
    page.evaluate(`fetch('/api/${path}', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: ${JSON.stringify(JSON.stringify({ site: 1, ...body }))},
    }).then(({ status }) => status)`)
  const step = (pathname: string) => ({ label: pathname, type: 'page', match: { op: 'is', value: pathname } })
  const { label: name, ...goal } = step('/p/1')
  t.equal(await post('goals', { name, ...goal }), 201)
  t.equal(await post('funnels', { name: 'From first to second', steps: [step('/p/1'), step('/p/2')] }), 201)
  await open(page, 'settings/site')
  const views = await linksIn(page, '.rail')
  const sections = await linksIn(page, '.settings nav')
  const details: string[] = []
  for (const list of ['pages', 'events', 'funnels', 'sessions', 'visitors', 'agents']) {
    await open(page, list)
    const [first] = (await linksIn(page, 'main')).filter(
      (path) => path.startsWith(`${list}/`) && !path.endsWith('/new'),
    )
    if (first === undefined) throw new Error(`${list} has no page of its own`)
    details.push(first)
  }
  return [...views.filter((path) => path !== 'settings'), ...details, ...sections]
}

t.test('the first screen takes few requests', async (t) => {
  const { context, page } = await signIn(browser, app, { viewport: { width: 1440, height: 900 } })
  const session = await context.newCDPSession(page)
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  // The page after the sign-in asks too, and is left here.
  await page.goto('about:blank')
  const asked: string[] = []
  page.on('request', (request) => asked.push(`${request.method()} ${request.url()} ${request.postData() ?? ''}`))
  await open(page, '')
  await eventually('the pages have both sides', async () => (await page.locator('.butterfly td b').count()) > 0)
  t.ok(asked.length <= MAX_REQUESTS, `${asked.length} requests`, { asked })
  t.match(
    asked.find((line) => line.includes('/api/')),
    /auth.me.*api.sites.*stats.dimensions/,
    'first the session and the frame',
  )
  await context.close()
})

t.test('every view holds still and can be read', { timeout: 900_000 }, async (t) => {
  const { context, page } = await signIn(browser, app)
  const views = await listViews(page)
  t.ok(views.length > 35, `${views.length} views`)
  await page.addInitScript(COUNT_SHIFTS)
  const session = await context.newCDPSession(page)
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  for (const path of views) {
    const line = [path || 'overview']
    for (const { width, height, resized } of SCREENS) {
      await page.setViewportSize({ width, height })
      await open(page, path)
      const shifts: { value: number; of: string[] }[] = await page.evaluate(SHIFTS)
      const sum = shifts.reduce((all, { value }) => all + value, 0)
      line.push(sum.toFixed(3))
      t.ok(sum < MAX_SHIFT, `${path || 'overview'} at ${width} shifts by ${sum.toFixed(3)}`, {
        shifts: shifts.slice(0, 3),
      })
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
      await isSettled(page, path)
      t.same(await axeFaults(page), [], `${path || 'overview'} at ${width}: axe`)
      for (const wide of [width, ...resized]) {
        await page.setViewportSize({ width: wide, height })
        t.same(await page.evaluate(UNREADABLE), [], `${path || 'overview'} at ${wide}: each text can be read`)
      }
    }
    if (process.env.LAYOUT === 'table') console.log(`| ${line.join(' | ')} |`)
  }
  await context.close()
})

for (const locale of ['en-GB', 'de-DE'])
  t.test(`on a laptop and a phone, in ${locale}, nothing is wider than the screen`, async (t) => {
    const height = 800
    await command('sites', 'update', '1', '--data', app.data, '--name', 'The Harbour Gazette')
    const { context, page } = await signIn(browser, app, { locale, viewport: { width: 1280, height } })
    for (const when of [RANGE, OWN_TIME]) {
      await open(page, 'sources', when)
      for (const width of LAPTOPS) {
        await page.setViewportSize({ width, height })
        t.same(await page.evaluate(UNREADABLE), [], `${when} at ${width}`)
      }
    }
    for (const path of TABLES) {
      await page.setViewportSize({ width: 1280, height })
      await open(page, path)
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
      await isSettled(page, path)
      for (const width of [390, 1280, 1024]) {
        await page.setViewportSize({ width, height })
        await shows(t, page, UNREADABLE, [], `${path || 'overview'} at ${width}`)
        await shows(t, page, HOLES, [], `${path || 'overview'} at ${width}: no hole beside a panel`)
      }
    }
    await context.close()
  })
