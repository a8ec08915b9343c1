import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { askSingly } from '../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'
import { SETTLED, UNREADABLE } from '../fixtures/page-layout.js'

/** Retention in a real browser, with answers that have every kind of cell: the clock decides which a real one has. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const FAULTS = `axe.run().then(({ violations }) => violations.map(({ id }) => id))`
const app = await startDashboard(t, { people: 20, agents: 200 })
const browser = await openBrowser(t)

const UNKNOWN = { reason: 'salt_changed' }
const cell = (visitors: number, rate: number, more: object = {}) => ({ visitors, rate, ...more })
const cohort = (start: string, end: string, size: number | undefined, cells: object[]) => ({
  ...{ start: `${start}T00:00:00.000Z`, end: `${end}T00:00:00.000Z` },
  ...(size === undefined ? {} : { size }),
  periods: cells.map((each, period) => ({ period, ...each })),
})
const AT_LEAST = { at_least: true }
const SO_FAR = { so_far: true }
const COHORTS = [
  cohort('2026-09-22', '2026-09-29', undefined, []),
  cohort('2026-10-22', '2026-10-29', 100, [cell(100, 1), cell(6, 0.06, AT_LEAST), UNKNOWN]),
  cohort('2026-10-29', '2026-11-01', 40, [cell(40, 1), UNKNOWN, UNKNOWN]),
  cohort('2026-11-01', '2026-11-08', 200, [cell(200, 1), cell(20, 0.1), cell(4, 0.02, SO_FAR)]),
  cohort('2026-11-08', '2026-11-15', 50, [cell(50, 1, SO_FAR)]),
]
/** Each row of the table as the class and the text of its cells, and the width of each bar in percent of its cell. */
const ROWS = `[...document.querySelectorAll('table.cohorts tbody tr')].map((row) => [row.className,
  ...[...row.cells].map((cell) => [cell.className, cell.innerText.replace(/\\s+/g, ' ').trim()].join(': '))])`
const WIDTHS = `[...document.querySelectorAll('table.cohorts .cell-bar')].map((bar) =>
  Math.round((bar.getBoundingClientRect().width / bar.parentElement.clientWidth) * 100))`

t.test('known, at least, so far, not begun, and what cannot be known', async (t) => {
  const { context, page, trouble } = await signIn(browser, app, { viewport: { width: 1440, height: 1000 } })
  await askSingly(page)
  const query = { start: '2026-09-22T00:00:00.000Z', end: '2026-11-10T00:00:00.000Z' }
  await page.route('**/api/stats/retention?*', (route) =>
    route.fulfill({ json: { data: { granularity: 'week', cohorts: COHORTS }, meta: { query, warnings: [] } } }),
  )
  await page.goto(`${app.admin}/sites/1/retention?range=90d`)
  await page.waitForSelector('table.cohorts')
  await eventually('the answers are there', async () => (await page.evaluate(SETTLED)) === true)
  t.same(await page.evaluate(ROWS), [
    [
      '',
      ': 22–28 Oct',
      'right-align: 100',
      'atLeast: 6.0% at least',
      'unknown: cannot be known: ids of people change in between',
    ],
    [
      '',
      ': 29–31 Oct',
      'right-align: 40',
      'unknown: cannot be known: ids of people change in between',
      'unknown: cannot be known: ids of people change in between',
    ],
    ['new-ids', ': 1–7 Nov', 'right-align: 200', 'known: 10.0%', 'soFar: 2.0% so far'],
    ['', ': 8–14 Nov', 'right-align: 50', ': ', ': '],
  ])
  t.same(await page.evaluate(WIDTHS), [60, 100, 20], 'a full bar is 10 %')
  t.match(
    await page.textContent('main .sentence'),
    '200 people came for the first time; 10.0% of them came back the week after.',
  )
  t.match(await page.textContent('.cohort-key'), /A full bar would be 10%/)
  t.match(await page.textContent('main'), /destroyed on the 1st of each month, by UTC/)
  t.ok((await page.locator('.agent-weeks tbody tr').count()) > 3, 'agents have their weeks beside')
  await page.evaluate(`(() => { ${AXE} })()`)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    t.same(await page.evaluate(FAULTS), [], `axe, ${colorScheme}`)
  }
  for (const width of [390, 768, 1440]) {
    await page.setViewportSize({ width, height: 900 })
    t.same(await page.evaluate(UNREADABLE), [], `${width} pixels`)
    t.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, `${width} pixels`)
  }
  t.same(trouble.lines, [])
  await context.close()
})
