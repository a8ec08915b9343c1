import { randomBytes } from 'node:crypto'
import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import { VERDICTS, type Verifier } from '../../src/agents/verdict.js'
import type { Evidence, Hit } from '../../src/capture/hit.js'
import type { Observation } from '../../src/capture/observation.js'
import { createSiteLookup, type Site } from '../../src/capture/site.js'
import { createClassifier } from '../../src/ingest/classifier.js'
import { openPlaceLookup } from '../../src/ingest/place/place-lookup.js'
import { SaltStore } from '../../src/ingest/salts.js'
import { SessionMemory } from '../../src/ingest/session-memory.js'
import { createViewMemory, type MemoryBounds, type ViewMemory } from '../../src/ingest/view-memory.js'
import { noPolicyJudge, noVerifier } from '../fixtures/classifier-stubs.js'
import { browserHit } from '../fixtures/hits.js'
import { agentObservation, observation } from '../fixtures/observations.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NOON = Date.parse('2026-11-21T12:00:00.000Z')
const places = openPlaceLookup()
const catalog = loadCatalog()
const SITE: Site = {
  ...{ id: 1, domains: ['a.example', 'www.b.example'], timezone: 'UTC', visitor_salt: 'day' },
  ...{ respect_gpc: false, excluded_paths: [] },
}

/** The write path without a store: what batches at minutes past noon become, as far as memory tells. */
function startClassifier(changed: Partial<Site> = {}, bounds: MemoryBounds = {}, verifier: Verifier = noVerifier) {
  const viewMemory = createViewMemory(bounds)
  for (const site of [1, 2]) viewMemory.noteBrowserHits(site)
  return startWithMemory(changed, viewMemory, verifier)
}

/** The same where no browser has told of anything yet. */
function startWithMemory(changed: Partial<Site>, viewMemory: ViewMemory, verifier: Verifier = noVerifier) {
  let now = NOON
  const sites: Site[] = [
    { ...SITE, ...changed },
    { ...SITE, id: 2, domains: ['two.example'] },
  ]
  let text: string | undefined
  const file = {
    read: () => text,
    write(written: string) {
      text = written
    },
  }
  const { classify } = createClassifier({
    ...{ catalog, places, verifier, policyJudge: noPolicyJudge, viewMemory },
    siteOf: createSiteLookup(sites),
    siteById: (id) => sites.find((site) => site.id === id),
    salts: new SaltStore({ file, now: () => now, random: randomBytes, log: () => {} }),
    sessions: new SessionMemory({ now: () => now }),
    log: (message, error) => {
      throw new Error(message, { cause: error })
    },
  })
  return (...batch: Evidence[]) => {
    now = Math.max(...batch.map(({ timestamp }) => Date.parse(timestamp)))
    return classify(batch)
  }
}
const at = (minute: number) => new Date(NOON + minute * MINUTE).toISOString()
const A = { hostname: 'a.example' }
const view = (minute: number, given: Partial<Observation> = {}) =>
  observation({ ...A, timestamp: at(minute), ...given })
const hitAt = (minute: number, given: Partial<Hit> = {}) => browserHit({ ...A, timestamp: at(minute), ...given })

t.test('what becomes of one hit', async (t) => {
  const GPC = { headers: { 'sec-gpc': '1' } }
  const rows: [Partial<Hit>, Partial<Site>, string, string][] = [
    [{}, {}, 'pageview', 'a first pageview without a server’s row'],
    [{ hostname: 'www.a.example' }, {}, 'pageview', 'with www.'],
    [{ hostname: 'b.example' }, {}, 'pageview', 'without'],
    [{ hostname: 'two.example' }, {}, 'unknown_host', 'another site’s page'],
    [{ site: 2 }, {}, 'unknown_host', 'another site'],
    [{ site: 7 }, {}, 'unknown_host', 'no site'],
    [{ hostname: 'x.example' }, {}, 'unknown_host', 'nobody’s page'],
    [{ hostname: 'x.example' }, { domains: [] }, 'pageview', 'a site that takes what no other has'],
    [{ pathname: '/admin/x' }, { excluded_paths: ['/admin/**'] }, 'excluded_path', 'excluded'],
    [GPC, {}, 'pageview', 'not honoured'],
    [GPC, { respect_gpc: true }, 'opted_out', 'honoured'],
    [{ headers: { dnt: '1' } }, { respect_gpc: true }, 'opted_out', 'and so is DNT'],
    [{ kind: 'custom', name: 'x' }, {}, 'custom', 'an event begins a visit'],
    [{ kind: 'form' }, {}, 'form', 'a form too'],
    [
      { kind: 'engagement', engaged_ms: 5 },
      {},
      'unplacedRows',
      'what a page says of itself begins none: the store is asked',
    ],
    [{ kind: 'engagement', engaged_ms: 0, scroll: 0 }, {}, 'nothing_measured', 'nothing'],
    [{ kind: 'engagement' }, {}, 'nothing_measured', 'nothing'],
    [{ kind: 'engagement', identified_id: 'u' }, {}, 'unplacedRows', 'an id is something'],
    [{ kind: 'web_vitals', vitals: {}, identified_id: 'u' }, {}, 'nothing_measured', 'no vitals'],
    [{ kind: 'error', props: {} }, {}, 'nothing_measured', 'no error'],
    [{ user_agent: agentObservation().user_agent }, {}, 'agent', 'an agent that runs the script'],
    [{ user_agent: agentObservation().user_agent, kind: 'custom' }, {}, 'dropped agent', 'and what else it does'],
    [{ user_agent: '' }, {}, 'agent', 'no user agent'],
    [{ timestamp: 'then' }, {}, 'fault', 'no time'],
  ]
  for (const [given, changed, expected, why] of rows) {
    const quiet = createQuiet(changed)
    const { rows: made, drops, unplacedRows } = quiet(hitAt(0, given))
    const [reason] = Object.keys(drops)
    const follows = unplacedRows.some((one) => one.follows)
    const [event] = made.events
    const became = made.agent_events[0] ? 'agent' : follows ? 'unplacedRows' : (event?.kind ?? reason)
    t.equal(reason === 'agent' ? 'dropped agent' : became, expected, why)
  }
})

/** As `writing`, where faults are expected. */
function createQuiet(changed: Partial<Site>) {
  const classify = startClassifier(changed)
  return (one: Hit) => {
    try {
      return classify(one)
    } catch {
      return { rows: { events: [], agent_events: [] }, drops: { fault: 1 }, unplacedRows: [] }
    }
  }
}

t.test('a browser’s row', async (t) => {
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
  // Batches of server's views (`v`) and first hits (`h`), each with its minute; rows, additions and `same_view` of all.
  const rows: [string[], [number, number, number], string][] = [
    [['v0 h1'], [1, 0, 0], 'in one batch'],
    [['v0', 'h1'], [1, 1, 0], 'behind its commit'],
    [['h1', 'v0'], [1, 1, 1], 'a page that ends after its script began'],
    [['h1 v0'], [1, 0, 0], 'sorted by time'],
    [['v0 v1 h2 h3'], [2, 0, 0], 'two tabs'],
    [['v0', 'v1', 'h2', 'h3'], [2, 2, 0], 'two tabs, each alone'],
    [['v0', 'h2', 'h3', 'v1'], [2, 2, 1], 'the second page is slow'],
    [['h2', 'h3', 'v0', 'v1'], [2, 2, 2], 'both are'],
    [['v0', 'h1', 'h2'], [2, 1, 0], 'from the browser’s cache'],
    [['v0', 'h29'], [1, 1, 0], 'within half an hour'],
    [['v0', 'h30'], [2, 0, 0], 'not of the same view'],
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
    [{ engaged_ms: 0, scroll: 0 }, 'not the document’s first'],
  ]
  for (const [given, why] of others) {
    const { rows, additions } = startClassifier()(view(0), hitAt(S, given))
    t.strictSame([rows.events.length, additions.length], [2, 0], why)
  }
})

t.test('what completes a row', async (t) => {
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

t.test('a route in the fragment, of which no server hears', async (t) => {
  const paths = (...batches: Evidence[][]) => {
    const classify = startClassifier()
    return batches.flatMap((batch) => classify(...batch).rows.events.map(({ kind, pathname }) => `${kind} ${pathname}`))
  }
  const SPA = { engaged_ms: 0, scroll: 0 }
  const READ = { kind: 'engagement' as const, engaged_ms: 5_000 }
  const [a, b] = [{ pathname: '/#/a' }, { pathname: '/#/b' }]
  const rows: [Evidence[][], string[], string][] = [
    [[[view(0), hitAt(0.1, a)]], ['pageview /'], 'one view, by the path that the server was asked for'],
    [[[view(0)], [hitAt(0.1, a)]], ['pageview /'], 'behind its commit'],
    [[[hitAt(0.1, a)], [view(0)]], ['pageview /#/a'], 'the browser first'],
    [[[view(0), hitAt(0.1, { pathname: '/#!a' })]], ['pageview /'], 'written the old way'],
    [[[view(0), hitAt(0.1, { pathname: '/x#/a' })]], ['pageview /', 'pageview /x#/a'], 'another page'],
    [[[hitAt(0, a)]], ['pageview /#/a'], 'no server tells of it'],
    [
      [[view(0), hitAt(0.1, a)], [hitAt(1, { ...b, ...SPA })]],
      ['pageview /', 'pageview /#/b'],
      'the next route is a page',
    ],
    [
      [[view(0), hitAt(0.1, a)], [hitAt(1, { ...a, ...READ })]],
      ['pageview /', 'engagement /'],
      'what the first says of itself',
    ],
    [
      [[view(0), hitAt(0.1, a)], [hitAt(1, { ...b, engaged_ms: 5_000, referrer: 'https://a.example/#/a' })]],
      ['pageview /', 'engagement /', 'pageview /#/b'],
      'and what is said of it by the next',
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
  t.strictSame(drops, { excluded_path: 1 }, 'a route of a path that is excluded')
})

t.test('what browsers said of themselves is the same for the rest of the session, and nobody else’s', async (t) => {
  const classify = startClassifier()
  const said = { screen_width: 800, timezone: 'Asia/Tokyo', language: 'ja' }
  classify(view(0, { headers: { 'accept-language': 'en' } }), hitAt(0.01, said))
  const row = (evidence: Evidence) => classify(evidence).rows.events[0]
  const KNOWN = { screen_class: 'md', timezone: 'Asia/Tokyo', language: 'ja' }
  t.match(row(view(5, { pathname: '/b' })), { ...KNOWN, identified_id: null, recorded_by: 'server' })
  t.match(row(hitAt(6, { kind: 'custom', screen_width: 300, language: 'fr' })), KNOWN, 'a window that is made smaller')
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

t.test('what a pageview says of the page before it', async (t) => {
  const rows: [Partial<Hit>, Partial<Site>, [string, string] | undefined, string][] = [
    [{ referrer: 'https://a.example/one?x#y' }, {}, ['a.example', '/one'], 'the referrer’s page'],
    [{ referrer: 'https://www.b.example:8443/one' }, {}, ['www.b.example', '/one'], 'on another host of the site'],
    [{ referrer: 'https://news.example/' }, {}, ['a.example', '/last'], 'not the site’s: the last page'],
    [{}, {}, ['a.example', '/last'], 'no referrer: the last page'],
    [{ referrer: 'https://a.example/admin' }, { excluded_paths: ['/admin'] }, undefined, 'excluded'],
    [{ engaged_ms: 0, scroll: 0 }, {}, undefined, 'nothing was measured'],
  ]
  for (const [given, changed, page, why] of rows) {
    const classify = startClassifier(changed)
    classify(view(0, { pathname: '/one' }), view(0, { pathname: '/last', timestamp: at(0.1) }))
    const { rows } = classify(hitAt(1, { pathname: '/next', engaged_ms: 4_000, scroll: 60, ...given }))
    const next = rows.events.find(({ kind }) => kind === 'pageview')
    t.match(next, { pathname: '/next', engaged_ms: null, scroll: null, status: null, duration_ms: 0 }, why)
    const left = rows.events.find(({ kind }) => kind === 'engagement')
    t.strictSame(left && [left.hostname, left.pathname], page, why)
    if (left) t.match(left, { engaged_ms: 4_000, scroll: 60, session_id: next?.session_id, recorded_by: 'browser' })
  }
  const excluded = startClassifier({ excluded_paths: ['/admin'] })
  excluded(view(0, { pathname: '/one' }))
  const { rows: left, drops } = excluded(
    hitAt(1, { pathname: '/admin', engaged_ms: 9, referrer: 'https://a.example/one' }),
  )
  t.match(
    left.events,
    [{ kind: 'engagement', pathname: '/one' }],
    'of a page that may be recorded, by one that may not',
  )
  t.strictSame(drops, { excluded_path: 1 })
})

t.test('what a page says late is of the visit it was seen in', async (t) => {
  const late = (minute: number, given: Partial<Hit> = {}) =>
    hitAt(minute, { kind: 'engagement', engaged_ms: 4 * MINUTE, pathname: '/read', ...given })
  const minuteOf = (date: Date | undefined) => date && (date.getTime() - NOON) / MINUTE
  // Views before it; the hit; the session (by the minute it began) and the minute that it is then of.
  const rows: [[number, string][], Hit, number | undefined, number, string][] = [
    [[[0, '/read']], late(20), 0, 20, 'while the session runs'],
    [[[0, '/read']], late(29.99), 0, 29.99, 'just so'],
    [[[0, '/read']], late(70), 0, 4, 'a tab closed later: what was read behind the last hit'],
    [
      [
        [0, '/read'],
        [10, '/b'],
      ],
      late(70),
      0,
      14,
      'behind the last of the session',
    ],
    [[[0, '/read']], late(70, { engaged_ms: 2 * HOUR }), 0, 70, 'read all the while'],
    [[[0, '/read']], late(70, { kind: 'web_vitals', vitals: { cls: 0 } }), 0, 0, 'vitals'],
    [[[0, '/read']], late(70, { kind: 'error', props: { message: 'x' } }), 0, 0, 'an error in a tab nobody looks at'],
    [
      [
        [0, '/read'],
        [60, '/b'],
      ],
      late(70),
      undefined,
      4,
      'of the session before: the store says which',
    ],
    [[[0, '/read']], late(70, { pathname: '/never' }), undefined, 70, 'a page that nobody saw'],
    [[[60, '/b']], late(70, { pathname: '/never' }), 60, 70, 'while a session runs it is of that'],
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
        `${why}: and the next visit is a new one`,
      )
  }
})

t.test('over midnight and its change of salts', async (t) => {
  const classify = startClassifier()
  const [page] = classify(view(12 * 60 - 5, { pathname: '/read' })).rows.events
  const { rows } = classify(
    hitAt(12 * 60 + 5, { kind: 'engagement', engaged_ms: 60_000, pathname: '/read' }),
    hitAt(12 * 60 + 6, { pathname: '/read' }),
  )
  t.match(
    rows.events,
    [{ kind: 'engagement', visitor_id: page?.visitor_id, session_id: page?.session_id }],
    'yesterday’s visitor',
  )
  t.equal(rows.events.length, 1, 'and yesterday’s row is completed')
  const later = classify(hitAt(20 * 60, { kind: 'engagement', engaged_ms: 60_000, pathname: '/read' }))
  t.strictSame(
    later.unplacedRows.map(({ follows }) => follows),
    [true],
    'the next morning nobody knows who that was',
  )
})

t.test('what is shipped is of the site it says', async (t) => {
  const shipped = (as: 'agent' | 'human', given: Partial<Observation> = {}) =>
    view(0, { hostname: 'else.example', shipped: { site: 2, as, props: { plan: 'pro' } }, ...given })
  const bare = { content_type: '', status: 500, method: 'POST' }
  const gptbot = agentObservation().user_agent
  const person = {
    site_id: 2,
    recorded_by: 'edge',
    kind: 'pageview',
    props: '{"plan":"pro"}',
    hostname: 'else.example',
  }
  const rows: [Observation, object, string][] = [
    [shipped('human'), { events: [person], agent_events: [] }, 'a person’s'],
    [shipped('human', bare), { events: [person] }, 'a page by declaration'],
    [
      shipped('human', { user_agent: gptbot, ...bare }),
      { events: [], agent_events: [{ site_id: 2, agent_id: 'gptbot', is_pageview: true }] },
      'an agent’s never a person’s',
    ],
    [
      shipped('agent', { user_agent: gptbot }),
      { events: [], agent_events: [{ site_id: 2, agent_id: 'gptbot' }] },
      'an agent’s',
    ],
    [
      shipped('agent', { user_agent: 'NewThing/1.0 (friendly)' }),
      { agent_events: [{ agent_id: 'other', user_agent: 'NewThing/1.0 (friendly)' }] },
      'an agent that nobody knows',
    ],
    [shipped('agent'), { events: [], agent_events: [{ agent_id: 'other' }] }, 'even one that looks like a browser'],
  ]
  for (const [one, expected, why] of rows) t.match(startClassifier()(one).rows, expected, why)
  t.strictSame(startClassifier()(view(0, { shipped: { site: 9, as: 'human' } })).drops, { unknown_host: 1 })
  const quiet = startClassifier()
  const { rows: made } = quiet(
    view(0, { hostname: 'two.example', shipped: { site: 2, as: 'human' } }),
    hitAt(0.1, { site: 2, hostname: 'two.example', screen_width: 400 }),
  )
  t.match(made.events, [{ recorded_by: 'browser', screen_class: 'xs', status: 200 }])
  t.equal(made.events.length, 1, 'and its browser completes it')
})

t.test('agents that run the script', async (t) => {
  const { user_agent } = agentObservation()
  const page = (minute: number) => view(minute, { user_agent })
  const script = (minute: number, given: Partial<Hit> = {}) => hitAt(minute, { user_agent, ...given })
  const rows: [Evidence[][], number, string][] = [
    [[[page(0), script(1)]], 1, 'the fetch is the view'],
    [[[page(0)], [script(1, { ip: '198.51.100.1' })]], 1, 'rendered elsewhere'],
    [[[script(1)], [page(0)]], 1, 'it ran before the page had ended'],
    [[[script(0)], [page(1)]], 2, 'a later fetch is one'],
    [[[page(0)], [script(1)], [script(2)]], 2, 'from its cache'],
    [[[page(0)], [script(1, { engaged_ms: 0, scroll: 0 })]], 2, 'another page of an app'],
    [[[page(0)], [script(40)]], 2, 'much later'],
    [[[page(0)], [script(1, { kind: 'custom' })]], 1, 'no pageview'],
  ]
  for (const [batches, expected, why] of rows) {
    const classify = startClassifier()
    const made = batches.map((batch) => classify(...batch).rows)
    t.equal(made.flatMap(({ agent_events }) => agent_events).length, expected, why)
    t.equal(made.flatMap(({ events }) => events).length, 0, why)
  }
  const both = startClassifier()(script(1), page(0)).rows.agent_events
  t.match(both, [{ bytes: 1234 }])
  t.match(startClassifier()(script(0)).rows.agent_events, [
    { method: 'GET', status: 200, bytes: 0, content_type: 'text/html', is_pageview: true },
  ])
  const [agent] = catalog.agents
  const signing: Verifier = {
    signer: ({ headers }) => (headers?.signature ? agent : undefined),
    check: () => ({ now: VERDICTS.web_bot_auth }),
  }
  const signed = startClassifier({}, {}, signing)(hitAt(0, { headers: { signature: 'x' } })).rows
  t.match(
    signed,
    { events: [], agent_events: [{ agent_id: agent?.id, verified: true }] },
    'whatever the user agent says',
  )
})

t.test('a signed request is one use of its nonce, however many hits it brought', async (t) => {
  const [agent] = catalog.agents
  // As the real one: a nonce that another request had already is a replay, and the same request is asked twice.
  const used = new Map<string, object>()
  const signing: Verifier = {
    signer(request) {
      const input = request.headers?.['signature-input']
      if (input === undefined) return undefined
      if (!used.has(input)) used.set(input, request)
      return used.get(input) === request ? agent : undefined
    },
    check: () => ({ now: VERDICTS.web_bot_auth }),
  }
  const classify = startClassifier({}, {}, signing)
  const signed = { method: 'POST', scheme: 'https' as const, authority: 'a.example', target: '/api/track/batch' }
  const by = (nonce: string, minute = 0, given: Partial<Hit> = {}) =>
    hitAt(minute, { headers: { 'signature-input': nonce, signature: 'x' }, signed, ...given })
  const {
    rows,
    drops,
    endpointDrops: dropped,
  } = classify(by('n1'), by('n1', 0, { pathname: '/b' }), by('n1', 0, { kind: 'form' }))
  t.match(rows, { events: [], agent_events: [{ agent_id: agent?.id }, { agent_id: agent?.id, pathname: '/b' }] })
  t.strictSame(drops, { agent: 1 }, 'what an agent does on a page is nobody’s')
  t.strictSame(dropped, [{ site: 1, door: 'track', reason: 'agent', count: 1 }])
  const count = (one: Hit) => {
    const { events, agent_events } = classify(one).rows
    return [events.length, agent_events.length]
  }
  t.strictSame(count(by('n1', 0, { pathname: '/c' })), [0, 1], 'the rest of it in the next batch')
  t.strictSame(count(by('n1', 1, { pathname: '/d' })), [1, 0], 'the same once more is a replay')
  t.strictSame(count(by('n1', 0, { pathname: '/e', ip: '203.0.113.8' })), [1, 0], 'and so it is from elsewhere')
  t.strictSame(count(hitAt(2)), [1, 0], 'unsigned is a person')
  t.strictSame(count(by('n2', 3, { signed })), [0, 1], 'another signature')
})

t.test('what is dropped of a site, by the door it came in at', async (t) => {
  const edge = (given: Partial<Observation>, site = 1) => view(0, { shipped: { site, as: 'human' }, ...given })
  const agents = { user_agent: agentObservation().user_agent }
  const rows: [Evidence, [number, string, string] | undefined, string][] = [
    [hitAt(0, { kind: 'engagement' }), [1, 'track', 'nothing_measured'], 'a hit'],
    [hitAt(0, { ...agents, kind: 'form' }), [1, 'track', 'agent'], 'an agent’s'],
    [hitAt(0, { pathname: '/admin' }), [1, 'track', 'excluded_path'], 'of a path that is excluded'],
    [hitAt(0, { hostname: 'two.example' }), [1, 'track', 'unknown_host'], 'of another site’s page'],
    [hitAt(0, { site: 9 }), undefined, 'for no site'],
    [edge({ pathname: '/admin' }), [1, 'edge', 'excluded_path'], 'a row that was shipped'],
    [edge({ headers: { 'sec-purpose': 'prefetch' } }, 2), [2, 'edge', 'prefetch'], 'to another site'],
    [edge({}, 9), undefined, 'to none'],
    [view(0, { pathname: '/admin' }), undefined, 'what we saw ourselves came in at no door'],
    [hitAt(0), undefined, 'no drop'],
  ]
  for (const [one, expected, why] of rows) {
    const { endpointDrops: dropped } = startClassifier({ excluded_paths: ['/admin'] })(one, one)
    const [site, door, reason] = expected ?? []
    t.strictSame(dropped, expected ? [{ site, door, reason, count: 2 }] : [], why)
  }
})

t.test('nothing that a flood makes it forget is forgotten silently, and memory is bounded', async (t) => {
  const classify = startClassifier({}, { maxEntries: 100 })
  const [first] = classify(view(0)).rows.events
  for (let n = 0; n < 300; n++) classify(view(1, { ip: `10.0.${n >> 8}.${n & 255}` }))
  const { rows, unmatchedViews } = classify(hitAt(2))
  t.match(unmatchedViews, [{ reportedBy: 'browser', row: { visitor_id: first?.visitor_id } }], 'the store is asked')
  t.equal(rows.events.length, 1)
  const known = startClassifier()
  known(view(0))
  t.strictSame(
    [known(hitAt(1)).unmatchedViews, known(hitAt(2)).unmatchedViews, known(view(3, { pathname: '/b' })).unmatchedViews],
    [[], [], []],
  )
})

t.test('a site from which no browser told of anything has nothing remembered', async (t) => {
  const viewMemory = createViewMemory()
  const classify = startWithMemory({}, viewMemory)
  const ON_TWO = { hostname: 'two.example' }
  const [here] = classify(view(0), view(0, ON_TWO)).rows.events
  t.strictSame([viewMemory.hasBrowserHits(1), viewMemory.hasBrowserHits(2)], [false, false])
  const first = classify(hitAt(1), view(2, { pathname: '/b' }), view(2, ON_TWO))
  t.match(
    first.unmatchedViews,
    [{ reportedBy: 'browser', row: { visitor_id: here?.visitor_id } }],
    'what was before the store is asked',
  )
  t.strictSame([viewMemory.hasBrowserHits(1), viewMemory.hasBrowserHits(2)], [true, false])
  t.equal(classify(hitAt(3, { pathname: '/b' })).additions.length, 1, 'what came since is in memory')
  t.equal(classify(hitAt(29.9, { pathname: '/c' })).unmatchedViews.length, 1, 'the store is asked for half an hour')
  t.equal(classify(hitAt(32.1, { pathname: '/d' })).unmatchedViews.length, 0, 'and no longer')
  t.equal(classify(view(33, ON_TWO), hitAt(33.1, { ...ON_TWO, site: 2 })).rows.events.length, 1, 'a batch is one')
  const nobody = createViewMemory()
  startWithMemory({}, nobody)(hitAt(0, { site: 9 }))
  t.notOk(nobody.hasBrowserHits(9), 'a site that is none')
})

t.test('suspicion: a hit is no navigation', async (t) => {
  const brands = (name: string) => ({ 'sec-ch-ua': `"${name}";v="137", "Chromium";v="137"` })
  const rows: [Partial<Hit>, string | null, string][] = [
    [{ headers: { accept: '*/*' } }, null, 'nothing that navigations have'],
    [{ headers: brands('Google Chrome') }, null, 'as it says'],
    [{ headers: brands('HeadlessChrome') }, null, 'named so'],
    [{ headers: { 'sec-ch-ua': '"Chromium";v="99"' } }, 'headers:client_hints', 'another browser than it says'],
  ]
  for (const [given, expected, why] of rows) {
    const [row] = startClassifier()(hitAt(0, given)).rows.events
    if (why !== 'named so') t.equal(row?.suspected_by, expected, why)
    else t.ok(row?.suspected_by === null || row?.suspected_by === 'headers:client_hints', why)
  }
  const classify = startClassifier()
  const many = Array.from({ length: 60 }, (_, n) => hitAt(n / 600, { kind: 'custom', name: `${n}`, pathname: `/${n}` }))
  t.ok(
    classify(...many).rows.events.every(({ suspected_by }) => suspected_by === null),
    'events are no pages',
  )
})
