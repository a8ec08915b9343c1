import t from 'tap'
import { createSuspicion, type PersonView, type Suspicion } from '../../../src/worker/ingest/suspicion.js'
import { CHROME, CHROME_TLS, FIREFOX, FIREFOX_TLS } from '../../fixtures/browser-headers.js'
import { AWS, START, view } from '../../fixtures/person-view.js'

/** How Chromium 147 writes a request over plain HTTP/1.1 and over HTTP/2. */
const CHROMIUM_HTTP1 = '1HUAE'
const CHROMIUM_HTTP2 = '2myzpuae'

/** Returns a memory that has seen so many visitors with this form of the head, and `others` with another one after them. */
function afterHeads(visitors: number, head_form: string, others = 0, other = ''): Suspicion {
  const suspicion = createSuspicion()
  for (let n = 0; n < visitors + others; n++) {
    const id = BigInt(1_000 + n)
    const form = n < visitors ? head_form : other
    suspicion.judge(view({ visitor_id: id, session: id, ip: `84.160.1.${n}`, head_form: form }))
  }
  return suspicion
}

/** Returns a memory of so many visitors with two pages each; all but `lacking` loaded a part of the first. */
function afterLoads(visitors: number, lacking = 0): Suspicion {
  const suspicion = createSuspicion({ seed: 7 })
  for (let n = 0; n < visitors; n++) {
    const [id, ip] = [BigInt(1_000 + n), `84.${n >> 8}.${n & 255}.1`]
    const page = { visitor_id: id, session: id, ip }
    suspicion.judge(view(page))
    if (n >= lacking) suspicion.notePagePart(ip, CHROME)
    suspicion.judge(view({ ...page, at: START + 11_000 }))
  }
  return suspicion
}

t.test('a client with the name of a Chromium that writes its requests otherwise', async (t) => {
  const rows: [string, string | undefined, string | null, Partial<PersonView>?][] = [
    ['Chromium over HTTP/2', CHROMIUM_HTTP2, null],
    ['Chromium over plain HTTP', CHROMIUM_HTTP1, null],
    ['without Accept-Encoding', '1HUA', null],
    ['behind a proxy: the head is not the client’s', undefined, null],
    ['requests of Python, which puts Accept-Encoding before Accept', '1HUEA', 'headers:order'],
    ['fetch() of Node, in lower case', '1huae', 'headers:order'],
    ['Go over HTTP/2', '2ympzaeu', 'headers:order'],
    ['curl over HTTP/2', '2mzypuae', 'headers:order'],
    ['a header twice', '1HUAAE', 'headers:order'],
    ['Chrome’s headers over HTTP/1.1 and TLS', 'sHUAE', 'headers:http1'],
    ['another order over HTTP/1.1 and TLS', 'sHAUE', 'headers:order,headers:http1'],
    ['Firefox, of which nothing is recorded', '1HAUE', null, { user_agent: FIREFOX, headers: FIREFOX_TLS }],
    [
      'a Chrome of 2018',
      '1HAUE',
      null,
      { user_agent: CHROME.replace('142.', '70.'), headers: { accept: 'text/html' } },
    ],
  ]
  for (const [why, head_form, by, given = {}] of rows) {
    const home = afterHeads(100, CHROMIUM_HTTP2).judge(view({ head_form, ...given }))
    const isStale = by === null && given.user_agent?.includes('Chrome/70.')
    if (!isStale) t.strictSame(home, { suspected: false, suspected_by: by }, why)
    const rented = afterHeads(100, CHROMIUM_HTTP2).judge(view({ head_form, asn: AWS, ...given }))
    t.equal(rented.suspected, by !== null || isStale === true, `${why}: on a rented server`)
    t.equal(/order|http1/.test(String(rented.suspected_by)), by !== null, `${why}: signals of the head`)
  }
  const odd = { head_form: '1HUEA', visitor_id: 1n }
  const by = (suspicion: Suspicion) => suspicion.judge(view(odd)).suspected_by
  t.equal(by(afterHeads(99, CHROMIUM_HTTP1)), null, '99 visitors are too few')
  t.equal(by(afterHeads(100, CHROMIUM_HTTP1)), 'headers:order', '100 are enough')
  t.equal(by(afterHeads(115, CHROMIUM_HTTP1, 5, '1HUEA')), 'headers:order', '5 others of 120 are fewer than one in 20')
  t.equal(
    by(afterHeads(114, CHROMIUM_HTTP1, 6, '1HUEA')),
    null,
    '6 of 120 are one in 20: a program on the way writes heads',
  )
  const browser = afterHeads(100, CHROMIUM_HTTP1)
  browser.notePagePart('84.160.0.1', CHROME)
  t.equal(by(browser), null, 'a client that has loaded an image is a browser, whoever wrote its head')
  const later = afterHeads(100, CHROMIUM_HTTP1)
  t.equal(by(later), 'headers:order')
  later.judgeHit(view({ at: START + 500 }))
  t.equal(by(later), 'headers:order', 'the signal stays to the end of the session, as all do')
})

t.test('a client that loads no parts of pages', async (t) => {
  const second = (suspicion: Suspicion, given: Partial<PersonView> = {}, after = 10_000) => {
    suspicion.judge(view(given))
    return suspicion.judge(view({ at: START + after, ...given })).suspected_by
  }
  t.equal(second(afterLoads(200)), 'behaviour:no_assets', 'ten seconds after the first page')
  t.equal(second(afterLoads(200), {}, 9_999), null, 'earlier the parts may still come')
  t.equal(second(afterLoads(199)), null, '199 visitors are too few')
  t.equal(second(afterLoads(200, 1)), null, 'one in 200 is as many as have all in their cache')
  t.equal(second(afterLoads(400, 1)), 'behaviour:no_assets', 'one in 400 is fewer')
  t.equal(second(afterLoads(900, 900)), null, 'a site whose parts another host serves')
  t.equal(second(afterLoads(200), { ip: undefined }), null, 'a row of another server')
  const loaded = afterLoads(200)
  loaded.notePagePart('84.160.0.1', CHROME)
  t.equal(second(loaded), null, 'a client that loaded one before: the rest may be in its cache')
  const other = afterLoads(200)
  other.notePagePart('84.160.0.1', FIREFOX)
  t.equal(second(other), 'behaviour:no_assets', 'another browser at the same address')
  const reported = afterLoads(200)
  reported.judgeHit(view())
  t.equal(second(reported), null, 'a client that ran the script of the page')
  const rented = afterLoads(200)
  rented.judge(view({ asn: AWS }))
  t.strictSame(
    rented.judge(view({ asn: AWS, at: START + 20_000 })),
    { suspected: true, suspected_by: 'network:hosting,behaviour:no_assets' },
    'a script on a rented server',
  )
})

t.test('clients of one network that open many pages and load no part of any', async (t) => {
  /** Opens pages from one address each, all in one network; returns what speaks against the last. */
  const open = (suspicion: Suspicion, pages: number, given: (n: number) => Partial<PersonView> = () => ({})) => {
    let by: string | null = null
    for (let n = 0; n < pages; n++) {
      const id = BigInt(50_000 + n)
      const page = { visitor_id: id, session: id, ip: `20.1.2.${n}`, pathname: `/${n}`, at: START + n * 1_000 }
      by = suspicion.judge(view({ ...page, ...given(n) })).suspected_by
    }
    return by
  }
  t.equal(open(afterLoads(200), 26), 'behaviour:network_sweep', '26 pages in 26 seconds')
  t.equal(open(afterLoads(200), 25), null, '25 pages')
  t.equal(
    open(afterLoads(200), 60, (n) => ({ ip: `20.1.${n}.1` })),
    null,
    'from a network each',
  )
  t.equal(
    open(afterLoads(200), 26, (n) => ({ ip: `2a01:4f8:c17:${n.toString(16)}::1` })),
    'behaviour:network_sweep',
    'a /48',
  )
  t.equal(
    open(afterLoads(200), 60, () => ({ pathname: '/news' })),
    null,
    'one page, as after a newsletter',
  )
  t.equal(
    open(afterLoads(200), 60, (n) => ({ at: START + n * 2_500 })),
    null,
    '24 a minute',
  )
  const linked = () => ({ headers: { ...CHROME_TLS, 'sec-fetch-site': 'same-origin' } })
  t.equal(open(afterLoads(200), 60, linked), null, 'reached by links')
  t.equal(open(createSuspicion(), 60), null, 'a site of which is not known what its visitors load')
  const office = afterLoads(200)
  const byLoaded = open(office, 60, (n) => {
    if (n % 20 === 10) office.notePagePart(`20.1.2.${n - 1}`, CHROME)
    return {}
  })
  t.equal(byLoaded, null, 'an office, one of whose browsers loads an image now and then')
  t.equal(
    open(afterLoads(200), 26, () => ({ asn: AWS })),
    'network:hosting,behaviour:network_sweep',
    'of rented servers',
  )
})
