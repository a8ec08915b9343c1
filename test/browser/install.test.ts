import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { signIn } from '../fixtures/dashboard-service.js'
import { directory } from '../fixtures/files.js'
import { CHROME, cli, dataDir, eventually, freePort, startInstance, startOrigin } from '../fixtures/instance.js'

/**
 * Everything that the dashboard tells a new owner to visit, to run and to paste, as a browser shows it: each is done, in an empty
 * project where it is a program, and the pageview of a browser arrives.
 */
const ROOT = resolve('.')
const COMMAND = join(ROOT, 'dist/bin/readership.js')

/** An empty project after the `npm install` that the page names. */
function project(t: Test, packages: readonly string[]): string {
  const at = directory(t)
  for (const name of packages) {
    const link = join(at, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(name === 'readership' ? ROOT : join(ROOT, 'node_modules', name), link)
  }
  writeFileSync(join(at, 'package.json'), '{ "type": "module" }')
  return at
}

/** Runs a program until the test ends, and resolves when the site answers at the port. */
async function run(t: Test, words: readonly string[], cwd: string, port: number): Promise<void> {
  const child: ChildProcess = spawn(process.execPath, words, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
  t.teardown(async () => {
    child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  await eventually('the site answers', async () => {
    if (child.exitCode !== null) throw new Error(`it ended with exit code ${child.exitCode}`)
    return fetch(`http://127.0.0.1:${port}/`).then(
      ({ ok }) => ok,
      () => false,
    )
  })
}

/** Visits the site as a browser until its pageview is in the store of the project. */
async function arrives(t: Test, port: number, data: string): Promise<void> {
  await fetch(`http://127.0.0.1:${port}/`, { headers: { 'user-agent': CHROME, accept: 'text/html' } })
  await eventually('the pageview is stored', async () => {
    const { code, stdout } = await cli('stats', '--range', 'today', '--json', '--data', data)
    return code === 0 && /"pageviews": ?[1-9]/.test(stdout)
  })
  t.pass('the pageview arrived')
}

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
    const at = project(t, ['readership'])
    const [port, admin] = [await freePort(), await freePort()]
    const words = command.replace('http://127.0.0.1:3000', origin.url).replace('8080', `${port}`).split(' ').slice(2)
    await run(t, [COMMAND, ...words, '--admin-port', `${admin}`, '--offline'], at, port)
    await arrives(t, port, join(at, 'readership-data'))
  })
  const installs = shown.filter((text) => text.startsWith('npm install '))
  t.equal(installs.length, 3, 'Express, Hono, and Node alone')
  for (const install of installs)
    await t.test(install, async (t) => {
      const at = project(t, install.split(' ').slice(2))
      const port = await freePort()
      const program = shown[shown.indexOf(install) + 1] ?? ''
      writeFileSync(join(at, 'site.js'), program.replace('3000', `${port}`))
      await run(t, ['site.js'], at, port)
      await arrives(t, port, join(at, 'readership-data'))
    })
})
