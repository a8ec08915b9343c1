import t from 'tap'
import { compileLogFormat } from '../../../src/history/access-logs/custom-format.js'
import { BASE, checkTable, type Row } from './golden.js'

const T = '06/Nov/2026:10:11:12 +0000'
const SECONDS = BASE.timestamp / 1000
type Case = readonly [format: string, ...row: Row]

/** Formats and one line of each; the first three are the built-in ones, written out. */
const CASES: readonly Case[] = [
  [
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"',
    `203.0.113.9 - - [${T}] "GET / HTTP/1.1" 200 5 "-" "Mozilla/5.0"`,
    { bytes: 5 },
    'nginx: combined',
  ],
  [
    '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-agent}i"',
    `203.0.113.9 - - [${T}] "GET / HTTP/1.1" 200 - "-" "Mozilla/5.0"`,
    { bytes: 0 },
    'Apache: combined',
  ],
  [
    '%h %^[%d:%t %^] "%r" %s %b "%R" "%u"',
    `203.0.113.9 - - [${T}] "GET / HTTP/1.1" 200 5 "-" "Mozilla/5.0"`,
    { bytes: 5 },
    'GoAccess: combined',
  ],

  [
    "log_format main escape=default '$remote_addr [$time_iso8601] '\n   '\"$request\" $status rt=$request_time '\n   '\"$http_user_agent\"';",
    '203.0.113.9 [2026-11-06T11:11:12+01:00] "GET / HTTP/1.1" 200 rt=0.021 "Mozilla/5.0"',
    { durationMs: 21 },
    'nginx: a directive over several lines',
  ],
  [
    `$msec $scheme://$host$request_uri $request_method $status $\{remote_addr} "$http_user_agent"`,
    `${SECONDS}.345 https://Example.com/a?b POST 201 203.0.113.9 "Mozilla/5.0"`,
    { timestamp: BASE.timestamp + 345, host: 'example.com', target: '/a?b', method: 'POST', status: 201 },
    'nginx: host and path without a gap, milliseconds',
  ],
  [
    '$remote_addr|$time_local|$request_method|$uri$is_args$args|$status|$http_user_agent',
    `203.0.113.9|${T}|GET|/a?b=1|200|Mozilla/5.0`,
    { target: '/a?b=1' },
    'nginx: path and query',
  ],
  [
    '$remote_addr $upstream_addr $upstream_response_time [$time_local] "$request" $status "$http_user_agent" $upstream_status',
    `203.0.113.9 10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80 0.001, 0.002 : 0.003 [${T}] "GET / HTTP/1.1" 200 "Mozilla/5.0" 502, 200`,
    {},
    'nginx: lists of upstreams',
  ],
  [
    '$http_x_forwarded_for $remote_addr [$time_local] "$request" $status "$http_user_agent"',
    `198.51.100.1, 203.0.113.9 10.0.0.7 [${T}] "GET / HTTP/1.1" 200 "Mozilla/5.0"`,
    {},
    'nginx: a list and the proxy',
  ],
  [
    '$http_x_forwarded_for [$time_local] "$request" $status "$http_user_agent"',
    `203.0.113.9, 198.51.100.1 [${T}] "GET / HTTP/1.1" 200 "Mozilla/5.0"`,
    {},
    'nginx: a list alone',
  ],
  [
    '$remote_addr [$time_local] "$request" $status "$http_user_agent" "$http_accept_language" "$http_sec_fetch_mode" "$http_cookie" "$sent_http_content_type"',
    `203.0.113.9 [${T}] "GET / HTTP/1.1" 200 "Mozilla/5.0" "de,en" "-" "secret=1" "text/html"`,
    { requestHeaders: { 'accept-language': 'de,en' }, contentType: 'text/html' },
    'nginx: headers, without cookies',
  ],
  [
    '{"t":"$time_iso8601","a":"$remote_addr","r":"$request","s":$status,"u":"$http_user_agent"}',
    String.raw`{"t":"2026-11-06T10:11:12Z","a":"203.0.113.9","r":"GET /\"a\" HTTP/1.1","s":200,"u":"Mozilla\u00205.0"}`,
    { target: '/"a"', userAgent: 'Mozilla 5.0' },
    'nginx: JSON with unusual names',
  ],
  [
    '$server_name $remote_addr $remote_user [$time_local] "$request" $status "$http_user_agent"',
    `_ unix: - [${T}] "\\x16\\x03" 400 "-"`,
    { address: '', method: '', target: '', status: 400, userAgent: '' },
    'nginx: TLS on a socket',
  ],

  [
    'LogFormat "%v:%p %a %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\" \\"%{User-Agent}i\\" %D" vhost',
    `a.example:443 203.0.113.9 - - [${T}] "GET / HTTP/1.1" 200 5 "https://b.example/" "Mozilla/5.0" 21345`,
    { host: 'a.example', bytes: 5, referrer: 'https://b.example/', durationMs: 21.345 },
    'Apache: a directive, microseconds',
  ],
  [
    '%{%d/%b/%Y:%H:%M:%S}t.%{msec_frac}t %{%z}t %a "%m %U%q %H" %>s "%{User-Agent}i"',
    '06/Nov/2026:11:11:12.345 +0100 203.0.113.9 "GET /a?b HTTP/1.1" 200 "Mozilla/5.0"',
    { timestamp: BASE.timestamp + 345, target: '/a?b' },
    'Apache: the parts of a time',
  ],
  [
    '%{%F %T}t %a %m %U %q %>s "%{User-Agent}i" %{ms}T',
    '2026-11-06 10:11:12 203.0.113.9 GET /a ?b=1 200 "Mozilla/5.0" 21',
    { target: '/a?b=1', durationMs: 21 },
    'Apache: a time without a zone',
  ],
  [
    '%{sec}t %a "%r" %s "%{User-Agent}i" %{Accept-Language}i %T',
    `${SECONDS} 203.0.113.9 "GET / HTTP/1.1" 200 "Mozilla/5.0" de 2`,
    { requestHeaders: { 'accept-language': 'de' }, durationMs: 2000 },
    'Apache: seconds',
  ],
  [
    '%{usec}t %a "%r" %s "%{User-Agent}i" %{us}T %{X}e 100%%',
    `${SECONDS}345678 203.0.113.9 "GET / HTTP/1.1" 200 "Mozilla/5.0" 1500 x 100%`,
    { timestamp: BASE.timestamp + 345, durationMs: 1.5 },
    'Apache: microseconds',
  ],
  [
    '%{X-Forwarded-For}i %h %t "%r" %!304>s %{Host}i "%{User-Agent}i" %{Content-Type}o',
    `203.0.113.9 10.0.0.7 [${T}] "GET / HTTP/1.1" 200 a.example "Mozilla/5.0" text/html`,
    { host: 'a.example', contentType: 'text/html' },
    'Apache: after a proxy, with a condition',
  ],

  [
    '%v:%^ %h %^[%d:%t %^] "%r" %s %b "%R" "%u"',
    `a.example:80 203.0.113.9 - - [06/Nov/2026:05:11:12 -0500] "GET / HTTP/1.1" 200 5 "-" "Mozilla/5.0"`,
    { host: 'a.example', bytes: 5 },
    'GoAccess: virtual host; the zone that it skips is read',
  ],
  [
    '%d %t %^ %m %U %q %^ %^ %h %u %R %s %^ %^ %L',
    '2026-11-06 10:11:12 10.0.0.1 GET /a b=1 80 - 203.0.113.9 Mozilla/5.0 - 200 0 0 46',
    { target: '/a?b=1', durationMs: 46 },
    'GoAccess: W3C',
  ],
  [
    '%d\\t%t\\t%^\\t%b\\t%h\\t%m\\t%v\\t%U\\t%s\\t%R\\t%u\\t%q\\t%^',
    '2026-11-06\t10:11:12\tFRA\t5\t203.0.113.9\tGET\ta.example\t/\t200\t-\tMozilla/5.0\t-\tx',
    { bytes: 5, host: 'a.example' },
    'GoAccess: CloudFront, tabs',
  ],
  [
    '%^ %dT%t.%^ %v %h:%^ %^ %T %^ %^ %s %^ %b %^ "%r" "%u" %^',
    'https 2026-11-06T10:11:12.345Z lb 203.0.113.9:80 10.0.0.1:80 0.021 0 0 200 200 34 5 "GET http://a.example:80/ HTTP/1.1" "Mozilla/5.0" -',
    { host: 'lb', bytes: 34, durationMs: 21 },
    'GoAccess: a load balancer',
  ],
  [
    '%x %h "%r" %s "%u" %D',
    `1793959872.345 203.0.113.9 "GET / HTTP/1.1" 200 "Mozilla/5.0" 1500`,
    { timestamp: BASE.timestamp + 345, durationMs: 1.5 },
    'GoAccess: one field for the time',
  ],
  [
    '~h{, } %^[%d:%t %^] "%r" %s "%u"',
    `203.0.113.9, 10.0.0.7 - - [${T}] "GET / HTTP/1.1" 200 "Mozilla/5.0"`,
    {},
    'GoAccess: a forwarded list',
  ],
  [
    '%^[%d:%t %^] "%r" %s "%u" ~h{," } %^',
    `- - [${T}] "GET / HTTP/1.1" 200 "Mozilla/5.0" "203.0.113.9, 10.0.0.7" x`,
    {},
    'GoAccess: a forwarded list in quotes',
  ],
  [
    'log-format {"t":"%x","a":"%h","m":"%m","p":"%U","s":"%s","u":"%u","ty":"%M","n":"%n"}',
    '{"t":"2026-11-06T10:11:12Z","a":"203.0.113.9","m":"GET","p":"/","s":"200","u":"Mozilla/5.0","ty":"text/html","n":"1500000"}',
    { contentType: 'text/html', durationMs: 1.5 },
    'GoAccess: JSON',
  ],
]

t.test('custom formats, field by field', async (t) => {
  for (const [format, ...row] of CASES)
    checkTable(t, compileLogFormat(format), BASE, [
      row,
      [row[0].slice(0, 30), undefined, `${row[2]}: a cut line`],
      ['nothing of the kind', undefined, `${row[2]}: another line`],
    ])
  const local = compileLogFormat('%{%F %T}t %a "%r" %s').createParser({ zone: 'Europe/Berlin' })
  t.match(local('2026-11-06 11:11:12 203.0.113.9 "GET / HTTP/1.1" 200'), { timestamp: BASE.timestamp }, 'in a zone')
  const strange = compileLogFormat('%{%F %T}t %a "%r" %s').createParser({ zone: 'Europe/Berlin' })
  t.equal(strange('2026-xx-06 11:11:12 203.0.113.9 "GET / HTTP/1.1" 200'), undefined, 'no month')
  t.equal(strange(`2026-11-06 11:11:12 203.0.113.9 "GET /${'a'.repeat(70_000)} HTTP/1.1" 200`), undefined, 'too long')
})

t.test('a format can be a name', async (t) => {
  t.equal(compileLogFormat(' Combined ').name, 'combined')
  t.equal(compileLogFormat('cloudfront-json').name, 'cloudfront-json')
})

t.test('a fault of a format is named with its place', async (t) => {
  const FAULTS: readonly (readonly [format: string, message: RegExp])[] = [
    ['combinde', /"combinde" is neither a name .*did you mean combined\?/],
    ['whatever', /names are common, /],
    [
      '$remote_addr$status [$time_local] "$request"',
      /at character 13, \$status: nothing stands between \$remote_addr and \$status/,
    ],
    ['$remote_addr "$request" $status', /has no time/],
    ['%h %l %u %t %>s', /has no request/],
    ['%h %l %t "%r" %{X', /at character 15, %: is not a field of Apache/],
    ['%h [%d:%t %^] "%r" %Q', /at character 20, %Q: is not a field of GoAccess/],
    ['%{%Y %Q}t %h "%r"', /at character 1, %\{%Y %Q\}t: %Q of strftime is not supported/],
  ]
  for (const [format, message] of FAULTS) t.throws(() => compileLogFormat(format), { name: 'Error', message }, format)
})
