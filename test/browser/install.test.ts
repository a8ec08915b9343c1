import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { signIn } from '../fixtures/dashboard-service.js'
import { COMMAND, emptyProject, startProgram, untilStored } from '../fixtures/empty-project.js'
import { dataDir, freePort, startInstance, startOrigin } from '../fixtures/instance.js'

/**
 * Everything that the dashboard tells a new owner to visit, to run and to paste, as a browser shows it: each is done, in an empty
 * project where it is a program, and the pageview of a browser arrives.
 */
const blocks = (page: Page) => page.locator('main .code > span').allTextContents()

t.test('the first page and the page of installation', { timeout: 600_000 }, async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const app = await startInstance(origin.url, dataDir(t))
  t.teardown(() => app.stop())
  const { page } = await signIn(await openBrowser(t), app)
  await page.waitForSelector('.first-run')
  const link = (await page.locator('main .title-line a').getAttribute('href')) ?? ''
  t.equal(new URL(link).port, new URL(app.site).port, 'the link leads to the port of the proxy')
  t.equal((await fetch(link)).status, 200)
  t.ok((await blocks(page)).includes(`curl -A "GPTBot/1.3" ${link}`), 'and so does the command')

  await page.goto(`${app.admin}/sites/1/settings/install`)
  await page.waitForSelector('main .code')
  const shown = await blocks(page)
  const command = shown.find((text) => text.startsWith('npx readership proxy ')) ?? ''
  await t.test(command, async (t) => {
    const at = emptyProject(t, ['readership'])
    const [port, admin] = [await freePort(), await freePort()]
    const words = command.replace('http://127.0.0.1:3000', origin.url).replace('8080', `${port}`).split(' ').slice(2)
    await startProgram(t, [COMMAND, ...words, '--admin-port', `${admin}`, '--offline'], { cwd: at, port })
    await untilStored(t, port, join(at, 'readership-data'))
  })
  const installs = shown.filter((text) => text.startsWith('npm install '))
  t.equal(installs.length, 3, 'Express, Hono, and Node alone')
  for (const install of installs)
    await t.test(install, async (t) => {
      const at = emptyProject(t, install.split(' ').slice(2))
      const port = await freePort()
      const program = shown[shown.indexOf(install) + 1] ?? ''
      writeFileSync(join(at, 'site.js'), program.replace('3000', `${port}`))
      await startProgram(t, ['site.js'], { cwd: at, port })
      await untilStored(t, port, join(at, 'readership-data'))
    })
})
