import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, chromium, type Page } from 'playwright-core'
import { BROWSER_SWITCHES } from '../fixtures/browser.js'
import { findBrowser } from '../fixtures/browser-program.js'
import { signIn } from '../fixtures/dashboard-service.js'
import { type Instance, startInstance } from '../fixtures/instance.js'
import { makeDataDirectory } from './data-directory.js'

/** Proxied pages a second beside the dashboard. */
const RATE = 300
const VIEWS = ['pages', 'sources', 'places', 'agents', 'coverage', 'citation-gap', 'retention', 'journeys']
const AIMS = { first: 1_500, switch: 500 }

/**
 * `npm run bench -- dashboard [hits] [fetches] [rounds]` (500,000 each, 7): milliseconds until a view of the dashboard in
 * Chromium shows its numbers, with everything else in it; and the p99 of proxied pages without a dashboard, with one
 * that goes from view to view, and with a browser that does the same at another server, in turns. Medians.
 */
export async function run(args: string[] = []): Promise<void> {
  const [people = 500_000, agents = 500_000, rounds = 7] = args.map(Number)
  const data = await makeDataDirectory({ people, agents, paths: 2_000 })
  const origin = fork(new URL('./proxy-child.js', import.meta.url), ['origin', '0'])
  const { port } = await nextMessage<{ port: number }>(origin)
  const app = await startInstance(`http://127.0.0.1:${port}`, data)
  const { shell: _, ...program } = findBrowser()
  const browser = await chromium.launch({ ...program, args: BROWSER_SWITCHES })
  try {
    console.log(`${people} hits, ${agents} fetches, 30 days, median of ${rounds}\n| what | ms | aim |\n|---|---|---|`)
    await measureViews(browser, app, rounds)
    await measurePages(browser, app, rounds)
  } finally {
    await browser.close()
    await app.stop()
    origin.disconnect()
    rmSync(dirname(data), { recursive: true, force: true })
  }
}

async function measureViews(browser: Browser, app: Instance, rounds: number): Promise<void> {
  const { context } = await signIn(browser, app)
  const first: number[] = []
  for (let round = 0; round < rounds; round++) {
    // Without what the browser has cached: each context has a cache of its own.
    const fresh = await browser.newContext({ storageState: await context.storageState() })
    const page = await fresh.newPage()
    first.push(await timeOf(page, () => page.goto(`${app.admin}/sites/1?range=30d`)))
    await fresh.close()
  }
  print('first view', first, AIMS.first)
  const page = await context.newPage()
  await timeOf(page, () => page.goto(`${app.admin}/sites/1?range=30d`))
  for (const label of ['People', 'Agents', 'Both']) {
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      await page.click(`.switch button:has-text("${label === 'Both' ? 'People' : 'Both'}")`)
      await isFilled(page)
      times.push(await timeOf(page, () => page.click(`.switch button:has-text("${label}")`)))
    }
    print(`switch to ${label}`, times, AIMS.switch)
  }
  for (const view of VIEWS) {
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      // A page that was just loaded has no answers in its memory.
      await page.goto(`${app.admin}/sites/1/devices?range=30d`)
      await isFilled(page)
      times.push(await timeOf(page, () => page.click(`nav a[href*="/sites/1/${view}"]`)))
    }
    print(`view ${view}`, times, AIMS.switch)
  }
  await context.close()
}

async function measurePages(browser: Browser, app: Instance, rounds: number): Promise<void> {
  const { page, context } = await signIn(browser, app)
  const readers = fork(new URL('./reader.js', import.meta.url), [new URL(app.site).port, String(RATE)])
  const times = { without: [] as number[], control: [] as number[], beside: [] as number[] }
  const replay = await startReplay(page)
  try {
    for (const view of VIEWS) await openView(page, app.admin, view)
    await sleep(3_000)
    for (let round = 0; round < rounds; round++) {
      await page.goto('about:blank')
      await p99(readers)
      await sleep(5_000)
      times.without.push(await p99(readers))
      // Forth and back, so that what grows on the machine meanwhile is in both.
      for (const which of round % 2 === 0 ? (['control', 'beside'] as const) : (['beside', 'control'] as const)) {
        await page.goto('about:blank')
        await p99(readers)
        await lookAround(page, which === 'control' ? replay.url : app.admin)
        times[which].push(await p99(readers))
      }
    }
  } finally {
    readers.disconnect()
    await once(readers, 'exit')
    await context.close()
    replay.close()
  }
  print(`page at ${RATE} a second, p99, no dashboard`, times.without)
  print('the same beside a browser that has the same from another server', times.control)
  print('the same beside a dashboard', times.beside)
  const ratios = times.beside.map((ms, i) => ms / (times.control[i] ?? Number.NaN))
  print('dashboard, of that other server, in the same round', ratios, 1.3)
}

/** Goes from view to view for five seconds. */
async function lookAround(page: Page, at: string): Promise<void> {
  const until = Date.now() + 5_000
  for (let n = 0; Date.now() < until; n++) {
    await openView(page, at, VIEWS[n % VIEWS.length] ?? '')
    await sleep(500)
  }
}

async function openView(page: Page, at: string, view: string): Promise<void> {
  await page.goto(`${at}/sites/1/${view}?range=30d`)
  await isFilled(page)
}

/**
 * Starts a server that answers as the dashboard's did: what the page has received by then, by address, or else by path. A
 * browser is as busy with it as with the dashboard.
 */
async function startReplay(page: Page) {
  const answers = new Map<string, { type: string; body: Buffer }>()
  page.on('response', async (response) => {
    const { pathname, search } = new URL(response.url())
    const body = await response.body().catch(() => undefined)
    const answer = body && { type: response.headers()['content-type'] ?? '', body }
    if (answer && response.ok()) for (const key of [pathname, pathname + search]) answers.set(key, answer)
  })
  const server = createServer((request, response) => {
    const answer = answers.get(request.url ?? '') ?? answers.get(request.url?.split('?')[0] ?? '')
    response.writeHead(answer ? 200 : 404, { 'content-type': answer?.type ?? 'text/plain' }).end(answer?.body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new TypeError('no port')
  return { url: `http://127.0.0.1:${address.port}`, close: () => server.close() }
}

/** Whether the numbers and every panel on screen are there. */
const FILLED = `document.querySelector('main') !== null && document.querySelector('main [aria-busy="true"]') === null
  && document.querySelector('main :is(.value, td, .ranked li, svg, .empty)') !== null`
async function isFilled(page: Page): Promise<void> {
  const until = Date.now() + 60_000
  // A page that is being left has no answer.
  while (!(await page.evaluate(FILLED).catch(() => false))) {
    if (Date.now() > until) throw new Error(`${page.url()} was not filled within a minute`)
    await sleep(5)
  }
}

async function timeOf(page: Page, act: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await act()
  await isFilled(page)
  return performance.now() - from
}

/** Latencies of the pages since the last call; no page may have failed. */
async function p99(readers: ChildProcess): Promise<number> {
  readers.send('how was it')
  const report = await nextMessage<{ answered: number; failed: number; p99: number }>(readers)
  if (report.failed > 0) throw new Error(`${report.failed} pages failed`)
  return report.p99
}

const nextMessage = async <T>(from: ChildProcess): Promise<T> => (await once(from, 'message'))[0]

function print(what: string, times: readonly number[], aim?: number): void {
  const median = times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN
  const verdict = aim === undefined ? '' : `${aim}, ${median <= aim ? 'held' : 'missed'}`
  console.log(`| ${what} | ${median.toFixed(median < 100 ? 1 : 0)} | ${verdict} |`)
}
