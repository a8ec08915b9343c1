import t from 'tap'
import type { Evidence, Hit } from '../../../src/capture/hit.js'
import type { SiteSettings } from '../../../src/capture/site.js'
import { at, HOUR, hitAt, MINUTE, NOON, startClassifier, view } from '../../fixtures/hit-classifier.js'
import { agentObservation } from '../../fixtures/observations.js'

t.test('which hits become rows', async (t) => {
  const GPC = { headers: { 'sec-gpc': '1' } }
  const rows: [Partial<Hit>, Partial<SiteSettings>, string, string][] = [
    [{}, {}, 'pageview', 'a first pageview without a server’s row'],
    [{ hostname: 'www.a.example' }, {}, 'pageview', 'with www.'],
    [{ hostname: 'b.example' }, {}, 'pageview', 'without www.'],
    [{ hostname: 'two.example' }, {}, 'unknown_host', 'a page of another site'],
    [{ site: 2 }, {}, 'unknown_host', 'another site'],
    [{ site: 7 }, {}, 'unknown_host', 'no site'],
    [{ hostname: 'x.example' }, {}, 'unknown_host', 'a page of no site'],
    [{ hostname: 'x.example' }, { domains: [] }, 'pageview', 'a site without domains'],
    [{ pathname: '/admin/x' }, { excluded_paths: ['/admin/**'] }, 'excluded_path', 'excluded'],
    [GPC, {}, 'pageview', 'not honoured'],
    [GPC, { respect_gpc: true }, 'opted_out', 'honoured'],
    [{ headers: { dnt: '1' } }, { respect_gpc: true }, 'opted_out', 'DNT honoured'],
    [{ kind: 'custom', name: 'x' }, {}, 'custom', 'an event begins a visit'],
    [{ kind: 'form' }, {}, 'form', 'a form begins a visit'],
    [
      { kind: 'engagement', engaged_ms: 5 },
      {},
      'unplacedRows',
      'a page’s report about itself begins no visit: the store is asked',
    ],
    [{ kind: 'engagement', engaged_ms: 0, scroll: 0 }, {}, 'nothing_measured', 'nothing measured'],
    [{ kind: 'engagement' }, {}, 'nothing_measured', 'nothing measured'],
    [{ kind: 'engagement', identified_id: 'u' }, {}, 'unplacedRows', 'an id alone'],
    [{ kind: 'web_vitals', vitals: {}, identified_id: 'u' }, {}, 'nothing_measured', 'no vitals'],
    [{ kind: 'error', props: {} }, {}, 'nothing_measured', 'no error'],
    [{ user_agent: agentObservation().user_agent }, {}, 'agent', 'an agent that runs the script'],
    [{ user_agent: agentObservation().user_agent, kind: 'custom' }, {}, 'dropped agent', 'other hits of an agent'],
    [{ user_agent: '' }, {}, 'agent', 'no user agent'],
    [{ timestamp: 'then' }, {}, 'fault', 'no valid time'],
  ]
  for (const [given, changed, expected, why] of rows) {
    const classify = createQuiet(changed)
    const { rows: classified, drops, unplacedRows } = classify(hitAt(0, given))
    const [reason] = Object.keys(drops)
    const follows = unplacedRows.some((one) => one.follows)
    const [event] = classified.events
    const became = classified.agent_events[0] ? 'agent' : follows ? 'unplacedRows' : (event?.kind ?? reason)
    t.equal(reason === 'agent' ? 'dropped agent' : became, expected, why)
  }
})

/** Returns a classifier that turns faults into a drop. */
function createQuiet(changed: Partial<SiteSettings>) {
  const classify = startClassifier(changed)
  return (one: Hit) => {
    try {
      return classify(one)
    } catch {
      return { rows: { events: [], agent_events: [] }, drops: { fault: 1 }, unplacedRows: [] }
    }
  }
}

t.test('creates a row from a browser’s pageview', async (t) => {
  const { rows } = startClassifier()(
    hitAt(0, {
      ...{ pathname: '/p', query: 'utm_source=letter&x=1', referrer: 'https://news.example/x?y', screen_width: 1500 },
      ...{
        timezone: 'Europe/Vienna',
        language: 'de-AT',
        props: { plan: 'pro' },
        identified_id: 'u1',
        ip: '81.2.69.142',
      },
    }),
  )
  t.equal(rows.events.length, 1)
  t.match(rows.events[0], {
    ...{ kind: 'pageview', recorded_by: 'browser', status: null, duration_ms: null, entry_page: '/p', pathname: '/p' },
    ...{ utm_source: 'letter', source: 'letter', referrer: 'https://news.example/x', browser: 'Chrome', os: 'Windows' },
    ...{ country: 'GB', screen_class: 'xl', timezone: 'Europe/Vienna', language: 'de-AT', props: '{"plan":"pro"}' },
    ...{ identified_id: 'u1', engaged_ms: null, suspected: false, suspected_by: null, timestamp: new Date(NOON) },
  })
  t.notOk(JSON.stringify(rows, (_, v) => (typeof v === 'bigint' ? String(v) : v)).includes('81.2.69.142'), 'no address')
})

t.test('one row for one view', async (t) => {
  const S = 1 / 60
  // Batches of server's views (`v`) and first hits (`h`), each with its minute; then the sums of rows, additions and `same_view`.
  const rows: [string[], [number, number, number], string][] = [
    [['v0 h1'], [1, 0, 0], 'in one batch'],
    [['v0', 'h1'], [1, 1, 0], 'after the view was committed'],
    [['h1', 'v0'], [1, 1, 1], 'a page that ends after its script began'],
    [['h1 v0'], [1, 0, 0], 'sorted by time'],
    [['v0 v1 h2 h3'], [2, 0, 0], 'two tabs'],
    [['v0', 'v1', 'h2', 'h3'], [2, 2, 0], 'two tabs, in batches of their own'],
    [['v0', 'h2', 'h3', 'v1'], [2, 2, 1], 'the second page is slow'],
    [['h2', 'h3', 'v0', 'v1'], [2, 2, 2], 'both pages are slow'],
    [['v0', 'h1', 'h2'], [2, 1, 0], 'from the browser’s cache'],
    [['v0', 'h29'], [1, 1, 0], 'within half an hour'],
    [['v0', 'h30'], [2, 0, 0], 'not the same view after half an hour'],
    [['h0', 'v2', 'h3'], [2, 1, 0], 'a page from the cache, then one from the server'],
    [['v0', 'v5'], [2, 0, 0], 'without a script'],
  ]
  for (const [batches, expected, why] of rows) {
    const classify = startClassifier()
    const sum = [0, 0, 0] as [number, number, number]
    for (const batch of batches) {
      const all = batch
        .split(' ')
        .map((word) => (word[0] === 'v' ? view(Number(word.slice(1))) : hitAt(Number(word.slice(1)))))
      const { rows, additions, drops } = classify(...all)
      sum[0] += rows.events.length
      sum[1] += additions.length
      sum[2] += drops.same_view ?? 0
    }
    t.strictSame(sum, expected, `${batches.join(', ')}: ${why}`)
  }
  const others: [Partial<Hit>, string][] = [
    [{ pathname: '/other' }, 'another page'],
    [{ hostname: 'www.b.example' }, 'another host'],
    [{ ip: '203.0.113.8' }, 'another visitor'],
    [{ site: 2, hostname: 'two.example' }, 'another site'],
    [{ engaged_ms: 0, scroll: 0 }, 'not the document’s first page'],
  ]
  for (const [given, why] of others) {
    const { rows, additions } = startClassifier()(view(0), hitAt(S, given))
    t.strictSame([rows.events.length, additions.length], [2, 0], why)
  }
})

t.test('browser and server complete each other’s row', async (t) => {
  const said = { screen_width: 800, timezone: 'Asia/Tokyo', language: 'ja', identified_id: 'u', props: { a: 1 } }
  const columns = { screen_class: 'md', timezone: 'Asia/Tokyo', language: 'ja', identified_id: 'u', props: '{"a":1}' }
  const together = startClassifier()(view(0, { status: 304, headers: { 'accept-language': 'en' } }), hitAt(0.01, said))
  t.match(together.rows.events, [{ ...columns, recorded_by: 'browser', status: 304, timestamp: new Date(NOON) }])
  const apart = startClassifier()
  const [stored] = apart(view(0)).rows.events
  t.match(stored, { recorded_by: 'server', screen_class: null })
  const { additions } = apart(hitAt(0.01, said))
  const to = {
    site_id: 1,
    visitor_id: stored?.visitor_id,
    timestamp: new Date(NOON),
    hostname: 'a.example',
    pathname: '/',
  }
  t.match(additions, [{ to, ...columns, status: null, duration_ms: null }])
  const slow = startClassifier()
  slow(hitAt(0.01, said))
  t.match(slow(view(0, { duration_ms: 900 })).additions, [{ status: 200, duration_ms: 900, screen_class: null }])
})

t.test('a route in the fragment, which the server never sees', async (t) => {
  const paths = (...batches: Evidence[][]) => {
    const classify = startClassifier()
    return batches.flatMap((batch) => classify(...batch).rows.events.map(({ kind, pathname }) => `${kind} ${pathname}`))
  }
  const SPA = { engaged_ms: 0, scroll: 0 }
  const READ = { kind: 'engagement' as const, engaged_ms: 5_000 }
  const [a, b] = [{ pathname: '/#/a' }, { pathname: '/#/b' }]
  const rows: [Evidence[][], string[], string][] = [
    [[[view(0), hitAt(0.1, a)]], ['pageview /'], 'one view, by the path that the server was asked for'],
    [[[view(0)], [hitAt(0.1, a)]], ['pageview /'], 'after the view was committed'],
    [[[hitAt(0.1, a)], [view(0)]], ['pageview /#/a'], 'the browser first'],
    [[[view(0), hitAt(0.1, { pathname: '/#!a' })]], ['pageview /'], 'the older form of a route'],
    [[[view(0), hitAt(0.1, { pathname: '/x#/a' })]], ['pageview /', 'pageview /x#/a'], 'another page'],
    [[[hitAt(0, a)]], ['pageview /#/a'], 'without a server’s row'],
    [
      [[view(0), hitAt(0.1, a)], [hitAt(1, { ...b, ...SPA })]],
      ['pageview /', 'pageview /#/b'],
      'the next route is a page of its own',
    ],
    [
      [[view(0), hitAt(0.1, a)], [hitAt(1, { ...a, ...READ })]],
      ['pageview /', 'engagement /'],
      'a report of the first page about itself',
    ],
    [
      [[view(0), hitAt(0.1, a)], [hitAt(1, { ...b, engaged_ms: 5_000, referrer: 'https://a.example/#/a' })]],
      ['pageview /', 'engagement /', 'pageview /#/b'],
      'a report of the next page about the first',
    ],
    [
      [
        [view(0), hitAt(0.1, a), hitAt(1, { ...b, ...SPA })],
        [hitAt(2, { ...a, engaged_ms: 5_000, referrer: 'https://a.example/#/b' })],
      ],
      ['pageview /', 'pageview /#/b', 'engagement /#/b', 'pageview /#/a'],
      'the route that was left',
    ],
    [
      [[view(0), hitAt(0.1, a), hitAt(1, { ...b, ...SPA }), hitAt(2, { ...a, ...SPA })], [hitAt(3, { ...a, ...READ })]],
      ['pageview /', 'pageview /#/b', 'pageview /#/a', 'engagement /#/a'],
      'a route that was seen as a page',
    ],
  ]
  for (const [batches, expected, why] of rows) t.strictSame(paths(...batches), expected, why)
  const { drops } = startClassifier({ excluded_paths: ['/admin'] })(hitAt(0, { pathname: '/admin#/a' }))
  t.strictSame(drops, { excluded_path: 1 }, 'a route of an excluded path')
})

t.test('what a browser reports about itself stays for the rest of its session, and only there', async (t) => {
  const classify = startClassifier()
  const said = { screen_width: 800, timezone: 'Asia/Tokyo', language: 'ja' }
  classify(view(0, { headers: { 'accept-language': 'en' } }), hitAt(0.01, said))
  const row = (evidence: Evidence) => classify(evidence).rows.events[0]
  const KNOWN = { screen_class: 'md', timezone: 'Asia/Tokyo', language: 'ja' }
  t.match(row(view(5, { pathname: '/b' })), { ...KNOWN, identified_id: null, recorded_by: 'server' })
  t.match(row(hitAt(6, { kind: 'custom', screen_width: 300, language: 'fr' })), KNOWN, 'a resized window')
  row(hitAt(7, { kind: 'engagement', identified_id: 'u1', props: { plan: 'pro' } }))
  t.match(row(view(8, { pathname: '/c' })), { ...KNOWN, identified_id: 'u1', traits: null })
  t.match(row(hitAt(9, { kind: 'outbound' })), { identified_id: 'u1' })
  t.match(
    row(view(9, { pathname: '/c', ip: '203.0.113.8' })),
    { screen_class: null, identified_id: null },
    'another visitor',
  )
  t.match(row(view(60, { pathname: '/c' })), { screen_class: null, identified_id: null }, 'another session')
})

t.test('a pageview reports about the previous page', async (t) => {
  const rows: [Partial<Hit>, Partial<SiteSettings>, [string, string] | undefined, string][] = [
    [{ referrer: 'https://a.example/one?x#y' }, {}, ['a.example', '/one'], 'the page of the referrer'],
    [{ referrer: 'https://www.b.example:8443/one' }, {}, ['www.b.example', '/one'], 'on another host of the site'],
    [{ referrer: 'https://news.example/' }, {}, ['a.example', ''], 'a foreign referrer: the store knows the last page'],
    [{}, {}, ['a.example', ''], 'no referrer: the store knows the last page'],
    [{ referrer: 'https://a.example/admin' }, { excluded_paths: ['/admin'] }, undefined, 'excluded'],
    [{ engaged_ms: 0, scroll: 0 }, {}, undefined, 'nothing was measured'],
  ]
  for (const [given, changed, page, why] of rows) {
    const classify = startClassifier(changed)
    const other = view(0, { pathname: '/one', hostname: 'www.b.example' })
    classify(view(0, { pathname: '/one' }), other, view(0, { pathname: '/last', timestamp: at(0.1) }))
    const { rows, unplacedRows } = classify(hitAt(1, { pathname: '/next', engaged_ms: 4_000, scroll: 60, ...given }))
    const next = rows.events.find(({ kind }) => kind === 'pageview')
    t.match(next, { pathname: '/next', engaged_ms: null, scroll: null, status: null, duration_ms: 0 }, why)
    const left = rows.events.find(({ kind }) => kind === 'engagement')
    t.strictSame(left && [left.hostname, left.pathname], page, why)
    if (left) t.match(left, { engaged_ms: 4_000, scroll: 60, recorded_by: 'browser' })
    if (page?.[1] === '') t.match(unplacedRows, [{ row: left, follows: true }], why)
    else if (left) t.equal(left.session_id, next?.session_id, why)
  }
  const excluded = startClassifier({ excluded_paths: ['/admin'] })
  excluded(view(0, { pathname: '/one' }))
  const { rows: left, drops } = excluded(
    hitAt(1, { pathname: '/admin', engaged_ms: 9, referrer: 'https://a.example/one' }),
  )
  t.match(
    left.events,
    [{ kind: 'engagement', pathname: '/one' }],
    'an excluded page reports about one that is not excluded',
  )
  t.strictSame(drops, { excluded_path: 1 })
})

t.test('a late report belongs to the visit in which the page was seen', async (t) => {
  const late = (minute: number, given: Partial<Hit> = {}) =>
    hitAt(minute, { kind: 'engagement', engaged_ms: 4 * MINUTE, pathname: '/read', ...given })
  const minuteOf = (date: Date | undefined) => date && (date.getTime() - NOON) / MINUTE
  // Earlier views; the hit; its session (by the minute it began) and the minute to which it is dated.
  const rows: [[number, string][], Hit, number | undefined, number, string][] = [
    [[[0, '/read']], late(20), 0, 20, 'while the session runs'],
    [[[0, '/read']], late(29.99), 0, 29.99, 'just within the session'],
    [[[0, '/read']], late(70), 0, 4, 'a tab closed later: dated to the reading after the last hit'],
    [
      [
        [0, '/read'],
        [10, '/b'],
      ],
      late(70),
      0,
      14,
      'after the last hit of the session',
    ],
    [[[0, '/read']], late(70, { engaged_ms: 2 * HOUR }), 0, 70, 'read all the time'],
    [[[0, '/read']], late(70, { kind: 'web_vitals', vitals: { cls: 0 } }), 0, 0, 'vitals'],
    [[[0, '/read']], late(70, { kind: 'error', props: { message: 'x' } }), 0, 0, 'an error in a background tab'],
    [
      [
        [0, '/read'],
        [60, '/b'],
      ],
      late(70),
      undefined,
      70,
      'of the previous session: the store is asked, and dates it',
    ],
    [[[0, '/read']], late(70, { pathname: '/never' }), undefined, 70, 'a page that was never seen'],
    [[[60, '/b']], late(70, { pathname: '/never' }), undefined, 70, 'the store may know when that page was seen'],
  ]
  for (const [views, one, start, minute, why] of rows) {
    const classify = startClassifier({ visitor_salt: 'never' })
    for (const [when, pathname] of views) classify(view(when, { pathname }))
    const { rows, unplacedRows } = classify(one)
    const [row] = rows.events
    t.equal(minuteOf(row?.timestamp), minute, why)
    t.equal(unplacedRows.length, start === undefined ? 1 : 0, why)
    if (start !== undefined) t.equal(minuteOf(row?.session_start), start, why)
    if (start === undefined || minute < 30)
      t.equal(
        classify(view(71)).rows.events[0]?.session_start.getTime(),
        views.some(([when]) => when > 50) ? NOON + 60 * MINUTE : NOON + 71 * MINUTE,
        `${why}: the next visit is a new one`,
      )
  }
})

t.test('a late report across midnight and its change of salts', async (t) => {
  const classify = startClassifier()
  const [page] = classify(view(12 * 60 - 5, { pathname: '/read' })).rows.events
  const { rows } = classify(
    hitAt(12 * 60 + 5, { kind: 'engagement', engaged_ms: 60_000, pathname: '/read' }),
    hitAt(12 * 60 + 6, { pathname: '/read' }),
  )
  t.match(
    rows.events,
    [{ kind: 'engagement', visitor_id: page?.visitor_id, session_id: page?.session_id }],
    'the visitor id of the day before',
  )
  t.equal(rows.events.length, 1, 'and the row of the day before is completed')
  const later = classify(hitAt(20 * 60, { kind: 'engagement', engaged_ms: 60_000, pathname: '/read' }))
  t.strictSame(
    later.unplacedRows.map(({ follows }) => follows),
    [true],
    'the next morning the visitor is unknown',
  )
})

t.test('a hit is not a navigation, so most headers are not signals', async (t) => {
  const brands = (name: string) => ({ 'sec-ch-ua': `"${name}";v="137", "Chromium";v="137"` })
  const rows: [Partial<Hit>, string | null, string][] = [
    [{ headers: { accept: '*/*' } }, null, 'without the headers of navigations'],
    [{ headers: brands('Google Chrome') }, null, 'hints that agree'],
    [{ headers: brands('HeadlessChrome') }, null, 'headless'],
    [{ headers: { 'sec-ch-ua': '"Chromium";v="99"' } }, 'headers:client_hints', 'hints that contradict'],
  ]
  for (const [given, expected, why] of rows) {
    const [row] = startClassifier()(hitAt(0, given)).rows.events
    if (why !== 'headless') t.equal(row?.suspected_by, expected, why)
    else t.ok(row?.suspected_by === null || row?.suspected_by === 'headers:client_hints', why)
  }
  const classify = startClassifier()
  const many = Array.from({ length: 60 }, (_, n) => hitAt(n / 600, { kind: 'custom', name: `${n}`, pathname: `/${n}` }))
  t.ok(
    classify(...many).rows.events.every(({ suspected_by }) => suspected_by === null),
    'events do not count as pages',
  )
})
