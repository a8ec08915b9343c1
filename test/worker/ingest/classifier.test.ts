import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import type { Observation } from '../../../src/capture/observation.js'
import { createSiteLookup, type SiteSettings } from '../../../src/capture/site.js'
import { CHROME, classifier, GPTBOT, site, view } from '../../fixtures/page-classifier.js'
import { BOTS } from '../../fixtures/user-agents.js'

/** Returns the value; throws if it is undefined. */
function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the row is missing')
  return value
}

/** Returns the kind of row that one observation becomes, or the drop reason. */
function outcome(changes: Partial<Observation>, changed: Partial<SiteSettings> = {}): string {
  const { rows, drops } = classifier([{ ...site, ...changed }]).classify([{ ...view, ...changes }])
  const [reason] = Object.keys(drops)
  if (rows.agent_events[0]) return rows.agent_events[0].is_pageview ? 'agent page' : 'agent'
  return rows.events[0]?.kind ?? reason ?? 'nothing'
}

t.test('which observations become rows', async (t) => {
  const bare = { content_type: '', headers: {} }
  const rows: [Partial<Observation>, string, string][] = [
    [{}, 'pageview', 'a page'],
    [{ content_type: 'application/xhtml+xml' }, 'pageview', 'a page in XHTML'],
    [{ content_type: 'TEXT/HTML' }, 'pageview', 'a type in upper case'],
    [{ status: 203 }, 'pageview', 'any 2xx'],
    [{ status: 304, headers: { 'sec-fetch-dest': 'document' } }, 'pageview', 'not modified, with a type'],
    [
      { ...bare, status: 304, headers: { 'sec-fetch-dest': 'document' } },
      'pageview',
      'not modified, requested as a document',
    ],
    [{ ...bare, status: 304, headers: { accept: 'text/html,*/*;q=0.8' } }, 'pageview', 'not modified, HTML accepted'],
    [{ ...bare, status: 304, headers: { accept: 'image/webp,image/*' } }, 'not_a_page', 'an image not modified'],
    [{ ...bare, status: 304, headers: { 'sec-fetch-dest': 'script' } }, 'not_a_page', 'a script not modified'],
    [
      { ...bare, status: 304, pathname: '/x.pdf', headers: { 'sec-fetch-dest': 'document' } },
      'not_a_page',
      'a document that is not a page, not modified',
    ],
    [
      { ...bare, status: 304, pathname: '/feed.xml', headers: { accept: 'text/html,*/*;q=0.8' } },
      'not_a_page',
      'a feed, not modified',
    ],
    [{ ...bare, status: 200 }, 'not_a_page', 'no type, and no sign of a page'],
    [{ content_type: 'text/javascript' }, 'not_a_page', 'an asset'],
    [{ content_type: 'application/json' }, 'not_a_page', 'an API call'],
    [{ content_type: 'text/htmlx' }, 'not_a_page', 'a type with the same beginning'],
    [{ method: 'POST' }, 'not_a_page', 'a form'],
    [{ method: 'HEAD' }, 'not_a_page', 'HEAD'],
    [{ status: 404 }, 'not_a_page', 'an error page'],
    [{ status: 301 }, 'not_a_page', 'a redirect'],
    [{ status: 499 }, 'not_a_page', 'the client left before the response'],
    [{ status: 502 }, 'not_a_page', 'the origin failed'],
    [{ headers: { 'sec-fetch-dest': 'iframe' } }, 'not_a_page', 'a frame within another page'],
    [{ headers: { 'sec-fetch-dest': 'empty' } }, 'not_a_page', 'fetched by a script of a page'],
    [{ headers: { 'sec-purpose': 'prefetch' } }, 'prefetch', 'prefetched'],
    [{ headers: { 'sec-purpose': 'prefetch;prerender' } }, 'prefetch', 'prerendered'],
    [{ headers: { purpose: 'prefetch' } }, 'prefetch', 'prefetched, by the Purpose header'],
    [{ headers: { 'x-moz': 'prefetch' } }, 'prefetch', 'prefetched, by the header of older Firefox'],
    [{ user_agent: GPTBOT }, 'agent page', 'an agent reads a page'],
    [{ user_agent: GPTBOT, status: 404 }, 'agent', 'an agent, any status'],
    [{ user_agent: GPTBOT, method: 'POST' }, 'agent', 'an agent, any method'],
    [{ user_agent: GPTBOT, content_type: 'image/png' }, 'agent', 'an agent, any type'],
    [{ user_agent: GPTBOT, headers: { 'sec-purpose': 'prefetch' } }, 'agent page', 'an agent, prefetched or not'],
    [{ ...bare, user_agent: GPTBOT, status: 304 }, 'agent page', 'an agent, not modified, path without extension'],
    [
      { ...bare, user_agent: GPTBOT, status: 304, pathname: '/a/b.HTML' },
      'agent page',
      'an agent, not modified, path of a page',
    ],
    [
      { ...bare, user_agent: GPTBOT, status: 304, pathname: '/x.css' },
      'agent',
      'an agent, not modified, path of an asset',
    ],
    [
      { ...bare, user_agent: GPTBOT, status: 304, pathname: '/v1.2/' },
      'agent page',
      'an agent, not modified, a dot in a folder',
    ],
    [{ user_agent: '' }, 'agent page', 'no user agent'],
    [{ user_agent: 'acme-probe/1.30', method: 'HEAD' }, 'agent', 'known to isbot only'],
  ]
  for (const [changes, expected, why] of rows) t.equal(outcome(changes), expected, why)
})

t.test('which requests of people are for missing pages', async (t) => {
  const html = { accept: 'text/html,*/*;q=0.8' }
  const rows: [Partial<Observation>, boolean, string, Partial<SiteSettings>?][] = [
    [{ status: 404 }, false, 'a client that does not say that it wants a page'],
    [{ status: 404, headers: html }, true, 'a page that does not exist'],
    [{ status: 410, headers: html }, true, 'a page that is gone'],
    [{ status: 404, content_type: 'text/plain', headers: html }, true, 'whatever the origin answers with'],
    [{ status: 404, headers: { 'sec-fetch-dest': 'document' } }, true, 'a navigation'],
    [{ status: 200, headers: html }, false, 'a page that exists'],
    [{ status: 403, headers: html }, false, 'refused by the origin'],
    [{ status: 404, method: 'HEAD', headers: html }, false, 'HEAD'],
    [{ status: 404, headers: { ...html, 'sec-fetch-dest': 'iframe' } }, false, 'a frame'],
    [{ status: 404, headers: { ...html, 'sec-purpose': 'prefetch' } }, false, 'prefetched'],
    [{ status: 404, pathname: '/x.png', headers: html }, false, 'a picture'],
    [{ status: 404, pathname: '/robots.txt', headers: html }, false, 'a file that programs ask for'],
    [{ status: 404, pathname: '/paper.pdf', headers: html }, true, 'a document'],
    [{ status: 404, headers: html, opted_out: true }, false, 'opted out'],
    [
      { status: 404, headers: html, pathname: '/admin/x' },
      false,
      'an excluded path',
      { excluded_paths: ['/admin/**'] },
    ],
    [{ status: 404, headers: html, user_agent: GPTBOT }, false, 'an agent has a row of its own'],
    [{ status: 301, headers: html }, false, 'a redirect of the origin'],
    [{ status: 301, headers: html, redirected: true }, true, 'a missing page whose reader was redirected'],
  ]
  for (const [changes, expected, why, changed] of rows) {
    const { missingPages, rows, drops } = classifier([{ ...site, ...changed }]).classify([{ ...view, ...changes }])
    t.equal(missingPages.length, expected ? 1 : 0, why)
    if (!expected) continue
    t.match(missingPages[0], { kind: 'missing_page', status: changes.status, site_id: site.id }, why)
    t.strictSame([rows.events.length, drops], [0, { not_a_page: 1 }], `${why}: no view`)
  }
})

t.test('a site can honour privacy signals and exclude paths', async (t) => {
  const excluded_paths = ['/admin/**', '/thanks', '/*/print']
  const rows: [Partial<Observation>, Partial<SiteSettings>, string, string][] = [
    [{ headers: { 'sec-gpc': '1' } }, {}, 'pageview', 'Sec-GPC is not honoured by default'],
    [{ headers: { 'sec-gpc': '1' } }, { respect_gpc: true }, 'opted_out', 'Sec-GPC'],
    [{ headers: { dnt: '1' } }, { respect_gpc: true }, 'opted_out', 'DNT'],
    [{ headers: { dnt: '0' } }, { respect_gpc: true }, 'pageview', 'DNT: 0'],
    [
      { user_agent: GPTBOT, headers: { 'sec-gpc': '1' } },
      { respect_gpc: true },
      'agent page',
      'agents have no privacy signals',
    ],
    [{ opted_out: true }, {}, 'opted_out', 'the first-party opt-out, on any site'],
    [{ opted_out: true, user_agent: GPTBOT }, {}, 'agent page', 'the opt-out concerns people only'],
    [{ pathname: '/admin/x/y' }, { excluded_paths }, 'excluded_path', 'below the folder'],
    [{ pathname: '/administration' }, { excluded_paths }, 'pageview', 'a name with the same beginning'],
    [{ pathname: '/thanks' }, { excluded_paths }, 'excluded_path', 'the exact path'],
    [{ pathname: '/thanks/x' }, { excluded_paths }, 'pageview', 'below an exact path'],
    [{ pathname: '/a/print' }, { excluded_paths }, 'excluded_path', 'a star matches one segment'],
    [{ pathname: '/a/b/print' }, { excluded_paths }, 'pageview', 'a star does not match two segments'],
    [{ pathname: '/a(b' }, { excluded_paths: ['/a(b'] }, 'excluded_path', 'only stars are special'],
    [
      { pathname: '/admin/x', user_agent: GPTBOT },
      { excluded_paths },
      'agent page',
      'agents are recorded on excluded paths',
    ],
    [{ hostname: 'b.example' }, { domains: ['a.example'] }, 'unknown_host', 'a hostname of no site'],
    [{ hostname: 'www.a.example' }, { domains: ['a.example'] }, 'pageview', 'with www'],
    [{ hostname: 'A.Example' }, { domains: ['a.example'] }, 'pageview', 'in upper case'],
  ]
  for (const [changes, changed, expected, why] of rows) t.equal(outcome(changes, changed), expected, why)
})

t.test('a hostname belongs to the site that lists it', async (t) => {
  const named = (id: number, ...domains: string[]): SiteSettings => ({ ...site, id, domains })
  const siteOf = createSiteLookup([
    named(1, 'a.example', 'shared.example'),
    named(2, 'www.b.example', 'shared.example'),
  ])
  const rows: [string, number | undefined, string][] = [
    ['a.example', 1, 'listed'],
    ['www.a.example', 1, 'with www'],
    ['b.example', 2, 'without www'],
    ['shared.example', 1, 'the first of two'],
    ['sub.a.example', undefined, 'a subdomain is another hostname'],
    ['', undefined, 'an empty hostname'],
  ]
  for (const [hostname, expected, why] of rows) t.equal(siteOf(hostname)?.id, expected, why)
  const both = createSiteLookup([named(1), named(2, 'www.b.example'), named(3, 'b.example')])
  t.equal(both('b.example')?.id, 3, 'an exact match wins')
  t.equal(both('www.b.example')?.id, 2)
  t.equal(both('anything.example')?.id, 1, 'a site without domains gets the rest')
})

t.test('creates a person’s row', async (t) => {
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
    reported_at: null,
    import_id: null,
    import_key: null,
    recorded_by: 'server',
  })
})

t.test('creates an agent’s row', async (t) => {
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
    action: null,
    rule: null,
    accepts: null,
    proof: null,
    proof_at: null,
    import_id: null,
    import_key: null,
  })
  const asking = (headers: Record<string, string>) =>
    classifier().classify([{ ...view, user_agent: GPTBOT, headers }]).rows.agent_events[0]?.accepts
  t.equal(asking({ accept: 'text/markdown, text/html, */*' }), 'markdown', 'the format that the fetch asked for')
  t.equal(asking({ accept: '*/*' }), 'any')
  const of = (user_agent: string) => classifier().classify([{ ...view, user_agent }]).rows.agent_events[0]
  t.match(of('acme-probe/1.30'), {
    agent_id: 'other',
    operator: 'Unknown',
    purpose: 'other',
    verification: 'unverifiable',
    user_agent: 'acme-probe/1.30',
  })
  for (const [userAgent, id] of BOTS) t.equal(of(userAgent)?.agent_id, id, userAgent.slice(0, 60) || 'no user agent')
})

t.test('assigns visitors and sessions within a batch', async (t) => {
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
    'rows are sorted by time',
  )
  t.match(by('/second'), { entry_page: '/first', source: 'Google', channel: 'Organic Search' }, 'from the first hit')
  t.equal(by('/second').session_id, by('/first').session_id)
  t.strictSame(by('/second').session_start, by('/first').timestamp)
  t.equal(by('/mapped').visitor_id, by('/first').visitor_id, 'one address in two notations is one visitor')
  t.equal(by('/third').visitor_id, by('/first').visitor_id, 'the visitor returns')
  t.not(by('/third').session_id, by('/first').session_id, 'in another session')
  t.match(by('/third'), { entry_page: '/third', referrer: null, channel: 'Direct' }, 'the site itself is not a source')
  t.not(by('/other').visitor_id, by('/first').visitor_id, 'another browser is another visitor')
  t.not(by('/else').visitor_id, by('/first').visitor_id, 'another address is another visitor')
  const two = classifier([
    { ...site, domains: ['a.example'] },
    { ...site, id: 2, domains: ['b.example'] },
  ]).classify([view, { ...view, hostname: 'b.example' }]).rows.events
  t.not(two[0]?.visitor_id, two[1]?.visitor_id, 'on another site the visitor id differs')
  t.strictSame([two[0]?.site_id, two[1]?.site_id], [1, 2])
})
