import { randomBytes } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import type { Observation } from '../../src/capture/observation.js'
import { createSiteLookup, type Site } from '../../src/capture/site.js'
import { MAX_CHARACTERS } from '../../src/capture/text-limits.js'
import { createClassifier } from '../../src/ingest/classifier.js'
import { openPlaceLookup } from '../../src/ingest/place/place-lookup.js'
import { SaltStore } from '../../src/ingest/salts.js'
import { SessionMemory } from '../../src/ingest/session-memory.js'
import { noPolicyJudge, noVerifier } from '../fixtures/classifier-stubs.js'
import { BOTS } from '../fixtures/user-agents.js'

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const GPTBOT = 'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)'

const view: Observation = {
  timestamp: '2026-11-21T08:00:00.000Z',
  user_agent: CHROME,
  method: 'GET',
  hostname: 'a.example',
  pathname: '/docs',
  status: 200,
  bytes: 5120,
  duration_ms: 12,
  content_type: 'text/html; charset=utf-8',
  conditional: 0,
  ip: '81.2.69.142',
  headers: {},
}
const site: Site = {
  id: 1,
  domains: [],
  timezone: 'UTC',
  respect_gpc: false,
  visitor_salt: 'month',
  excluded_paths: [],
}
const places = openPlaceLookup()

function classifier(sites: readonly Site[] = [site], logged: unknown[] = []) {
  const now = () => Date.parse('2026-11-21T08:00:00Z')
  let text: string | undefined
  const file = {
    read: () => text,
    write(written: string) {
      text = written
    },
  }
  return createClassifier({
    catalog: loadCatalog(),
    places,
    siteOf: createSiteLookup(sites),
    salts: new SaltStore({ file, now, random: randomBytes, log: () => {} }),
    sessions: new SessionMemory({ now }),
    verifier: noVerifier,
    policyJudge: noPolicyJudge,
    log: (message, error) => logged.push([message, error]),
  })
}

/** The value, which a test that goes on needs. */
function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('there is no such row')
  return value
}

/** What one observation becomes: the kind of row, or why there is none. */
function outcome(changes: Partial<Observation>, changed: Partial<Site> = {}): string {
  const { rows, drops } = classifier([{ ...site, ...changed }]).classify([{ ...view, ...changes }])
  const [reason] = Object.keys(drops)
  if (rows.agent_events[0]) return rows.agent_events[0].is_pageview ? 'agent page' : 'agent'
  return rows.events[0]?.kind ?? reason ?? 'nothing'
}

t.test('what becomes a row (contract 3)', async (t) => {
  const bare = { content_type: '', headers: {} }
  const rows: [Partial<Observation>, string, string][] = [
    [{}, 'pageview', 'a page'],
    [{ content_type: 'application/xhtml+xml' }, 'pageview', 'a page in XHTML'],
    [{ content_type: 'TEXT/HTML' }, 'pageview', 'a type in capitals'],
    [{ status: 203 }, 'pageview', 'any 2xx'],
    [{ status: 304, headers: { 'sec-fetch-dest': 'document' } }, 'pageview', 'not modified, by type'],
    [{ ...bare, status: 304, headers: { 'sec-fetch-dest': 'document' } }, 'pageview', 'not modified, asked for'],
    [{ ...bare, status: 304, headers: { accept: 'text/html,*/*;q=0.8' } }, 'pageview', 'not modified, accepted'],
    [{ ...bare, status: 304, headers: { accept: 'image/webp,image/*' } }, 'not_a_page', 'an image not modified'],
    [{ ...bare, status: 304, headers: { 'sec-fetch-dest': 'script' } }, 'not_a_page', 'a script not modified'],
    [{ ...bare, status: 200 }, 'not_a_page', 'no type, and nothing says it is a page'],
    [{ content_type: 'text/javascript' }, 'not_a_page', 'an asset'],
    [{ content_type: 'application/json' }, 'not_a_page', 'an API call'],
    [{ content_type: 'text/htmlx' }, 'not_a_page', 'a type that only begins so'],
    [{ method: 'POST' }, 'not_a_page', 'a form'],
    [{ method: 'HEAD' }, 'not_a_page', 'no body was read'],
    [{ status: 404 }, 'not_a_page', 'an error page'],
    [{ status: 301 }, 'not_a_page', 'a redirect'],
    [{ status: 499 }, 'not_a_page', 'gone before the answer'],
    [{ status: 502 }, 'not_a_page', 'the origin failed'],
    [{ headers: { 'sec-fetch-dest': 'iframe' } }, 'not_a_page', 'a frame within another page'],
    [{ headers: { 'sec-fetch-dest': 'empty' } }, 'not_a_page', 'fetched by a script'],
    [{ headers: { 'sec-purpose': 'prefetch' } }, 'prefetch', 'ahead of time'],
    [{ headers: { 'sec-purpose': 'prefetch;prerender' } }, 'prefetch', 'rendered ahead of time'],
    [{ headers: { purpose: 'prefetch' } }, 'prefetch', 'as others say it'],
    [{ headers: { 'x-moz': 'prefetch' } }, 'prefetch', 'as Firefox said it'],
    [{ user_agent: GPTBOT }, 'agent page', 'an agent reads a page'],
    [{ user_agent: GPTBOT, status: 404 }, 'agent', 'an agent, whatever the status'],
    [{ user_agent: GPTBOT, method: 'POST' }, 'agent', 'whatever the method'],
    [{ user_agent: GPTBOT, content_type: 'image/png' }, 'agent', 'whatever the type'],
    [{ user_agent: GPTBOT, headers: { 'sec-purpose': 'prefetch' } }, 'agent page', 'ahead of time or not'],
    [{ ...bare, user_agent: GPTBOT, status: 304 }, 'agent page', 'not modified, path without extension'],
    [{ ...bare, user_agent: GPTBOT, status: 304, pathname: '/a/b.HTML' }, 'agent page', 'path of a page'],
    [{ ...bare, user_agent: GPTBOT, status: 304, pathname: '/x.css' }, 'agent', 'path of an asset'],
    [{ ...bare, user_agent: GPTBOT, status: 304, pathname: '/v1.2/' }, 'agent page', 'a point in a folder'],
    [{ user_agent: '' }, 'agent page', 'no user agent'],
    [{ user_agent: 'kube-probe/1.30', method: 'HEAD' }, 'agent', 'known to isbot alone'],
  ]
  for (const [changes, expected, why] of rows) t.equal(outcome(changes), expected, why)
})

t.test('what a site may ask for', async (t) => {
  const excluded_paths = ['/admin/**', '/thanks', '/*/print']
  const rows: [Partial<Observation>, Partial<Site>, string, string][] = [
    [{ headers: { 'sec-gpc': '1' } }, {}, 'pageview', 'not honoured by default'],
    [{ headers: { 'sec-gpc': '1' } }, { respect_gpc: true }, 'opted_out', 'Sec-GPC'],
    [{ headers: { dnt: '1' } }, { respect_gpc: true }, 'opted_out', 'DNT'],
    [{ headers: { dnt: '0' } }, { respect_gpc: true }, 'pageview', 'the opposite wish'],
    [{ user_agent: GPTBOT, headers: { 'sec-gpc': '1' } }, { respect_gpc: true }, 'agent page', 'agents are no persons'],
    [{ opted_out: true }, {}, 'opted_out', 'the first-party opt-out, wherever'],
    [{ opted_out: true, user_agent: GPTBOT }, {}, 'agent page', 'of persons'],
    [{ pathname: '/admin/x/y' }, { excluded_paths }, 'excluded_path', 'below'],
    [{ pathname: '/administration' }, { excluded_paths }, 'pageview', 'beside'],
    [{ pathname: '/thanks' }, { excluded_paths }, 'excluded_path', 'itself'],
    [{ pathname: '/thanks/x' }, { excluded_paths }, 'pageview', 'not below'],
    [{ pathname: '/a/print' }, { excluded_paths }, 'excluded_path', 'one segment'],
    [{ pathname: '/a/b/print' }, { excluded_paths }, 'pageview', 'not two'],
    [{ pathname: '/a(b' }, { excluded_paths: ['/a(b'] }, 'excluded_path', 'no pattern but stars'],
    [{ pathname: '/admin/x', user_agent: GPTBOT }, { excluded_paths }, 'agent page', 'agents are all recorded'],
    [{ hostname: 'b.example' }, { domains: ['a.example'] }, 'unknown_host', 'a host of no site'],
    [{ hostname: 'www.a.example' }, { domains: ['a.example'] }, 'pageview', 'with www'],
    [{ hostname: 'A.Example' }, { domains: ['a.example'] }, 'pageview', 'in capitals'],
  ]
  for (const [changes, changed, expected, why] of rows) t.equal(outcome(changes, changed), expected, why)
})

t.test('to which site a hostname belongs', async (t) => {
  const named = (id: number, ...domains: string[]): Site => ({ ...site, id, domains })
  const siteOf = createSiteLookup([
    named(1, 'a.example', 'shared.example'),
    named(2, 'www.b.example', 'shared.example'),
  ])
  const rows: [string, number | undefined, string][] = [
    ['a.example', 1, 'listed'],
    ['www.a.example', 1, 'with www'],
    ['b.example', 2, 'without www'],
    ['shared.example', 1, 'the first of two'],
    ['sub.a.example', undefined, 'a host below is another host'],
    ['', undefined, 'none'],
  ]
  for (const [hostname, expected, why] of rows) t.equal(siteOf(hostname)?.id, expected, why)
  const both = createSiteLookup([named(1), named(2, 'www.b.example'), named(3, 'b.example')])
  t.equal(both('b.example')?.id, 3, 'exactly before nearly')
  t.equal(both('www.b.example')?.id, 2)
  t.equal(both('anything.example')?.id, 1, 'a site that lists none takes the rest')
})

t.test('a person’s row', async (t) => {
  const { rows } = classifier().classify([
    {
      ...view,
      query: 'utm_source=newsletter&utm_medium=email&x=1',
      referrer: 'https://www.example.org/a?secret=1',
      headers: { 'accept-language': 'de-AT,de;q=0.9', 'sec-fetch-dest': 'document' },
    },
  ])
  const { visitor_id, session_id, ...row } = must(rows.events[0])
  t.type(visitor_id, 'bigint')
  t.type(session_id, 'bigint')
  t.strictSame(row, {
    site_id: 1,
    timestamp: new Date('2026-11-21T08:00:00Z'),
    kind: 'pageview',
    event_name: null,
    session_start: new Date('2026-11-21T08:00:00Z'),
    hostname: 'a.example',
    pathname: '/docs',
    status: 200,
    duration_ms: 12,
    entry_page: '/docs',
    referrer: 'https://www.example.org/a',
    source: 'newsletter',
    channel: 'Email',
    utm_source: 'newsletter',
    utm_medium: 'email',
    utm_campaign: null,
    utm_content: null,
    utm_term: null,
    country: 'GB',
    region: null,
    city: null,
    asn: 20712,
    browser: 'Chrome',
    browser_version: '142',
    os: 'Windows',
    os_version: '10',
    device_type: 'desktop',
    screen_class: null,
    language: 'de-AT',
    timezone: null,
    engaged_ms: null,
    scroll: null,
    identified_id: null,
    props: null,
    suspected: false,
    suspected_by: null,
    vitals: null,
    error: null,
    traits: null,
    recorded_by: 'server',
  })
})

t.test('an agent’s row', async (t) => {
  const { rows } = classifier().classify([
    { ...view, user_agent: GPTBOT, conditional: 1, ip: '::ffff:20.171.207.5', duration_ms: 3.6 },
  ])
  const { ip_hash, ...row } = must(rows.agent_events[0])
  t.type(ip_hash, 'bigint')
  t.strictSame(row, {
    site_id: 1,
    timestamp: new Date('2026-11-21T08:00:00Z'),
    agent_id: 'gptbot',
    operator: 'OpenAI',
    purpose: 'training',
    catalog_version: loadCatalog().version,
    user_agent: GPTBOT,
    verified: null,
    verification: 'unverifiable',
    method: 'GET',
    hostname: 'a.example',
    pathname: '/docs',
    status: 200,
    bytes: 5120,
    duration_ms: 4,
    content_type: 'text/html',
    conditional: 1,
    is_pageview: true,
    country: 'US',
    asn: 8075,
    robots_allowed: null,
    robots_rule: null,
    robots_line: null,
    robots_grace: null,
    llms_listed: null,
    x_robots_tag: null,
    content_usage: null,
  })
  const of = (user_agent: string) => classifier().classify([{ ...view, user_agent }]).rows.agent_events[0]
  t.match(of('kube-probe/1.30'), {
    agent_id: 'other',
    operator: 'Unknown',
    purpose: 'other',
    verification: 'unverifiable',
    user_agent: 'kube-probe/1.30',
  })
  for (const [userAgent, id] of BOTS) t.equal(of(userAgent)?.agent_id, id, userAgent.slice(0, 60) || 'no user agent')
})

t.test('visitors and sessions over a batch', async (t) => {
  const minute = (n: number, changes: Partial<Observation> = {}): Observation => ({
    ...view,
    timestamp: new Date(Date.parse(view.timestamp) + n * 60_000).toISOString(),
    ...changes,
  })
  const { rows } = classifier().classify([
    minute(5, { pathname: '/second' }),
    minute(0, { pathname: '/first', referrer: 'https://www.google.com/' }),
    minute(6, { pathname: '/other', user_agent: `${CHROME} Edg/142.0.0.0` }),
    minute(40, { pathname: '/third', referrer: 'https://www.A.example/second' }),
    minute(7, { pathname: '/else', ip: '81.2.69.143' }),
    minute(8, { pathname: '/mapped', ip: '::ffff:81.2.69.142' }),
  ])
  const by = (pathname: string) => must(rows.events.find((row) => row.pathname === pathname))
  t.strictSame(
    rows.events.map((row) => row.pathname),
    ['/first', '/second', '/other', '/else', '/mapped', '/third'],
    'in the order of time, whatever the order of arrival',
  )
  t.match(by('/second'), { entry_page: '/first', source: 'Google', channel: 'Organic Search' }, 'as the first hit says')
  t.equal(by('/second').session_id, by('/first').session_id)
  t.strictSame(by('/second').session_start, by('/first').timestamp)
  t.equal(by('/mapped').visitor_id, by('/first').visitor_id, 'one address in two notations is one visitor')
  t.equal(by('/third').visitor_id, by('/first').visitor_id, 'the visitor comes back')
  t.not(by('/third').session_id, by('/first').session_id, 'to another session')
  t.match(by('/third'), { entry_page: '/third', referrer: null, channel: 'Direct' }, 'the site itself sends nobody')
  t.not(by('/other').visitor_id, by('/first').visitor_id, 'another browser is another visitor')
  t.not(by('/else').visitor_id, by('/first').visitor_id, 'another address is another visitor')
  const two = classifier([
    { ...site, domains: ['a.example'] },
    { ...site, id: 2, domains: ['b.example'] },
  ]).classify([view, { ...view, hostname: 'b.example' }]).rows.events
  t.not(two[0]?.visitor_id, two[1]?.visitor_id, 'on another site nobody is the same')
  t.strictSame([two[0]?.site_id, two[1]?.site_id], [1, 2])
})

t.test('a fault costs one row and is told once', async (t) => {
  const logged: unknown[] = []
  const broken: unknown[] = [
    null,
    {},
    { ...view, timestamp: 'yesterday' },
    { ...view, bytes: Number.NaN },
    { ...view, user_agent: GPTBOT, status: Number.POSITIVE_INFINITY },
    { ...view, user_agent: undefined },
    { ...view, ip: null },
    { ...view, headers: { 'accept-language': 5 } },
  ]
  // What adapters in plain JavaScript may hand over; JSON is how it would come from another process.
  const batch: Observation[] = [view, ...JSON.parse(JSON.stringify(broken)), { ...view, pathname: '/after' }]
  const { rows, drops } = classifier([site], logged).classify(batch)
  t.strictSame(drops, { fault: broken.length })
  t.equal(rows.events.length, 2)
  t.equal(logged.length, 1)
  t.notMatch(JSON.stringify(logged), view.ip)
  const { classify } = createClassifier({
    catalog: loadCatalog(),
    places,
    siteOf: () => {
      throw new Error('no store')
    },
    salts: { at: () => ({ secret: Buffer.alloc(32), previous: null, next: null }) },
    sessions: new SessionMemory({ now: () => 0 }),
    verifier: noVerifier,
    policyJudge: noPolicyJudge,
    log: () => {
      throw new Error('no log either')
    },
  })
  t.strictSame(classify([view, view]).drops, { fault: 2 })
})

t.test('numbers that no column holds are brought within it', async (t) => {
  const [row] = classifier().classify([{ ...view, duration_ms: -5, bytes: -1, status: 200.4 }]).rows.events
  t.match(row, { duration_ms: 0, status: 200 }, 'a clock that jumped makes no negative duration')
})

t.test('whatever strangers send: no throw, no address, nothing unbounded', async (t) => {
  const ip = '81.2.69.142'
  const wild = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.constantFrom('\0', '\u202e', '%', '__proto__', "'; drop table events; --", '\ud800', '<script>'),
    fc.string({ maxLength: 30 }).map((text) => text.repeat(400)),
  )
  const agentish = fc.oneof(wild, fc.constantFrom(CHROME, GPTBOT, '')).chain((text) => wild.map((more) => text + more))
  const observation: fc.Arbitrary<Observation> = fc.record({
    timestamp: fc.constant(view.timestamp),
    user_agent: agentish,
    method: fc.oneof(fc.constant('GET'), wild),
    hostname: fc.oneof(fc.constant('a.example'), wild),
    pathname: wild,
    status: fc.constantFrom(200, 304, 404),
    bytes: fc.oneof(fc.nat(), fc.double({ noNaN: true, noDefaultInfinity: true })),
    duration_ms: fc.integer(),
    content_type: fc.oneof(fc.constantFrom('text/html', ''), wild),
    conditional: fc.constantFrom(0 as const, 1 as const),
    ip: fc.constantFrom(ip, `::ffff:${ip}`, '2a00:1450:4001:80b::200e'),
    query: fc.oneof(
      wild,
      wild.map((text) => `utm_source=${text}&gclid=${text}&ref=${text}`),
    ),
    referrer: fc.oneof(
      wild,
      wild.map((text) => `https://${text}`),
      wild.map((text) => `https://a.example/${text}`),
    ),
    headers: fc.dictionary(
      fc.constantFrom('accept', 'accept-language', 'sec-ch-ua', 'sec-ch-ua-platform', 'sec-ch-ua-platform-version'),
      wild,
    ),
  })
  const { classify } = classifier()
  const longest = Math.max(...Object.values(MAX_CHARACTERS))
  let rowsSeen = 0
  fc.assert(
    fc.property(fc.array(observation, { maxLength: 5 }), (batch) => {
      const { rows, drops } = classify(batch)
      const all = [...rows.events, ...rows.agent_events]
      rowsSeen += all.length
      const dropped = Object.values(drops).reduce((sum, n) => sum + n, 0)
      if (all.length + dropped !== batch.length || drops.fault) return false
      for (const { ip: address } of batch)
        for (const row of all) {
          const text = JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? value.toString(16) : value))
          if (text.includes(address.replace('::ffff:', ''))) return false
          for (const value of Object.values(row)) {
            if (typeof value === 'string' && value.length > longest) return false
            if (typeof value === 'number' && !Number.isSafeInteger(value)) return false
          }
        }
      return true
    }),
    { numRuns: 500 },
  )
  t.ok(rowsSeen > 300, `${rowsSeen} rows looked at`)
  const [row] = classify([{ ...view, pathname: `/${'p'.repeat(9000)}`, user_agent: `curl/8 ${'x'.repeat(9000)}` }]).rows
    .agent_events
  t.equal(row?.pathname.length, MAX_CHARACTERS.pathname)
  t.equal(row?.user_agent.length, MAX_CHARACTERS.user_agent)
})

t.test('what a session keeps of a long query is only that', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const { classify } = classifier()
  const used = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  classify([view])
  const before = used()
  for (let n = 0; n < 4_000; n++) {
    const padded = Buffer.from(`utm_source=newsletter-of-${n}&x=${'x'.repeat(8_000)}`).toString()
    const referrer = Buffer.from(`https://sender-${n}.example/?${'x'.repeat(8_000)}`).toString()
    classify([{ ...view, user_agent: `${CHROME} ${n}`, query: padded, referrer }])
  }
  const kept = (used() - before) / 4_000
  t.ok(kept > 0 && kept < 4_000, `${Math.round(kept)} bytes a session`)
  t.equal(classify([view]).rows.events.length, 1, 'they are still there')
})
