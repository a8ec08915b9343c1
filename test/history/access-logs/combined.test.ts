import t from 'tap'
import { COMBINED, COMMON, VHOST_COMBINED } from '../../../src/history/access-logs/combined.js'
import { TRAEFIK } from '../../../src/history/access-logs/load-balancers.js'
import { BASE, BROKEN_TEXT, checkTable, type Row } from './golden.js'

const T = '[06/Nov/2026:10:11:12 +0000]'
const base = { ...BASE, bytes: 5 }
const common = { ...base, userAgent: '' }
const UA = '"-" "Mozilla/5.0"'

const COMBINED_ROWS: readonly Row[] = [
  [`203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, {}, 'a plain line'],
  [
    `66.249.66.1 - - [31/Dec/2025:23:59:59 -0130] "GET /a?b=c HTTP/2.0" 404 0 "https://www.google.com/" "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"`,
    {
      timestamp: Date.UTC(2026, 0, 1, 1, 29, 59),
      address: '66.249.66.1',
      target: '/a?b=c',
      status: 404,
      bytes: 0,
      referrer: 'https://www.google.com/',
      userAgent: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    },
    'a zone west of UTC, across the year',
  ],
  [`203.0.113.9 - - [06/Nov/2026:11:11:12 +0100] "GET / HTTP/1.1" 200 5 ${UA}`, {}, 'a zone east of UTC'],
  [`2001:db8::1 - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, { address: '2001:db8::1' }, 'IPv6'],
  [`unix: - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, { address: '' }, 'a UNIX socket has no address'],
  [`- - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, { address: '' }, 'no address'],
  [`203.0.113.9 - anna ${T} "GET / HTTP/1.1" 200 5 ${UA}`, {}, 'a user'],
  [`203.0.113.9 - a b [x] c ${T} "GET / HTTP/1.1" 200 5 ${UA}`, {}, 'a user’s name with spaces and brackets'],
  [
    `203.0.113.9 - - ${T} "POST /form HTTP/1.1" 302 - ${UA}`,
    { method: 'POST', target: '/form', status: 302, bytes: 0 },
    'Apache’s %b without a body',
  ],
  [
    `203.0.113.9 - - ${T} "PROPFIND /dav HTTP/1.1" 405 5 ${UA}`,
    { method: 'PROPFIND', target: '/dav', status: 405 },
    'a rare method',
  ],
  [`203.0.113.9 - - ${T} "HEAD / HTTP/3.0" 200 5 ${UA}`, { method: 'HEAD' }, 'HTTP/3.0'],
  [`203.0.113.9 - - ${T} "GET / HTTP/3" 200 5 ${UA}`, {}, 'HTTP/3 without a minor version'],
  [`203.0.113.9 - - ${T} "GET /" 200 5 ${UA}`, {}, 'HTTP/0.9 has no version'],
  [
    `203.0.113.9 - - ${T} "GET /a b  c HTTP/1.1" 400 5 ${UA}`,
    { target: '/a b  c', status: 400 },
    'spaces in the target',
  ],
  [
    `203.0.113.9 - - ${T} "GET http://Example.com:8080/x?y HTTP/1.1" 200 5 ${UA}`,
    { target: '/x?y', host: 'example.com' },
    'absolute form',
  ],
  [
    `203.0.113.9 - - ${T} "GET https://[2001:db8::2]:443 HTTP/1.1" 200 5 ${UA}`,
    { target: '/', host: '[2001:db8::2]' },
    'absolute form without a path',
  ],
  [`203.0.113.9 - - ${T} "OPTIONS * HTTP/1.0" 200 5 ${UA}`, { method: 'OPTIONS', target: '*' }, 'asterisk form'],
  [
    `203.0.113.9 - - ${T} "CONNECT example.com:443 HTTP/1.1" 405 5 ${UA}`,
    { method: 'CONNECT', target: 'example.com:443', status: 405 },
    'authority form',
  ],
  [
    `203.0.113.9 - - ${T} "" 400 0 "-" "-"`,
    { method: '', target: '', status: 400, bytes: 0, userAgent: '' },
    'nginx: no request',
  ],
  [
    `203.0.113.9 - - ${T} "-" 408 - "-" "-"`,
    { method: '', target: '', status: 408, bytes: 0, userAgent: '' },
    'Apache: no request',
  ],
  [
    String.raw`203.0.113.9 - - ${T} "\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03 \x22" 400 157 "-" "-"`,
    { method: '', target: '', status: 400, bytes: 157, userAgent: '' },
    'TLS to a plain port, as nginx writes it',
  ],
  [
    `203.0.113.9 - - ${T} "\u0016\u0003\u0001\0 \ufffd" 400 157 "-" "-"`,
    { method: '', target: '', status: 400, bytes: 157, userAgent: '' },
    'TLS to a plain port, unescaped',
  ],
  [
    String.raw`203.0.113.9 - - ${T} "GET /\x22a\x5C HTTP/1.1" 200 5 "-" "A \x22quoted\x22 \xE2\x82\xAC"`,
    { target: '/"a\\', userAgent: 'A "quoted" €' },
    'nginx’s escapes, UTF-8 among them',
  ],
  [
    String.raw`203.0.113.9 - - ${T} "GET /\"a HTTP/1.1" 200 5 "http://a/\"\\" "B \"q\" \t\\"`,
    { target: '/"a', referrer: 'http://a/"\\', userAgent: 'B "q" \t\\' },
    'Apache’s escapes',
  ],
  [
    String.raw`203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 "-" "\xZZ \xFF\d"`,
    { userAgent: '\\xZZ \ufffd\\d' },
    'no escapes, and a byte that is not UTF-8',
  ],
  [
    `203.0.113.9 - - ${T} "GET /käse/日本 HTTP/1.1" 200 5 "-" "Ünï"`,
    { target: '/käse/日本', userAgent: 'Ünï' },
    'UTF-8',
  ],
  [
    `203.0.113.9 - - ${T} "GET / HTTP/1.1" 499 0 "-" "Mozilla/5.0" 0.004 "x" rt=1 "`,
    { status: 499, bytes: 0 },
    'fields after it',
  ],
  [`203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5`, { userAgent: '' }, 'a line of common among them'],
  [
    `203.0.113.9 - - [30/Feb/2026:10:11:12 +0000] "GET / HTTP/1.1" 200 5 ${UA}`,
    { timestamp: Date.UTC(2026, 2, 2, 10, 11, 12) },
    'a day that February has not rolls over',
  ],
  [`203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, {}, 'a good line after that'],
  [
    `10.0.0.7 - - ${T} "GET / HTTP/1.1" 200 5 ${UA} "198.51.100.1, 203.0.113.9"`,
    {},
    'nginx’s `main`: a proxy in a private network reports the client',
  ],
  [
    `203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 ${UA} "198.51.100.1"`,
    {},
    'nginx’s `main`: a client says what it likes',
  ],
  [`10.0.0.7 - - ${T} "GET / HTTP/1.1" 200 5 ${UA} "-"`, { address: '10.0.0.7' }, 'nginx’s `main`: no list'],
  [`10.0.0.7 - - ${T} "GET / HTTP/1.1" 200 5 ${UA} "session=1"`, { address: '10.0.0.7' }, 'another quoted field'],
  [`203.0.113.9 ident frank ${T} "GET / HTTP/1.1" 200 5 ${UA}`, {}, 'an identity'],
  [`Nov  6 10:11:12 web nginx: 203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, {}, 'after syslog'],
  [`web-1  | 203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, {}, 'after Docker Compose'],
  [`2026-11-06T10:11:12.5Z 203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, {}, 'after `docker logs --timestamps`'],
  [`2026-11-06T10:11:12.5Z stdout F 203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, {}, 'after Kubernetes'],
  [
    JSON.stringify({
      log: `203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 ${UA}\n`,
      stream: 'stdout',
      time: '2026-11-06T10:11:13Z',
    }),
    {},
    'as Docker stores it',
  ],
  [JSON.stringify({ log: '\n', stream: 'stdout' }), 'skip', 'blank, as Docker stores it'],
  [`203.0.113.9 - - ${T} "t3 12.1.2" 400 5 ${UA}`, { method: '', target: '', status: 400 }, 'another protocol'],
  [`203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 "-" 17 "x"`, undefined, 'no user agent'],
  [`203.0.113.9 - [ab/cd] ${T} "GET / HTTP/1.1" 200 5 ${UA}`, {}, 'a user’s name like a time'],
  [`203.0.113.9 - - ${T} "GET / HTTP/1.1" 2000 5 ${UA}`, undefined, 'not a status'],
  [`a b c d e ${T} "GET / HTTP/1.1" 200 5 ${UA}`, undefined, 'words before the time'],
  ['', 'skip', 'blank'],
  [`203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 "-" "Mozil`, undefined, 'cut in the user agent'],
  [`203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 "-"`, undefined, 'cut after the referrer'],
  [`203.0.113.9 - - ${T} "GET / HT`, undefined, 'cut in the request'],
  [`203.0.113.9 - - ${T} "GET / HTTP/1.1" abc 5 ${UA}`, undefined, 'no status'],
  [`203.0.113.9 - - [06/Foo/2026:10:11:12 +0000] "GET / HTTP/1.1" 200 5 ${UA}`, undefined, 'no month'],
  [`203.0.113.9 - - [06/Nov/2026:25:11:12 +0000] "GET / HTTP/1.1" 200 5 ${UA}`, undefined, 'no hour'],
  [`203.0.113.9 - - [06/Nov/2026:10:11:12 00000] "GET / HTTP/1.1" 200 5 ${UA}`, undefined, 'no zone'],
  [`example.com:443 203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, undefined, 'a virtual host before it'],
  [
    `203.0.113.9 - - ${T} "GET /${'a'.repeat(66_000)} HTTP/1.1" 200 5 ${UA}`,
    undefined,
    'longer than any server writes',
  ],
  ['\0\0\0\0\0\0', undefined, 'NUL'],
]

const VHOST_ROWS: readonly Row[] = [
  [`Example.com:443 203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, { host: 'example.com' }, 'host with port'],
  [`example.com 203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, { host: 'example.com' }, 'host without port'],
  [
    `example.com:443 2001:db8::1 - anna lee ${T} "GET / HTTP/1.1" 200 5 ${UA} 7`,
    { host: 'example.com', address: '2001:db8::1' },
    'IPv6, a user with a space, a field after it',
  ],
  [
    `a.example:80 203.0.113.9 - - ${T} "GET http://b.example/ HTTP/1.1" 200 5 ${UA}`,
    { host: 'a.example' },
    'the host that answered, not the one of the request line',
  ],
  [`_:80 203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, {}, 'nginx’s name of no host'],
  [`203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, undefined, 'no host'],
]

const COMMON_ROWS: readonly Row[] = [
  [`203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5`, {}, 'a plain line'],
  [
    `127.0.0.1 ident frank ${T} "GET /apache_pb.gif HTTP/1.0" 200 2326`,
    { address: '127.0.0.1', target: '/apache_pb.gif', bytes: 2326 },
    'an identity',
  ],
  [`203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 0.003`, {}, 'an unquoted field after it'],
  [`203.0.113.9 - - ${T} "GET / HTTP/1.1" 200 5 ${UA}`, undefined, 'combined'],
]

t.test('common, combined and vhost_combined, field by field', async (t) => {
  checkTable(t, COMBINED, base, [...COMBINED_ROWS, ...BROKEN_TEXT])
  checkTable(t, VHOST_COMBINED, base, [...VHOST_ROWS, ...BROKEN_TEXT])
  checkTable(t, COMMON, common, [...COMMON_ROWS, ...BROKEN_TEXT])
})

t.test('lines of combined with something before or after them', async (t) => {
  const changed = (pattern: RegExp, text: string, more: object) =>
    COMBINED_ROWS.flatMap(([line, expected, why]): Row[] =>
      pattern.test(line) && typeof expected === 'object'
        ? [[line.replace(pattern, text), { ...expected, ...more }, why]]
        : [],
    )
  const tables = [
    [VHOST_COMBINED, changed(/^(?=203)/, 'example.com:443 ', { host: 'example.com' })],
    [COMMON, changed(/ "-" "Mozilla\/5.0"$/, '', { userAgent: '' })],
    [TRAEFIK, changed(/(?<=Mozilla\/5.0")$/, ' 1 "web@docker" "http://172.18.0.2:80" 7ms', { durationMs: 7 })],
  ] as const
  for (const [format, rows] of tables) {
    t.ok(rows.length > 20, `${rows.length} rows`)
    checkTable(t, format, base, rows)
  }
})
