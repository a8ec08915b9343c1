import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'

/** All panels have their answers. */
const SETTLED = `!document.querySelector('[aria-busy="true"], .skeleton')`

t.test('a filter is unknown if a person set it, not if the view did', { timeout: 600_000 }, async (t) => {
  const app = await startDashboard(t, { people: 60, agents: 60 })
  const { context, page } = await signIn(await openBrowser(t), app)
  const germany = JSON.stringify([{ dimension: 'country', op: 'is', value: 'Germany' }])
  const rows: [view: string, query: string, expected: boolean, why: string][] = [
    ['/pages/%2Fnone', '', false, 'the view of a page asks about its path'],
    ['', `&filters=${encodeURIComponent(germany)}`, true, 'a name instead of a code'],
  ]
  for (const [view, query, expected, why] of rows) {
    await page.goto(`${app.admin}/sites/1${view}?range=90d${query}`)
    await page.waitForSelector('main h1')
    await eventually(`${why}: answers`, async () => (await page.evaluate(SETTLED)) === true)
    const text = await page.locator('main').textContent()
    t.equal(/No row of people in this period has the value “Germany” \(Country\)/.test(text ?? ''), expected, why)
    t.notMatch(text, /has the value “\/none”/, why)
  }
  await context.close()
})

t.test('a time that was not recorded is said to be unknown, and never 0', { timeout: 600_000 }, async (t) => {
  const app = await startDashboard(t, { people: 400, agents: 400 })
  const browser = await openBrowser(t)
  const { context, page } = await signIn(browser, app)
  const read = async (view: string) => {
    await page.goto(`${app.admin}/sites/1/${view}`)
    await page.waitForSelector('main h1')
    await eventually(`${view}: answers`, async () => (await page.evaluate(SETTLED)) === true)
    return (await page.locator('main').textContent()) ?? ''
  }
  const WHY = /Nothing is recorded from \d+ \w+ to \d+ \w+, so there is no change/
  const PART =
    /Only \d\d\.\d% of the time from \d+ \w+ to \d+ \w+ is recorded, so there is no change here\. What changed compares the hours/
  const daysAgo = (n: number) => new Date(Date.now() - n * 86_400_000).toISOString().slice(0, 10)
  // Some 20 of the 40 days before these 40 are recorded.
  const half = `start=${daysAgo(40)}&end=${daysAgo(1)}`
  // The rows are of two months: of the 90 days before 90 days nothing is recorded, of the 7 before 7 everything.
  const rows: [view: string, shown: RegExp | undefined, hidden: RegExp, why: string][] = [
    ['?range=90d', WHY, /[▲▼]/, 'the headlines say why they have no change'],
    ['?range=7d', undefined, WHY, 'and say nothing where they have one'],
    ['sources?range=90d', WHY, /[▲▼]/, 'a list says it once, above'],
    ['pages/%2F?range=90d', WHY, /\b0 →/, 'the decay of a page has no number before'],
    ['decay?range=90d', WHY, /\b0 →|– →/, 'nor has that of every page'],
    [`?${half}`, PART, /[▲▼]|\d% (more|less)/, 'a time before that is recorded in part gives no headline a change'],
    [`sources?${half}`, PART, /[▲▼]/, 'nor a source'],
    [`agents?${half}`, PART, /[▲▼]/, 'nor an agent'],
    [`decay?${half}`, PART, /[▲▼]|\d →/, 'nor the decay of a page'],
    [
      `changes?${half}`,
      /Compared are the hours that were recorded in both times/,
      PART,
      'what it names compares hours',
    ],
    [
      'retention?range=90d&by=week',
      /cannot be known: ids of people change in between/,
      /(?<!\d)–(?!\d)/,
      'returns that no id tells are hatched',
    ],
  ]
  for (const [view, shown, hidden, why] of rows) {
    const text = await read(view)
    if (shown) t.match(text, shown, why)
    t.notMatch(text, hidden, why)
  }
  await context.close()
})

t.test('before anything is recorded, the readers of now are not known', { timeout: 600_000 }, async (t) => {
  const app = await startDashboard(t, { people: 0, agents: 0 })
  const { context, page } = await signIn(await openBrowser(t), app)
  await page.goto(`${app.admin}/sites/1/live`)
  await page.waitForSelector('.sentence:has-text("Nothing is recorded yet")')
  const figures = await page.locator('.now-figure .figure').allTextContents()
  t.same(figures, ['–', '–'], 'not 0')
  t.equal(await page.locator('.rail .count').count(), 0, 'nor in the rail')
  await context.close()
})
