import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { crawlSitemaps, type SitemapUrl } from '../../../src/agents/policy/sitemap-crawl.js'
import { createSitemapMonitor } from '../../../src/agents/policy/sitemap-monitor.js'
import { createSitemapReader, parseLastmod, type SitemapEntry } from '../../../src/agents/policy/sitemap-reader.js'
import { sql } from '../../../src/storage/sql.js'
import { directory } from '../../fixtures/files.js'
import { fileResponse, setUpMonitor, statusResponse } from '../../fixtures/policy-monitor.js'
import { openStoreAt } from '../../fixtures/store.js'

const read = (text: string, size = text.length || 1): SitemapEntry[] => {
  const found: SitemapEntry[] = []
  const reader = createSitemapReader((entry) => found.push(entry))
  for (let from = 0; from < text.length; from += size) reader.write(text.slice(from, from + size))
  reader.end()
  return found
}
const page = (loc: string, lastmod?: string) => ({ loc, index: false, ...(lastmod === undefined ? {} : { lastmod }) })
const sitemapOf = (loc: string) => ({ loc, index: true })
const NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'

const CASES: [text: string, expected: SitemapEntry[], why: string][] = [
  [`<?xml version="1.0"?><urlset ${NS}><url><loc>https://a/1</loc></url></urlset>`, [page('https://a/1')], 'plain'],
  [
    '<urlset><url>\n <loc>\n https://a/1 </loc> <lastmod>2026-01-02</lastmod>\n</url></urlset>',
    [page('https://a/1', '2026-01-02')],
    'white space and a date',
  ],
  [
    `<s:urlset xmlns:s="x"><s:url><s:loc>https://a/1</s:loc><image:image><image:loc>https://a/i.png</image:loc></image:image></s:url></s:urlset>`,
    [page('https://a/1')],
    'a namespace prefix, and an image that is not a page',
  ],
  [
    '<url><loc>https://a/1</loc><image:loc>https://a/i.png</image:loc><xhtml:link href="https://a/de"/></url>',
    [page('https://a/1')],
    'extensions',
  ],
  [
    '<sitemapindex><sitemap><loc>https://a/s1.xml</loc></sitemap><sitemap><loc>https://a/s2.xml</loc></sitemap></sitemapindex>',
    [sitemapOf('https://a/s1.xml'), sitemapOf('https://a/s2.xml')],
    'an index',
  ],
  [
    '<url><loc>https://a/?x=1&amp;y=2&#38;z=&#x33;</loc></url>',
    [page('https://a/?x=1&y=2&z=3')],
    'entities of XML and character references',
  ],
  ['<url><loc><![CDATA[https://a/?x=1&y=2]]></loc></url>', [page('https://a/?x=1&y=2')], 'CDATA'],
  ['<url><loc><![CDATA[https://a/&amp;]]></loc></url>', [page('https://a/&amp;')], 'CDATA has no entities'],
  ['<url><!-- <loc>https://a/no</loc> --><loc>https://a/1</loc></url>', [page('https://a/1')], 'a comment'],
  [
    '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset><url><loc>https://a/&b;</loc></url></urlset>',
    [page('https://a/&b;')],
    'entities of a document type are not replaced',
  ],
  ['<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]><url><loc>&x;</loc></url>', [page('&x;')], 'no file is read'],
  [
    '<urlset><url><loc>https://a/1</loc><url><loc>https://a/2</loc></urlset>',
    [page('https://a/1'), page('https://a/2')],
    'tags that are not closed',
  ],
  ['<URLSET><URL><LOC>https://a/1</LOC></URL></URLSET>', [page('https://a/1')], 'capitals'],
  [
    '<urlset><url><loc>https://a/1</loc><loc>https://a/2</loc></url></urlset>',
    [page('https://a/1')],
    'the first of two locations',
  ],
  ['<urlset><url></url><url><loc></loc></url></urlset>', [], 'empty'],
  [`<url><loc>https://a/${'x'.repeat(5_000)}</loc></url>`, [], 'a URL that is too long'],
  [
    '\uFEFFhttps://a/1\r\nhttps://a/2\n\nftp://a/3\nnonsense\nhttps://a/4',
    ['1', '2', '4'].map((n) => page(`https://a/${n}`)),
    'one URL per line',
  ],
  ['<!doctype html><html><head><title>Not found</title></head><body>loc</body></html>', [], 'an HTML page'],
  ['', [], 'nothing'],
  ['\0\0', [], 'NUL characters'],
]

t.test('reads urlset, sitemapindex and lists of URLs', async (t) => {
  for (const [text, expected, why] of CASES) {
    t.strictSame(read(text), expected, why)
    for (const size of [1, 2, 3, 7]) t.strictSame(read(text, size), expected, `${why}, ${size} characters at a time`)
  }
})

t.test('reads the same however the text is cut into parts', async (_t) => {
  const piece = fc.constantFrom(
    ...[
      '<url>',
      '</url>',
      '<loc>',
      '</loc>',
      '<lastmod>',
      'https://a/',
      '&amp;',
      '<![CDATA[',
      ']]>',
      '<!--',
      '-->',
      '<',
      '>',
      '!',
      ' x',
      '<?x',
      '?>',
      '<sitemap>',
      '\n',
    ],
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 1, max: 11 }), (pieces, size) => {
      const text = `<${pieces.join('')}`
      return JSON.stringify(read(text, size)) === JSON.stringify(read(text))
    }),
    { numRuns: 500 },
  )
})

/**
 * Attacks by sitemaps. Any host can serve a sitemap, and a client can make up hostnames so that their sitemaps are read.
 * - XML: entities that expand exponentially, or that name files, are not replaced; unclosed tags, comments and references
 *   must take linear time.
 * - Size: gzip bombs and endless files are read up to 50 MB each and 200 MB together, at most 50,000 URLs and 50 files.
 * - Requests: an index is followed one level deep, a sitemap is read once, and private addresses are refused.
 * - Made-up hostnames: they are crawled one per ten minutes, however many there are.
 */
t.test('reads hostile sitemaps in linear time', async (t) => {
  for (const [unit, why] of [
    ['<', 'open brackets'],
    ['<!--', 'comments not closed'],
    ['<![CDATA[', 'CDATA not closed'],
    ['<url>', 'entries not closed'],
    ['<loc>', 'locations not closed'],
    ['<url><loc>https://a/&#1', 'half references'],
    ['&amp;', 'entities'],
    ['https://a/', 'a line without an end'],
    ['<!ENTITY a "', 'entities not closed'],
  ] as const) {
    const text = `<x>${unit.repeat(Math.ceil(4_000_000 / unit.length))}`
    // CPU time: other programs may have the processor meanwhile.
    const from = process.cpuUsage()
    read(text, 65_536)
    const took = process.cpuUsage(from).user / 1_000
    t.ok(took < 2_000, `${why}: 4 MB in ${Math.round(took)} ms`)
  }
})

t.test('parses W3C dates', async (t) => {
  for (const [text, expected] of [
    ['2026-01-02', '2026-01-02T00:00:00.000Z'],
    ['2026-01', '2026-01-01T00:00:00.000Z'],
    ['2026', '2026-01-01T00:00:00.000Z'],
    ['2026-01-02T03:04Z', '2026-01-02T03:04:00.000Z'],
    ['2026-01-02T03:04:05+01:00', '2026-01-02T02:04:05.000Z'],
    ['2026-01-02T03:04:05.678-0230', '2026-01-02T05:34:05.678Z'],
    ['2026-01-02T03:04:05', '2026-01-02T03:04:05.000Z'],
    ['2026-13-02', undefined],
    ['yesterday', undefined],
    ['', undefined],
  ] as const)
    t.equal(parseLastmod(text)?.toISOString(), expected, text)
})

const paths = (urls: readonly SitemapUrl[]) => urls.map(({ pathname }) => pathname)
const urlset = (...locs: string[]) => `<urlset>${locs.map((loc) => `<url><loc>${loc}</loc></url>`).join('')}</urlset>`

t.test('reads an index one level deep and gzip files, and only URLs of the hostname', async (t) => {
  const { table, originOutbound, outbound } = await setUpMonitor(t)
  const crawl = (...locations: string[]) =>
    crawlSitemaps({ origin: originOutbound, outbound }, 'example.com', locations)
  const index = (...locs: string[]) =>
    `<sitemapindex>${locs.map((loc) => `<sitemap><loc>${loc}</loc></sitemap>`).join('')}</sitemapindex>`
  table.set('example.com/index.xml', fileResponse(index('https://example.com/a.xml', 'https://example.com/b.xml.gz')))
  table.set(
    'example.com/a.xml',
    fileResponse(
      urlset('https://example.com/1?x=1', 'http://example.com/1', 'https://other.example/2', 'https://example.com/ä b'),
    ),
  )
  const gzipped = gzipSync(urlset('https://example.com/3'))
  table.set('example.com/b.xml.gz', (_req, res) => void res.end(gzipped))
  t.match(await crawl('https://example.com/index.xml'), { files: 3, answered: true, problems: [] })
  t.strictSame(paths((await crawl('https://example.com/index.xml')).urls), ['/1', '/%C3%A4%20b', '/3'])

  table.set('example.com/deep.xml', fileResponse(index('https://example.com/index.xml')))
  t.strictSame(paths((await crawl('https://example.com/deep.xml')).urls), [], 'an index in an index is not followed')
  table.set('example.com/loop.xml', fileResponse(index('https://example.com/loop.xml', 'https://example.com/a.xml')))
  t.match(await crawl('https://example.com/loop.xml'), { files: 2 }, 'a sitemap is not read twice')
  table.set(
    'example.com/many.xml',
    fileResponse(index(...Array.from({ length: 80 }, (_, i) => `https://example.com/m${i}.xml`))),
  )
  t.ok((await crawl('https://example.com/many.xml')).problems.length > 0, 'at most 50 files')

  const half = gzipSync(urlset(...Array.from({ length: 1_000 }, (_, i) => `https://example.com/h${i}`))).subarray(
    0,
    900,
  )
  table.set('example.com/half.gz', (_req, res) => void res.end(half))
  const broken = await crawl('https://example.com/half.gz')
  t.match(broken, { problems: [/half\.gz/] }, 'a truncated gzip file is a problem')
  t.match(await crawl('http://127.0.0.1/s.xml', 'http://169.254.169.254/s.xml', 'nonsense', 'file:///etc/passwd'), {
    urls: [],
    problems: [/not a public address/, /not a public address/, /./, /./],
  })
  t.match(await crawl('https://example.com/none.xml'), { answered: true, urls: [], problems: [/404/] })
  table.set('example.com/down.xml', statusResponse(503))
  t.match(await crawl('https://example.com/down.xml'), { answered: false })
})

t.test('reads at most 50,000 URLs, and a gzip bomb in bounded memory', { timeout: 300_000 }, async (t) => {
  const { table, originOutbound, outbound } = await setUpMonitor(t)
  const crawl = (location: string) => crawlSitemaps({ origin: originOutbound, outbound }, 'example.com', [location])
  const long = urlset(...Array.from({ length: 60_000 }, (_, i) => `https://example.com/page/${i}`))
  table.set('example.com/long.xml', fileResponse(long))
  const from = performance.now()
  const found = await crawl('https://example.com/long.xml')
  t.comment(
    `${found.urls.length} of ${Math.round(long.length / 1_000)} KB in ${Math.round(performance.now() - from)} ms`,
  )
  t.equal(found.urls.length, 50_000)
  const bomb = gzipSync(Buffer.alloc(120_000_000, ' '), { level: 1 })
  table.set('example.com/bomb.gz', (_req, res) => void res.end(bomb))
  const began = performance.now()
  const bombed = await crawl('https://example.com/bomb.gz')
  t.match(bombed, { urls: [], problems: [/only its first part/] })
  t.comment(`a bomb of 120 MB in ${Math.round(performance.now() - began)} ms`)
})

t.test('reads a minute or two after start, once a day, and when robots.txt names other sitemaps', async (t) => {
  const site = await setUpMonitor(t)
  const { table, clock, lines, requests } = site
  table.set('example.com/robots.txt', fileResponse('User-agent: *\nDisallow:\n'))
  table.set('example.com/sitemap.xml', fileResponse(urlset('http://example.com/1', 'http://example.com/2')))
  const { monitor } = await site.open()
  const store = await eventsOf(t)
  const sitemaps = createSitemapMonitor({
    policies: monitor,
    originOutbound: site.originOutbound,
    outbound: site.outbound,
    replace: store.replaceSitemap,
    now: () => clock.at,
    random: () => 0.5,
    log: (level, message) => lines.push(`${level} ${message}`),
  })
  const stored = async () =>
    (await store.query(sql`select pathname from sitemap_urls where hostname = 'example.com' order by pathname`)).map(
      (row) => row.pathname,
    )
  const pass = async (ms: number) => {
    clock.at += ms
    await monitor.tick()
    await sitemaps.tick()
  }
  await store.replaceSitemap('two.example', [{ pathname: '/theirs', lastmod: new Date(0) }])
  await pass(0)
  t.strictSame(await stored(), [], 'not right after start')
  await pass(120_000)
  t.strictSame(await stored(), ['/1', '/2'], '/sitemap.xml if robots.txt names no sitemap')
  table.set('example.com/sitemap.xml', fileResponse(urlset('http://example.com/3')))
  await pass(3_600_000)
  t.strictSame(await stored(), ['/1', '/2'], 'not again within a day')
  await pass(86_400_000)
  t.strictSame(await stored(), ['/3'], 'all URLs are replaced')
  table.set('example.com/new.xml', fileResponse(urlset('http://example.com/4')))
  table.set('example.com/robots.txt', fileResponse('User-agent: *\nDisallow:\nSitemap: http://example.com/new.xml\n'))
  await pass(700_000)
  t.strictSame(await stored(), ['/4'], 'another Sitemap line is followed')
  table.set('example.com/new.xml', statusResponse(500))
  await pass(2 * 86_400_000)
  t.strictSame(await stored(), ['/4'], 'the URLs of an unreachable sitemap stay stored')
  table.delete('example.com/new.xml')
  await pass(2 * 86_400_000)
  t.strictSame(await stored(), [], 'a sitemap that does not exist any more has no URLs')
  t.strictSame(
    await store.query(sql`select hostname, pathname, lastmod from sitemap_urls`),
    [{ hostname: 'two.example', pathname: '/theirs', lastmod: new Date(0) }],
    'the URLs of another hostname stay',
  )
  const before = requests.length
  sitemaps.close()
  await pass(2 * 86_400_000)
  t.notOk(requests.slice(before).some((one) => one.key.endsWith('.xml')))
})

t.test('made-up hostnames do not cause more crawls of the origin', async (t) => {
  const site = await setUpMonitor(t, { domains: [] })
  const { clock, requests } = site
  const { monitor } = await site.open()
  const sitemaps = createSitemapMonitor({
    policies: monitor,
    originOutbound: site.originOutbound,
    outbound: site.outbound,
    replace: async () => {},
    now: () => clock.at,
    random: () => 0.5,
    log: () => {},
  })
  for (let minute = 0; minute < 60; minute++) {
    clock.at += 60_000
    for (let n = 0; n < 5; n++)
      // Each has more requests than those before, so that it is among the first.
      for (let i = 0; i <= minute; i++) monitor.judge.judge(`s${minute}-${n}.example`, undefined, '/', clock.at)
    await monitor.tick()
    await sitemaps.tick()
  }
  const crawls = requests.filter(({ key }) => key.endsWith('/sitemap.xml')).length
  t.ok(crawls > 0 && crawls <= 6, `${crawls} in an hour`)
})

t.test('replaces 50,000 rows in one transaction, fast enough not to delay other rows', async (t) => {
  const store = await eventsOf(t)
  const urls = Array.from({ length: 50_000 }, (_, i) => ({ pathname: `/a/page/of/some/length/${i}`, lastmod: null }))
  await store.replaceSitemap('example.com', urls)
  const from = performance.now()
  await store.replaceSitemap('example.com', urls)
  t.comment(`${Math.round(performance.now() - from)} ms, with the checkpoint`)
  t.strictSame(await store.query(sql`select count(*) as n from sitemap_urls`), [{ n: 50_000 }])
})

async function eventsOf(t: Test) {
  const store = await openStoreAt(join(directory(t), 'events.duckdb'))
  t.teardown(() => store.close())
  return store
}
