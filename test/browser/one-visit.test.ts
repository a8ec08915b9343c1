import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import type { EventRow } from '../../src/storage/rows.js'
import { openBrowser } from '../fixtures/browser.js'
import { texts } from '../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'
import { SETTLED, UNREADABLE } from '../fixtures/page-layout.js'
import { eventRow } from '../fixtures/rows.js'

/**
 * One visit with the script and one without it, in a real browser: the sentence, the band, the steps and each fact with a
 * value or the reason for its absence. The fixture moves the rows by whole milliseconds, so times between them stay.
 */
const END = Date.parse('2026-11-01T13:00:00Z')
const BEGAN = END - 3_600_000
type Hit = readonly [seconds: number, pathname: string, more?: Partial<EventRow>]
const visit = (id: bigint, visitor: bigint, began: number, common: Partial<EventRow>, hits: readonly Hit[]) =>
  hits.map(([seconds, pathname, more]) =>
    eventRow({
      ...{ site_id: 1, hostname: 'one.example', visitor_id: visitor, session_id: id, session_start: new Date(began) },
      ...{ entry_page: hits[0]?.[1] ?? null, channel: 'Direct', ...common },
      ...{ timestamp: new Date(began + seconds * 1_000), pathname, ...more },
    }),
  )
const report = (seconds: number, pathname: string, engaged: number, scroll: number): Hit => [
  seconds,
  pathname,
  { kind: 'engagement', engaged_ms: engaged * 1_000, scroll },
]
const ARRIVAL = { source: 'newsletter', channel: 'Email', utm_campaign: 'issue-2', country: 'IN' }
const DEVICE = { browser: 'Firefox', os: 'Android', device_type: 'mobile', screen_class: 'xs', language: 'en' }
const [MEASURED, PLAIN] = [0xfeedn, 0xbeefn]
const visits = [
  ...visit(MEASURED, 0xabcdefn, BEGAN, { ...ARRIVAL, ...DEVICE }, [
    [0, '/'],
    report(18, '/', 18, 60),
    [24, '/articles/fog-signals'],
    report(165, '/articles/fog-signals', 141, 92),
    [190, '/pricing'],
    [195, '/pricing', { kind: 'custom', event_name: 'Subscribed', props: '{"plan":"yearly"}' }],
    report(200, '/pricing', 10, 71),
  ]),
  ...visit(0xfeeen, 0xabcdefn, BEGAN + 210_000, {}, [[0, '/pricing']]),
  ...visit(PLAIN, 0x123n, BEGAN, {}, [[0, '/']]),
]
const app = await startDashboard(t, { people: 20, agents: 0, visits })
const browser = await openBrowser(t)
const path = (of: string, id: bigint) => `${app.admin}/sites/1/${of}/${id.toString(16).padStart(16, '0')}?range=24h`

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const FAULTS = `axe.run().then(({ violations }) => violations.map(({ id }) => id))`
/** Each fact as `name: value`. */
const FACTS = `[...document.querySelectorAll('main dl.facts:not(.small) > div')].map((row) =>
  [...row.children].map(({ innerText }) => innerText.replace(/\\s+/g, ' ').trim()).join(': '))`
/** The bars of the band from left to right, in percent of its width. */
const BARS = `(() => {
  const all = document.querySelector('.visit-band svg').getBoundingClientRect()
  return [...document.querySelectorAll('.visit-band rect[fill="var(--people)"]')].map((bar) => {
    const { left, width } = bar.getBoundingClientRect()
    return [Math.round(((left - all.left) / all.width) * 100), Math.round((width / all.width) * 100)]
  })
})()`

t.test('a visit with the script', async (t) => {
  const { context, page, trouble } = await signIn(browser, app, { viewport: { width: 1440, height: 1000 } })
  await page.goto(path('sessions', MEASURED))
  await page.waitForSelector('.visit-steps li')
  await eventually('the answers are there', async () => (await page.evaluate(SETTLED)) === true)
  const plain = (text: string | null) => `${text}`.replaceAll('\u202f', ' ')
  t.equal(
    plain(await page.textContent('main .sentence')),
    'A person (India) came from newsletter: 3 pageviews in 3 m 20 s, most of the time in use on /articles/fog-signals (2 m 21 s), and 1 event, first Subscribed. This was visit 1 of 2.',
  )
  // The visit has 200 seconds: 0 to 18, 24 to 165, 190 to 200.
  t.same(await page.evaluate(BARS), [
    [0, 9],
    [12, 71],
    [95, 5],
  ])
  t.same(await page.evaluate(texts('.visit-steps > li > time')), ['0:00', '0:24', '3:10', '3:15'])
  t.same((await page.locator('.visit-steps .in-use').allTextContents()).map(plain), [
    'in use 18 s, scrolled to 60%',
    'in use 2 m 21 s, scrolled to 92%',
    'in use 10 s, scrolled to 71%',
  ])
  const facts = (await page.evaluate<string[]>(FACTS)).map(plain)
  t.equal(facts.length, 13)
  const expected = [
    'Visitor: Visitor 000000',
    'Length: 3 m 20 s',
    'In use: 2 m 49 s',
    'From: newsletter',
    'Campaign: issue-2',
    'Began on: /',
    'Left from: /pricing',
    'Country: India',
    'Device: Phone',
    'Width of the screen: Below 576 px',
    'Browser: Firefox Android',
    'Language: English',
  ]
  for (const line of expected) t.ok(facts.includes(line), line, { facts })
  const last = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
  const began = new Date(Date.now() - 60_000 - (END - BEGAN))
  const lastDay = last.format(Date.UTC(began.getUTCFullYear(), began.getUTCMonth() + 1, 0))
  t.match(
    await page.textContent('main section:has(.visitor-line) .aside'),
    new RegExp(`^recognised until ${lastDay}, when ids change`),
  )
  t.equal(await page.locator('.visitor-line circle').count(), 2, 'both visits of the id')
  t.equal(await page.locator('.visitor-line circle[stroke="var(--ink)"]').count(), 1, 'this one is marked')
  for (const width of [390, 768, 1440]) {
    await page.setViewportSize({ width, height: 900 })
    t.same(await page.evaluate(UNREADABLE), [], `${width} pixels`)
    t.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, `${width} pixels`)
  }
  await page.evaluate(`(() => { ${AXE} })()`)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    t.same(await page.evaluate(FAULTS), [], `axe, ${colorScheme}`)
  }
  await page.goto(path('visitors', 0xabcdefn))
  await page.waitForSelector('.visitor-line circle')
  t.equal(await page.locator('.visitor-line circle').count(), 2, 'the page of the visitor has the same line')
  t.same(trouble.lines, [])
  await context.close()
})

t.test('a visit without the script says what needs it', async (t) => {
  const { context, page, trouble } = await signIn(browser, app, { viewport: { width: 390, height: 844 } })
  await page.goto(path('sessions', PLAIN))
  await page.waitForSelector('.visit-steps li')
  await eventually('the answers are there', async () => (await page.evaluate(SETTLED)) === true)
  t.equal(await page.textContent('main .sentence'), 'A person came directly: 1 pageview.')
  t.equal(await page.locator('.visit-band').count(), 0, 'one hit has no length')
  const facts = await page.evaluate<string[]>(FACTS)
  const expected = [
    'Length: One hit has no length',
    'In use: Needs the script',
    'Campaign: None in the address',
    'Country: Not known of this address',
    'Device: The browser did not say',
    'Width of the screen: Needs the script',
    'Browser: The browser did not say',
    'Language: The browser did not say',
  ]
  for (const line of expected) t.ok(facts.includes(line), line, { facts })
  t.same(trouble.lines, [])
  await context.close()
})
