import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import t from 'tap'
import { listenAdmin } from '../../src/api/server.js'
import { listPages } from '../../src/build/docs/chapters.js'
import { openBrowser } from '../fixtures/browser.js'
import { eventually } from '../fixtures/instance.js'
import { sampleService } from '../fixtures/sample.js'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const FITS = 'document.documentElement.scrollWidth <= document.documentElement.clientWidth'
const PAGES = listPages()
/** Pages with each kind of part: tables, code, lists in lists, long words. */
const KINDS = ['index', 'costs', 'api', 'coming-from']

interface AxeResult {
  violations: { id: string; nodes: { html: string }[] }[]
}

const service = await sampleService(t)
const admin = await listenAdmin((request, peer) => service.instance.fetch(request, peer), '127.0.0.1', 0)
t.teardown(() => admin.close())
const browser = await openBrowser(t)

/** Opens a tab that notes what it says, what fails in it, and what it loads from elsewhere. */
async function openTab(from: Browser, options: BrowserContextOptions) {
  const tab = await from.newPage(options)
  const trouble: string[] = []
  tab.on('console', (message) => trouble.push(message.text()))
  tab.on('pageerror', (error) => trouble.push(error.message))
  tab.on('request', (request) => request.url().startsWith(admin.at) || trouble.push(request.url()))
  tab.on('response', (response) => response.status() >= 400 && trouble.push(`${response.status()} ${response.url()}`))
  return { tab, trouble }
}

for (const [name, width, colorScheme] of [
  ['desktop, light', 1280, 'light'],
  ['desktop, dark', 1280, 'dark'],
  ['phone, light', 360, 'light'],
] as const)
  t.test(`no fault of accessibility, nothing wider than the screen: ${name}`, { timeout: 300_000 }, async (t) => {
    const { tab, trouble } = await openTab(browser, { viewport: { width, height: 800 }, colorScheme })
    for (const page of PAGES.map(({ name }) => name)) {
      if (width > 360 && !KINDS.includes(page)) continue
      await tab.goto(`${admin.at}/docs/${page}.html`)
      t.equal(await tab.evaluate(FITS), true, `${page}: nothing is wider than the screen`)
      if (!KINDS.includes(page)) continue
      await tab.evaluate(AXE)
      const result: AxeResult = await tab.evaluate(`axe.run(${JSON.stringify({ runOnly: RULES })})`)
      t.same(
        result.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`),
        [],
        `${page}: axe`,
      )
    }
    t.same(trouble, [], 'nothing is refused, missing or loaded from elsewhere')
    await tab.close()
  })

t.test('the search finds a section, by keyboard alone', async (t) => {
  const { tab, trouble } = await openTab(browser, { viewport: { width: 1280, height: 800 } })
  await tab.goto(`${admin.at}/docs`)
  t.equal(tab.url(), `${admin.at}/docs/`, 'the folder has its slash')
  await tab.keyboard.press('Tab')
  t.equal(await tab.evaluate('document.activeElement.textContent'), 'Skip to the page')
  await tab.keyboard.press('/')
  await tab.keyboard.type('backup each nigt')
  await tab.waitForSelector('#results li')
  await tab.keyboard.press('ArrowDown')
  t.match(await tab.evaluate('document.activeElement.textContent'), /^Backup: Each night/)
  await tab.evaluate(AXE)
  const result: AxeResult = await tab.evaluate(`axe.run(${JSON.stringify({ runOnly: RULES })})`)
  t.same(
    result.violations.map(({ id }) => id),
    [],
    'axe, with results',
  )
  await tab.keyboard.press('Enter')
  await tab.waitForURL('**/docs/backup.html#each-night')
  t.equal(await tab.locator('#each-night').isVisible(), true)

  await tab.keyboard.press('/')
  await tab.keyboard.type('qqxxqq')
  await eventually(
    'no section is found',
    async () => (await tab.textContent('#results [role=status]')) === '0 sections',
  )
  await tab.keyboard.press('Escape')
  t.equal(await tab.locator('#results').isVisible(), false, 'Escape closes the results')
  t.equal(await tab.inputValue('#search input'), '', 'and empties the field')
  await tab.keyboard.type('citation gap')
  await tab.waitForSelector('#results li')
  await tab.keyboard.press('Enter')
  await eventually('Enter opens the first result', async () => !tab.url().includes('backup.html'))
  t.same(trouble, [])
  await tab.close()
})

t.test('an index that cannot be loaded is said, and a theme of the dashboard is kept', async (t) => {
  const { tab } = await openTab(browser, { colorScheme: 'light' })
  await tab.route('**/*.json.gz', (route) => route.fulfill({ status: 503 }))
  await tab.goto(`${admin.at}/docs/`)
  const canvas = 'getComputedStyle(document.body).backgroundColor'
  const light = await tab.evaluate(canvas)
  await tab.evaluate(`localStorage.setItem('readership.theme', 'dark')`)
  await tab.evaluate(`localStorage.setItem('readership.letter-keys', 'off')`)
  await tab.reload()
  t.not(await tab.evaluate(canvas), light)
  await tab.keyboard.press('/')
  t.equal(await tab.evaluate('document.activeElement.tagName'), 'BODY', 'keys of one letter are off')
  await tab.fill('#search input', 'backup')
  await eventually('the failure is said', async () =>
    /could not be loaded/.test((await tab.textContent('#results [role=status]')) ?? ''),
  )
  await tab.unroute('**/*.json.gz')
  await tab.fill('#search input', 'backups')
  await tab.waitForSelector('#results li')
  await tab.close()
})

t.test('without scripts every page can be read and reached', async (t) => {
  const { tab, trouble } = await openTab(browser, { javaScriptEnabled: false })
  await tab.goto(`${admin.at}/docs/`)
  t.equal(await tab.locator('#search').isVisible(), false, 'no field that does nothing')
  t.equal(
    await tab.locator('nav a[href$=".html"], nav a[href="./"]').count(),
    PAGES.length,
    'the navigation has every page',
  )
  await tab.click('nav a[href="agents.html"]')
  t.equal(await tab.locator('main h1').textContent(), 'Who an agent is')
  t.ok(((await tab.locator('main').textContent()) ?? '').length > 3_000)
  t.same(trouble, [])
  await tab.close()
})
