import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { addressText, type Prefix, parseAddress, parsePrefix, prefixText } from '../../src/address.js'
import { type Catalog, loadCatalog, parseCatalog } from '../../src/agents/catalog.js'
import { detectFormat, isHelpPage, isKnownFormat, parseList } from '../../src/agents/ranges/formats.js'
import { openListCache } from '../../src/agents/ranges/list-cache.js'
import { createPrefixSet } from '../../src/agents/ranges/prefix-set.js'
import { createRanges, type RangesDeps } from '../../src/agents/ranges/ranges.js'
import { listsOfAgent, sourcesOfCatalog } from '../../src/agents/ranges/sources.js'
import { createOutbound } from '../../src/outbound/guarded-outbound.js'
import { directory } from '../fixtures/files.js'

const DAY = 86_400_000
const addressOf = (ip: string) => {
  const address = parseAddress(ip)
  if (!address) throw new Error(`${ip} is no address`)
  return address
}
const textsOf = (text: string, format: string) => parseList(text, format).map(prefixText)

t.test('prefixes', async (t) => {
  const table: readonly [string, string | undefined, string][] = [
    ['192.0.2.0/24', '192.0.2.0/24', 'as it stands'],
    ['192.0.2.77/24', '192.0.2.0/24', 'host bits are masked'],
    ['192.0.2.77', '192.0.2.77/32', 'an address alone'],
    ['255.255.255.255/1', '128.0.0.0/1', 'the top bit'],
    ['10.0.0.0/0', '0.0.0.0/0', 'everything'],
    ['2001:db8::1/32', '2001:db8::/32', 'IPv6'],
    ['2001:db8:ffff:ffff::/47', '2001:db8:fffe::/47', 'within a word'],
    ['2001:db8::1', '2001:db8::1/128', 'an address alone'],
    ['::ffff:192.0.2.5/120', '192.0.2.0/24', 'mapped'],
    ['192.0.2.0/33', undefined, 'too long'],
    ['2001:db8::/129', undefined, 'too long'],
    ['::ffff:192.0.2.5/95', undefined, 'wider than IPv4'],
    ['192.0.2.0/-1', undefined, 'below zero'],
    ['192.0.2.0/', undefined, 'no length'],
    ['192.0.2.0/24/8', undefined, 'two lengths'],
    ['192.0.2/24', undefined, 'three parts'],
    ['192.0.02.0/24', undefined, 'a leading zero'],
    ['fe80::1%eth0/64', undefined, 'a zone'],
    ['', undefined, 'nothing'],
    ['/24', undefined, 'no address'],
  ]
  for (const [text, expected, why] of table) {
    const prefix = parsePrefix(text)
    t.equal(prefix && prefixText(prefix), expected, `${text}: ${why}`)
  }
})

t.test('every format of the catalog', async (t) => {
  for (const { url, format } of loadCatalog().agents.flatMap(listsOfAgent))
    t.ok(isKnownFormat(format), `${url}: ${format}`)
  const google = JSON.stringify({
    creationTime: '2026-11-20T15:46:05.000000',
    prefixes: [{ ipv6Prefix: '2001:4860:4801:10::/64' }, { ipv4Prefix: '66.249.64.0/27' }],
  })
  const both = ['2001:4860:4801:10::/64', '66.249.64.0/27']
  const table: readonly [string, string, readonly string[], string][] = [
    ['prefixes-json', google, both, 'as Google publishes it'],
    [
      'prefixes-json',
      `{"prefixes":${JSON.stringify(JSON.parse(google).prefixes)},"creationTime":"x"}`,
      both,
      'the other order of keys',
    ],
    ['prefixes-json', `\ufeff${google}`, both, 'a byte order mark'],
    ['prefixes-json', google.replace('66.249', '\u200b66.24\u200d9\u2060'), both, 'characters of no width'],
    ['prefixes-json', google.replaceAll(/[,{}]/g, '$&\r\n\t'), both, 'white space'],
    ['prefixes-json', google.replace('"66.249.64.0/27"', '" 66.249.64.9/27 "'), both, 'host bits and spaces'],
    ['prefixes-json', google.replace(']', ',{"ipv4Prefix":"66.249.64.3/27"}]'), both, 'the same twice'],
    ['prefixes-json', google.replace(']', ',{"service":"x"}]'), both, 'an entry of something else'],
    [
      'prefixes-json',
      '{"prefixes":[{"ipv4Prefix":"1.2.3.0/24","ipv6Prefix":"2600::/32"}]}',
      ['1.2.3.0/24', '2600::/32'],
      'both in one',
    ],
    [
      'csv-geofeed',
      '# RFC 8805\n31.13.24.0/21,IE,IE-D,Dublin,\r\n2a03:2880::/32,US,,,\n\n',
      ['31.13.24.0/21', '2a03:2880::/32'],
      'as Meta publishes it',
    ],
    [
      'cidr-lines',
      '91.108.56.0/22\n91.108.4.0/22\n2001:b28:f23d::/48\n',
      ['91.108.56.0/22', '91.108.4.0/22', '2001:b28:f23d::/48'],
      'Telegram',
    ],
    [
      'cidr-lines',
      '173.245.48.0/20\r103.21.244.0/22',
      ['173.245.48.0/20', '103.21.244.0/22'],
      'old line ends, no last one',
    ],
    ['ip-lines', '3.12.251.153\n2600:1f16::1\n; a comment\n', ['3.12.251.153/32', '2600:1f16::1/128'], 'addresses'],
    ['ip-lines', '3.12.251.153 # Ohio\n', ['3.12.251.153/32'], 'a comment behind'],
    [
      'ip-json',
      '{"ips":[{"ip_address":"5.39.1.224"},{"ip_address":"5.39.1.225"}]}',
      ['5.39.1.224/32', '5.39.1.225/32'],
      'Ahrefs',
    ],
    ['json-array', '["3.24.96.86","13.51.94.8"]', ['3.24.96.86/32', '13.51.94.8/32'], 'Checkly'],
    [
      'json-array-objects-ip',
      '[{"guid":"a","ip":"1.2.3.4","ipv6":""},{"ip":"1.2.3.5","title":"London 5.6.7.8"}]',
      ['1.2.3.4/32', '1.2.3.5/32'],
      'StatusCake',
    ],
    [
      'json-array-objects-ip',
      '{"1":{"ip":"1.2.3.4"},"2":{"ip":"1.2.3.5"}}',
      ['1.2.3.4/32', '1.2.3.5/32'],
      'the same, numbered',
    ],
    [
      'json-object-of-arrays',
      '{"us":["1.2.3.4"],"Columbus, OH, USA":["1.2.3.0/28"]}',
      ['1.2.3.4/32', '1.2.3.0/28'],
      'Better Stack, New Relic',
    ],
    [
      'json WEBHOOKS array',
      '{"WEBHOOKS":["3.18.12.63"],"API":["9.9.9.9"]}',
      ['3.18.12.63/32'],
      'Stripe, of its webhooks alone',
    ],
    [
      'json-object synthetics.prefixes_ipv4/prefixes_ipv6',
      '{"version":1,"synthetics":{"prefixes_ipv4":["1.2.3.4/32"],"prefixes_ipv6":["2600::/64"],"prefixes_ipv4_by_location":{"x":["9.9.9.9/32"]}},"agents":{"prefixes_ipv4":["8.8.8.8/32"]}}',
      ['1.2.3.4/32', '2600::/64'],
      'Datadog, of its synthetics alone',
    ],
    [
      'aws-ip-ranges-json service=ROUTE53_HEALTHCHECKS',
      '{"prefixes":[{"ip_prefix":"3.4.12.4/32","service":"AMAZON"},{"ip_prefix":"15.177.0.0/18","service":"ROUTE53_HEALTHCHECKS"}],"ipv6_prefixes":[{"ipv6_prefix":"2600:1f18::/40","service":"ROUTE53_HEALTHCHECKS"},{"ipv6_prefix":"2a05::/32","service":"S3"}]}',
      ['15.177.0.0/18', '2600:1f18::/40'],
      'AWS, of one service',
    ],
    [
      'help-page-cidrs',
      '<p>We scan from 162.142.125.0/24, <code>167.94.138.0/24</code> and 2602:80d:1000::/44. Not from 10.0.0.0/8, Chrome/120.0.0.0, v1.2.3.4, 1.2.3.4.5, 300.1.2.3 or <a href="http://9.9.9.9/">here</a> at 12:30:45.</p>',
      ['162.142.125.0/24', '167.94.138.0/24', '2602:80d:1000::/44'],
      'prose, of which most is no address',
    ],
    ['help-page-ips', '<ul><li>5.135.1.2</li><li>5.135.1.3&nbsp;</li></ul>', ['5.135.1.2/32', '5.135.1.3/32'], 'prose'],
    ['help-page-single-ip', 'Our address is 34.66.202.43.', ['34.66.202.43/32'], 'at the end of a sentence'],
    [
      'html-or-js-page',
      '<script>var x={"prefixes":[{"ip_prefix":"13.216.162.125\\/32"}]}</script>',
      ['13.216.162.125/32'],
      'in a script',
    ],
    ['html-or-text', '5.45.192.0&#47;18\n2a02:6b8::/29', ['5.45.192.0/18', '2a02:6b8::/29'], 'text'],
  ]
  for (const [format, text, expected, why] of table) t.same(textsOf(text, format), expected, `${format}: ${why}`)
  t.same(
    [
      ...new Set(
        loadCatalog()
          .agents.flatMap(listsOfAgent)
          .map(({ format }) => format),
      ),
    ].filter((format) => !table.some(([one]) => one === format)),
    [],
    'each is in this table',
  )

  const list = (ipv4Prefix: unknown) =>
    `{"prefixes":[{"ipv4Prefix":"1.2.3.0/24"},{"ipv4Prefix":${JSON.stringify(ipv4Prefix)}}]}`
  const lines = Array.from({ length: 200 }, (_, i) => `1.2.3.${i}`)
  const refused: readonly [string, string, RegExp, string][] = [
    ['prefixes-json', '{"prefixes":[]}', /no address/, 'nothing'],
    ['prefixes-json', '{}', /form/, 'no list'],
    ['prefixes-json', 'null', /form/, 'null'],
    ['prefixes-json', '<!doctype html>', /not JSON/, 'a page instead'],
    ['prefixes-json', '', /not JSON/, 'an empty body'],
    ['prefixes-json', list('0.0.0.0/0'), /wider/, 'all of IPv4'],
    ['prefixes-json', list('128.0.0.0/7'), /wider/, 'a seventh bit'],
    ['prefixes-json', '{"prefixes":[{"ipv6Prefix":"::/0"}]}', /wider/, 'all of IPv6'],
    ['prefixes-json', '{"prefixes":[{"ipv6Prefix":"2000::/15"}]}', /wider/, 'a fifteenth bit'],
    ['prefixes-json', list('nonsense'), /1 of 2 entries/, 'half of it unreadable'],
    ['prefixes-json', list(7), /1 of 2 entries/, 'a number'],
    ['cidr-lines', '<html>\n<body>Too many requests</body>\n', /no address/, 'a page instead of lines'],
    ['cidr-lines', '# nothing\n\n', /no address/, 'comments'],
    ['ip-lines', [...lines, 'x', 'y', 'z'].join('\n'), /3 of 203 entries/, 'three slips of 203'],
    ['json-array', '{"a":"b"}', /no address/, 'an object of no addresses'],
    ['json-array', `${'['.repeat(50)}"1.2.3.4"${']'.repeat(50)}`, /no address/, 'too deep'],
    [
      'aws-ip-ranges-json service=EC3',
      '{"prefixes":[{"ip_prefix":"3.4.12.4/32","service":"EC2"}]}',
      /no address/,
      'no such service',
    ],
    ['help-page-ips', '<p>We have moved.</p>', /no address/, 'prose without one'],
    ['ip-lines', '1.2.3.4\n'.repeat(200_001), /at most 200000/, 'too many'],
    ['yaml', '- 1.2.3.4', /unknown format/, 'another format'],
  ]
  for (const [format, text, error, why] of refused)
    t.throws(() => parseList(text, format), { message: error }, `${format}: ${why}`)
  t.equal(parseList([...lines, 'x', 'y'].join('\n'), 'ip-lines').length, 200, 'a slip in a hundred is passed over')
  t.ok(parseList(list('128.0.0.0/8'), 'prefixes-json'), '/8 is not too wide')
  t.ok(parseList('{"prefixes":[{"ipv6Prefix":"2000::/16"}]}', 'prefixes-json'), 'nor is /16')
  const hostile = [
    '<'.repeat(2_000_000),
    '1.'.repeat(1_000_000),
    '2'.repeat(2_000_000),
    '2:'.repeat(1_000_000),
    '<a '.repeat(700_000),
  ]
  for (const text of hostile) {
    const begun = performance.now()
    t.throws(() => parseList(text, 'html-or-text'))
    t.ok(performance.now() - begun < 2_000, `2 MB of ${text.slice(0, 3)}: ${Math.round(performance.now() - begun)} ms`)
  }
  for (const [text, format] of [
    [google, 'prefixes-json'],
    ['["1.2.3.4"]', 'json-array'],
    ['\ufeff 1.2.3.4\n', 'cidr-lines'],
    ['<!doctype html>', 'html-or-text'],
  ])
    t.equal(detectFormat(text ?? ''), format)
})

/** Independent of the code: whole addresses as one number, every prefix looked at. */
const big = ({ words }: { words: readonly number[] }) => words.reduce((sum, word) => (sum << 32n) | BigInt(word), 0n)
const linear = (prefixes: readonly Prefix[], address: { family: 4 | 6; words: readonly number[] }) =>
  prefixes.some((prefix) => {
    const rest = BigInt((prefix.family === 4 ? 32 : 128) - prefix.bits)
    return prefix.family === address.family && big(prefix) >> rest === big(address) >> rest
  })

t.test('the lookup is the plain search, only faster', async (t) => {
  // Few distinct bytes, so that prefixes nest, touch and repeat, and addresses fall on their edges.
  const byte = fc.constantFrom(0, 1, 2, 127, 128, 254, 255)
  const group = fc.constantFrom('0', '1', '7fff', '8000', 'fffe', 'ffff')
  const four = fc.array(byte, { minLength: 4, maxLength: 4 }).map((bytes) => bytes.join('.'))
  const six = fc
    .array(group, { minLength: 8, maxLength: 8 })
    .map((groups) => `2${'0'.repeat(3)}:${groups.slice(1).join(':')}`)
  const prefix = fc.oneof(
    fc.tuple(four, fc.integer({ min: 0, max: 32 })),
    fc.tuple(six, fc.integer({ min: 0, max: 128 })),
  )
  fc.assert(
    fc.property(
      fc.array(prefix, { maxLength: 40 }),
      fc.array(fc.oneof(four, six), { minLength: 1, maxLength: 60 }),
      (blocks, ips) => {
        const prefixes = blocks.map(([ip, bits]) => parsePrefix(`${ip}/${bits}`)).filter((one) => one !== undefined)
        const set = createPrefixSet(prefixes)
        const edges = prefixes.map(({ family, words }) => ({ family, words }))
        for (const address of [...ips.map(addressOf), ...edges])
          if (
            set.has(
              addressOf(
                addressText(
                  address.family === 4
                    ? { family: 4, words: [address.words[0] ?? 0] }
                    : { family: 6, words: address.words },
                ),
              ),
            ) !== linear(prefixes, address)
          )
            return false
        return set.count === new Set(prefixes.map(prefixText)).size
      },
    ),
    { numRuns: 500 },
  )
  const none = createPrefixSet([])
  t.notOk(none.has(addressOf('1.2.3.4')))
  t.notOk(none.has(addressOf('::1')))
})

/** A catalog of a few agents whose lists are on a local server. */
function catalogOf(base: string): Catalog {
  const entry = (id: string, more: Record<string, unknown>) => ({
    id,
    name: id,
    operator: id,
    purpose: 'search',
    ua_tokens: [id],
    ua_match: 'token',
    robots_only: false,
    honors_wildcard_group: true,
    respects_robots: 'unknown',
    client_side: false,
    status: 'active',
    ...more,
  })
  const one = { ranges_url: `${base}/one.json`, ranges_format: 'prefixes-json' }
  return parseCatalog(
    JSON.stringify({
      meta: { generated: '2026-11-21' },
      agents: [
        entry('alpha', one),
        entry('beta', one),
        entry('gamma', {
          ranges_url: `${base}/v4`,
          ranges_format: 'cidr-lines',
          ranges_extra: [{ url: `${base}/v6`, format: 'cidr-lines' }],
        }),
        entry('delta', { ranges_url: `${base}/help`, ranges_format: 'help-page-ips' }),
        entry('epsilon', { ...one, client_side: true }),
        entry('zeta', {}),
      ],
    }),
  )
}

async function world(t: Test) {
  const bodies = new Map<string, { body: string; etag?: string; status?: number }>()
  const asked: IncomingMessage[] = []
  const server = createServer((req: IncomingMessage, res: ServerResponse) => {
    asked.push(req)
    const found = bodies.get(req.url ?? '')
    if (!found) res.writeHead(404).end()
    else if (found.etag !== undefined && req.headers['if-none-match'] === found.etag) res.writeHead(304).end()
    else res.writeHead(found.status ?? 200, found.etag === undefined ? {} : { etag: found.etag }).end(found.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const base = `http://lists.test:${(server.address() as AddressInfo).port}`
  const data = directory(t)
  const clock = { now: Date.parse('2026-11-21T12:00:00Z') }
  const logged: string[] = []
  const catalog = catalogOf(base)
  const open = (deps: Partial<RangesDeps> = {}) =>
    createRanges({
      catalog,
      outbound: createOutbound({
        resolve: async () => ['127.0.0.1'],
        offline: deps.offline ?? false,
        version: '1',
        allow: { address: () => true, port: () => true },
      }),
      cache: openListCache(join(data, 'agents')),
      localPaths: [],
      offline: false,
      now: () => clock.now,
      random: () => 0.5,
      log: (_level, message) => logged.push(message),
      ...deps,
    })
  const ask = (ranges: ReturnType<typeof open>, id: string, ip: string, at = clock.now) => {
    const agent = catalog.get(id)
    return agent && ranges.lookUp(agent, addressOf(ip), at)
  }
  const paths = () =>
    asked
      .splice(0)
      .map(({ url, headers }) => `${url}${headers['if-none-match'] ? ' again' : ''}`)
      .sort()
  return { bodies, base, data, clock, logged, catalog, open, ask, paths }
}
const google = (...prefixes: string[]) =>
  JSON.stringify({ prefixes: prefixes.map((one) => (one.includes(':') ? { ipv6Prefix: one } : { ipv4Prefix: one })) })
const settled = async (done: () => boolean) => {
  for (let wait = 0; wait < 300 && !done(); wait++) await new Promise((resolve) => setTimeout(resolve, 10))
}

t.test('lists are fetched once each, kept, and asked for again by their tag', async (t) => {
  const { bodies, base, data, clock, open, ask, paths, logged } = await world(t)
  bodies.set('/one.json', { body: google('1.2.3.0/24', '2600::/32'), etag: '"1"' })
  bodies.set('/v4', { body: '5.5.0.0/16\n' })
  bodies.set('/v6', { body: '2a03::/32\n' })
  bodies.set('/help', { body: '<p>from 7.7.7.7</p>' })
  const ranges = open()
  t.equal(ask(ranges, 'alpha', '1.2.3.4'), 'unknown', 'nothing is held yet')
  t.same(ranges.status(), [])
  const told = await ranges.refresh()
  t.same(
    told
      .map(({ agents, source, status, count }) => [agents.join(' '), source.slice(base.length), status, count])
      .sort(),
    [
      ['alpha beta', '/one.json', 'updated', 2],
      ['delta', '/help', 'updated', 1],
      ['gamma', '/v4', 'updated', 1],
      ['gamma', '/v6', 'updated', 1],
    ],
  )
  t.same(paths(), ['/help', '/one.json', '/v4', '/v6'], 'a list of two agents is fetched once')
  const rows: readonly [string, string, string][] = [
    ['alpha', '1.2.3.255', 'inside'],
    ['beta', '2600::1', 'inside'],
    ['alpha', '1.2.4.0', 'outside'],
    ['gamma', '5.5.5.5', 'inside'],
    ['gamma', '2a03::1', 'inside'],
    ['gamma', '1.2.3.4', 'outside'],
    ['delta', '7.7.7.7', 'inside'],
    ['delta', '7.7.7.8', 'silent'],
    ['epsilon', '1.2.3.4', 'none'],
    ['zeta', '1.2.3.4', 'none'],
  ]
  for (const [id, ip, expected] of rows) t.equal(ask(ranges, id, ip), expected, `${id} ${ip}`)
  t.same(ranges.status()[0], {
    agent_id: 'alpha',
    count: 2,
    refreshed_at: '2026-11-21T12:00:00.000Z',
    source: `${base}/one.json`,
    stale: false,
  })
  t.match(ranges.status()[2], { agent_id: 'gamma', count: 2, source: `${base}/v4 ${base}/v6` })

  clock.now += DAY * 0.5
  ranges.tick()
  t.same(paths(), [], 'nothing is due before a day')
  clock.now += DAY * 0.6
  ranges.tick()
  await settled(() => ranges.status().every(({ refreshed_at }) => refreshed_at.startsWith('2026-11-22')))
  t.same(paths(), ['/help', '/one.json again', '/v4', '/v6'])
  t.equal(ranges.status()[0]?.refreshed_at, new Date(clock.now).toISOString(), '304 makes it fresh')

  await settled(() => JSON.stringify(open().status()) === JSON.stringify(ranges.status()))
  const again = open({ offline: true })
  t.equal(ask(again, 'alpha', '1.2.3.4'), 'inside', 'the next start knows them')
  t.same(again.status(), ranges.status(), 'with the date of the 304')
  again.tick()
  t.same(
    (await again.refresh()).map(({ status, count }) => [status, count]),
    [
      ['offline', 2],
      ['offline', 1],
      ['offline', 1],
      ['offline', 1],
    ],
  )
  t.same(paths(), [], 'offline, nothing is asked')
  const next = open()
  clock.now += DAY * 1.2
  await next.refresh()
  t.ok(paths().includes('/one.json again'), 'the tag outlives the process')

  const files = readdirSync(join(data, 'agents'))
  t.equal(files.length, 4)
  t.notOk(
    files.some((name) => name.endsWith('.new')),
    'nothing half written is left',
  )
  for (const name of files)
    writeFileSync(join(data, 'agents', name), readFileSync(join(data, 'agents', name), 'utf8').slice(0, 40))
  t.same(open().status(), [], 'a file that was cut off is none')
  t.same(logged, [])
})

t.test('a list that goes wrong: the last good copy stays, and refutes nobody once it is old', async (t) => {
  const { bodies, clock, open, ask, paths, logged, base } = await world(t)
  const good = google('1.2.3.0/24', '1.2.4.0/24')
  bodies.set('/one.json', { body: good })
  const ranges = open()
  await ranges.refresh()
  paths()
  const first = ranges.status()[0]
  const wrong: readonly [{ body: string; status?: number }, RegExp][] = [
    [{ body: google() }, /no address/],
    [{ body: google('0.0.0.0/0') }, /wider/],
    [{ body: google('1.2.3.0/24', '::/0') }, /wider/],
    [{ body: '<html>maintenance</html>' }, /not JSON/],
    [{ body: good, status: 500 }, /answered 500/],
    [{ body: good, status: 403 }, /answered 403/],
    [{ body: good, status: 206 }, /answered 206/],
    [{ body: `${good}${' '.repeat(9_000_000)}` }, /larger than/],
  ]
  clock.now += DAY
  for (const [body, error] of wrong) {
    bodies.set('/one.json', body)
    const told = (await ranges.refresh()).find(({ source }) => source.endsWith('/one.json'))
    t.match(told, { status: 'failed', count: 2, error, refreshed_at: first?.refreshed_at ?? '' }, String(error))
    t.match(told?.error, base, 'it says which')
    t.equal(ask(ranges, 'alpha', '1.2.4.4'), 'inside', 'the last good copy is kept')
    t.equal(ask(ranges, 'alpha', '9.9.9.9'), 'outside')
  }
  t.same(ranges.status()[0], first)
  t.same(open().status()[0], first, 'on disk too')

  clock.now = Date.parse(first?.refreshed_at ?? '') + 7 * DAY
  t.equal(ask(ranges, 'alpha', '9.9.9.9'), 'outside', 'a week')
  clock.now += 1
  t.equal(ask(ranges, 'alpha', '9.9.9.9'), 'unknown', 'and no longer')
  t.equal(ask(ranges, 'alpha', '1.2.3.4'), 'unknown', 'nor does it confirm (contract 3)')
  t.equal(ranges.status()[0]?.stale, true)
  t.equal(ask(ranges, 'alpha', '9.9.9.9', clock.now - 15 * DAY), 'unknown', 'it says nothing of long before it')
  t.equal(ask(ranges, 'alpha', '1.2.3.4', clock.now - 15 * DAY), 'inside', 'but of who was in it')

  bodies.set('/one.json', { body: google('1.2.3.0/24') })
  await ranges.refresh()
  t.equal(ask(ranges, 'alpha', '1.2.4.4'), 'outside', 'a list that shrinks is believed')
  bodies.set('/v4', { body: '5.5.0.0/16' })
  await ranges.refresh()
  t.equal(ask(ranges, 'gamma', '5.5.0.1'), 'inside', 'half of its lists confirm')
  t.equal(ask(ranges, 'gamma', '6.6.6.6'), 'unknown', 'and do not refute')
  t.equal(ranges.status().find(({ agent_id }) => agent_id === 'gamma')?.stale, true)
  t.same(logged, [], 'what was asked for is answered, not logged')
})

t.test('the schedule: a failure is tried again after minutes, then hours, and said once', async (t) => {
  const { clock, open, paths, logged, bodies } = await world(t)
  const ranges = open()
  ranges.tick()
  t.same(paths(), [], 'a command that is over soon fetches nothing')
  clock.now += 16_000
  const times: number[] = []
  const start = clock.now
  for (let minute = 0; minute < 24 * 60; minute += 1) {
    ranges.tick()
    await new Promise((resolve) => setImmediate(resolve))
    if (minute < 60 || minute % 60 === 0) await new Promise((resolve) => setTimeout(resolve, minute < 20 ? 10 : 1))
    if (paths().includes('/one.json')) times.push((clock.now - start) / 60_000)
    clock.now += 60_000
  }
  t.ok(times.length >= 5 && times.length <= 12, `tried ${times.length} times in a day: ${times.join(' ')}`)
  const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0))
  t.ok((gaps.at(-1) ?? 0) > (gaps[0] ?? 0) * 10, 'ever more rarely')
  t.equal(logged.length, 1, logged.join('\n'))
  t.match(logged[0], /lists that cannot be fetched: 4;.*404/)
  bodies.set('/one.json', { body: google('1.2.3.0/24') })
  // The clock was a year ahead, and is set right.
  clock.now -= 365 * DAY
  ranges.tick()
  await settled(() => ranges.status().length > 0)
  t.equal(ranges.status()[0]?.agent_id, 'alpha')
})

t.test("the operator's own copies", async (t) => {
  const { bodies, base, clock, open, ask, paths, data, catalog, logged } = await world(t)
  bodies.set('/one.json', { body: google('9.9.9.0/24') })
  const folder = join(data, 'own')
  mkdirSync(folder)
  const put = (name: string, text: string, age = 0) => {
    const file = join(folder, name)
    writeFileSync(file, text)
    const at = new Date(clock.now - age)
    utimesSync(file, at, at)
    return file
  }
  const alpha = put('alpha.txt', '1.1.1.0/24\n')
  put('one.json', google('2.2.2.0/24'), DAY)
  put('v6', '2a03::/32')
  put('README.md', 'whose these are')
  put('.DS_Store', 'x')
  mkdirSync(join(folder, 'old'))
  const ranges = open({ localPaths: [folder] })
  t.equal(ask(ranges, 'alpha', '1.1.1.1'), 'inside', "by the agent's id, in lines though published as JSON")
  t.equal(ask(ranges, 'alpha', '2.2.2.2'), 'outside', 'it is the whole of that agent')
  t.equal(ask(ranges, 'beta', '2.2.2.2'), 'inside', "by the URL's last part")
  t.equal(ask(ranges, 'gamma', '2a03::1'), 'inside', 'one of two lists')
  t.equal(ask(ranges, 'gamma', '3.3.3.3'), 'unknown', 'the other is not there yet')
  t.same(logged, [`ranges: ${join(folder, 'README.md')} is named after no agent and no published list`])
  t.match(ranges.status().slice(0, 2), [
    { agent_id: 'alpha', source: alpha, refreshed_at: new Date(clock.now).toISOString() },
    { agent_id: 'beta', source: join(folder, 'one.json'), refreshed_at: new Date(clock.now - DAY).toISOString() },
  ])
  const told = await ranges.refresh()
  t.same(paths(), ['/help', '/v4'], 'what the operator gives is not fetched')
  t.same(
    told
      .filter(({ status }) => status === 'file')
      .map(({ agents, source }) => [agents.join(' '), source])
      .sort(),
    [
      ['alpha', alpha],
      ['beta', join(folder, 'one.json')],
      ['gamma', join(folder, 'v6')],
    ],
  )
  put('alpha.txt', '4.4.4.0/24', 8 * DAY)
  await ranges.refresh()
  t.equal(ask(ranges, 'alpha', '4.4.4.4'), 'inside', 'read again; an old file still confirms')
  t.equal(ask(ranges, 'alpha', '1.1.1.1'), 'unknown', 'and no longer refutes')
  put('alpha.txt', 'nonsense')
  t.match((await ranges.refresh())[0], { status: 'failed', source: folder, error: /alpha\.txt/ })
  t.equal(ask(ranges, 'alpha', '4.4.4.4'), 'inside', 'a file that went wrong: the one before stays')
  put('alpha.txt', '1.1.1.0/24')

  const wrong: readonly [string, string, RegExp][] = [
    ['nobody.json', '["1.2.3.4"]', /nobody\.json is named after no agent and no published list/],
    ['epsilon.json', '["1.2.3.4"]', /epsilon\.json is named after no agent/],
    ['beta.json', '{"prefixes":[]}', /beta\.json has no address/],
    ['beta.json', google('0.0.0.0/0'), /beta\.json has "0\.0\.0\.0\/0", which is wider/],
    ['beta.json', 'x', /beta\.json is not JSON/],
    ['help', 'nothing here', /help has no address/],
  ]
  for (const [name, text, error] of wrong) {
    t.throws(() => open({ localPaths: [put(name, text)] }), { message: error }, `${name}: ${error}`)
  }
  t.throws(() => open({ localPaths: [join(folder, 'missing.json')] }), {
    message: /missing\.json cannot be read \(ENOENT\)/,
  })
  t.throws(() => open({ localPaths: ['/dev/null'] }), { message: /null is named after no agent/ })
  put('beta.json', google('8.8.8.0/24'))
  t.throws(() => open({ localPaths: [alpha, put('alpha.json', google('8.8.8.0/24'))] }), {
    message: /both hold the addresses of alpha/,
  })
  const real = loadCatalog()
  const names = real.agents
    .flatMap(listsOfAgent)
    .map(({ url }) => new URL(url).pathname.split('/').filter(Boolean).at(-1) ?? '')
  t.ok(names.includes('common-crawlers.json'))
  const ambiguous = put('ip-ranges.json', '["1.2.3.4"]')
  t.throws(() => open({ catalog: real, localPaths: [ambiguous] }), {
    message: /could be https.* or https.*name it after an agent/,
  })
  t.equal(sourcesOfCatalog(catalog).length, 4)
  t.ok(sourcesOfCatalog(real).length > 50, `${sourcesOfCatalog(real).length} lists in the catalog`)
  t.ok(isHelpPage('html-or-js-page') && !isHelpPage('prefixes-json'))
  t.ok(base)
})
