import fc from 'fast-check'
import t from 'tap'
import { type Payload, parseJson, readPayload, readQueryPayload } from '../../src/capture/payload.js'

const U = 'https://a.com/x'
const LEAST: Payload = { site: 1, kind: 'pageview', hostname: 'a.com', pathname: '/x' }
const read = (more: object) => readPayload({ s: 1, u: U, ...more })

t.test('reads every key under its full name', async (t) => {
  const all = {
    ...{ s: 7, t: 'custom', n: 'signup', u: 'https://a.com/p?q=1', r: 'https://b.com/', w: 1920, h: 1080, vw: 1600 },
    ...{ vh: 900, l: 'de', tz: 'Europe/Berlin', d: 9000, sc: 80, p: { plan: 'pro' }, id: 'u1', v: '0.1.0' },
    e: { lcp: 1200.5, cls: 0.1, inp: 90, fcp: 0, ttfb: 10 },
    b: [812, 9, 2, 'Oak tables'],
  }
  const expected: Payload = {
    ...{ site: 7, kind: 'custom', name: 'signup', hostname: 'a.com', pathname: '/p', query: 'q=1' },
    ...{ referrer: 'https://b.com/', screen_width: 1920, viewport_width: 1600, language: 'de' },
    ...{ timezone: 'Europe/Berlin', engaged_ms: 9000, scroll: 80, props: { plan: 'pro' }, identified_id: 'u1' },
    vitals: { lcp: 1200.5, cls: 0.1, inp: 90, fcp: 0, ttfb: 10 },
    document: { text_length: 812, links: 9, headings: 2, first_line: 'Oak tables' },
  }
  t.strictSame(readPayload(all), expected)
  const query = new URLSearchParams(
    Object.entries(all).map(([key, value]): [string, string] => [
      key,
      typeof value === 'object' ? JSON.stringify(value) : `${value}`,
    ]),
  )
  t.strictSame(readQueryPayload(`${query}`), expected, 'the same from a query string')
  t.strictSame(readPayload({ s: 1, u: U }), LEAST, 'site and URL alone')
})

t.test('reads the page as a browser would request it', async (t) => {
  const rows: [unknown, Pick<Payload, 'hostname' | 'pathname' | 'query'> | undefined, string][] = [
    ['https://a.com', { hostname: 'a.com', pathname: '/' }, 'no path means the root'],
    ['HTTPS://WWW.A.com:8443/X', { hostname: 'www.a.com', pathname: '/X' }, 'hostname in lower case without port'],
    ['https://u:p@a.com/', { hostname: 'a.com', pathname: '/' }, 'no credentials'],
    ['https://bücher.example/', { hostname: 'xn--bcher-kva.example', pathname: '/' }, 'IDN'],
    ['https://a.com/%2e%2e/b', { hostname: 'a.com', pathname: '/b' }, 'dot segments, resolved as every browser does'],
    ['https://a.com/a%2Fb%c3%A4', { hostname: 'a.com', pathname: '/a%2Fb%c3%A4' }, 'escapes stay as they are'],
    [
      'https://a.com/ä',
      { hostname: 'a.com', pathname: '/%C3%A4' },
      'characters that no request can contain are escaped',
    ],
    ['https://a.com//b/;c=1', { hostname: 'a.com', pathname: '//b/;c=1' }, 'slashes and parameters stay'],
    ['https://a.com/?', { hostname: 'a.com', pathname: '/' }, 'an empty query'],
    [
      'https://a.com/?a=1?b#c',
      { hostname: 'a.com', pathname: '/', query: 'a=1?b' },
      'a query without its question mark',
    ],
    ['https://a.com/#top', { hostname: 'a.com', pathname: '/' }, 'an anchor on the page'],
    ['https://a.com/#/b?c', { hostname: 'a.com', pathname: '/#/b?c' }, 'a route'],
    ['https://a.com/#!b', { hostname: 'a.com', pathname: '/#!b' }, 'an older route'],
    ['http://[::1]:80/', { hostname: '[::1]', pathname: '/' }, 'an address'],
    ['https://a.com/\ud800', { hostname: 'a.com', pathname: '/%EF%BF%BD' }, 'half a character'],
    ['https://a.com/a\nb\u0000c', { hostname: 'a.com', pathname: '/ab%00c' }, 'control characters'],
    [`https://a.com/${'x'.repeat(3000)}`, { hostname: 'a.com', pathname: `/${'x'.repeat(1999)}` }, 'cut'],
    ['ftp://a.com/', undefined, 'another scheme'],
    ['javascript:alert(1)', undefined, 'a script, not a page'],
    ['file:///etc/passwd', undefined, 'a file'],
    ['about:blank', undefined, 'an empty page'],
    ['/x', undefined, 'no host'],
    ['//a.com/x', undefined, 'no scheme'],
    ['https://', undefined, 'an empty host'],
    ['https://a b/', undefined, 'not a hostname'],
    ['https://a.com:99999/', undefined, 'not a port'],
    ['', undefined, 'empty'],
    [7, undefined, 'not a text'],
    [null, undefined, 'null'],
    [undefined, undefined, 'absent'],
    [{ href: U }, undefined, 'an object'],
  ]
  for (const [u, expected, why] of rows)
    t.strictSame(readPayload({ s: 1, u }), expected && { site: 1, kind: 'pageview', ...expected }, why)
})

t.test('ignores keys of a wrong type; rejects a payload without site, page or a known kind', async (t) => {
  const wrong = [null, true, [], {}, [1], Number.NaN]
  const texts = ['n', 'r', 'l', 'tz', 'id', 'v']
  for (const key of texts) for (const value of [...wrong, 7, '', '  ']) t.strictSame(read({ [key]: value }), LEAST, key)
  for (const key of ['w', 'h', 'vw', 'vh', 'd', 'sc'])
    for (const value of [...wrong, '7', -1, 1.5, 1e300]) t.strictSame(read({ [key]: value }), LEAST, key)
  for (const key of ['p', 'e'])
    for (const value of [null, true, [], {}, [1], 'x', 7]) t.strictSame(read({ [key]: value }), LEAST, key)
  for (const s of [...wrong, '1', 1.5, undefined, 1e300]) t.equal(read({ s }), undefined, `s: ${s}`)
  for (const kind of [true, [], {}, 7, '', 'Pageview', 'heartbeat', 'constructor'])
    t.equal(read({ t: kind }), undefined, `t: ${kind}`)
  t.strictSame(read({ t: null }), LEAST, 'no kind is a pageview')
  for (const value of [null, undefined, true, 7, 'x', [], [{ s: 1, u: U }]]) t.equal(readPayload(value), undefined)
  const rows: [object, Partial<Payload>, string][] = [
    [{ sc: 0, d: 0 }, { scroll: 0, engaged_ms: 0 }, 'zero is a measurement'],
    [{ sc: 100, d: 86_400_000 }, { scroll: 100, engaged_ms: 86_400_000 }, 'the maximum'],
    [{ sc: 101, d: 86_400_001 }, {}, 'over the maximum'],
    [{ e: { lcp: -1, cls: '0', inp: 5, x: 1, ttfb: 4e6 } }, { vitals: { inp: 5 } }, 'one valid vital'],
    [{ unknown: 1, constructor: 2, toString: 3 }, {}, 'unknown keys'],
    [{ n: 'x'.repeat(600) }, { name: 'x'.repeat(500) }, 'cut'],
    [{ n: 'a\ud800b' }, { name: 'a\ufffdb' }, 'half a character'],
    [
      { n: 'a\u0000\u001bb' },
      { name: 'a\u0000\u001bb' },
      'control characters stay: the code that shows them escapes them',
    ],
  ]
  for (const [more, expected, why] of rows) t.strictSame(read(more), { ...LEAST, ...expected }, why)
})

t.test('properties are bounded and harmless', async (t) => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
  const props = (p: unknown) => read({ p })?.props
  t.strictSame(props({ a: 1, b: 'x', c: true, d: null, e: ['f', { g: 2 }] }), {
    ...{ a: 1, b: 'x', c: true, d: null },
    e: ['f', { g: 2 }],
  })
  t.strictSame(props({ a: Number.POSITIVE_INFINITY, b: '\udc00' }), { a: null, b: '\ufffd' })
  t.strictSame(props({ a: 'x'.repeat(3000) }), { a: 'x'.repeat(2000) })
  t.equal(Object.keys(props(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${i}`, i]))) ?? {}).length, 200)
  t.equal(
    JSON.stringify(props({ a: Array.from({ length: 5_000 }, () => [1, 2]) })).length < 2_000,
    true,
    '200 members in all',
  )
  t.ok(read({ p: nested(8) }), '8 deep')
  t.equal(read({ p: nested(9) }), undefined, '9 deep')
  t.ok(read({ x: nested(50) }), 'unknown keys may nest deeper')
  const hostile = parseJson(
    '{"__proto__":{"polluted":1},"s":1,"u":"https://a.com/x","p":{"__proto__":{"polluted":1},"a":1}}',
  )
  t.strictSame(readPayload(hostile), { ...LEAST, props: { a: 1 } })
  const inherited: unknown = parseJson('{"__proto__":{"s":1,"u":"https://a.com/x"}}')
  t.equal(readPayload(inherited), undefined, 'inherited members do not count')
  t.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
})

t.test('reads query strings', async (t) => {
  const rows: [string, Partial<Payload> | undefined, string][] = [
    ['s=1&u=https://a.com/x', {}, 'site and URL alone'],
    ['s=1&u=https%3A%2F%2Fa.com%2Fx&n=a+b%20c', { name: 'a b c' }, 'both spellings of a space'],
    ['s=1&s=2&u=https://a.com/x', {}, 'the first of two counts'],
    ['s=1&u=https://a.com/x&w=0x10&d=-1&sc=1e1', {}, 'numbers are digits'],
    ['s=1&u=https://a.com/x&p={&e=[]', {}, 'not JSON'],
    ['s=1&u=https://a.com/x&p=%7B%22a%22%3A1%7D', { props: { a: 1 } }, 'JSON'],
    ['s=1&u=https://a.com/x&n=%ff%zz', { name: '\ufffd%zz' }, 'not UTF-8'],
    ['s=1&u=https://a.com/x&__proto__=1&constructor=2', {}, 'names that every object has'],
    ['s=&u=https://a.com/x', undefined, 'an empty site'],
    ['s=99999999999&u=https://a.com/x', undefined, 'too many digits'],
    ['', undefined, 'empty'],
    ['&&&=&=', undefined, 'only separators'],
  ]
  for (const [query, expected, why] of rows)
    t.strictSame(readQueryPayload(query), expected && { ...LEAST, ...expected }, why)
})

t.test('whatever is sent becomes a payload that survives JSON, or none', async () => {
  const keys = ['s', 't', 'n', 'u', 'r', 'w', 'h', 'vw', 'vh', 'l', 'tz', 'd', 'sc', 'p', 'id', 'v', 'e', '__proto__']
  const wild = fc.dictionary(fc.constantFrom(...keys), fc.jsonValue({ maxDepth: 12 }))
  fc.assert(
    fc.property(wild, fc.boolean(), (keys, sound) => {
      const text = JSON.stringify(sound ? { ...keys, s: 1, u: U } : keys)
      const payload = readPayload(parseJson(text))
      if (payload === undefined) return
      const again = JSON.stringify(payload)
      if (JSON.stringify(JSON.parse(again)) !== again) throw new Error('not the same after JSON')
      if (/\p{Surrogate}/u.test(again) || /\\ud[89a-f]/.test(again)) throw new Error('half a character')
    }),
    { numRuns: 500 },
  )
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (query) => {
      readQueryPayload(query)
      readQueryPayload(`s=1&u=https://a.com/x&${query}`)
    }),
    { numRuns: 300 },
  )
})

t.test('reads the description of a document, or nothing of it', async (t) => {
  const rows: [unknown, Payload['document'], string][] = [
    [[0, 0, 0, ''], { text_length: 0, links: 0, headings: 0, first_line: '' }, 'an empty document'],
    [[5, 1, 0, ' \u00a0 '], { text_length: 5, links: 1, headings: 0, first_line: '' }, 'a blank line'],
    [[5, 1, 0], { text_length: 5, links: 1, headings: 0, first_line: '' }, 'no line'],
    [[5, 1, 0, 'x'.repeat(300)], { text_length: 5, links: 1, headings: 0, first_line: 'x'.repeat(120) }, 'cut'],
    [[5, 1, 0, { toString: 1 }], { text_length: 5, links: 1, headings: 0, first_line: '' }, 'a line that is no text'],
    [[5, 1.5, 0, 'x'], undefined, 'half a link'],
    [[-1, 1, 0, 'x'], undefined, 'a negative length'],
    [[1e12, 1, 0, 'x'], undefined, 'longer than any document'],
    [[5, 1], undefined, 'a count is missing'],
    [{ 0: 5, 1: 1, 2: 0 }, undefined, 'an object'],
    ['5,1,0', undefined, 'a text'],
    [null, undefined, 'null'],
  ]
  for (const [b, expected, why] of rows) t.strictSame(read({ b })?.document, expected, why)
})
