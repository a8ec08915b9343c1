import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import type { Observation } from '../../src/capture/observation.js'
import { createClassifier } from '../../src/ingest/classifier.js'
import { openPlaceLookup } from '../../src/ingest/place/place-lookup.js'
import { SaltStore } from '../../src/ingest/salts.js'
import { SessionMemory } from '../../src/ingest/session-memory.js'
import {
  createSuspicion,
  isHosting,
  isPolicyFile,
  type PersonView,
  type Suspicion,
} from '../../src/ingest/suspicion.js'
import { noPolicyJudge, noVerifier } from '../fixtures/classifier-stubs.js'
import { observation } from '../fixtures/observations.js'
import { BROWSERS } from '../fixtures/user-agents.js'

type Headers = Readonly<Record<string, string>>

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0'
const SAFARI =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Safari/605.1.15'
const SAFARI_15 = SAFARI.replace('26.1', '15.6')
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1'
const EDGE = `${CHROME} Edg/142.0.0.0`
const SAMSUNG =
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/29.0 Chrome/136.0.0.0 Mobile Safari/537.36'
const WEBVIEW =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/UP1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/142.0.0.0 Mobile Safari/537.36'
const INSTAGRAM =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 340.0.3.27.99 (iPhone14,5; iOS 17_5; en_US; en; scale=3.00; 1170x2532; 610)'
const SILK =
  'Mozilla/5.0 (Linux; Android 9; KFMAWI) AppleWebKit/537.36 (KHTML, like Gecko) Silk/130.4.1 like Chrome/130.0.6723.102 Safari/537.36'

const TRIPLE: Headers = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
const brands = (name: string, version: number) =>
  `"Chromium";v="${version}", "${name}";v="${version}", "Not_A Brand";v="99"`
/** What Chrome sends with a typed address, over TLS and without. */
const CHROME_HTTP: Headers = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'accept-language': 'en-GB,en;q=0.9',
  'accept-encoding': 'gzip, deflate',
}
const CHROME_TLS: Headers = {
  ...CHROME_HTTP,
  ...TRIPLE,
  'accept-encoding': 'gzip, deflate, br, zstd',
  'sec-ch-ua': brands('Google Chrome', 142),
  'sec-ch-ua-mobile': '?0',
  'sec-ch-ua-platform': '"Windows"',
}
const FIREFOX_TLS: Headers = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'accept-language': 'de,en-US;q=0.7,en;q=0.3',
  'accept-encoding': 'gzip, deflate, br, zstd',
  ...TRIPLE,
}
const SAFARI_TLS: Headers = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'accept-language': 'en-US,en;q=0.9',
  'accept-encoding': 'gzip, deflate, br',
  ...TRIPLE,
}
const without = (headers: Headers, ...names: string[]): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.some((start) => name.startsWith(start))))

const AWS = 16509
const HETZNER = 24940
const HOME = 3320
const START = Date.parse('2026-11-21T08:00:00Z')

const view = (given: Partial<PersonView> = {}): PersonView => ({
  visitor_id: 1n,
  previous: undefined,
  session: 1n,
  at: START,
  hostname: 'a.example',
  pathname: '/docs',
  user_agent: CHROME,
  headers: CHROME_TLS,
  asn: HOME,
  ...given,
})

/** One that has seen so many visitors of a hostname, who all sent `headers`. */
function taught(headers: Headers, visitors = 40): Suspicion {
  const suspicion = createSuspicion()
  for (let n = 0; n < visitors; n++)
    suspicion.judge(view({ visitor_id: BigInt(1_000 + n), session: BigInt(1_000 + n), headers }))
  return suspicion
}
const clean = { suspected: false, suspected_by: null }

t.test('browsers with the headers they send are not suspected, wherever they come from', async (t) => {
  const rows: [string, string, Headers][] = [
    ['Chrome on Windows', CHROME, CHROME_TLS],
    ['Edge', EDGE, { ...CHROME_TLS, 'sec-ch-ua': brands('Microsoft Edge', 142) }],
    ['Firefox', FIREFOX, FIREFOX_TLS],
    ['Safari on macOS', SAFARI, SAFARI_TLS],
    ['Safari on iOS', IPHONE, SAFARI_TLS],
    ['Safari of 2022, which knows no Sec-Fetch', SAFARI_15, without(SAFARI_TLS, 'sec-fetch')],
    ['Samsung Internet', SAMSUNG, { ...CHROME_TLS, 'sec-ch-ua': brands('Samsung Internet', 136) }],
    ['a web view', WEBVIEW, { ...CHROME_TLS, 'sec-ch-ua': brands('Android WebView', 142) }],
    ['a web view whose app asks by itself', WEBVIEW, { accept: '*/*', 'accept-encoding': 'gzip' }],
    ['Instagram on iOS', INSTAGRAM, SAFARI_TLS],
    ['Silk, which Amazon fetches for', SILK, { ...CHROME_TLS, 'sec-ch-ua': brands('Amazon Silk', 130) }],
    ['the click on a link', CHROME, { ...CHROME_TLS, 'sec-fetch-site': 'cross-site' }],
    ['with GPC on', CHROME, { ...CHROME_TLS, 'sec-gpc': '1', dnt: '1' }],
  ]
  for (const [why, user_agent, headers] of rows) {
    t.strictSame(taught(CHROME_TLS).judge(view({ user_agent, headers })), clean, why)
    const rented = taught(CHROME_TLS).judge(view({ user_agent, headers, asn: AWS }))
    t.equal(rented.suspected, false, `${why}, through a VPN on rented servers`)
    t.equal(rented.suspected_by, user_agent === SILK ? null : 'network:hosting', `${why}: told all the same`)
  }
})

t.test('what does not arrive from anybody is held against nobody', async (t) => {
  const rows: [string, Headers, Headers][] = [
    ['plain HTTP, where no browser sends Sec-Fetch', CHROME_HTTP, CHROME_HTTP],
    ['a CDN that forwards no header of the visitor', {}, {}],
    ['a CDN that asks for what it likes', { accept: '*/*', 'accept-encoding': 'identity' }, { accept: '*/*' }],
    ['rows that came without headers', CHROME_TLS, CHROME_TLS],
  ]
  for (const [why, custom, headers] of rows)
    t.strictSame(taught(custom).judge(view({ headers, asn: AWS })).suspected_by, 'network:hosting', why)
  t.strictSame(taught(CHROME_TLS).judge(view({ headers: undefined })), clean, 'an edge row knows none')
  t.strictSame(
    createSuspicion().judge(view({ headers: CHROME_HTTP, asn: AWS })).suspected_by,
    'network:hosting',
    'a hostname nobody has been seen on',
  )
  t.equal(taught(CHROME_TLS, 19).judge(view({ headers: {} })).suspected_by, null, '19 visitors say nothing yet')
  t.equal(
    taught(CHROME_TLS, 20).judge(view({ headers: {} })).suspected_by,
    'headers:no_navigation,headers:no_language,headers:accept,headers:no_gzip',
    '20 do',
  )
  const mixed = createSuspicion()
  for (let n = 0; n < 100; n++)
    mixed.judge(view({ visitor_id: BigInt(n), session: BigInt(n), headers: n % 2 ? CHROME_TLS : CHROME_HTTP }))
  t.equal(mixed.judge(view({ visitor_id: 999n, headers: CHROME_HTTP })).suspected_by, null, 'half of them over HTTP')

  const moved = taught(CHROME_HTTP, 900)
  for (let n = 0; n < 1_000; n++)
    moved.judge(view({ visitor_id: BigInt(10_000 + n), session: BigInt(10_000 + n), headers: CHROME_TLS }))
  t.equal(moved.judge(view({ headers: CHROME_HTTP })).suspected_by, 'headers:no_navigation', 'a site moved behind TLS')

  const flooded = taught(CHROME_TLS)
  for (let n = 0; n < 5_000; n++)
    flooded.judge(view({ visitor_id: BigInt(10_000 + n), session: BigInt(10_000 + n), headers: {}, asn: AWS }))
  t.equal(
    flooded.judge(view({ headers: CHROME_HTTP })).suspected_by,
    'headers:no_navigation',
    'crawlers on rented servers do not unteach it',
  )
})

t.test('one family alone suspects nobody', async (t) => {
  const rows: [string, Partial<PersonView>, string][] = [
    [
      'a privacy extension that hides the language',
      { headers: without(CHROME_TLS, 'accept-language') },
      'headers:no_language',
    ],
    [
      'a company proxy that takes away compression',
      { headers: { ...CHROME_TLS, 'accept-encoding': 'identity' } },
      'headers:no_gzip',
    ],
    ['a switcher of user agents, Firefox as Chrome', { headers: FIREFOX_TLS }, ''],
    ['a switcher of user agents, Chrome as Firefox', { user_agent: FIREFOX }, 'headers:client_hints'],
    ['the phone in the developer tools', { user_agent: IPHONE }, 'headers:client_hints'],
    [
      'an old version behind a frozen hint',
      { headers: { ...CHROME_TLS, 'sec-ch-ua': brands('Google Chrome', 120) } },
      'headers:client_hints',
    ],
    [
      'Chrome 69 on a school computer',
      { user_agent: CHROME.replace('142.0.0.0', '69.0.3497.100'), headers: without(CHROME_TLS, 'sec-') },
      'headers:stale_browser',
    ],
    [
      'QQ, which keeps an old Chrome',
      {
        user_agent: `${CHROME.replace('142.0.0.0', '70.0.3538.25')} Core/1.70 QQBrowser/10.8`,
        headers: without(CHROME_TLS, 'sec-'),
      },
      '',
    ],
    ['everything missing', { headers: {} }, 'headers:no_navigation,headers:no_language,headers:accept,headers:no_gzip'],
  ]
  for (const [why, given, by] of rows)
    t.strictSame(taught(CHROME_TLS).judge(view(given)), { suspected: false, suspected_by: by || null }, why)

  const folder = taught(CHROME_TLS)
  const opened = Array.from({ length: 40 }, (_, n) => folder.judge(view({ at: START + n * 100, pathname: `/${n}` })))
  t.strictSame(
    opened.at(-1),
    { suspected: false, suspected_by: 'behaviour:burst,behaviour:sweep' },
    '40 bookmarks at once',
  )
})

t.test('many people behind one address are no crawler', async (t) => {
  const gateway = taught(CHROME_TLS)
  for (let n = 0; n < 500; n++) {
    const headers = { ...CHROME_TLS, 'sec-fetch-site': n % 3 ? 'same-origin' : 'cross-site' }
    const { suspected_by } = gateway.judge(view({ at: START + n * 50, pathname: `/${n}`, headers, asn: 396982 }))
    if (suspected_by !== 'network:hosting') t.fail(`view ${n}: ${suspected_by}`)
  }
  t.pass('a company’s gateway on rented servers, whose people follow links')
})

t.test('behind a CDN whose forwarded address is not believed, all come from its network', async (t) => {
  const suspicion = createSuspicion()
  const from = (n: number, asn: number) =>
    suspicion.judge(view({ visitor_id: BigInt(n), session: BigInt(n), headers: {}, asn })).suspected_by
  const judged = Array.from({ length: 100 }, (_, n) => from(n, AWS))
  t.equal(judged.indexOf(null), 19, 'from the 20th visitor on that is known')
  t.ok(
    judged.slice(19).every((by) => by === null),
    'and nobody is blamed for it',
  )
  for (let n = 200; n < 212; n++) from(n, HOME)
  t.equal(from(300, AWS), 'network:hosting', 'where one in ten comes from elsewhere, the address is the visitor’s')
})

t.test('undeclared agents', async (t) => {
  const undici: Headers = {
    accept: '*/*',
    'accept-language': '*',
    'sec-fetch-mode': 'cors',
    'accept-encoding': 'gzip, deflate',
  }
  const rows: [string, Partial<PersonView>, string][] = [
    [
      'curl with Chrome’s name, from AWS',
      { headers: { accept: '*/*' }, asn: AWS },
      'headers:no_navigation,headers:no_language,headers:accept,headers:no_gzip,network:hosting',
    ],
    [
      'fetch() of Node with Chrome’s name, from Hetzner',
      { headers: undici, asn: HETZNER },
      'headers:no_navigation,headers:accept,network:hosting',
    ],
    [
      'headless Chrome under another name, from Google Cloud',
      { headers: { ...CHROME_TLS, 'sec-ch-ua': brands('HeadlessChrome', 142) }, asn: 396982 },
      'headers:client_hints,network:hosting',
    ],
    [
      'a reader of Markdown, from DigitalOcean',
      { headers: { ...CHROME_TLS, accept: 'text/markdown, text/html, */*' }, asn: 14061 },
      'headers:accept,network:hosting',
    ],
    [
      'a scraper whose hints are of another year',
      { headers: { ...CHROME_TLS, 'sec-ch-ua': brands('Google Chrome', 120) }, asn: AWS },
      'headers:client_hints,network:hosting',
    ],
  ]
  for (const [why, given, by] of rows)
    t.strictSame(taught(CHROME_TLS).judge(view(given)), { suspected: true, suspected_by: by }, why)
})

t.test('a fast crawler with odd headers: from the page on that says so, to the end of its session', async (t) => {
  const suspicion = taught(CHROME_TLS)
  const headers = without(CHROME_TLS, 'sec-')
  const judge = (n: number, session = 1n, at = START + n * 300) =>
    suspicion.judge(view({ at, session, headers, pathname: `/page/${n}` })).suspected
  const judged = Array.from({ length: 40 }, (_, n) => judge(n))
  // 26 different paths within 60 s are one more than people read.
  t.equal(judged.indexOf(true), 25, 'the 26th page')
  t.ok(judged.slice(25).every(Boolean), 'and every one after')
  t.equal(judge(41, 1n, START + 20 * 60_000), true, 'twenty minutes later, slowly')
  t.equal(judge(42, 2n, START + 90 * 60_000), false, 'a new session begins without it')

  const slow = taught(CHROME_TLS)
  const read = Array.from({ length: 200 }, (_, n) =>
    slow.judge(view({ at: START + n * 2_500, headers, pathname: `/page/${n}` })),
  )
  t.notOk(
    read.some(({ suspected }) => suspected),
    '24 pages a minute are a hasty person',
  )
  const reload = taught(CHROME_TLS)
  const again = Array.from({ length: 30 }, (_, n) => reload.judge(view({ at: START + n * 300, headers })))
  t.notOk(
    again.some(({ suspected }) => suspected),
    '30 times the same page in 10 s',
  )
  t.equal(
    reload.judge(view({ at: START + 9_500, headers })).suspected_by,
    'headers:no_navigation,behaviour:burst',
    '31 times',
  )
})

t.test('who asks for robots.txt first', async (t) => {
  const rows: [string, (suspicion: Suspicion) => void, Partial<PersonView>, boolean][] = [
    ['by a script, from a server', (s) => s.noteRequest(1n, START - 1_000, { accept: '*/*' }), { asn: AWS }, true],
    ['in a browser, to look at it', (s) => s.noteRequest(1n, START - 1_000, CHROME_TLS), { asn: AWS }, false],
    ['an hour ago', (s) => s.noteRequest(1n, START - 3_600_000, {}), { asn: AWS }, false],
    [
      'after a page',
      (s) => {
        s.judge(view())
        s.noteRequest(1n, START, {})
      },
      { asn: AWS },
      false,
    ],
    ['somebody else', (s) => s.noteRequest(2n, START, {}), { asn: AWS }, false],
    [
      'where it is answered with a page',
      () => {},
      { asn: AWS, pathname: '/robots.txt', headers: without(CHROME_TLS, 'sec-fetch-mode') },
      true,
    ],
    ['from home, with a browser’s headers', (s) => s.noteRequest(1n, START - 1_000, {}), {}, false],
  ]
  for (const [why, before, given, expected] of rows) {
    const suspicion = taught(CHROME_HTTP)
    before(suspicion)
    t.equal(suspicion.judge(view(given)).suspected, expected, why)
  }
  for (const path of ['/robots.txt', '/llms.txt', '/sitemap.xml', '/sitemap_index.xml', '/sitemap-3.xml.gz'])
    t.ok(isPolicyFile(path), path)
  for (const path of [
    '/',
    '/robots',
    '/blog/robots.txt',
    '/sitemap',
    '/sitemap.html',
    `/sitemap${'a'.repeat(100)}.xml`,
  ])
    t.notOk(isPolicyFile(path), path)
})

t.test('through the classifier: the row says it, and nobody is counted less', async (t) => {
  const site = {
    id: 1,
    domains: [],
    timezone: 'UTC',
    respect_gpc: true,
    visitor_salt: 'day' as const,
    excluded_paths: [],
  }
  const now = () => START
  const classifier = createClassifier({
    catalog: loadCatalog(),
    places: openPlaceLookup(),
    siteOf: () => site,
    salts: new SaltStore({ file: { read: () => undefined, write() {} }, now, random: randomBytes, log: () => {} }),
    sessions: new SessionMemory({ now }),
    verifier: noVerifier,
    policyJudge: noPolicyJudge,
    log: (message, error) => t.fail(`${message}: ${error}`),
  })
  // An address of Google Cloud, which the shipped data knows as AS396982.
  const ask = (pathname: string, ip: string, headers: Headers): Observation =>
    observation({ timestamp: new Date(START).toISOString(), pathname, ip, headers, user_agent: CHROME })
  const robots = (ip: string, headers: Headers) => ({
    ...ask('/robots.txt', ip, headers),
    content_type: 'text/plain',
  })
  const { rows, drops } = classifier.classify([
    robots('34.91.0.1', {}),
    ask('/a', '34.91.0.1', CHROME_TLS),
    ask('/b', '34.91.0.1', CHROME_TLS),
    robots('34.91.0.2', { 'sec-gpc': '1' }),
    ask('/a', '34.91.0.2', CHROME_TLS),
    ask('/a', '84.160.0.1', CHROME_TLS),
  ])
  t.strictSame(drops, { not_a_page: 2 })
  t.strictSame(
    rows.events.map(({ pathname, suspected, suspected_by }) => [pathname, suspected, suspected_by]),
    [
      ['/a', true, 'network:hosting,behaviour:policy_first'],
      ['/b', true, 'network:hosting,behaviour:policy_first'],
      ['/a', false, 'network:hosting'],
      ['/a', false, null],
    ],
    'who asked not to be recorded is not remembered either',
  )
})

t.test('over the change of salts a session stays what it was', async (t) => {
  const suspicion = taught(CHROME_TLS)
  t.ok(suspicion.judge(view({ headers: {}, asn: AWS })).suspected)
  t.ok(suspicion.judge(view({ visitor_id: 2n, previous: 1n, headers: CHROME_TLS, asn: HOME })).suspected)
})

t.test('every browser of the fixtures, with headers of its kind, from anywhere', async (t) => {
  const suspicion = taught(CHROME_TLS)
  BROWSERS.forEach(([user_agent], n) => {
    const id = BigInt(n + 1)
    const headers = user_agent.includes('Chrome/') ? without(CHROME_TLS, 'sec-ch') : FIREFOX_TLS
    t.notOk(suspicion.judge(view({ visitor_id: id, session: id, user_agent, headers, asn: AWS })).suspected, user_agent)
  })
})

t.test('networks that people come from are no hosting', async (t) => {
  for (const asn of [13335, 36183, 54113, 9009, 60068, 212238, 15169, 3320, 7922]) t.notOk(isHosting(asn), `AS${asn}`)
  for (const asn of [16509, 14618, 396982, 24940, 16276, 14061, 63949, 20473]) t.ok(isHosting(asn), `AS${asn}`)
  t.notOk(isHosting(null))
})

t.test('whatever is sent, an answer of the right shape, and memory that is bounded', async (t) => {
  const suspicion = createSuspicion({ limit: 64 })
  const text = fc.string({ unit: 'binary', maxLength: 60 })
  const header = fc.constantFrom(
    'accept',
    'accept-language',
    'accept-encoding',
    'sec-ch-ua',
    'sec-fetch-mode',
    'sec-fetch-site',
  )
  fc.assert(
    fc.property(
      fc.record({
        visitor_id: fc.bigInt({ min: 0n, max: 1n << 63n }),
        session: fc.bigInt({ min: 0n, max: 9n }),
        at: fc.integer(),
        pathname: text,
        hostname: text,
        user_agent: fc.oneof(
          text,
          text.map((tail) => `Chrome/${tail}`),
          fc.constant(CHROME),
        ),
        headers: fc.dictionary(header, text),
        asn: fc.option(fc.nat()),
      }),
      (given) => {
        const { suspected, suspected_by } = suspicion.judge(view(given))
        const families = new Set(
          (suspected_by ?? '')
            .split(',')
            .filter(Boolean)
            .map((one) => one.split(':')[0]),
        )
        return suspected === families.size >= 2 && suspected_by !== ''
      },
    ),
    { numRuns: 2_000 },
  )
  t.pass()
})
