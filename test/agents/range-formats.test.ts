import fc from 'fast-check'
import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import { detectFormat, isKnownFormat, parseList } from '../../src/agents/ranges/formats.js'
import { createPrefixSet } from '../../src/agents/ranges/prefix-set.js'
import { listsOfAgent } from '../../src/agents/ranges/sources.js'
import { type Address, formatPrefix, type Prefix, parseAddress, parsePrefix } from '../../src/base/address.js'

const addressOf = (ip: string) => {
  const address = parseAddress(ip)
  if (!address) throw new Error(`${ip} is not an address`)
  return address
}
const textsOf = (text: string, format: string) => parseList(text, format).map(formatPrefix)

t.test('parses prefixes and masks host bits', async (t) => {
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
    t.equal(prefix && formatPrefix(prefix), expected, `${text}: ${why}`)
  }
})

t.test('reads every format of the catalog', async (t) => {
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
      'prose, of which most is not an address',
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
    ['prefixes-json', '<!doctype html>', /not JSON/, 'a page instead of JSON'],
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
    ['help-page-ips', '<p>We have moved.</p>', /no address/, 'a page without an address'],
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

/** A linear search, independent of the code: each address as one number, compared with every prefix. */
const big = (address: Address) => address.toByteArray().reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
const linear = (prefixes: readonly Prefix[], address: Address) =>
  prefixes.some(([first, bits]) => {
    const rest = BigInt((first.kind() === 'ipv4' ? 32 : 128) - bits)
    return first.kind() === address.kind() && big(first) >> rest === big(address) >> rest
  })

t.test('finds the same addresses as a linear search', async (t) => {
  // Few distinct bytes, so that prefixes are nested, adjacent and repeated, and addresses lie on their edges.
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
        const edges = prefixes.map(([first]) => first)
        for (const address of [...ips.map(addressOf), ...edges])
          if (set.has(addressOf(`${address}`)) !== linear(prefixes, address)) return false
        return set.count === new Set(prefixes.map(formatPrefix)).size
      },
    ),
    { numRuns: 500 },
  )
  const none = createPrefixSet([])
  t.notOk(none.has(addressOf('1.2.3.4')))
  t.notOk(none.has(addressOf('::1')))
})
