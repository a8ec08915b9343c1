import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import type { Observation } from '../../src/capture/observation.js'
import { createDataPaths } from '../../src/capture/request-kind.js'
import { createLineReader, createResponseReader } from '../../src/capture/response-type.js'
import type { LogEntry } from '../../src/history/access-logs/log-format.js'
import { createRowBuilder } from '../../src/site/shipping/outgoing-row.js'
import { classifier, GPTBOT, view } from '../fixtures/page-classifier.js'

const paths: [pathname: string, page: boolean, why: string][] = [
  ['/', true, 'a page'],
  ['/favicon.ico', false, 'browsers ask for it by themselves'],
  ['/favicon-32x32.png', false, 'a size of it'],
  ['/apple-touch-icon-precomposed.png', false, 'an icon of a home screen'],
  ['/apple-touch-icon-120x120.png', false, 'a size of it'],
  ['/robots.txt', false, 'for crawlers'],
  ['/ads.txt', false, 'for advertisers'],
  ['/app-ads.txt', false, 'for advertisers in apps'],
  ['/security.txt', false, 'for finders of faults'],
  ['/llms.txt', false, 'for language models'],
  ['/sitemap.xml', false, 'for search engines'],
  ['/sitemap_index.xml', false, 'a list of sitemaps'],
  ['/sitemap-2.xml.gz', false, 'compressed'],
  ['/site.webmanifest', false, 'for installing a site'],
  ['/manifest.json', false, 'its older name'],
  ['/browserconfig.xml', false, 'for tiles'],
  ['/sw.js', false, 'a service worker'],
  ['/.well-known/security.txt', false, 'RFC 8615'],
  ['/.well-known/change-password', false, 'RFC 8615, whatever comes after it'],
  ['/sitemap', true, 'a page for people'],
  ['/favicon', true, 'no file'],
  ['/docs/robots.txt', true, 'RFC 9309 2.3: only the top of a host has a robots.txt'],
  ['/well-known/x', true, 'without the full stop'],
  ['/blog/manifest.json.html', true, 'about one'],
  ['/advertise', true, 'a page whose name begins alike'],
]
t.test('files that programs ask for by convention are not pages, even as HTML', async (t) => {
  const { isPage } = createResponseReader()
  for (const [pathname, page, why] of paths) {
    const observation = {
      ...{ timestamp: '2026-11-21T10:00:00.000Z', user_agent: '', hostname: 'example.com', pathname, method: 'GET' },
      ...{ bytes: 0, duration_ms: 0, content_type: 'text/html', conditional: 0 as const, ip: '' },
    }
    t.equal(isPage({ ...observation, status: 200 }), page, `${pathname}: ${why}`)
    t.equal(isPage({ ...observation, status: 404 }), false, `${pathname}: not found`)
  }
})

type Exchange = Pick<Observation, 'pathname'> & Partial<Observation>
const to = (destination: string) => ({ headers: { 'sec-fetch-dest': destination } })
const ok = (pathname: string, content_type: string, more: Partial<Observation> = {}): Exchange => ({
  ...{ pathname, content_type, status: 200, ...to('document') },
  ...more,
})
const same = (pathname: string, more: Partial<Observation> = {}): Exchange => ({
  ...{ pathname, content_type: '', status: 304, conditional: 1, ...to('document') },
  ...more,
})
const [HTML, JSON_TYPE, FEED, PDF] = ['text/html', 'application/json', 'application/rss+xml', 'application/pdf']

/** Exchanges in their order, and whether the last one, a 304, is a view of a page by a person. */
const sequences: readonly [exchanges: Exchange[], page: boolean, why: string][] = [
  [[same('/x.pdf')], false, 'the extension of a document'],
  [[same('/feed.xml')], false, 'the extension of a feed'],
  [[same('/data.JSON')], false, 'in capitals'],
  [[same('/docs/')], true, 'no extension, requested as a document'],
  [[same('/docs.html')], true, 'the extension of a page'],
  [[same('/index.php')], true, 'a program, requested as a document'],
  [[same('/wiki/Node.js')], false, 'the extension of a script, which is all that is known'],
  [[ok('/wiki/Node.js', HTML), same('/wiki/Node.js')], true, 'a page by its type before'],
  [[same('/users/john.doe')], true, 'no known extension, requested as a document'],
  [[ok('/feed', FEED), same('/feed')], false, 'a feed by its type before'],
  [[ok('/get/7', PDF), same('/get/7')], false, 'a document by its type before'],
  [[ok('/get', PDF, { query: 'id=7' }), same('/get', { query: 'id=7' })], false, 'with its query'],
  [[ok('/', FEED, { query: 'feed=rss2' }), same('/')], true, 'another query is another URL'],
  [[ok('/', HTML), ok('/', FEED, { query: 'feed=rss2' }), same('/')], true, 'whatever came between'],
  [[ok('/feed', FEED, { hostname: 'b.example' }), same('/feed')], true, 'another host is another site'],
  [[ok('/export.pdf', HTML), same('/export.pdf')], true, 'the type says more than the name'],
  [[ok('/feed', FEED, { user_agent: GPTBOT }), same('/feed')], false, 'an agent got it before'],
  [[ok('/feed', FEED, to('empty')), same('/feed')], false, 'a script got it before'],
  [[ok('/feed', FEED, { status: 404 }), same('/feed')], true, 'an error says nothing about the URL'],
  [[ok('/feed', FEED, { method: 'POST' }), same('/feed')], true, 'nor does the response of a form'],
  [[ok('/list', HTML), ok('/list', JSON_TYPE), same('/list')], true, 'both: what the browser asked for'],
  [[ok('/list', HTML), ok('/list', JSON_TYPE), same('/list', to('empty'))], false, 'both: a script asked for data'],
  [[ok('/docs', HTML), same('/docs', to('iframe'))], false, 'a page within another'],
  [[same('/docs', { headers: { accept: 'image/*' } })], false, 'no destination: what is accepted'],
  [[same('/api/items', { headers: {} })], false, 'nothing else known: a path of data'],
  [[same('/docs', { headers: {} })], true, 'nothing else known: a path without an extension'],
]

const toLogEntry = (one: Observation): LogEntry => ({
  timestamp: Date.parse(one.timestamp),
  ...{ address: one.ip, method: one.method, host: one.hostname, status: one.status, referrer: '' },
  target: one.query === undefined ? one.pathname : `${one.pathname}?${one.query}`,
  ...{ userAgent: one.user_agent, contentType: one.content_type, requestHeaders: { ...one.headers } },
})

t.test('a 304 confirms what its URL responded with before, for all who record, ship or import', async (t) => {
  for (const [exchanges, page, why] of sequences) {
    const seen = exchanges.map((one, n): Observation => ({ ...view, timestamp: time(n), ...one }))
    const sites = [{ id: 1, domains: [], timezone: 'UTC', respect_gpc: false, visitor_salt: 'month' as const }]
    const recording = classifier(sites.map((site) => ({ ...site, excluded_paths: [] })))
    const shipping = createRowBuilder(loadCatalog())
    const kindOf = createLineReader()
    const results = seen.map((one) => ({
      recorded: recording.classify([one]).rows.events.length === 1,
      shipped: shipping.of(one) !== 'not_a_page',
      imported: kindOf(toLogEntry(one)) === 'page' && (one.headers?.['sec-fetch-dest'] ?? 'document') === 'document',
    }))
    t.same(results.at(-1), { recorded: page, shipped: page, imported: page }, why)
  }
})
const time = (n: number) => new Date(Date.parse('2026-11-21T08:00:00Z') + n * 60_000).toISOString()

t.test('what is remembered of URLs is bounded, and one site displaces nothing of another', async (t) => {
  const { isPage } = createResponseReader()
  const response = (given: Exchange) => ({ ...view, ...given })
  isPage(response(ok('/feed', FEED)), 1)
  for (let n = 0; n < 100_000; n++) isPage(response(ok(`/made-up/${n}`, FEED)), 2)
  t.equal(isPage(response(same('/feed')), 1), false, 'after 100,000 URLs of another site')
  let known = 0
  for (let n = 0; n < 100_000; n++) if (!isPage(response(same(`/made-up/${n}`)), 2)) known++
  t.ok(known > 7_000 && known <= 8_192, `the latest of them, at most 8,192: ${known}`)
  const long = `/${'x'.repeat(5_000)}`
  isPage(response(ok(long, FEED)), 1)
  t.equal(isPage(response(same(long)), 1), true, 'a long URL is not remembered')
})

t.test('where a log has no types, paths of data are not pages', async (t) => {
  const untyped = (target: string) => ({ method: 'GET', target, status: 200 })
  for (const [target, kind, why] of [
    ['/api/items', 'data', 'an interface'],
    ['/api/items?page=2', 'data', 'with a query'],
    ['/api/v2/items/7', 'data', 'below it'],
    ['/api', 'page', 'the page about it'],
    ['/apiary', 'page', 'a name that begins alike'],
    ['/docs/api/items', 'page', 'not at the top'],
    ['/api/index.html', 'page', 'the extension of a page'],
    ['/api/guide.php', 'page', 'a program that makes pages'],
    ['/api/spec.json', 'file', 'a file anyway'],
    ['/graphql', 'data', 'one URL for all'],
    ['/wp-json/wp/v2/posts', 'data', 'of WordPress'],
    ['/_next/image?url=%2Fa.png&w=64', 'data', 'of Next.js'],
    ['/_readership/api/stats/overview', 'data', 'of readership'],
  ] as const)
    t.equal(createLineReader()(untyped(target)), kind, `${target}: ${why}`)
  t.equal(createLineReader()({ ...untyped('/api/items'), contentType: HTML }), 'page', 'a type says more')
  const own = createLineReader(createDataPaths(['/v1/**']))
  t.equal(own(untyped('/v1/items')), 'data', 'the operator’s own')
  t.equal(own(untyped('/api/items')), 'page', 'and no others')
})
