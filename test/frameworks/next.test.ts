import { cpSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { CHROME, cli, dataDir, eventually, startInstance } from '../fixtures/instance.js'
import { application, noFrameworks, storedRows } from './fixtures/application.js'
import { drive, storedOnce, visit } from './fixtures/drive.js'

t.test('Next.js', { skip: noFrameworks, timeout: 600_000 }, async (t) => {
  const app = await application(t, 'next')

  await t.test('with its own server', async (t) => {
    await drive(t, app, { heading: 'Hello from Next.js', hasScript: true })
  })

  await t.test('a link that the client follows is a pageview', async (t) => {
    const site = await app.start()
    const browser = await openBrowser(t)
    const tab = await (await browser.newContext({ userAgent: CHROME })).newPage()
    await tab.goto(`${site.url}/`)
    await tab.evaluate('document.kept = true')
    await tab.click('a')
    await tab.waitForURL(`${site.url}/about`)
    t.equal(await tab.evaluate('document.kept'), true, 'in the same document')
    await eventually(
      'three pageviews of all visits are stored',
      async () => {
        const { stdout } = await cli('stats', '--range', 'today', '--json', '--data', app.data)
        return /"pageviews": ?3\b/.test(stdout)
      },
      60_000,
    )
    await browser.close()
    t.equal(await site.stop(), 0)
    const { events } = await storedRows(app.data)
    const pages = events.filter(({ kind }) => kind === 'pageview').map(({ pathname }) => pathname)
    t.same(pages, ['/', '/', '/about'], 'the page of the first visit, and two of the browser')
  })

  await t.test('as a standalone server after the proxy', async (t) => {
    const standalone = join(app.at, '.next/standalone')
    const [program = ''] = readdirSync(standalone, { recursive: true, encoding: 'utf8' }).filter(
      (file) => /(^|\/)server\.js$/.test(file) && !file.includes('node_modules'),
    )
    cpSync(join(app.at, '.next/static'), join(standalone, dirname(program), '.next/static'), { recursive: true })
    const origin = await app.start(join(standalone, program))
    const direct = await visit(origin)
    const data = dataDir(t)
    const proxy = await startInstance(origin.url, data)
    const seen = await visit({ url: proxy.site })
    t.equal(seen.script?.status, 200)
    t.same(seen, direct, 'the responses are those of the site without the proxy')
    t.equal(await proxy.stop(), 0)
    await origin.stop()
    await storedOnce(t, data, { fetched: seen.fetched.body, missing: seen.missing.body })
  })
})
