import type { Page } from 'playwright-core'
import t from 'tap'
import { z } from 'zod'
import { openBrowser } from '../fixtures/browser.js'
import { shows } from '../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'
import { SETTLED } from '../fixtures/page-layout.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

/**
 * Each row of a list has its change against the comparison, on a desktop and on a phone. Where nothing of the time before
 * was recorded, no row has one, and the view says why once. `PICTURES` names a folder for pictures of the views.
 */
const DAY = 86_400_000
/** The middle of the last seven days, and of the seven before. The fixture moves rows from the first of November to now. */
const NOW = Date.parse('2026-10-29T10:00:00Z')
const BEFORE = NOW - 7 * DAY

// Beyond the ids of the generated rows.
let person = 9_000_000n
const hit = (at: number, more: Parameters<typeof eventRow>[0]) => {
  person += 1n
  const row = { hostname: 'one.example', browser: 'Firefox', os: 'Linux', country: 'NO', region: 'NO-03', city: 'Oslo' }
  return eventRow({ ...row, timestamp: new Date(at), visitor_id: person, session_id: person, ...more })
}
const times = <R>(n: number, make: () => R): R[] => Array.from({ length: n }, make)
const boom = { type: 'Error', message: 'boom', frame: null, fingerprint: 'f1' }
const vitals = (lcp: number) => ({ lcp, cls: null, inp: null, fcp: null, ttfb: null })
const hits = [
  ...times(6, () => hit(NOW, { kind: 'custom', event_name: 'signup', pathname: '/hand' })),
  ...times(4, () => hit(BEFORE, { kind: 'custom', event_name: 'signup', pathname: '/hand' })),
  ...times(3, () => hit(NOW, { kind: 'error', error: boom, pathname: '/hand' })),
  ...times(12, () => hit(BEFORE, { kind: 'error', error: boom, pathname: '/hand' })),
  hit(NOW, { kind: 'web_vitals', vitals: vitals(1_500), pathname: '/hand' }),
  hit(BEFORE, { kind: 'web_vitals', vitals: vitals(2_000), pathname: '/hand' }),
  ...times(9, () => hit(NOW, { pathname: '/hand', source: 'hand.example', channel: 'Referral' })),
  ...times(3, () => hit(BEFORE, { pathname: '/hand', source: 'hand.example', channel: 'Referral' })),
]
const fetch = (at: number) =>
  agentRow({
    timestamp: new Date(at),
    agent_id: 'ccbot',
    operator: 'Common Crawl',
    hostname: 'one.example',
    pathname: '/hand',
  })
const fetches = [...times(5, () => fetch(NOW)), ...times(20, () => fetch(BEFORE))]

const app = await startDashboard(t, { people: 1_000, agents: 1_000, visits: hits, fetches })
const browser = await openBrowser(t)

/** The views with lists, and the lists whose rows are not compared. */
const VIEWS: readonly [view: string, apart: readonly string[], why: string][] = [
  ['', ['What changed', 'Citation gap'], 'one is about changes, the other shows no number'],
  ['pages', [], ''],
  ['sources', [], ''],
  ['places', [], ''],
  ['devices', [], ''],
  ['events', ['Links to other sites', 'Downloads', 'Forms'], 'the API does not compare properties of events'],
  ['goals', [], ''],
  ['performance', [], ''],
  ['errors', [], ''],
  ['agents', [], ''],
  ['coverage', [], ''],
  ['citation-gap', ['By operator'], 'the operators are not compared'],
  ['violations', [], ''],
  ['catalog?seen=yes', [], ''],
]

/** Views with each kind of list: a butterfly, a ranked list, measures, and a table. */
const ON_PHONES = ['', 'pages', 'sources', 'errors']

/** The change of the first row whose name holds a text, in the list of a title, from numbers counted by hand. */
const BY_HAND: readonly [view: string, list: string, row: string, change: string, why: string][] = [
  ['pages', 'Pages', '/hand', '▼ 75.0%', 'agents read it 5 times after 20'],
  ['sources', 'Sources', 'hand.example', '▲ 200.0%', '9 visits after 3'],
  ['places', 'Countries', 'Norway', '▼ 5.0%', '19 people after 20'],
  ['devices', 'Browsers', 'Firefox', '▼ 5.0%', '19 people after 20'],
  ['events', 'All events', 'signup', '▲ 50.0%', '6 events after 4'],
  ['goals', 'Goals', 'Signed up', '▲ 50.0%', '6 people after 4'],
  ['performance', 'By page', '/hand', '▼ 25.0%', '1,500 ms after 2,000'],
  ['errors', 'Errors', 'boom', '▼ 75.0%', '3 errors after 12'],
  ['agents', 'Agents', 'CCBot', '▼ 75.0%', '5 fetches after 20'],
  ['agents', 'By operator', 'Common Crawl', '▼ 75.0%', '5 fetches after 20'],
  ['coverage', 'Coverage', '/hand', '▼ 75.0%', '5 fetches after 20'],
  ['catalog?seen=yes', 'Catalogue', 'CCBot', '▼ 75.0%', '5 fetches after 20'],
]

/** Each list on screen: its title, its rows, and those of them with a change that can be seen. */
const LISTS = `[...document.querySelectorAll('main section.cell')].flatMap((cell) => {
  const rows = [...cell.querySelectorAll('tbody tr, .ranked > li, .violations > li')]
  const changed = rows.filter((row) => [...row.querySelectorAll('.row-change')].some((one) => one.checkVisibility()))
  return rows.length === 0 ? [] : [[cell.querySelector('h2').textContent, rows.length, changed.length]]
})`
const Lists = z.array(z.tuple([z.string(), z.int(), z.int()]))

async function open(page: Page, view: string, range: string): Promise<void> {
  await page.goto(`${app.admin}/sites/1/${view}${view.includes('?') ? '&' : '?'}range=${range}`)
  await page.waitForSelector('main h1, main h2')
  const settled = () => eventually(`${view} has its answers`, async () => (await page.evaluate(SETTLED)) === true)
  await settled()
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
  await settled()
}

const { page, trouble } = await signIn(browser, app)
const goal = { site: 1, name: 'Signed up', type: 'event', match: { op: 'is', value: 'signup' } }
const created =
  await page.evaluate(`fetch('/api/goals', { method: 'POST', headers: { 'content-type': 'application/json' },
  body: ${JSON.stringify(JSON.stringify(goal))} }).then(({ status }) => status)`)
t.equal(created, 201)

t.test('each row has its change', { timeout: 600_000 }, async (t) => {
  for (const width of [1440, 390])
    for (const [view, apart, why] of width === 1440 ? VIEWS : VIEWS.filter(([name]) => ON_PHONES.includes(name))) {
      await page.setViewportSize({ width, height: 1000 })
      await open(page, view, '7d')
      const lists = Lists.parse(await page.evaluate(LISTS))
      if (process.env.PICTURES)
        await page.screenshot({
          ...{
            path: `${process.env.PICTURES}/changes-${view.split('?')[0] || 'overview'}-${width}.png`,
            fullPage: true,
          },
        })
      t.ok(lists.length > 0, `${view} at ${width} has lists`, { lists })
      for (const [title, rows, changed] of lists)
        t.equal(changed, apart.includes(title) ? 0 : rows, `${view || 'overview'} at ${width}: ${title} ${why}`)
      for (const [of, list, row, change, hand] of BY_HAND)
        if (of === view)
          await shows(
            t,
            page,
            `[...document.querySelectorAll('main section.cell')]
              .filter((cell) => cell.querySelector('h2')?.textContent === ${JSON.stringify(list)})
              .flatMap((cell) => [...cell.querySelectorAll('tbody tr, .ranked > li')])
              .find((one) => one.textContent.includes(${JSON.stringify(row)}))
              ?.textContent.includes(${JSON.stringify(change)})`,
            true,
            `${list} at ${width}: ${row} ${change}, ${hand}`,
          )
    }
  t.same(trouble.lines, [])
})

t.test('without a time before there is no change, and the reason is said once', { timeout: 300_000 }, async (t) => {
  await page.setViewportSize({ width: 1440, height: 1000 })
  for (const [view] of VIEWS.filter(([name]) => ON_PHONES.includes(name))) {
    await open(page, view, '90d')
    const lists = Lists.parse(await page.evaluate(LISTS))
    t.same(
      lists.filter(([, , changed]) => changed > 0),
      [],
      `${view || 'overview'}: no row has a change`,
    )
    const reasons = String(await page.textContent('main')).match(/so there is no change/g) ?? []
    t.ok(reasons.length >= 1, `${view || 'overview'} says why`)
  }
})
