import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

t.test('the frame: keys reach the switch first, search finds records, and the account has a name', async (t) => {
  const fetches = [
    agentRow({ timestamp: new Date('2026-10-29T10:00:00Z'), hostname: 'one.example', pathname: '/%E6%97%A5%E6%9C%AC' }),
  ]
  const at = (hour: number) => new Date(Date.parse('2026-10-29T10:00:00Z') + hour * 3_600_000)
  const visits = [0, 5, 9].map((hour) =>
    eventRow({
      ...{ timestamp: at(hour), hostname: 'one.example', visitor_id: 7_000_001n },
      session_id: BigInt(7_000_100 + hour),
    }),
  )
  const app = await startDashboard(t, { people: 400, agents: 400, fetches, visits })
  const browser = await openBrowser(t)
  const { page, trouble } = await signIn(browser, app, { viewport: { width: 1440, height: 900 } })
  await page.waitForSelector('svg.chart')
  const focused = () => page.evaluate<string>('document.activeElement.textContent.trim()')
  const stops: string[] = []
  for (let i = 0; i < 12; i++) {
    await page.keyboard.press('Tab')
    stops.push(await focused())
  }
  t.match(stops, ['Skip to content', 'Skip to the views'], 'two ways past what stands before')
  const animationOfMark = () =>
    page.evaluate<string>(`(() => {
      const mark = document.body.appendChild(Object.assign(document.createElement('i'), { className: 'pulse' }))
      const { animationName } = getComputedStyle(mark)
      mark.remove()
      return animationName
    })()`)
  t.equal(await animationOfMark(), 'pulse', 'the mark of waiting moves')
  await page.emulateMedia({ reducedMotion: 'reduce' })
  t.equal(await animationOfMark(), 'none', 'and rests for a reader who asks for less motion')
  t.ok(stops.includes('Agents'), `the switch is among the first 12 stops: ${stops.join(', ')}`)

  const find = async (text: string) => {
    await page.keyboard.press('/')
    await page.fill('dialog.search input', text)
    await page.waitForSelector('#found li')
    const found = await page.locator('#found li').allTextContents()
    await page.keyboard.press('Escape')
    await page.waitForSelector('dialog.search', { state: 'detached' })
    return found
  }
  await page.evaluate(`fetch('/api/goals', {
    method: 'POST', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ site: 1, name: 'Newsletter', type: 'page', match: { op: 'is', value: '/thanks' } }),
  })`)
  const rows: [string, RegExp, string][] = [
    ['share', /Share links.*Settings/, 'a section of the settings'],
    ['newsl', /Newsletter.*Goals/, 'a goal'],
    ['germ', /Germany.*Places/, 'a country'],
    ['gptbot', /GPTBot.*Agents/, 'an agent'],
    ['retent', /Retention.*Views/, 'a view'],
    ['budget', /The bill.*Views/, 'a view by a word that it is about'],
    ['日本', /^\/日本Pages$/, 'a page by the words of its path, which is stored encoded'],
    ['/%E6%97%A5', /Open the page \/日Pages$/, 'a path that was typed encoded is shown decoded'],
  ]
  for (const [text, expected, why] of rows)
    t.match((await find(text)).join(' | '), expected, `${why}; one Esc closes it`)

  const railCount = (view: string) => page.textContent(`.rail a[href*="/${view}"] .count`)
  const { data } = await app.ask('/api/stats/overview?site=1&range=30d&audience=human')
  t.not(data.sessions, data.visitors, 'a person who came three times is one')
  t.equal(await railCount('sessions'), `${data.sessions}`, 'visits stand in the rail')
  t.equal(await railCount('visitors'), `${data.visitors}`)
  const asked: string[] = []
  page.on('request', (request) => asked.push(`${request.url()} ${request.postData() ?? ''}`))
  await page.click('.rail a[href*="/goals"]')
  await page.waitForSelector('main .state, main table')
  t.equal(await railCount('sessions'), `${data.sessions}`, 'they stay on other views')
  t.same(
    asked.filter((line) => line.includes('stats/overview')),
    [],
    'and no view asks for them',
  )
  await page.goto(`${app.admin}/sites/1/`)
  await page.click('button:has-text("Agents")')
  t.equal(await page.locator('.rail a.elsewhere').count(), 10, 'views without agents are grey')
  for (const [view, title, why] of [
    ['sources', /^By operator$/, 'who sent them'],
    ['devices', /^By user agent$/, 'what they say they are'],
    ['events', /^By method$/, 'what they asked for'],
    ['errors', /^By status$/, 'what they were answered'],
    ['goals', /^$/, 'one sentence'],
  ] as const) {
    await page.goto(`${app.admin}/sites/1/${view}?show=agent`)
    await page.waitForSelector(`main .absent a${view === 'goals' ? '' : ', main .ranked li'}`)
    await eventually(`${view}: ${why}`, async () =>
      title.test((await page.locator('main .cell h2').allTextContents()).join()),
    )
  }

  await page.click('.bar button[aria-label^="Account: "]')
  const edges = `[document.querySelector('.popover:popover-open').getBoundingClientRect().right, document.body.clientWidth]`
  const isInside = async () => {
    const [right = 0, width = 0] = await page.evaluate<number[]>(edges)
    return right > 0 && right <= width
  }
  await eventually('the whole menu is beside the scroll bar', isInside)
  await page.click('.popover button:has-text("Sign out")')
  await page.waitForURL(/sign-in/)
  t.same(trouble.lines, [])
})

t.test('a browser whose language is invalid shows the views', async (t) => {
  const app = await startDashboard(t, { people: 40, agents: 40 })
  const { page, trouble } = await signIn(await openBrowser(t), app)
  // Chromium says so where the system has no language.
  await page.addInitScript(`Object.defineProperty(navigator, 'language', { get: () => 'en-US@posix' })`)
  await page.reload()
  await page.waitForSelector('svg.chart')
  t.equal(await page.evaluate('navigator.language'), 'en-US@posix')
  t.same(trouble.lines, [])
})

t.test('a menu closes when its link opens another view', async (t) => {
  const app = await startDashboard(t, { people: 40, agents: 40 })
  const { page, trouble } = await signIn(await openBrowser(t), app, { viewport: { width: 1280, height: 800 } })
  await page.click('.bar button.site')
  await page.click('.popover a:has-text("Add a site")')
  await page.waitForURL(/new-site/)
  await page.waitForSelector('main form')
  const menus = page.locator('.popover:popover-open')
  await eventually('the menu is closed', async () => (await menus.count()) === 0)
  await page.click('.bar button.site')
  t.equal(await menus.count(), 1, 'it opens again')
  await page.goBack()
  await eventually('a step back closes it too', async () => (await menus.count()) === 0)
  t.same(trouble.lines, [])
})

t.test('last month from the menu of times: by keyboard, on a phone, in German', async (t) => {
  const app = await startDashboard(t, { people: 400, agents: 400 })
  const browser = await openBrowser(t)
  const { page, trouble } = await signIn(browser, app, { viewport: { width: 1440, height: 900 } })
  await page.waitForSelector('svg.chart')
  // The site's zone is Europe/Berlin.
  const local = (at: number) => new Date(at).toLocaleDateString('sv-SE', { timeZone: 'Europe/Berlin' })
  const today = local(Date.now())
  const [year = 0, month = 0] = today.split('-').map(Number)
  const utcDay = (at: number) => new Date(at).toISOString().slice(0, 10)
  const lastMonth = { from: utcDay(Date.UTC(year, month - 2, 1)), to: utcDay(Date.UTC(year, month - 1, 0)) }
  const fields = async () => ({
    from: await page.inputValue('.popover:popover-open input[name=from]'),
    to: await page.inputValue('.popover:popover-open input[name=to]'),
  })

  await page.focus('.range-control')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.popover:popover-open input[name=from]')
  t.same(
    await fields(),
    { from: utcDay(Date.parse(today) - 29 * 86_400_000), to: today },
    'own dates begin with the 30 days on screen',
  )
  for (let i = 0; i < 8; i++) await page.keyboard.press('ArrowDown')
  t.match(await page.evaluate('document.activeElement.textContent'), 'Last month', 'eight steps below Today')
  await page.keyboard.press('Enter')
  await page.waitForURL(new RegExp(`start=${lastMonth.from}&end=${lastMonth.to}`))
  const name = () => page.textContent('.range-control')
  const monthStart = new Date(lastMonth.from)
  const named = (locale: string, at = monthStart) =>
    new Intl.DateTimeFormat(locale, { month: 'short', year: 'numeric', timeZone: 'UTC' }).format(at)
  t.equal((await name())?.trim(), named('en-GB'), 'the time has the name of the month')
  t.equal(await page.locator('.popover:popover-open').count(), 0)

  await page.click('.rail a[href*="/sources"]')
  await page.waitForSelector('main .sentence')
  await page.click('button[aria-label="Share this view"]')
  const address = await page.textContent('dialog .code')
  t.match(address, `/sites/1/sources?start=${lastMonth.from}&end=${lastMonth.to}`, 'a link to send keeps the month')
  // Before it is modal, it takes no key.
  await page.waitForSelector('dialog:modal')
  await page.keyboard.press('Escape')
  await page.waitForSelector('dialog', { state: 'detached' })

  await page.click('.range-control')
  t.same(await fields(), lastMonth)
  t.equal((await page.textContent('.popover:popover-open [aria-current=true]'))?.trim(), 'Last month')
  await page.focus('.popover:popover-open input[name=from]')
  await page.keyboard.press('ArrowUp')
  t.not((await fields()).from, lastMonth.from, 'arrows change the date in its field')
  await page.keyboard.press('Escape')
  await page.focus('main')
  await page.keyboard.press('[')
  const earlierStart = new Date(Date.UTC(year, month - 3, 1))
  await page.waitForURL(new RegExp(`start=${utcDay(earlierStart.getTime())}&`))
  t.equal((await name())?.trim(), named('en-GB', earlierStart), 'the month before it is one step back')
  t.same(trouble.lines, [])

  const phone = await signIn(browser, app, { locale: 'de-DE', viewport: { width: 390, height: 844 } })
  await phone.page.click('.range-control')
  await phone.page.click('.popover button:has-text("Letzter Monat")')
  await phone.page.waitForURL(new RegExp(`start=${lastMonth.from}&end=${lastMonth.to}`))
  t.equal((await phone.page.textContent('.range-control'))?.trim(), named('de-DE'))
  t.same(phone.trouble.lines, [])
})
