import fc from 'fast-check'
import t from 'tap'
import {
  createSuspicion,
  isHosting,
  isPolicyFile,
  type PersonView,
  type Suspicion,
} from '../../../src/worker/ingest/suspicion.js'
import {
  brands,
  CHROME,
  CHROME_HTTP,
  CHROME_TLS,
  EDGE,
  FIREFOX,
  FIREFOX_TLS,
  type Headers,
  INSTAGRAM,
  IPHONE,
  SAFARI,
  SAFARI_15,
  SAFARI_TLS,
  SAMSUNG,
  SILK,
  WEBVIEW,
  without,
} from '../../fixtures/browser-headers.js'
import { AWS, HOME, START, view } from '../../fixtures/person-view.js'
import { BROWSERS } from '../../fixtures/user-agents.js'

const HETZNER = 24940
/** Returns a memory that has seen this many visitors of a hostname, all with these headers. */
function afterVisitors(headers: Headers, visitors = 40): Suspicion {
  const suspicion = createSuspicion()
  for (let n = 0; n < visitors; n++)
    suspicion.judge(view({ visitor_id: BigInt(1_000 + n), session: BigInt(1_000 + n), headers }))
  return suspicion
}
const clean = { suspected: false, suspected_by: null }

t.test('browsers with their usual headers are not suspected, from any network', async (t) => {
  const rows: [string, string, Headers][] = [
    ['Chrome on Windows', CHROME, CHROME_TLS],
    ['Edge', EDGE, { ...CHROME_TLS, 'sec-ch-ua': brands('Microsoft Edge', 142) }],
    ['Firefox', FIREFOX, FIREFOX_TLS],
    ['Safari on macOS', SAFARI, SAFARI_TLS],
    ['Safari on iOS', IPHONE, SAFARI_TLS],
    ['Safari of 2022, which sends no Sec-Fetch', SAFARI_15, without(SAFARI_TLS, 'sec-fetch')],
    ['Samsung Internet', SAMSUNG, { ...CHROME_TLS, 'sec-ch-ua': brands('Samsung Internet', 136) }],
    ['a web view', WEBVIEW, { ...CHROME_TLS, 'sec-ch-ua': brands('Android WebView', 142) }],
    ['a web view whose app sends its own headers', WEBVIEW, { accept: '*/*', 'accept-encoding': 'gzip' }],
    ['Instagram on iOS', INSTAGRAM, SAFARI_TLS],
    ['Silk, whose pages Amazon fetches', SILK, { ...CHROME_TLS, 'sec-ch-ua': brands('Amazon Silk', 130) }],
    ['the click on a link', CHROME, { ...CHROME_TLS, 'sec-fetch-site': 'cross-site' }],
    ['with GPC on', CHROME, { ...CHROME_TLS, 'sec-gpc': '1', dnt: '1' }],
  ]
  for (const [why, user_agent, headers] of rows) {
    t.strictSame(afterVisitors(CHROME_TLS).judge(view({ user_agent, headers })), clean, why)
    const rented = afterVisitors(CHROME_TLS).judge(view({ user_agent, headers, asn: AWS }))
    t.equal(rented.suspected, false, `${why}, through a VPN on rented servers`)
    t.equal(rented.suspected_by, user_agent === SILK ? null : 'network:hosting', `${why}: the network is stated`)
  }
})

t.test('a header that no visitor sends is not a signal', async (t) => {
  const rows: [string, Headers, Headers][] = [
    ['plain HTTP, where no browser sends Sec-Fetch', CHROME_HTTP, CHROME_HTTP],
    ['a CDN that forwards no header of the visitor', {}, {}],
    ['a CDN that sends its own headers', { accept: '*/*', 'accept-encoding': 'identity' }, { accept: '*/*' }],
    ['rows that came without headers', CHROME_TLS, CHROME_TLS],
  ]
  for (const [why, custom, headers] of rows)
    t.strictSame(afterVisitors(custom).judge(view({ headers, asn: AWS })).suspected_by, 'network:hosting', why)
  t.strictSame(
    afterVisitors(CHROME_TLS).judge(view({ headers: undefined })),
    clean,
    'a row of another server without headers',
  )
  t.strictSame(
    createSuspicion().judge(view({ headers: CHROME_HTTP, asn: AWS })).suspected_by,
    'network:hosting',
    'a hostname without visitors so far',
  )
  t.equal(afterVisitors(CHROME_TLS, 19).judge(view({ headers: {} })).suspected_by, null, '19 visitors are too few')
  t.equal(
    afterVisitors(CHROME_TLS, 20).judge(view({ headers: {} })).suspected_by,
    'headers:no_navigation,headers:no_language,headers:accept,headers:no_gzip',
    '20 are enough',
  )
  const mixed = createSuspicion()
  for (let n = 0; n < 100; n++)
    mixed.judge(view({ visitor_id: BigInt(n), session: BigInt(n), headers: n % 2 ? CHROME_TLS : CHROME_HTTP }))
  t.equal(
    mixed.judge(view({ visitor_id: 999n, headers: CHROME_HTTP })).suspected_by,
    null,
    'half of the visitors over HTTP',
  )

  const moved = afterVisitors(CHROME_HTTP, 900)
  for (let n = 0; n < 1_000; n++)
    moved.judge(view({ visitor_id: BigInt(10_000 + n), session: BigInt(10_000 + n), headers: CHROME_TLS }))
  t.equal(moved.judge(view({ headers: CHROME_HTTP })).suspected_by, 'headers:no_navigation', 'a site that moved to TLS')

  const flooded = afterVisitors(CHROME_TLS)
  for (let n = 0; n < 5_000; n++)
    flooded.judge(view({ visitor_id: BigInt(10_000 + n), session: BigInt(10_000 + n), headers: {}, asn: AWS }))
  t.equal(
    flooded.judge(view({ headers: CHROME_HTTP })).suspected_by,
    'headers:no_navigation',
    'crawlers on rented servers do not change the norm',
  )
})

t.test('one family of signals alone is not enough', async (t) => {
  const rows: [string, Partial<PersonView>, string][] = [
    [
      'a privacy extension that removes the language',
      { headers: without(CHROME_TLS, 'accept-language') },
      'headers:no_language',
    ],
    [
      'a company proxy that removes compression',
      { headers: { ...CHROME_TLS, 'accept-encoding': 'identity' } },
      'headers:no_gzip',
    ],
    ['a user-agent switcher, Firefox as Chrome', { headers: FIREFOX_TLS }, ''],
    ['a user-agent switcher, Chrome as Firefox', { user_agent: FIREFOX }, 'headers:client_hints'],
    ['the phone in the developer tools', { user_agent: IPHONE }, 'headers:client_hints'],
    [
      'an old version in the hints',
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
    ['no headers at all', { headers: {} }, 'headers:no_navigation,headers:no_language,headers:accept,headers:no_gzip'],
  ]
  for (const [why, given, by] of rows)
    t.strictSame(afterVisitors(CHROME_TLS).judge(view(given)), { suspected: false, suspected_by: by || null }, why)

  const bookmarks = afterVisitors(CHROME_TLS)
  const opened = Array.from({ length: 40 }, (_, n) => bookmarks.judge(view({ at: START + n * 100, pathname: `/${n}` })))
  t.strictSame(
    opened.at(-1),
    { suspected: false, suspected_by: 'behaviour:burst,behaviour:sweep' },
    '40 bookmarks at once',
  )
})

t.test('many people who share one address are not a crawler', async (t) => {
  const gateway = afterVisitors(CHROME_TLS)
  for (let n = 0; n < 500; n++) {
    const headers = { ...CHROME_TLS, 'sec-fetch-site': n % 3 ? 'same-origin' : 'cross-site' }
    const { suspected_by } = gateway.judge(view({ at: START + n * 50, pathname: `/${n}`, headers, asn: 396982 }))
    if (suspected_by !== 'network:hosting') t.fail(`view ${n}: ${suspected_by}`)
  }
  t.pass('the gateway of a company on rented servers, whose employees follow links')
})

t.test(
  'a CDN whose forwarded address is not trusted: all visitors come from its network, which is not a signal',
  async (t) => {
    const suspicion = createSuspicion()
    const from = (n: number, asn: number) =>
      suspicion.judge(view({ visitor_id: BigInt(n), session: BigInt(n), headers: {}, asn })).suspected_by
    const judged = Array.from({ length: 100 }, (_, n) => from(n, AWS))
    t.equal(judged.indexOf(null), 19, 'learned from the 20th visitor on')
    t.ok(
      judged.slice(19).every((by) => by === null),
      'no later visitor has the signal',
    )
    for (let n = 200; n < 212; n++) from(n, HOME)
    t.equal(from(300, AWS), 'network:hosting', 'if one in ten comes from elsewhere, the address is the visitor’s own')
  },
)

t.test('suspects undeclared agents', async (t) => {
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
    t.strictSame(afterVisitors(CHROME_TLS).judge(view(given)), { suspected: true, suspected_by: by }, why)
})

t.test('suspects a fast crawler with odd headers from the deciding page to the end of its session', async (t) => {
  const suspicion = afterVisitors(CHROME_TLS)
  const headers = without(CHROME_TLS, 'sec-')
  const judge = (n: number, session = 1n, at = START + n * 300) =>
    suspicion.judge(view({ at, session, headers, pathname: `/page/${n}` })).suspected
  const judged = Array.from({ length: 40 }, (_, n) => judge(n))
  // 26 different paths within 60 s are one more than a person reads.
  t.equal(judged.indexOf(true), 25, 'the 26th page')
  t.ok(judged.slice(25).every(Boolean), 'and every later page')
  t.equal(judge(41, 1n, START + 20 * 60_000), true, 'twenty minutes later, at a slow pace')
  t.equal(judge(42, 2n, START + 90 * 60_000), false, 'a new session starts without signals')

  const slow = afterVisitors(CHROME_TLS)
  const read = Array.from({ length: 200 }, (_, n) =>
    slow.judge(view({ at: START + n * 2_500, headers, pathname: `/page/${n}` })),
  )
  t.notOk(
    read.some(({ suspected }) => suspected),
    '24 pages a minute may be a hasty person',
  )
  const reload = afterVisitors(CHROME_TLS)
  const again = Array.from({ length: 30 }, (_, n) => reload.judge(view({ at: START + n * 300, headers })))
  t.notOk(
    again.some(({ suspected }) => suspected),
    'the same page 30 times in 10 s',
  )
  t.equal(
    reload.judge(view({ at: START + 9_500, headers })).suspected_by,
    'headers:no_navigation,behaviour:burst',
    'the same page 31 times in 10 s',
  )
})

t.test('a first request for robots.txt is a signal, except in a browser', async (t) => {
  const rows: [string, (suspicion: Suspicion) => void, Partial<PersonView>, boolean][] = [
    ['a script on a server', (s) => s.noteRequest(1n, START - 1_000, { accept: '*/*' }), { asn: AWS }, true],
    ['a person who looks at it in a browser', (s) => s.noteRequest(1n, START - 1_000, CHROME_TLS), { asn: AWS }, false],
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
    ['another visitor', (s) => s.noteRequest(2n, START, {}), { asn: AWS }, false],
    [
      'a site that responds to it with a page',
      () => {},
      { asn: AWS, pathname: '/robots.txt', headers: without(CHROME_TLS, 'sec-fetch-mode') },
      true,
    ],
    ['from a home network, with the headers of a browser', (s) => s.noteRequest(1n, START - 1_000, {}), {}, false],
  ]
  for (const [why, prepare, given, expected] of rows) {
    const suspicion = afterVisitors(CHROME_HTTP)
    prepare(suspicion)
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

t.test('a session stays suspected across a change of salts', async (t) => {
  const suspicion = afterVisitors(CHROME_TLS)
  t.ok(suspicion.judge(view({ headers: {}, asn: AWS })).suspected)
  t.ok(suspicion.judge(view({ visitor_id: 2n, previous: 1n, headers: CHROME_TLS, asn: HOME })).suspected)
})

t.test('no browser of the fixtures is suspected with its own headers, even from a hosting network', async (t) => {
  const suspicion = afterVisitors(CHROME_TLS)
  BROWSERS.forEach(([user_agent], n) => {
    const id = BigInt(n + 1)
    const headers = user_agent.includes('Chrome/') ? without(CHROME_TLS, 'sec-ch') : FIREFOX_TLS
    t.notOk(suspicion.judge(view({ visitor_id: id, session: id, user_agent, headers, asn: AWS })).suspected, user_agent)
  })
})

t.test('networks of people, VPNs and CDNs are not hosting networks', async (t) => {
  for (const asn of [13335, 36183, 54113, 9009, 60068, 212238, 15169, 3320, 7922]) t.notOk(isHosting(asn), `AS${asn}`)
  for (const asn of [16509, 14618, 396982, 24940, 16276, 14061, 63949, 20473]) t.ok(isHosting(asn), `AS${asn}`)
  t.notOk(isHosting(null))
})

t.test('any input gives well-formed columns in bounded memory', async (t) => {
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
        ip: fc.oneof(fc.ipV4(), fc.ipV6(), text, fc.constant(undefined)),
        head_form: fc.option(text, { nil: undefined }),
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
