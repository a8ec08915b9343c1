import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { request as requestHttps } from 'node:https'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { loadCatalog } from '../../src/agents/catalog.js'
import { createRateLimit } from '../../src/api/rate-limit.js'
import { createTrackEndpoints } from '../../src/api/track/endpoints.js'
import { createNodeTrackHandler } from '../../src/api/track/node-handler.js'
import { type Evidence, isHit } from '../../src/capture/hit.js'
import type { Observation } from '../../src/capture/observation.js'
import type { SiteSettings } from '../../src/capture/site.js'
import { readCertificate } from '../../src/site/proxy/certificate.js'
import { trackTarget } from '../../src/site/proxy/node-handler.js'
import { createProxy } from '../../src/site/proxy/proxy.js'
import { createTlsListener } from '../../src/site/proxy/tls-listener.js'
import type { EventRow } from '../../src/storage/rows.js'
import { SUSPICION_SIGNALS } from '../../src/storage/suspicion-signals.js'
import { createClassifier } from '../../src/worker/ingest/classifier.js'
import { UNKNOWN_PLACE } from '../../src/worker/ingest/place/place-lookup.js'
import { SaltStore } from '../../src/worker/ingest/salts.js'
import { SessionMemory } from '../../src/worker/ingest/session-memory.js'
import { memorySaltFile, noPolicyJudge, noVerifier } from '../fixtures/classifier-stubs.js'
import { portOf } from '../site/proxy/fixtures/sockets.js'
import { CHROMIUM_BRANDS, CHROMIUM_DESKTOP, type DrivenBrowser, openBrowsers } from './suspected-browsers.js'

const START = Date.parse('2026-11-21T08:00:00Z')
const DAY_MS = 86_400_000
/** Between two pages of a person. */
const READING_MS = 20_000
/** The bound on suspected views of browsers. */
const MAX_SHARE = 0.001
const NETWORKS = { 'home network': 3320, 'rented server': 24940 } as const
const TLS_FILE = 'test/site/proxy/fixtures/tls/first'
/** Browsers keep the parts of pages: on one hostname, whose pages have the tracker, each is asked for again, on the other never. */
const HOSTS = { 'parts revalidated, tracker': 'localhost', 'parts immutable': '127.0.0.1' } as const
const TRACKER = resolve('dist/src/browser/tracker/script.js')
const SITE: SiteSettings = {
  ...{ id: 1, domains: [], timezone: 'UTC', respect_gpc: false, visitor_salt: 'never', excluded_paths: [] },
}

/** Headers that a careful script copies from the developer tools of Chromium, in the order in which they show them. */
const COPIED: Readonly<Record<string, string>> = {
  'sec-ch-ua': CHROMIUM_BRANDS.map(({ brand, version }) => `"${brand}";v="${version}"`).join(', '),
  'sec-ch-ua-mobile': '?0',
  'sec-ch-ua-platform': '"Linux"',
  'Upgrade-Insecure-Requests': '1',
  'User-Agent': CHROMIUM_DESKTOP,
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
  const tracker = isImmutable ? '' : '<script src="/_readership/script.js" data-site="1"></script>'
  const head = `<title>a page</title><link rel="stylesheet" href="/style.css"><script src="/main.js"></script>${tracker}`
  res.setHeader('content-type', type)
  res.end(isPage ? `<!doctype html><html>${head}<body>${links}</body></html>` : '/* */')
}

/** Starts the site behind the proxy, with a listener for each protocol; what passes is recorded at the time of `clock`. */
async function openSite() {
  const origin = createServer(serveSite).listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const clock = { at: START, ip: '', step: 0 }
  const now = () => clock.at
  let recorded: Evidence[] = []
  const proxy = createProxy({
    origin: new URL(`http://127.0.0.1:${portOf(origin)}`),
    record: (observation) => {
      recorded.push(observation)
      clock.at += clock.step
    },
    clientAddress: () => clock.ip,
    isTrustedPeer: () => false,
    now,
  })
  const log = (error: unknown) => console.error(error)
  const takeHit = createNodeTrackHandler(
    createTrackEndpoints({
      ...{ sites: async () => [SITE], record: (hit) => recorded.push(hit), drop: (...drop) => console.log(...drop) },
      ...{ limit: createRateLimit({ now, random: randomBytes }), now, log },
    }),
  )
  const script = readFileSync(TRACKER)
  const handle: typeof proxy.handler = (req, res) => {
    if (!req.url?.startsWith('/_readership/')) return proxy.handler(req, res)
    if (takeHit(req, res, trackTarget(req, clock.ip, '/_readership'))) return
    res.setHeader('content-type', 'text/javascript')
    res.end(script)
  }
  const certificate = await readCertificate(`${TLS_FILE}.cert.pem`, `${TLS_FILE}.key.pem`)
  const tls = createTlsListener({ certificate, http1: proxy.server, handler: handle })
  tls.server.listen(0)
  const plain = createServer(handle).listen(0)
  await Promise.all([once(tls.server, 'listening'), once(plain, 'listening')])
  return {
    now: clock,
    ports: { https: portOf(tls.server), http: portOf(plain) },
    take: () => {
      const taken = recorded
      recorded = []
      return taken
    },
    async close() {
      plain.close()
      plain.closeAllConnections()
      await Promise.all([tls.close(0), proxy.close(0)])
      origin.close()
    },
  }
}

type BenchSite = Awaited<ReturnType<typeof openSite>>

let addresses = 0
/** Returns the next visitor's address, in a network of its own. */
const nextAddress = () => `84.${++addresses >> 8}.${addresses & 255}.9`

/** Records a visitor who opens nine pages, and comes back a day later with all of them in the cache, at another address. */
async function recordVisitor(browser: DrivenBrowser, { now }: BenchSite, base: string, n: number): Promise<void> {
  now.ip = nextAddress()
  const visitor = await browser.visit(n)
  const steps: (() => Promise<unknown>)[] = [
    () => visitor.open(`${base}/`),
    () => visitor.follow('p1', '/page/1'),
    () => visitor.follow('p2', '/page/2'),
    () => visitor.reload(),
    () => visitor.back(),
    () => visitor.open(`${base}/page/${n % 6}?from=bookmark`),
    () => visitor.follow('p4', '/page/4'),
    () => visitor.openTab(`${base}/page/5`),
    () => visitor.follow('p0', '/page/0'),
  ]
  for (const at of [now.at, now.at + DAY_MS]) {
    now.ip = nextAddress()
    now.at = at
    for (const step of steps) {
      await step()
      now.at += READING_MS
    }
  }
  await visitor.leave()
  now.at += DAY_MS
}

/** Records a script that reads the pages at this pace; with `rotates`, each page from another address of one network. */
async function recordScript(
  site: BenchSite,
  send: (urls: readonly string[]) => Promise<unknown>,
  base: string,
  rotates = false,
): Promise<Evidence[]> {
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
function classify(taught: readonly Evidence[], judged: readonly Evidence[], asn: number): EventRow[] {
  const now = () => START
  let network: number = NETWORKS['home network']
  const classifier = createClassifier({
    ...{ catalog: loadCatalog(), verifier: noVerifier, policyJudge: noPolicyJudge, siteOf: () => SITE },
    siteById: (id) => (id === SITE.id ? SITE : undefined),
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
  return classifier.classify(judged).rows.events.filter(({ kind }) => kind === 'pageview')
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

/** A request for a page, or a hit, as a browser sent it: nothing of it names a person. */
interface RecordedHead {
  browser: string
  user_agent: string
  headers: Observation['headers']
  head_form?: string
  scheme: 'http' | 'https'
  kind: 'page' | 'hit'
}

/** Returns each different head of the requests for pages, and of the hits. */
function distinctHeads(browser: string, scheme: 'http' | 'https', evidence: readonly Evidence[]): RecordedHead[] {
  const heads = new Map<string, RecordedHead>()
  for (const one of evidence) {
    if (!isHit(one) && (!one.content_type.startsWith('text/html') || one.pathname === '/favicon.ico')) continue
    const { user_agent, headers } = one
    // A page's last hit leaves when its tab is gone, and with it the name that Chromium was given.
    if (user_agent.includes('HeadlessChrome/')) continue
    const head: RecordedHead = { browser, scheme, kind: isHit(one) ? 'hit' : 'page', user_agent, headers }
    if (!isHit(one) && one.head_form !== undefined) head.head_form = one.head_form
    heads.set(JSON.stringify(head), head)
  }
  return [...heads.values()]
}

/**
 * `npm run bench -- suspected [visitors] [file]`: the browsers that are installed (Chromium, Firefox, WebKitGTK) and
 * scripts with the headers of Chromium read a site behind the proxy, over plain HTTP and TLS, and are judged at home and
 * on rented servers. Prints views, suspected ones, and the views that each signal speaks against. Exit code 1 if over
 * 0.1 % of a browser's views are suspected. Writes the different heads of their requests to `file`.
 */
export async function run([visitors = '60', file]: string[]): Promise<void> {
  // fetch() has no other way to accept the certificate of the tests.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  const site = await openSite()
  const table: Record<string, ReturnType<typeof describe>> = {}
  const heads: RecordedHead[] = []
  const judge = (name: string, taught: readonly Evidence[], judged: readonly Evidence[]) => {
    for (const [network, asn] of Object.entries(NETWORKS))
      table[`${name}, ${network}`] = describe(classify(taught, judged, asn))
  }
  /** Views of the first browser's visitors, by listener and hostname: the other browsers and the scripts are judged among them. */
  const lessons = new Map<string, { base: string; people: Evidence[] }>()
  try {
    for await (const browser of openBrowsers()) {
      console.log(browser.name)
      for (const scheme of ['https', 'http'] as const) {
        for (const [host, hostname] of Object.entries(HOSTS)) {
          const base = `${scheme}://${hostname}:${site.ports[scheme]}`
          const where = `${scheme}, ${host}`
          for (let n = 0; n < Number(visitors); n++) await recordVisitor(browser, site, base, n)
          const people = site.take()
          const lesson = lessons.get(where) ?? { base, people }
          lessons.set(where, lesson)
          heads.push(...distinctHeads(browser.name, scheme, people))
          // People with different browsers visit a site: where Chromium has taught what is usual, the others are judged too.
          judge(`browser: ${browser.name}, ${where}`, lesson.people, people)
        }
      }
    }
    for (const [where, { base, people }] of lessons) {
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
  } finally {
    await site.close()
  }
  console.table(Object.fromEntries(Object.entries(table).map(([name, { share, ...row }]) => [name, row])))
  if (file !== undefined) writeFileSync(file, heads.map((head) => `${JSON.stringify(head)}\n`).join(''))
  const worst = Math.max(...Object.entries(table).map(([name, { share }]) => (name.startsWith('browser') ? share : 0)))
  console.log(`browsers: at most ${(worst * 100).toFixed(3)} % of views suspected, the bound is ${MAX_SHARE * 100} %`)
  if (worst > MAX_SHARE) process.exitCode = 1
}
