// Takes the pictures of README.md from a running demo, into examples/screenshots:
// npm start, and in another terminal: node dist/examples/screenshots.js http://127.0.0.1:8081 readership-demo
// Takes the browser that READERSHIP_TEST_BROWSER names, else an installed Chromium.
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const [admin = 'http://127.0.0.1:8081', data = 'readership-demo', folder = 'examples/screenshots'] =
  process.argv.slice(2)

/** Name, address and colour scheme of each picture. */
const PICTURES = [
  ['overview', 'sites/1', 'light'],
  ['page', 'sites/1/pages/%2Fpricing', 'light'],
  ['agents', 'sites/1/agents', 'light'],
  ['live', 'sites/1/live', 'dark'],
] as const

const program = fileURLToPath(new URL('../bin/readership.js', import.meta.url))
// The program refuses variables that it does not know.
const { READERSHIP_TEST_BROWSER: executablePath = '/usr/bin/chromium', ...env } = process.env
const link = execFileSync(process.execPath, [program, 'login-link', '--data', data], { encoding: 'utf8', env }).trim()
const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu'],
})
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  const { pathname, search } = new URL(link)
  await page.goto(admin + pathname + search)
  await page.click('button')
  // The stream of Live never ends, so the network is not idle there.
  const settle = () => page.waitForLoadState('networkidle', { timeout: 10_000 }).catch(() => {})
  await settle()
  mkdirSync(folder, { recursive: true })
  for (const [name, path, colorScheme] of PICTURES) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.goto(`${admin}/${path}`)
    await settle()
    await page.waitForTimeout(1500)
    await page.screenshot({ path: `${folder}/${name}.png` })
  }
} finally {
  await browser.close()
}
