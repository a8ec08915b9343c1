import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { createRequire } from 'node:module'
import { text as readText } from 'node:stream/consumers'
import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const FITS = 'document.documentElement.scrollWidth <= document.documentElement.clientWidth'

t.test('a preset is tried, published, served and rolled back', { timeout: 300_000 }, async (t) => {
  const app = await startDashboard(t, { people: 100, agents: 600 })
  /** The robots.txt that an agent gets. */
  const served = () =>
    new Promise<string>((resolve, reject) => {
      const headers = { host: 'one.example' }
      request(`${app.site}/robots.txt`, { headers }, (res) => resolve(readText(res)))
        .on('error', reject)
        .end()
    })
  const browser = await openBrowser(t)
  const { context, page, trouble } = await signIn(browser, app)
  const area = page.locator('.robots-editor textarea')
  const findFaults = async () => {
    await page.evaluate(AXE)
    const options = JSON.stringify({ runOnly: { type: 'tag', values: RULES } })
    return page.evaluate(
      `axe.run(document, ${options}).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))`,
    )
  }
  const judged = () =>
    eventually('the result', async () => (await page.locator('.counts li', { hasText: '…' }).count()) === 0)
  await page.goto(`${app.admin}/sites/1/robots?range=90d`)
  await area.waitFor()
  const before = await area.inputValue()
  t.match(before, /<title>/, 'the text of the origin')
  await judged()

  await page.selectOption('main select', 'search_not_training')
  const preset = await area.inputValue()
  t.match(preset, /^User-agent: GPTBot$/m, 'the preset replaces the text')
  await judged()
  t.match(await page.locator('.results table').textContent(), /GPTBot/, 'agents that lose fetches')
  t.equal(await page.locator('.engines').count(), 0, 'no search engine is touched')
  t.strictSame(await findFaults(), [], 'axe finds nothing')

  await area.press('Control+z')
  t.equal(await area.inputValue(), before, 'undone')
  await area.press('Control+Shift+z')
  t.equal(await area.inputValue(), preset, 'and done again')
  await judged()

  await page.getByRole('button', { name: 'Publish' }).click()
  await page.getByText('Published.').waitFor()
  t.equal(await served(), preset, 'the proxy serves it')

  await page.selectOption('main select', 'nothing')
  await page.locator('.engines').waitFor()
  const publish = page.getByRole('button', { name: 'Publish' })
  t.ok(await publish.isDisabled(), 'a text without search engines is locked')
  t.strictSame(await findFaults(), [], 'axe finds nothing in the band')

  const name = /Type (.+) to go on/.exec((await page.locator('.engines label').textContent()) ?? '')?.[1] ?? ''
  await page.locator('.engines input').fill(name)
  await publish.click()
  await eventually(
    'the second version',
    async () => (await page.locator('table[aria-label="Versions"] tbody tr').count()) === 2,
  )
  t.match(await served(), /^User-agent: \*\n(?:.*\n){2}Disallow: \/$/m)
  await page.getByRole('button', { name: 'Roll back' }).click()
  await page.getByText('Rolled back.').waitFor()
  t.equal(await served(), preset, 'rolled back')

  await page.getByRole('button', { name: 'Let my server serve it again' }).click()
  await page.getByText('Your server serves its robots.txt again.').waitFor()
  t.match(await served(), /<title>/, 'the origin serves it again')
  t.strictSame(trouble.lines, [], 'no trouble')
  await context.close()

  const phone = await signIn(browser, app, {
    viewport: { width: 390, height: 844 },
    colorScheme: 'dark',
    locale: 'de-DE',
  })
  await phone.page.goto(`${app.admin}/sites/1/robots?range=90d`)
  await phone.page.locator('.robots-editor textarea').waitFor()
  t.ok(await phone.page.evaluate(FITS), 'the page does not scroll sideways')

  t.match(await phone.page.locator('.results').textContent(), /Neu untersagt/)
  await phone.context.close()
})
