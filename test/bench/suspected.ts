import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { request as requestHttps } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Browser, chromium, type Page } from 'playwright-core'
import { loadCatalog } from '../../src/agents/catalog.js'
import type { Observation } from '../../src/capture/observation.js'
import type { SiteSettings } from '../../src/capture/site.js'
import { readCertificate } from '../../src/site/proxy/certificate.js'
import { createProxy } from '../../src/site/proxy/proxy.js'
import { createTlsListener } from '../../src/site/proxy/tls-listener.js'
import type { EventRow } from '../../src/storage/rows.js'
import { SUSPICION_SIGNALS } from '../../src/storage/suspicion-signals.js'
import { createClassifier } from '../../src/worker/ingest/classifier.js'
import { UNKNOWN_PLACE } from '../../src/worker/ingest/place/place-lookup.js'
import { SaltStore } from '../../src/worker/ingest/salts.js'
import { SessionMemory } from '../../src/worker/ingest/session-memory.js'
import { BROWSER_SWITCHES } from '../fixtures/browser.js'
import { findBrowser } from '../fixtures/browser-program.js'
import { memorySaltFile, noPolicyJudge, noVerifier } from '../fixtures/classifier-stubs.js'

const START = Date.parse('2026-11-21T08:00:00Z')
const DAY_MS = 86_400_000
/** Between two pages of a person. */
const READING_MS = 20_000
/** The bound on suspected views of browsers. */
const MAX_SHARE = 0.001
const NETWORKS = { 'home network': 3320, 'rented server': 24940 } as const
const TLS_FILE = 'test/site/proxy/fixtures/tls/first'
/** Browsers keep the parts of pages: on one hostname each is asked for again, on the other never. */
const HOSTS = { 'parts revalidated': 'localhost', 'parts immutable': '127.0.0.1' } as const
const VERSION = '147'
const SITE: SiteSettings = {
  ...{ id: 1, domains: [], timezone: 'UTC', respect_gpc: false, visitor_salt: 'never', excluded_paths: [] },
}

const DESKTOP = `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${VERSION}.0.0.0 Safari/537.36`
const PHONE = `Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${VERSION}.0.0.0 Mobile Safari/537.36`
/** Named as the same Chromium with a window: the headless one says what it is in its name and hints. */
const PROFILES = [
  { userAgent: DESKTOP, acceptLanguage: 'en-US', platform: 'Linux', mobile: false, javaScriptEnabled: true },
  { userAgent: PHONE, acceptLanguage: 'de-DE', platform: 'Android', mobile: true, javaScriptEnabled: true },
  { userAgent: DESKTOP, acceptLanguage: 'fr-FR', platform: 'Linux', mobile: false, javaScriptEnabled: false },
] as const

/** Headers that a careful script copies from the developer tools of Chromium, in the order in which they show them. */
const COPIED: Readonly<Record<string, string>> = {
  'sec-ch-ua': `"Chromium";v="${VERSION}", "Google Chrome";v="${VERSION}", "Not_A Brand";v="99"`,
  'sec-ch-ua-mobile': '?0',
  'sec-ch-ua-platform': '"Linux"',
  'Upgrade-Insecure-Requests': '1',
  'User-Agent': DESKTOP,
  Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8',
  'Sec-Fetch-Site': 'none',
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-User': '?1',
  'Sec-Fetch-Dest': 'document',
  'Accept-Encoding': 'gzip, deflate',
  'Accept-Language': 'en-US,en;q=0.9',
}
const lowerCase = Object.fromEntries(Object.entries(COPIED).map(([name, value]) => [name.toLowerCase(), value]))
const PAGES = Array.from({ length: 6 }, (_, n) => `/page/${n}`)

const run1 = promisify(execFile)
const discard = { maxBuffer: 1 << 26, timeout: 120_000 }
const PYTHON = `import sys, json, requests
requests.packages.urllib3.disable_warnings()
s = requests.Session()
s.headers.update(json.loads(sys.argv[1]))
for url in sys.argv[2:]: s.get(url, verify=False)`
const GO = `package main
import ("crypto/tls"; "encoding/json"; "io"; "net/http"; "os")
func main() {
  h := map[string]string{}
  json.Unmarshal([]byte(os.Args[1]), &h)
  c := http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
  for _, url := range os.Args[2:] {
    r, _ := http.NewRequest("GET", url, nil)
    for k, v := range h { r.Header.Set(k, v) }
    if a, err := c.Do(r); err == nil { io.Copy(io.Discard, a.Body); a.Body.Close() }
  }
}`

/** Scripts with the headers of a browser, each with the client of its language. */
const SCRIPTS: Readonly<Record<string, (urls: readonly string[]) => Promise<unknown>>> = {
  'fetch() of Node': async (urls) => {
    for (const url of urls) await (await fetch(url, { headers: COPIED })).arrayBuffer()
  },
  'node:http and node:https': async (urls) => {
    const { request } = await import('node:http')
    for (const url of urls) {
      const send = url.startsWith('https') ? requestHttps : request
      const options = { headers: COPIED, rejectUnauthorized: false, agent: false as const }
      await new Promise<void>((resolve, reject) => {
        send(url, options, (res) => res.resume().on('end', resolve))
          .on('error', reject)
          .end()
      })
    }
  },
  'node:http2': async (urls) => {
    const [first = ''] = urls
    if (!first.startsWith('https')) return
    const session = connectHttp2(new URL(first).origin, { rejectUnauthorized: false })
    for (const url of urls)
      await once(session.request({ ...lowerCase, ':path': new URL(url).pathname }).resume(), 'close')
    session.close()
  },
  curl: (urls) =>
    run1('curl', ['-sk', ...Object.entries(COPIED).flatMap(([k, v]) => ['-H', `${k}: ${v}`]), ...urls], discard),
  'requests of Python': (urls) => run1('python3', ['-c', PYTHON, JSON.stringify(COPIED), ...urls], discard),
  'net/http of Go': async (urls) => {
    const folder = mkdtempSync(join(tmpdir(), 'readership-bench-'))
    const file = join(folder, 'main.go')
    writeFileSync(file, GO)
    try {
      await run1('go', ['run', file, JSON.stringify(COPIED), ...urls], discard)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

function serveSite({ url = '', headers }: IncomingMessage, res: ServerResponse): void {
  const isImmutable = headers.host?.startsWith(HOSTS['parts immutable'])
  const type = /\.css$/.test(url) ? 'text/css' : /\.js$/.test(url) ? 'text/javascript' : 'text/html; charset=utf-8'
  const isPage = type.startsWith('text/html')
  const tag = `"${url}"`
  res.setHeader('etag', tag)
  res.setHeader('cache-control', !isPage && isImmutable ? 'max-age=31536000, immutable' : 'no-cache')
  if (headers['if-none-match'] === tag) {
    res.writeHead(304).end()
    return
  }
  const links = PAGES.map((path) => `<a href="${path}" id="p${path.at(-1)}">${path}</a>`).join(' ')
  const head = '<title>a page</title><link rel="stylesheet" href="/style.css"><script src="/main.js"></script>'
  res.setHeader('content-type', type)
  res.end(isPage ? `<!doctype html><html>${head}<body>${links}</body></html>` : '/* */')
}

/** Starts the site behind the proxy, with a listener for each protocol; what passes is recorded at the time of `clock`. */
async function openSite() {
  const origin = createServer(serveSite).listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const now = { at: START, ip: '', step: 0 }
  let recorded: Observation[] = []
  const proxy = createProxy({
    origin: new URL(`http://127.0.0.1:${portOf(origin.address())}`),
    record: (observation) => {
      recorded.push(observation)
      now.at += now.step
    },
    clientAddress: () => now.ip,
    isTrustedPeer: () => false,
    now: () => now.at,
  })
  const certificate = await readCertificate(`${TLS_FILE}.cert.pem`, `${TLS_FILE}.key.pem`)
  const tls = createTlsListener({ certificate, http1: proxy.server, handler: proxy.handler })
  tls.server.listen(0)
  const plain = createServer(proxy.handler).listen(0)
  await Promise.all([once(tls.server, 'listening'), once(plain, 'listening')])
  return {
    now,
    ports: { https: portOf(tls.server.address()), http: portOf(plain.address()) },
    take: () => {
      const taken = recorded
      recorded = []
      return taken
    },
    async close() {
      plain.close()
      await Promise.all([tls.close(0), proxy.close(0)])
      origin.close()
    },
  }
}

const portOf = (address: unknown): number =>
  typeof address === 'object' && address !== null && 'port' in address ? Number(address.port) : 0

type BenchSite = Awaited<ReturnType<typeof openSite>>

let addresses = 0
/** Returns the next visitor's address, in a network of its own. */
const nextAddress = () => `84.${++addresses >> 8}.${addresses & 255}.9`

/** Records a visitor who reads eight pages, and comes back a day later with all of them in the cache, at another address. */
async function recordVisitor(browser: Browser, { now }: BenchSite, base: string, n: number): Promise<void> {
  const { userAgent, acceptLanguage, platform, mobile, javaScriptEnabled } =
    PROFILES[n % PROFILES.length] ?? PROFILES[0]
  const context = await browser.newContext({ ignoreHTTPSErrors: true, javaScriptEnabled })
  const page = await context.newPage()
  const brands = [
    { brand: 'Chromium', version: VERSION },
    { brand: 'Google Chrome', version: VERSION },
    { brand: 'Not_A Brand', version: '99' },
  ]
  const hints = { brands, platform, mobile, platformVersion: '', architecture: '', model: '' }
  await (await context.newCDPSession(page)).send('Emulation.setUserAgentOverride', {
    ...{ userAgent, acceptLanguage, userAgentMetadata: hints },
  })
  const steps: ((page: Page) => Promise<unknown>)[] = [
    () => page.goto(`${base}/`),
    () => Promise.all([page.waitForURL('**/page/1'), page.click('#p1')]),
    () => Promise.all([page.waitForURL('**/page/2'), page.click('#p2')]),
    () => page.reload(),
    () => page.goBack(),
    () => page.goto(`${base}/page/${n % 6}?from=bookmark`),
    () => Promise.all([page.waitForURL('**/page/4'), page.click('#p4')]),
    () => page.goto(`${base}/page/5`),
  ]
  for (const at of [now.at, now.at + DAY_MS]) {
    now.ip = nextAddress()
    now.at = at
    for (const step of steps) {
      await step(page)
      await page.waitForLoadState('load')
      now.at += READING_MS
    }
  }
  await context.close()
  now.at += DAY_MS
}

/** Records a script that reads the pages at this pace; with `rotates`, each page from another address of one network. */
async function recordScript(
  site: BenchSite,
  send: (urls: readonly string[]) => Promise<unknown>,
  base: string,
  rotates = false,
): Promise<Observation[]> {
  const { now } = site
  now.at += DAY_MS
  now.ip = nextAddress()
  now.step = rotates ? 1_000 : READING_MS
  const paths = rotates ? Array.from({ length: 40 }, (_, n) => `/page/${n}`) : PAGES
  await send(paths.map((path) => `${base}${path}`))
  now.step = 0
  const recorded = site.take()
  return rotates ? recorded.map((one, n) => ({ ...one, ip: `20.1.2.${n}` })) : recorded
}

/** Returns the rows of `judged` by a classifier that has seen the visitors of `taught` on the days before. */
function classify(taught: readonly Observation[], judged: readonly Observation[], asn: number): EventRow[] {
  const now = () => START
  let network: number = NETWORKS['home network']
  const classifier = createClassifier({
    ...{ catalog: loadCatalog(), verifier: noVerifier, policyJudge: noPolicyJudge, siteOf: () => SITE },
    places: { locate: () => ({ ...UNKNOWN_PLACE, asn: network }) },
    salts: new SaltStore({ file: memorySaltFile(), now, random: randomBytes, log: () => {} }),
    sessions: new SessionMemory({ now }),
    log: (message, error) => console.error(message, error),
  })
  const visitors = new Set(taught.map(({ ip }) => ip)).size
  for (let copy = Math.ceil(600 / Math.max(1, visitors)); copy > 0; copy--) {
    const shift = (time: string) => new Date(Date.parse(time) - copy * 1_000 * DAY_MS).toISOString()
    classifier.classify(
      taught.map((one) => ({ ...one, timestamp: shift(one.timestamp), ip: one.ip.replace('84', `${84 + copy}`) })),
    )
  }
  network = asn
  return classifier.classify(judged).rows.events
}

/** Prints how many views are suspected, and how many each signal speaks against. Returns the share that is suspected. */
function describe(rows: readonly EventRow[]) {
  const suspected = rows.filter((row) => row.suspected).length
  const share = rows.length === 0 ? 0 : suspected / rows.length
  const signals = SUSPICION_SIGNALS.map(({ name }) => ({
    name,
    views: rows.filter(({ suspected_by }) => suspected_by?.split(',').includes(name)).length,
  }))
  const spoken = signals.filter(({ views }) => views > 0).map(({ name, views }) => `${name} ${views}`)
  return { share, views: rows.length, suspected, percent: `${(share * 100).toFixed(2)} %`, signals: spoken.join(', ') }
}

/**
 * `npm run bench -- suspected [visitors]`: real Chromium and scripts with its headers read a site behind the proxy, over
 * plain HTTP and TLS, and are judged at home and on rented servers. Prints views, suspected ones, and the views that each
 * signal speaks against. Exit code 1 if over 0.1 % of the browsers' views are suspected. One browser is recorded: the Chromium of
 * the tests. Firefox and Safari are not, so no signal of this proxy's judges their heads.
 */
export async function run([visitors = '60']: string[]): Promise<void> {
  // fetch() has no other way to accept the certificate of the tests.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  const site = await openSite()
  const { shell, ...program } = findBrowser()
  const browser = await chromium.launch({ ...program, args: BROWSER_SWITCHES })
  const table: Record<string, ReturnType<typeof describe>> = {}
  const judge = (name: string, taught: readonly Observation[], judged: readonly Observation[]) => {
    for (const [network, asn] of Object.entries(NETWORKS))
      table[`${name}, ${network}`] = describe(classify(taught, judged, asn))
  }
  try {
    console.log(`Chromium ${browser.version()}${shell ? ', headless shell' : ''}`)
    for (const scheme of ['https', 'http'] as const) {
      for (const [host, hostname] of Object.entries(HOSTS)) {
        const base = `${scheme}://${hostname}:${site.ports[scheme]}`
        const where = `${scheme}, ${host}`
        for (let n = 0; n < Number(visitors); n++) await recordVisitor(browser, site, base, n)
        const people = site.take()
        judge(`browser: ${where}`, people, people)
        for (const [client, send] of Object.entries(SCRIPTS)) {
          try {
            const recorded = await recordScript(site, send, base)
            if (recorded.length > 0) judge(`script: ${client}, ${where}`, people, recorded)
          } catch (error) {
            console.log(`${client} did not run: ${error instanceof Error ? error.message.split('\n')[0] : error}`)
            site.take()
          }
        }
        const swept = await recordScript(site, SCRIPTS.curl ?? (async () => {}), base, true)
        judge(`script: curl from 40 addresses of one network, ${where}`, people, swept)
      }
    }
  } finally {
    await browser.close()
    await site.close()
  }
  console.table(Object.fromEntries(Object.entries(table).map(([name, { share, ...row }]) => [name, row])))
  const worst = Math.max(...Object.entries(table).map(([name, { share }]) => (name.startsWith('browser') ? share : 0)))
  console.log(`browsers: at most ${(worst * 100).toFixed(3)} % of views suspected, the bound is ${MAX_SHARE * 100} %`)
  if (worst > MAX_SHARE) process.exitCode = 1
}
