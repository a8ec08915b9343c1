import fc from 'fast-check'
import t from 'tap'
import type { Hop } from '../../../src/site/proxy/hop.js'
import { readRequestHead } from '../../../src/site/proxy/message-heads.js'

const HOP: Hop = { peer: '192.0.2.7', trusted: false, proto: 'http', splitsCookies: false }

t.test('appends the hop to X-Forwarded-* and Forwarded', async (t) => {
  const v6: Hop = { ...HOP, peer: '2001:db8::1' }
  const trusted: Hop = { ...HOP, trusted: true }
  const tls: Hop = { ...HOP, proto: 'https' }
  for (const [sent, hop, expected, why] of [
    [[], HOP, ['X-Forwarded-For', '192.0.2.7', 'X-Forwarded-Proto', 'http', 'X-Forwarded-Host', 'a.example:81'], 'new'],
    [
      [],
      tls,
      ['X-Forwarded-For', '192.0.2.7', 'X-Forwarded-Proto', 'https', 'X-Forwarded-Host', 'a.example:81'],
      'TLS',
    ],
    [
      ['x-forwarded-for', '198.51.100.1, 10.0.0.1', 'X-Forwarded-For', '10.0.0.2'],
      HOP,
      [
        'X-Forwarded-For',
        '198.51.100.1, 10.0.0.1, 10.0.0.2, 192.0.2.7',
        'X-Forwarded-Proto',
        'http',
        'X-Forwarded-Host',
        'a.example:81',
      ],
      'appended at the right, several fields in their order',
    ],
    [
      ['X-Forwarded-Proto', 'https', 'X-Forwarded-Host', 'evil.example'],
      HOP,
      ['X-Forwarded-For', '192.0.2.7', 'X-Forwarded-Proto', 'http', 'X-Forwarded-Host', 'a.example:81'],
      'an untrusted peer does not decide host and scheme',
    ],
    [
      ['X-Forwarded-Proto', 'https', 'X-Forwarded-Host', 'www.example'],
      trusted,
      ['X-Forwarded-For', '192.0.2.7', 'X-Forwarded-Proto', 'https', 'X-Forwarded-Host', 'www.example'],
      'a trusted proxy decides host and scheme',
    ],
    [
      ['Forwarded', 'for=198.51.100.1;proto=https'],
      v6,
      [
        'X-Forwarded-For',
        '2001:db8::1',
        'X-Forwarded-Proto',
        'http',
        'X-Forwarded-Host',
        'a.example:81',
        'Forwarded',
        'for=198.51.100.1;proto=https, for="[2001:db8::1]";host="a.example:81";proto=http',
      ],
      'Forwarded in step (RFC 7239 6)',
    ],
  ] as const) {
    t.same(readRequestHead(['Host', 'a.example:81', ...sent], hop).fields, expected, why)
  }
})

t.test('does not forward the session cookie of the service', async (t) => {
  const session = `service_session=${'aB-_'.repeat(10)}xyz`
  for (const [sent, expected, why] of [
    [[session], [], 'alone: no field at all'],
    [[`a=1; ${session}; b=2`], ['a=1; b=2'], 'between others'],
    [[`${session}; a=1`], ['a=1'], 'first'],
    [[`a=1;${session}`], ['a=1'], 'last, without a space'],
    [[`${session}; a=1; ${session}`], ['a=1'], 'twice'],
    [['a=1; service_session="aB-_aB-_aB-_aB-_aB-_aB-_aB-_aB-_aB-_aB-_xyz"'], ['a=1'], 'in quotes'],
    [[`a=1; x${session}`], [`a=1; x${session}`], 'another name'],
    [['service_session=12; a=1'], ['service_session=12; a=1'], "a site's own"],
    [[`${session}Z`], [`${session}Z`], 'longer than a session token'],
    [[''], [''], 'an empty cookie stays empty'],
    [['a=1;; b'], ['a=1;; b'], 'an odd cookie is forwarded unchanged'],
  ] as const)
    for (const crumbs of [false, true]) {
      const raw = sent.flatMap((value) => ['Cookie', value])
      const { fields } = readRequestHead(raw, { ...HOP, splitsCookies: crumbs })
      t.same(
        fields.flatMap((name, i) => (name === 'Cookie' ? [fields[i + 1]] : [])),
        expected,
        why,
      )
    }
  const { fields } = readRequestHead(['cookie', 'a=1', 'cookie', session, 'cookie', 'b=2'], {
    ...HOP,
    splitsCookies: true,
  })
  t.equal(fields[fields.indexOf('cookie') + 1], 'a=1; b=2', 'in a field of its own')
})

t.test('removes fields of the connection and keeps the order of all others', async (_t) => {
  const connectionOnly = [
    'Connection',
    'Keep-Alive',
    'TE',
    'Trailer',
    'Upgrade',
    'Proxy-Authorization',
    'Proxy-Connection',
    'HTTP2-Settings',
    'Expect',
    'Transfer-Encoding',
    'transfer_encoding',
    'content_length',
    'X_Forwarded_For',
  ]
  const spelled = fc
    .constantFrom(...connectionOnly)
    .chain((name) => fc.constantFrom(name, name.toLowerCase(), name.toUpperCase()))
  const endToEnd = fc.constantFrom('Accept', 'accept', 'X-A', 'X-B', 'Cookie', 'User-Agent', 'X_Own', 'Content-Type')
  const value = fc.constantFrom('', 'a', 'b, c', 'close', 'keep-alive', 'x-a', 'X-B, te')
  const pair = fc.tuple(fc.oneof(spelled, endToEnd), value)
  fc.assert(
    fc.property(fc.array(pair, { maxLength: 30 }), (pairs) => {
      const { fields } = readRequestHead(pairs.flat(), HOP)
      const named = new Set(
        pairs
          .filter(([name]) => name.toLowerCase() === 'connection')
          .flatMap(([, list]) => list.split(',').map((one) => one.trim().toLowerCase())),
      )
      const expected = pairs.filter(([name]) => {
        const lower = name.toLowerCase()
        return (
          !connectionOnly.some((one) => one.toLowerCase() === lower) && (!named.has(lower) || lower === 'content-type')
        )
      })
      return JSON.stringify(fields.slice(0, -4)) === JSON.stringify(expected.flat())
    }),
    { numRuns: 500 },
  )
})
