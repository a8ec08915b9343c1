import fc from 'fast-check'
import t from 'tap'
import { compileLogFormat } from '../../../src/history/access-logs/custom-format.js'
import { detectFormat } from '../../../src/history/access-logs/detect.js'
import { LOG_FORMATS } from '../../../src/history/access-logs/formats.js'

const T = '[06/Nov/2026:10:11:12 +0000] "GET / HTTP/1.1" 200 5'
const common = `203.0.113.9 - - ${T}`
const combined = `${common} "-" "Mozilla/5.0"`
const vhost = `example.com:443 ${combined}`
const noise = 'upstream timed out (110: Connection timed out)'
const iis = '#Fields: date time c-ip cs-method cs-uri-stem sc-status cs(User-Agent)'
const times = (count: number, line: string): string[] => Array(count).fill(line)

const CASES: readonly (readonly [lines: string[], name: string | undefined, share: number, why: string])[] = [
  [times(3, common), 'common', 1, 'common'],
  [times(3, combined), 'combined', 1, 'combined'],
  [[...times(4, common), combined], 'combined', 1, 'common with some combined keeps the user agents'],
  [times(3, `${combined} 0.004 "a"`), 'combined', 1, 'combined with more fields'],
  [times(3, `${combined} 17 "web@docker" "http://172.18.0.2:80" 5ms`), 'traefik', 1, 'Traefik’s common format'],
  [times(3, vhost), 'vhost_combined', 1, 'virtual hosts'],
  [times(3, `example.com ${combined}`), 'vhost_combined', 1, 'virtual hosts without ports'],
  [times(3, combined.replace('- -', '- anna lee')), 'combined', 1, 'a user with a space is not a virtual host'],
  [[...times(3, combined), ...times(2, vhost), noise], 'combined', 0.5, 'most lines win'],
  [[...times(2, combined), ...times(3, noise)], undefined, 0, 'below half'],
  [[iis, ...times(3, '2026-11-06 10:11:12 203.0.113.9 GET / 200 Mozilla/5.0')], 'w3c', 1, 'W3C with its header'],
  [times(3, '2026-11-06 10:11:12 203.0.113.9 GET / 200 Mozilla/5.0'), undefined, 0, 'W3C without a header'],
  [
    [
      '{"ts":1793959872.1,"logger":"tls","msg":"x"}',
      '{"ts":1793959872.1,"logger":"http.log.access","request":{"method":"GET","uri":"/"},"status":200}',
    ],
    'caddy',
    1,
    'Caddy among its other logs',
  ],
  [
    ['{"time":"2026-11-06T10:11:12Z","remote_addr":"203.0.113.9","request":"GET / HTTP/1.1","status":200}'],
    'json',
    1,
    'JSON of nginx',
  ],
  [
    [
      '{"StartUTC":"2026-11-06T10:11:12Z","ClientHost":"203.0.113.9","RequestMethod":"GET","RequestPath":"/","DownstreamStatus":200}',
    ],
    'traefik-json',
    1,
    'Traefik’s JSON',
  ],
  [
    [
      '{"EdgeStartTimestamp":1793959872,"ClientIP":"203.0.113.9","ClientRequestMethod":"GET","ClientRequestURI":"/","EdgeResponseStatus":200}',
    ],
    'cloudflare',
    1,
    'Cloudflare',
  ],
  [
    ['{"deploymentId":"d","proxy":{"timestamp":1793959872000,"method":"GET","path":"/","statusCode":200}}'],
    'vercel',
    1,
    'Vercel',
  ],
  [
    [
      '{"date":"2026-11-06","time":"10:11:12","c-ip":"203.0.113.9","cs-method":"GET","cs-uri-stem":"/","sc-status":"200"}',
    ],
    'cloudfront-json',
    1,
    'CloudFront’s JSON',
  ],
  [
    ['203.0.113.9:1 [06/Nov/2026:10:11:12.655] a b/c 1/0/3/6/9 200 5 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1"'],
    'haproxy',
    1,
    'HAProxy',
  ],
  [
    [
      '2026-11-06T10:11:12.345Z lb 203.0.113.9:1 10.0.0.1:80 0.1 0.2 0.3 200 200 0 5 "GET http://a.example:80/ HTTP/1.1" "Mozilla/5.0" - -',
    ],
    'alb',
    1,
    'a load balancer of AWS',
  ],
  [[], undefined, 0, 'no lines'],
  [['', '#x'], undefined, 0, 'nothing but blank lines and comments'],
  [times(3, noise), undefined, 0, 'an error log'],
]

t.test('the format that most lines have is detected', async (t) => {
  for (const [lines, name, share, why] of CASES) {
    const found = detectFormat(lines)
    t.strictSame([found?.format.name, found?.share ?? 0], [name, share], why)
  }
  t.equal(
    detectFormat([...times(28, combined), noise, noise])?.because,
    '28 of 30 lines have an address, a time in brackets, a request in quotes, a referrer and a user agent',
  )
})

t.test('no line makes a parser throw', async (t) => {
  const samples = [...CASES.flatMap(([lines]) => lines), `2026-11-06 10:11:12 ${combined}`, `203.0.113.9 [${T}`]
  const line = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    // Real lines with a piece replaced or cut: these reach further into the parsers.
    fc
      .tuple(fc.constantFrom(...samples), fc.nat(400), fc.nat(20), fc.string({ unit: 'binary', maxLength: 8 }))
      .map(([text, at, length, piece]) => text.slice(0, at) + piece + text.slice(at + length)),
  )
  const custom = [
    '%{%F %T}t %h %l %u %t "%r" %>s %b "%{User-agent}i"',
    '%h %^[%d:%t %^] "%r" %s %b "%R" "%u"',
    '~h{, } [%x] "%r"',
    '$remote_addr - $remote_user [$time_local] "$request" $status $upstream_response_time $http_user_agent',
  ].map(compileLogFormat)
  const parsers = [...LOG_FORMATS, ...custom].map((format) => format.createParser({ zone: 'Europe/Berlin' }))
  fc.assert(
    fc.property(line, (text) => {
      for (const parse of parsers) {
        const entry = parse(text)
        if (typeof entry !== 'object') continue
        if (!Number.isFinite(entry.timestamp) || !(entry.status >= 0 && entry.status < 1000)) return false
        if ((entry.method === '') !== (entry.target === '') && entry.method === '') return false
      }
      return true
    }),
    { numRuns: 5_000 },
  )
  t.ok(parsers.length > 10)
})
