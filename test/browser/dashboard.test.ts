import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { totpCode } from '../fixtures/authenticator.js'
import { openBrowser } from '../fixtures/browser.js'
import { count, headlinesOf, routeRead, share, shows, TOP_PAGES, texts, VALUES } from '../fixtures/dashboard-page.js'
import { startDashboard, watch } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'
import { receiver } from '../fixtures/receiver.js'
import { agentRow } from '../fixtures/rows.js'

/** A person uses the dashboard from the first link on: each step in one browser, on one started instance. */
const SLOW = { timeout: 600_000 }
const PASSWORD = 'the moon pulls both ways'
/** Paths that would act if they were not shown as text. */
const HOSTILE = ['/<script>window.owned=1</script>', '/\u202eevil.exe', "javascript:window.owned=1//'><img src=x>"]

const fetches = HOSTILE.flatMap((pathname) =>
  Array.from({ length: 150 }, (_, i) =>
    agentRow({
      pathname,
      timestamp: new Date(Date.UTC(2026, 9, 20, 0, i)),
      hostname: 'one.example',
      is_pageview: true,
    }),
  ),
)
const app = await startDashboard(t, {
  ...{ people: 2_000, agents: 2_000, fetches },
  flags: ['--private-webhooks'],
})
// The first visit of an agent, of which readership writes a note within ten seconds.
const visit = request(app.site, { headers: { host: 'one.example', 'user-agent': 'codex_cli_rs/0.42.0' } }).end()
await once(visit, 'response').then(([response]) => response.resume())
const browser = await openBrowser(t)
const context = await browser.newContext({
  locale: 'en-GB',
  timezoneId: 'America/Los_Angeles',
  viewport: { width: 1440, height: 900 },
})
context.setDefaultTimeout(60_000)
const page = await context.newPage()
const { lines: trouble } = watch(page, app.admin)
const RANGE = 'range=90d'

const headlines = headlinesOf(app)
const bothHeadlines = async (query: string) => [await headlines('human', query), await headlines('agent', query)].flat()
const open = (path: string, query = RANGE) => page.goto(`${app.admin}/sites/1${path}?${query}`)
const PAGES = `stats/pages?site=1&audience=human&${RANGE}`
const firstRow = async (read: string) => Object(Object.values((await app.ask(`/api/${read}`)).data)[0])
const onePage = (path: string) => JSON.stringify([{ dimension: 'pathname', op: 'is', value: path }])
const parameter = (name: string) => new URL(page.url()).searchParams.get(name)
const submit = (name: string) => page.click(`dialog button[type=submit]:has-text("${name}")`)

t.test('the first link leads to a filled dashboard, on each screen', SLOW, async (t) => {
  const [link = ''] = /http:\S+\/sign-in\?token=[\w-]+/.exec(app.output()) ?? []
  await page.goto(link.replace(/^http:\/\/[^/]+/, app.admin))
  await page.click('button:has-text("Sign in")')
  await page.waitForURL(/\/sites\/1/)
  for (const [width, height] of [
    [390, 844],
    [1024, 768],
    [1440, 900],
  ] as const) {
    await page.setViewportSize({ width, height })
    await open('')
    await shows(t, page, VALUES, await bothHeadlines(RANGE), `the API's numbers at ${width}`)
  }
  for (const [show, of] of [
    ['People', 'human'],
    ['Agents', 'agent'],
  ] as const) {
    await page.click(`.switch button:has-text("${show}")`)
    await shows(t, page, VALUES, await headlines(of, RANGE), `${show} alone`)
  }
})

t.test('a click on a row filters, again removes it, and back returns', SLOW, async (t) => {
  await open('')
  const all = await bothHeadlines(RANGE)
  const row = page.locator(TOP_PAGES).first()
  const path = (await row.textContent()) ?? ''
  await row.click()
  const filters = onePage(path)
  const some = await bothHeadlines(`${RANGE}&filters=${encodeURIComponent(filters)}`)
  await shows(t, page, VALUES, some, 'the numbers of one page')
  t.equal(parameter('filters'), filters)
  t.not(some[0], all[0])
  await page.click(`${TOP_PAGES}[aria-pressed=true]`)
  await shows(t, page, VALUES, all, 'all again')
  t.equal(parameter('filters'), null)
  await page.goBack()
  await shows(t, page, VALUES, some, 'back')
  t.equal(parameter('filters'), filters)
  await routeRead(page, '**/stats/pages?*human*', (route) => sleep(700).then(() => route.continue()), { times: 1 })
  await open('')
  const rows = await row.waitFor().then(() => page.evaluate(texts(TOP_PAGES)))
  await page.waitForSelector('.span-8[aria-busy=false] .butterfly')
  await shows(t, page, texts(TOP_PAGES), rows, 'rows of both readerships come at once, and none moves')
  for (const key of ['j', 'j', 'k', 'x']) await page.keyboard.press(key)
  await page.waitForURL(/is_not/)
  t.equal(parameter('filters'), filters.replace('"is"', '"is_not"'), 'the keys leave out the first row')
  await page.goBack()
  await shows(t, page, texts(TOP_PAGES).concat('[0]'), path, 'the row is back')
  await page.keyboard.press('k').then(() => page.keyboard.press('Enter'))
  await shows(t, page, VALUES, some, 'and filter by it')
  await page.keyboard.press('s').then(() => page.fill('dialog input[name=name]', 'One page'))
  await submit('Save')
  await page.waitForURL(/segment=\d+/)
  t.equal(parameter('filters'), null, 'the segment takes their place')
  await shows(t, page, VALUES, some, 'the same numbers')
  await open('')
  await page.click('.chips button:text-is("Segment")')
  await page.click('.menu button:has-text("One page")')
  await shows(t, page, VALUES, some, 'chosen by its name')
})

t.test('comparison is chosen, and its change is the API’s', SLOW, async (t) => {
  await open('', 'range=30d&show=human')
  const { data } = await app.ask('/api/stats/overview?site=1&audience=human&range=30d&compare=previous')
  const [now, before] = [Number(data.visitors), Number(Object(data.comparison).visitors)]
  const change = `${now > before ? '▲' : '▼'} ${share(Math.abs(now - before) / before)} from ${count(before)}`
  await shows(t, page, texts('.number.big .change'), [change], 'the period before')
  await page.click('.compare-control')
  await page.click('.menu button:has-text("No comparison")')
  await shows(t, page, texts('.number.big .change'), [''], 'none')
  t.equal(parameter('compare'), 'none')
})

t.test('the numbers of other views are the API’s', SLOW, async (t) => {
  const rows = async (path: string, audience: string) =>
    Object.values((await app.ask(`/api/${path}?site=1&audience=${audience}&${RANGE}`)).data)
  const cells = (column: number) =>
    `[...document.querySelectorAll('main table tbody tr')].slice(0, 10).map((row) =>
      [row.querySelector('th button').textContent, row.querySelectorAll('td')[${column}].innerText.trim()])`
  const pages = await rows('stats/pages', 'human')
  await open('/pages', `${RANGE}&show=human`)
  const visitors = pages.slice(0, 10).map((row) => [Object(row).pathname, count(Object(row).visitors)])
  await shows(t, page, cells(0), visitors, 'pages')
  const { pathname } = await firstRow(PAGES)
  const query = `${RANGE}&filters=${encodeURIComponent(onePage(pathname))}`
  const { people, agents } = await firstRow(`content/decay?site=1&audience=all&${query}`)
  await open(`/pages/${encodeURIComponent(pathname)}`)
  const counts = [people, agents].map(({ now }) => count(now))
  await shows(t, page, texts('.page-decay .two b').concat('.slice(0, 2)'), counts, 'content decay of one page')
  await open('/sources', `${RANGE}&show=human`)
  const { data } = await app.ask(`/api/stats/sources?site=1&${RANGE}`)
  const channels = Object.values(Object(data.channels)).map((row) => count(Object(row).sessions))
  await shows(
    t,
    page,
    `${JSON.stringify(channels)}.filter((n) => !document.querySelector('main').innerText.includes(n))`,
    [],
    'every channel’s sessions',
  )
})

t.test('hostile paths are text', SLOW, async (t) => {
  await open('', `${RANGE}&show=agent`)
  await shows(
    t,
    page,
    `${JSON.stringify(HOSTILE.map((path) => path.replace('\u202e', '%E2%80%AE')))}.filter((path) =>
      ![...document.querySelectorAll('.butterfly th button')].some((one) => one.textContent === path))`,
    [],
    'each is a row',
  )
  await page.click('a.open[aria-label^="Open /<script"]')
  await page.waitForURL(/\/pages\/%2F%3Cscript%3E/)
  await shows(
    t,
    page,
    `document.querySelector('main').innerText.includes(${JSON.stringify(HOSTILE[0])})`,
    true,
    'its page',
  )
  t.same(
    await page.evaluate('[window.owned, document.querySelectorAll("main script, main img[src=x]").length]'),
    [undefined, 0],
    'nothing ran',
  )
})

t.test('an export has the chart’s numbers', SLOW, async (t) => {
  await open('', `${RANGE}&compare=none`).then(() => page.waitForSelector('.cell[aria-busy=false] svg.chart'))
  await page.locator('button:text-is("Export")').first().click()
  const chosen = page.click('.menu:popover-open a:has-text("People: Numbers (CSV)")')
  const [download] = await Promise.all([page.waitForEvent('download'), chosen])
  const csv = await readFile(await download.path(), 'utf8')
  const { data } = await app.ask(`/api/stats/timeseries?site=1&audience=human&metric=visitors&${RANGE}`)
  const [head = '', ...lines] = csv.trimEnd().split('\r\n')
  const column = head.split(',').indexOf('value')
  t.same(
    lines.map((line) => line.split(',')[column]),
    Object.values(Object(data.buckets)).map((bucket) => `${Object(bucket).value ?? ''}`),
  )
})

t.test('a goal made by hand shows its conversions', SLOW, async (t) => {
  const { pathname, pageviews, visitors } = await firstRow(PAGES)
  await open('/goals')
  await page.click('button:has-text("New goal")')
  await page.locator('dialog label.field input').first().fill('Read the best page')
  await page.fill('dialog .test input', pathname)
  await submit('Create')
  const { data: overview } = await app.ask(`/api/stats/overview?site=1&audience=human&${RANGE}`)
  const rate = share(visitors / Number(overview.visitors))
  const expected = ['Read the best page', count(visitors), rate, count(pageviews)]
  const row = `[...document.querySelectorAll('main tbody tr')].map((row) =>
    [row.querySelector('th button'), ...[...row.querySelectorAll('td')].slice(1, -1)].map((one) => one.textContent))`
  await shows(t, page, row, [expected], 'people, their share of all people, and each view of the page')
})

t.test('a funnel built by hand shows its steps', SLOW, async (t) => {
  const { pathname } = await firstRow(PAGES)
  await open('/funnels')
  await page.click('main a:has-text("New funnel")')
  await page.locator('.builder label.field input').first().fill('To the second page')
  const steps = page.locator('.builder .steps > li')
  await steps.nth(0).locator('.test input').fill(pathname)
  await steps.nth(1).locator('input').first().fill('Any page after it')
  await steps.nth(1).locator('.test select').selectOption('starts_with')
  await steps.nth(1).locator('.test input').fill('/')
  await page.click('.builder button[type=submit]')
  await page.waitForURL(/\/funnels\/\d+/)
  const [id] = /\d+$/.exec(new URL(page.url()).pathname) ?? []
  const { data } = await app.ask(`/api/stats/funnel/${id}?site=1&audience=human&${RANGE}`)
  const counted = Object.values(Object(data.steps)).map((step) => count(Object(step).sessions))
  await shows(t, page, texts('.funnel-step b'), counted, 'the sessions that reached each')
  await shows(t, page, texts('.funnel-step .cut[dir]').concat('.at(-1)'), 'Any page after it', 'by its name')
})

t.test('a note is written by n, and another wrote itself', SLOW, async (t) => {
  const listed = `fetch('/api/annotations?site=1').then((found) => found.text())`
  await eventually('the first', async () => `${await page.evaluate(listed)}`.includes('Codex'))
  await open('').then(() => page.waitForSelector('svg.chart'))
  await page.keyboard.press('n')
  await page.fill('dialog input[name=text]', 'Launched the newsletter')
  await submit('Save')
  const FIRST_VISIT = 'First visit of Codex CLI (OpenAI)'
  const noted = `${JSON.stringify([FIRST_VISIT, 'Launched the newsletter'])}.map((text) =>
    [...document.querySelectorAll('g.note')].some((note) => note.ariaLabel.includes(text)))`
  await shows(t, page, noted, [true, true], 'below the chart')
  await page.locator(`g.note[aria-label*="${FIRST_VISIT}"]`).press('Enter')
  await shows(t, page, texts('.note-strip > div > b'), [FIRST_VISIT], 'the card of the note that wrote itself')
  await page.click('.note-strip button:text-matches("^(Earlier|Later) note$")')
  await page.click('.note-strip button:text-is("Edit")')
  await page.fill('dialog input[name=text]', 'Sent the newsletter')
  await submit('Save')
  await shows(t, page, texts('.note-strip > div > b'), ['Sent the newsletter'], 'the note beside it, changed')
})

t.test('a key is made and used', SLOW, async (t) => {
  await open('/settings/keys')
  await page.click('button:has-text("New key")')
  await page.fill('dialog input[name=name]', 'weekly mail')
  await submit('Create')
  const secret = (await page.locator('.secret .code span').first().textContent()) ?? ''
  const address = `${app.admin}/api/stats/overview?site=1&range=7d`
  t.equal((await fetch(address, { headers: { authorization: `Bearer ${secret}` } })).status, 200)
  t.equal((await fetch(address)).status, 401)
})

t.test('an alert is tested against its receiver', SLOW, async (t) => {
  const hook = await receiver(t, (_, res) => res.end())
  // On a slow line the reader is asked once the other member's record is there.
  await routeRead(page, '**/api/alerts?*', (route) => sleep(500).then(() => route.continue()))
  await open('/settings/alerts')
  await page.click('button:has-text("New alert")')
  await page.fill('dialog input[name=name]', 'Many readers')
  await page.selectOption('dialog select[name=metric]', 'sessions')
  await page.fill('dialog input[name=value]', '1000')
  await page.fill('dialog textarea[name=channels]', hook.url)
  await submit('Create')
  await page.click('button:has-text("Send a test")')
  await eventually('the webhook came', () => hook.received.length > 0)
  t.match(hook.received[0]?.body, /Many readers/)

  await page.click('button[aria-label="Edit: Many readers"]')
  await page.fill('dialog input[name=name]', 'Very many readers')
  await page.evaluate(`(async () => {
    const { data } = await (await fetch('/api/alerts?site=1')).json()
    const { id, version } = data[0]
    const headers = { 'content-type': 'application/json', 'if-match': '"' + version + '"' }
    await fetch('/api/alerts/' + id, { method: 'PATCH', headers, body: JSON.stringify({ name: 'Theirs' }) })
  })()`)
  await submit('Save')
  await page.click('dialog button:has-text("Keep mine")')
  const names = texts('main tbody tr td:first-child, main tbody th')
  await shows(t, page, names, ['Very many readers'], 'neither is lost unasked')
  await page.unroute('**/api/alerts?*')
  const metric = `fetch('/api/alerts?site=1').then((response) => response.json()).then(({ data }) => data[0].metric)`
  t.equal(await page.evaluate(metric), 'sessions', 'what was not changed stays')
  trouble.splice(0)
})

/** Makes a share link with these fields; returns its address. */
async function makeShare(name: string, fields: Readonly<Record<string, string>>): Promise<string> {
  await open('/settings/shares')
  await page.click('button:has-text("New share link")')
  await page.fill('dialog input[name=name]', name)
  for (const [field, value] of Object.entries(fields)) await page.fill(`dialog [name=${field}]`, value)
  await submit('Create')
  const details = page.locator('details', { hasText: name })
  return (await details.locator('.code span').first().textContent()) ?? ''
}

t.test('a share link opens with its password in another browser', SLOW, async (t) => {
  // A space at its end belongs to a password.
  const password = `${PASSWORD} `
  const address = await makeShare('Press', { password })
  const stranger = await browser.newContext({ locale: 'en-GB' })
  stranger.setDefaultTimeout(60_000)
  const guest = await stranger.newPage()
  await guest.goto(`${address}?${RANGE}`)
  await guest.fill('input[type=password]', 'a wrong password')
  await guest.click('button[type=submit]')
  await guest.waitForSelector('[role=alert]')
  t.equal(await guest.locator('dialog').count(), 0, 'no session has ended')
  await guest.fill('input[type=password]', password)
  await guest.click('button[type=submit]')
  await shows(t, guest, VALUES, await bothHeadlines(RANGE), 'the same numbers')
  await guest.keyboard.press('/')
  t.equal(await guest.locator('dialog').count(), 0, 'the search needs an account')
  await guest.goto(`${address}/settings`)
  await guest.waitForSelector('h1:has-text("This link does not show Settings")')
  await guest.click('main a.button')
  await guest.waitForSelector('.number .value')
  // The token of the link ends with its password.
  await page.click('button[aria-label="Edit: Press"]')
  await page.fill('dialog input[name=password]', 'another password')
  await submit('Save')
  await guest.click('.switch button:has-text("Agents")')
  await guest.keyboard.press('4')
  await guest.waitForSelector('h1:has-text("This view has a password")')
  await stranger.close()
})

t.test('a share link is framed by the page that it names, and by no other', SLOW, async (t) => {
  let address = ''
  const host = () =>
    receiver(t, (_, res) => res.setHeader('content-type', 'text/html').end(`<iframe src="${address}">`))
  const [named, other] = [await host(), await host()]
  address = `${await makeShare('Frame', { embed: new URL(named.url).origin })}?embed=1&${RANGE}`
  const stranger = await browser.newContext({ locale: 'en-GB' })
  const framed = async (url: string) => {
    const outside = await stranger.newPage()
    await outside.goto(url)
    await eventually('the frame is decided', () => /^(?!about:)/.test(outside.frames()[1]?.url() ?? 'about:blank'))
    return outside.frames()[1]
  }
  const expected = await bothHeadlines(RANGE)
  const inside = await framed(named.url)
  await inside?.waitForSelector('.number .value')
  await eventually('its numbers', async () => isDeepStrictEqual(await inside?.evaluate(VALUES), expected))
  t.match((await framed(other.url))?.url(), /^chrome-error:/)
  await stranger.close()
})

t.test('a second factor is asked for, and an ended session loses no input', SLOW, async (t) => {
  await open('/settings/account')
  const email = (await page.locator('main p.muted').first().textContent()) ?? ''
  await page.fill('input[autocomplete=new-password]', PASSWORD)
  await page.click('button:has-text("Change password")')
  await page.waitForSelector('.toast')
  await page.reload()
  const second = page.locator('section', { hasText: 'Second factor' })
  await second.locator('input[name=password]').fill(PASSWORD)
  await second.locator('button[type=submit]').click()
  const secret = (await second.locator('.code span').first().textContent()) ?? ''
  await second.locator('input[name=totp]').fill(totpCode(secret, new Date()))
  await second.locator('button[type=submit]').click()
  await page.waitForSelector('text=Recovery codes')

  t.same(trouble.splice(0), [], 'no error and no request elsewhere until now')
  await open('').then(() => page.waitForSelector('svg.chart'))
  await page.keyboard.press('n')
  await page.fill('dialog input[name=text]', 'Half a thought')
  await context.clearCookies()
  await submit('Save')
  await page.waitForSelector('dialog[aria-label="Your session has ended"]')
  t.equal(await page.inputValue('dialog input[name=text]'), 'Half a thought')
  t.notMatch(await page.textContent('body'), 'API key', 'nothing that is meant for programs')
  const ended = page.locator('dialog[aria-label="Your session has ended"]')
  t.equal(await ended.locator('input[name=email]').inputValue(), email, 'the person is known')
  await ended.locator('input[name=password]').fill(PASSWORD)
  await ended.locator('button[type=submit]').click()
  // The code of now was used; the next one is accepted half a minute early.
  await ended.locator('input[name=totp]').fill(totpCode(secret, new Date(Date.now() + 30_000)))
  await ended.locator('button[type=submit]').click()
  await ended.waitFor({ state: 'detached' })
  t.equal(await page.inputValue('dialog input[name=text]'), 'Half a thought', 'what was typed is there after it')
  await submit('Save')
  await page.waitForSelector('dialog', { state: 'detached' })
  await shows(t, page, VALUES, await bothHeadlines(RANGE), 'where it was')
})
