import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { askSingly, count, headlinesOf, shows, texts, VALUES } from '../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'

/**
 * The views of the dashboard over two months of rows, in a real browser: no fault of accessibility that axe finds, in
 * light and in dark, on a desktop and on a phone; no error, no refused content, no request beyond the instance. Then what
 * only shows in an unusual place: another zone, an address made by hand, an answer that fails or comes late.
 */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const VIEWS = [
  ...['', 'live', 'pages', 'pages/%2Fp%2F1', 'sources', 'places', 'devices', 'events', 'goals', 'funnels', 'journeys'],
  ...['hours', 'retention', 'sessions', 'visitors', 'performance', 'errors', 'agents', 'agents/gptbot', 'coverage'],
  ...['citation-gap', 'answers', 'policy', 'violations', 'decay', 'catalog', 'no-such-view'],
  ...['site', 'install', 'shares', 'alerts', 'keys', 'members', 'account'].map((section) => `settings/${section}`),
]

/** Views with each kind of panel. `VIEWS=all` visits every view on every screen, which takes four minutes of two cores. */
const KINDS = [
  ...['', 'live', 'pages/%2Fp%2F1', 'places', 'funnels', 'journeys', 'hours'],
  ...['agents/gptbot', 'policy', 'settings/site'],
]
/** On the other screens, where parts and not views decide. */
const PARTS = ['', 'pages/%2Fp%2F1', 'agents/gptbot', 'settings/site']
const [CHOSEN, ELSEWHERE] = process.env.VIEWS === 'all' ? [VIEWS, VIEWS] : [KINDS, PARTS]

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** The whole set of rules once; on the other screens the rules that colours and sizes decide. */
const SCREENS = [
  { name: 'desktop, light', width: 1440, height: 900, colorScheme: 'light', views: CHOSEN, rules: RULES },
  { name: 'desktop, dark', width: 1440, height: 900, colorScheme: 'dark', views: ELSEWHERE, rules: ['color-contrast'] },
  {
    name: 'phone, light',
    width: 390,
    height: 844,
    colorScheme: 'light',
    views: ELSEWHERE,
    rules: ['color-contrast', 'target-size'],
  },
  // The colours are those of the dark desktop, so few views say whether the phone's own parts have them too.
  {
    name: 'phone, dark',
    width: 390,
    height: 844,
    colorScheme: 'dark',
    views: process.env.VIEWS === 'all' ? VIEWS : PARTS.slice(0, 2),
    rules: ['color-contrast'],
  },
] as const

/** All panels have their answers. */
const SETTLED = `!document.querySelector('[aria-busy="true"], .skeleton')`
const FITS = 'document.documentElement.scrollWidth <= document.documentElement.clientWidth'
/** Tables of which a part is out of sight. Cohorts and journeys have as many columns as there are days and steps. */
const CUT_TABLES = `[...document.querySelectorAll('.scroll > table:not(.cohorts)')]
  .filter(({ parentElement }) => parentElement.scrollWidth > parentElement.clientWidth)
  .map((table) => table.ariaLabel ?? table.className)`

interface AxeResult {
  violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[]
}

const app = await startDashboard(t, { people: 1_500, agents: 1_500 })
const browser = await openBrowser(t)

for (const { name, width, height, colorScheme, views, rules } of SCREENS)
  t.test(name, { timeout: 600_000 }, async (t) => {
    const { context, page, trouble } = await signIn(browser, app, { viewport: { width, height }, colorScheme })
    for (const view of views) {
      await page.goto(`${app.admin}/sites/1/${view}?range=90d`)
      await page.waitForSelector('main h1, main h2')
      await eventually(`${view} has its answers`, async () => (await page.evaluate(SETTLED)) === true)
      await page.evaluate(AXE)
      const result: AxeResult = await page.evaluate(`axe.run(${JSON.stringify({ runOnly: rules })})`)
      const faults = result.violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
      )
      t.same(faults, [], `${view || 'overview'}: axe`)
      t.equal(await page.evaluate(FITS), true, `${view || 'overview'}: nothing is wider than the screen`)
      t.same(await page.evaluate(CUT_TABLES), [], `${view || 'overview'}: no table is cut`)
      t.same(trouble.lines.splice(0), [], `${view || 'overview'}: no error, no request elsewhere`)
    }
    await context.close()
  })

t.test('the page of installation counts each readership, and asks for the key when it is opened', async (t) => {
  const { context, page } = await signIn(browser, app)
  const asked: string[] = []
  page.on('request', (request) => request.url().includes('ingest-key') && asked.push(request.url()))
  await askSingly(page)
  const answer = (url: string, data: object) =>
    page.route(url, (route) => route.fulfill({ json: { data, meta: { recorded: { gaps: [] }, warnings: [] } } }))
  await answer('**/api/stats/overview?*audience=human*', { pageviews: 312 })
  await answer('**/api/agents/overview?*range=24h*', { fetches: 48 })
  await page.goto(`${app.admin}/sites/1/settings/install`)
  await page.waitForSelector('main [role=status] p')
  t.match(await page.locator('main [role=status]').textContent(), /312 pageviews of people and 48 fetches of agents/)
  t.same(asked, [], 'each look at the key is a line of the audit log')
  await page.click('main summary')
  await page.waitForSelector('main details .code')
  t.equal(asked.length, 1)
  await context.close()
})

t.test('a share link that does not exist says so in words', async (t) => {
  const page = await browser.newPage()
  await page.goto(`${app.admin}/share/AAAAAAAAAAAAAAAAAAAAAAAA`)
  await page.waitForSelector('main h1')
  t.equal(await page.locator('main h1').textContent(), 'This link does not work')
  await page.close()
})

t.test('the feed of Live says who an agent is', { timeout: 300_000 }, async (t) => {
  const { context, page } = await signIn(browser, app)
  const seen = { audience: 'agent', t: new Date().toISOString(), pathname: '/', agent_id: 'gptbot' }
  const rows: [fields: Record<string, unknown>, shown: RegExp, why: string][] = [
    [{ verification: 'ranges', verified: true }, /verified/, 'by the addresses that its operator publishes'],
    [{ verification: 'spoofed', verified: false }, /spoofed/, 'not from there'],
    [{ verification: 'spoofed', verified: false, severity: 'unverified', line: 10 }, /line 10/, 'and what it broke'],
  ]
  const events = rows.map(([fields]) => `event: row\ndata: ${JSON.stringify({ ...seen, ...fields })}\n\n`)
  const body = events.join('')
  await page.route('**/realtime/stream*', (route) => route.fulfill({ contentType: 'text/event-stream', body }))
  await page.goto(`${app.admin}/sites/1/live`)
  const lines = page.locator('.feed-table tbody tr')
  await eventually('the rows are there', async () => (await lines.count()) >= rows.length)
  const texts = (await lines.allTextContents()).slice(-rows.length).toReversed()
  for (const [i, [, shown, why]] of rows.entries()) t.match(texts[i], shown, why)
  await context.close()
})

t.test('a view whose script is gone after an upgrade reloads the page, once', { timeout: 300_000 }, async (t) => {
  const { context, page } = await signIn(browser, app)
  let gone: RegExp | undefined
  let reloads = 0
  await page.route('**/assets/*', (route) =>
    gone?.test(`${route.request().method()} ${route.request().url()}`)
      ? route.fulfill({ status: 404 })
      : route.continue(),
  )
  await page.reload()
  await page.waitForSelector('main h1')
  const rows: [view: string, gone: RegExp, staysGone: boolean, reloads: number, shown: string, why: string][] = [
    ['sources', /\/sources-/, true, 0, '[role="alert"]', 'the build is the same'],
    ['pages', /^HEAD|\/pages-/, false, 1, 'main h1', 'the reload brings the new build'],
    ['devices', /^HEAD|\/devices-/, true, 0, '[role="alert"]', 'a reload brought the same build'],
  ]
  let staysGone = true
  page.on('request', (request) => {
    if (request.resourceType() !== 'document') return
    reloads++
    if (!staysGone) gone = undefined
  })
  for (const [view, pattern, stays, expected, shown, why] of rows) {
    ;[gone, staysGone, reloads] = [pattern, stays, 0]
    await page.click(`a[href*="/sites/1/${view}"]`)
    await eventually(why, async () => reloads === expected && (await page.locator(shown).count()) > 0)
    t.equal(reloads, expected, why)
  }
  await context.close()
})

t.test('in a browser of another zone than the site’s', { timeout: 600_000 }, async (t) => {
  const viewport = { width: 1440, height: 900 }
  const { context, page, trouble } = await signIn(browser, app, { viewport, timezoneId: 'America/Los_Angeles' })
  await askSingly(page)
  const RANGE = 'range=90d'
  const headlines = headlinesOf(app)
  const open = (path: string, query = RANGE) => page.goto(`${app.admin}/sites/1${path}?${query}`)
  const parameter = (name: string) => new URL(page.url()).searchParams.get(name)

  await t.test('an address may say anything', async (t) => {
    await open('', `${RANGE}&filters=${encodeURIComponent('[{"or":5},{"dimension":{}},7]')}`)
    await shows(
      t,
      page,
      VALUES,
      [...(await headlines('human', RANGE)), ...(await headlines('agent', RANGE))],
      'what is not a filter is left out',
    )
    const agentsOnly = JSON.stringify([{ dimension: 'agent_id', op: 'is', value: 'gptbot' }])
    await open('', `${RANGE}&filters=${encodeURIComponent(agentsOnly)}`)
    await page.waitForSelector('.sentence a.agents')
    t.notMatch(
      await page.locator('.sentence').textContent(),
      /people/,
      'a readership without the filter is not counted',
    )
    await open('/pages/%2Fp%2F1')
    await page.click('.sentence a.agents')
    t.match(page.url(), /\/pages\/%2Fp%2F1\?range=90d#agents-of-page$/, 'a link within the view stays in it')
  })

  await t.test('no path of the overview lacks a number', async (t) => {
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await open('')
    await page.waitForSelector('.butterfly td b')
    await shows(
      t,
      page,
      `${texts('.butterfly td b')}.filter((value) => value === '–')`,
      [],
      'each side is asked about it',
    )
    t.same(
      asked.filter((url) => url.includes('/breakdown')),
      [],
      'a closed form asks nothing',
    )
  })

  await t.test('a filter is typed, and the list begins at its first page', async (t) => {
    await open('/sessions', `${RANGE}&page=2`)
    await page.waitForSelector('main tbody tr')
    await page.keyboard.press('f')
    const form = page.locator('#add-filter')
    await form.locator('select').first().selectOption('source')
    await form.locator('input[list]').pressSequentially('A page 1.5')
    await form.locator('button[type=submit]').click()
    await page.waitForURL(/filters=/)
    t.same(JSON.parse(parameter('filters') ?? ''), [{ dimension: 'source', op: 'is', value: 'A page 1.5' }])
    t.equal(parameter('page'), null)
  })

  await t.test('days are those of the site’s zone, through a change of the clock', async (t) => {
    await open('', 'show=human')
    await page.click('.bar button[aria-label^="Time range"]')
    await page.fill('.popover input[name=from]', '2026-10-25')
    await page.fill('.popover input[name=to]', '2026-10-25')
    await page.click('.popover button:has-text("Apply")')
    // The window of Berlin's day of 25 hours.
    const day = 'start=2026-10-24T22:00:00Z&end=2026-10-25T23:00:00Z'
    await shows(t, page, VALUES, await headlines('human', day), 'a day of 25 hours')
    await page.keyboard.press('[')
    await page.waitForURL(/start=2026-10-24(?:&|T2[12]:00:00.000Z&)/)
    const before = 'start=2026-10-23T22:00:00Z&end=2026-10-24T22:00:00Z'
    await shows(t, page, VALUES, await headlines('human', before), 'the day before has 24')
  })

  await t.test('a question that fails says so, and asks again', async (t) => {
    const failing = /\/api\/stats\/sources\?.*range=7d/
    await page.route(failing, (route) => route.fulfill({ status: 500, json: { error: { code: 'internal_error' } } }))
    await open('/sources')
    await page.waitForSelector('.measures')
    await page.keyboard.press('4')
    await page.waitForSelector('main [role=alert]')
    t.equal(await page.locator('.measures').count(), 0, 'no numbers of another time')
    await page.unroute(failing)
    await page.locator('main [role=alert] button').first().click()
    await page.waitForSelector('.measures')
    trouble.lines.splice(0)
  })

  await t.test('a note is there although the notes of before it come late', async (t) => {
    let isLate = true
    await page.route('**/api/annotations?**', async (route) => {
      const response = await route.fetch()
      if (isLate) await eventually('the note is stored', () => !isLate)
      await route.fulfill({ response })
    })
    await open('')
    await page.waitForSelector('svg.chart')
    const stored = page.waitForResponse((response) => response.request().method() === 'POST')
    await page.keyboard.press('n')
    await page.fill('dialog input[name=text]', 'A late note')
    await page.click('dialog button[type=submit]')
    await stored
    isLate = false
    const isShown = `[...document.querySelectorAll('g.note')].some((note) => note.ariaLabel.includes('A late note'))`
    await shows(t, page, isShown, true, 'below the chart')
    await page.unroute('**/api/annotations?**')
  })

  await t.test('a filter that agents lack is not asked of them, alone or in a segment', async (t) => {
    const filters = [{ dimension: 'browser', op: 'is_not', value: 'Netscape' }]
    const id = await page.evaluate(`fetch('/api/segments', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: ${JSON.stringify(JSON.stringify({ site: 1, name: 'Chrome', shared: true, filters }))},
    }).then((response) => response.json()).then(({ data }) => data.id)`)
    const query = `${RANGE}&filters=${encodeURIComponent(JSON.stringify(filters))}`
    const expected = [...(await headlines('human', query)), '–', '–', '–', '–']
    for (const [view, search] of [
      ['', query],
      ['', `${RANGE}&segment=${id}`],
      ['/policy', query],
    ] as const) {
      await open(view, search)
      await page.waitForSelector('main h2')
      await eventually('it has its answers', async () => (await page.evaluate(SETTLED)) === true)
      if (view === '') await shows(t, page, VALUES, expected, `people alone are counted: ${search}`)
      t.match(await page.locator('.chips').textContent(), /people only/)
      t.equal(await page.locator('main [role=alert]').count(), 0, 'and nothing fails')
      t.same(trouble.lines, [], 'no question is refused')
    }
  })

  await t.test('an operator has the people it sent beside its fetches', async (t) => {
    const { data } = await app.ask(`/api/citation-gap/summary?site=1&audience=all&${RANGE}&operator=OpenAI`)
    await open('/agents')
    const sent = `[...document.querySelectorAll('table[aria-label="By operator"] tbody tr')]
      .find((row) => row.innerText.includes('OpenAI'))?.querySelectorAll('td')[2].innerText`
    t.ok(Number(data.arrivals) > 0)
    await shows(t, page, sent, count(data.arrivals), 'the arrivals of the citation gap')
  })

  await t.test('the window moves by keys, and by a chart', async (t) => {
    const query = (names: string) =>
      `${names}.map((name) => new URLSearchParams(location.search).get(name) ?? '').join(' ')`
    const at = (name: string, expected: string, why: string) => shows(t, page, query(`['${name}']`), expected, why)
    const window = (expected: string, why: string) => shows(t, page, query(`['start', 'end']`), expected, why)
    await open('', 'start=2026-10-20&end=2026-10-22')
    await page.waitForSelector('svg.chart')
    await page.keyboard.press('[').then(() => page.keyboard.press('['))
    await window('2026-10-14 2026-10-16', 'twice, although no answer had come between')
    await open('', 'start=2026-10-05&end=2026-10-18&compare=year')
    const chart = page.locator('svg.chart').first()
    const drag = async (from: number, to: number) => {
      await chart.waitFor()
      await eventually('the chart stays in place', async () => (await page.evaluate(SETTLED)) === true)
      const { x, y, width } = (await chart.boundingBox()) ?? { x: 0, y: 0, width: 0 }
      // The days lie between the labels at the left and the right end.
      const xOf = (day: number) => x + 48 + ((day - 0.5) / 14) * (width - 54)
      await page.mouse.move(xOf(from), y + 80)
      await page.mouse.down()
      await page.mouse.move(xOf(to), y + 80)
      await page.mouse.up()
    }
    await drag(3, 6)
    await window('2026-10-07 2026-10-10', 'zoomed')
    await page.keyboard.press('Escape')
    await window('2026-10-05 2026-10-18', 'Esc undoes a zoom')
    await drag(3, 3)
    await window('2026-10-07 2026-10-07', 'zoomed')
    await page.keyboard.press('Escape')
    await page.mouse.move(0, 0)
    await chart.focus()
    await page.keyboard.press('ArrowLeft').then(() => page.keyboard.press('Enter'))
    await window('2026-10-18 2026-10-18', 'zoomed')

    await page.click('.legend button:has-text("Fetches")')
    await at('show', 'agent', 'the legend keeps one readership')
    await page.click('.legend button:has-text("Fetches")')
    await at('show', '', 'and again both')
    await page.click('.sentence a.people')
    await at('show', 'human', 'a number of the sentence leads to its readership')
  })

  await t.test('a switch changes at once, and back if it could not be stored', async (t) => {
    let answer: ((status: 'stored' | 'refused') => void) | undefined
    const patched: unknown[] = []
    await page.route('**/api/flags/*', async (route) => {
      patched.push(route.request().postDataJSON())
      const answered = await new Promise((resolve) => (answer = resolve))
      if (answered === 'stored') await route.continue()
      else await route.fulfill({ status: 409, json: { error: { code: 'conflict', message: 'Changed meanwhile.' } } })
    })
    await open('/settings/flags', '')
    await page.click('button:has-text("New flag")')
    await page.fill('dialog input[name=key]', 'new-footer')
    await page.fill('dialog input[name=rollout]', '7')
    await page.click('dialog button[type=submit]')
    const toggle = page.getByRole('switch', { name: 'new-footer' })
    await toggle.waitFor()
    t.equal(await toggle.isChecked(), true)
    await toggle.click()
    await eventually('it is asked', () => patched.length === 1)
    t.equal(await toggle.isChecked(), false, 'before the server has answered')
    answer?.('stored')
    const state = `fetch('/api/flags?site=1').then((one) => one.json()).then(({ data }) => [data[0].enabled, data[0].rollout])`
    await shows(t, page, state, [false, 0.07], 'stored, for 7 % of the visitors')
    await eventually('it can be switched again', async () => (await page.locator('[aria-busy=true]').count()) === 0)
    t.equal(await toggle.isChecked(), false)
    await toggle.click()
    await eventually('it is asked', () => patched.length === 2)
    t.equal(await toggle.isChecked(), true)
    answer?.('refused')
    await page.waitForSelector('.toast:has-text("Changed meanwhile.")')
    t.equal(await toggle.isChecked(), false, 'back')
    t.same(patched, [{ enabled: false }, { enabled: true }])
    trouble.lines.splice(0)
  })

  t.same(trouble.lines, [], 'no error, no request elsewhere')
  await context.close()
})
