import t from 'tap'
import { CLOUDFRONT, W3C } from '../../../src/history/access-logs/columns.js'
import { AWS_ALB, HAPROXY, TRAEFIK } from '../../../src/history/access-logs/load-balancers.js'
import { BASE, BROKEN_TEXT, checkTable, type Row } from './golden.js'

const IIS_FIELDS =
  '#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken'
const iis = (start: string, rest: string) => `2026-11-06 10:11:12 192.168.1.15 ${start} 443 - 203.0.113.9 ${rest}`
const W3C_ROWS: readonly Row[] = [
  [
    '2026-11-06 10:11:12 192.168.1.15 GET / - 443 - 203.0.113.9 Mozilla/5.0 - 200 0 0 46',
    undefined,
    'before any header',
  ],
  ['#Software: Microsoft Internet Information Services 10.0', 'skip', 'header'],
  ['#Version: 1.0', 'skip', 'header'],
  ['#Date: 2026-11-06 00:00:00', 'skip', 'header'],
  [IIS_FIELDS, 'skip', 'header'],
  [iis('GET / -', 'Mozilla/5.0 - 200 0 0 46'), {}, 'a plain line'],
  [
    iis(
      'GET /a.aspx b=c&d=%20',
      'Mozilla/5.0+(compatible;+Googlebot/2.1;++http://www.google.com/bot.html) https://a.example/?x+y 404 0 2 46',
    ),
    {
      target: '/a.aspx?b=c&d=%20',
      userAgent: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
      referrer: 'https://a.example/?x y',
      status: 404,
    },
    'spaces as plus, and a real plus',
  ],
  [
    iis('GET / -', 'Slackbot+1.0+(+https://api.slack.com/robots) - 200 0 0 46'),
    { userAgent: 'Slackbot 1.0 (+https://api.slack.com/robots)' },
    'a plus before a URL',
  ],
  [iis('GET / -', '- - 200 0 0 46'), { userAgent: '' }, 'no user agent'],
  [iis('POST /form -', 'Mozilla/5.0 - 302 0 0 46'), { method: 'POST', target: '/form', status: 302 }, 'POST'],
  [iis('- - -', 'Mozilla/5.0 - 400 0 0 46'), { method: '', target: '', status: 400 }, 'no request'],
  [
    '2026-11-06 10:11:12 ::1 GET / - 443 anna 2001:db8::1 Mozilla/5.0 - 200 0 0 46',
    { address: '2001:db8::1' },
    'IPv6, a user',
  ],
  [iis('GET /', 'Mozilla'), undefined, 'cut'],
  [iis('GET / -', 'Mozilla/5.0 - abc 0 0 46'), undefined, 'no status'],
  ['2026-13-06 10:11:12 192.168.1.15 GET / - 443 - 203.0.113.9 Mozilla/5.0 - 200 0 0 46', undefined, 'no month'],
  [
    '#Fields: time c-ip cs-method cs-uri-stem sc-status sc-bytes cs-host cs(User-Agent) cs(X-Forwarded-For)',
    'skip',
    'other columns from here, the date in #Date',
  ],
  [
    '10:11:12 203.0.113.9 GET /b 200 5 www.example.com Mozilla/5.0 -',
    { target: '/b', bytes: 5, host: 'www.example.com', durationMs: undefined },
    'columns by name',
  ],
  [
    '10:11:12 10.0.0.7 GET /b 200 5 www.example.com:8080 Mozilla/5.0 198.51.100.4:51234',
    { address: '198.51.100.4', target: '/b', bytes: 5, host: 'www.example.com', durationMs: undefined },
    'after a load balancer',
  ],
  ['10:11:12 203.0.113.9 GET /b 200 5', undefined, 'cut'],
  ['#Software: Apache Tomcat', 'skip', 'another server'],
  ['#Fields: date time c-ip cs-method cs-uri sc-status time-taken cs(User-Agent)', 'skip', 'its columns'],
  ['2026-11-06 10:11:12 203.0.113.9 GET /c?d 200 0.046 Mozilla/5.0', { target: '/c?d' }, 'seconds'],
  ['#Remark: x', 'skip', 'comment'],
  ['\0\u0001', undefined, 'binary'],
]

const TABS = (text: string) => text.replaceAll(' ', '\t')
const cf = (start: string, rest: string) =>
  TABS(
    `2026-11-06 10:11:12 FRA56-P1 5 203.0.113.9 ${start} ${rest} - Hit abc== www.example.com https 23 0.204 - TLSv1.3`,
  )
const CLOUDFRONT_ROWS: readonly Row[] = [
  [cf('GET d1.cloudfront.net /a 200 -', 'Mozilla/5.0 b=c'), { target: '/a?b=c' }, 'no header: the columns by default'],
  ['#Version: 1.0', 'skip', 'header'],
  [
    '#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol',
    'skip',
    'header',
  ],
  [cf('GET d1.cloudfront.net / 200 -', 'Mozilla/5.0 -'), {}, 'a plain line'],
  [
    cf('GET d1.cloudfront.net / 200 https://a.example/x%2520y', 'Slackbot%201.0%20(+https://api.slack.com/robots) -'),
    { referrer: 'https://a.example/x y', userAgent: 'Slackbot 1.0 (+https://api.slack.com/robots)' },
    'percent-encoding',
  ],
  [
    cf('GET d1.cloudfront.net / 200 -', 'Mozilla/5.0%2520(X11) -'),
    { userAgent: 'Mozilla/5.0 (X11)' },
    'double encoding of old logs',
  ],
  [cf('GET d1.cloudfront.net / 200 -', '100%zz -'), { userAgent: '100%zz' }, 'not an encoding'],
  [cf('GET d1.cloudfront.net / 000 -', '- -'), { status: 0, userAgent: '' }, 'the client left'],
  [
    cf('GET d1.cloudfront.net / 200 -', 'Mozilla/5.0 -').replace('203.0.113.9', '2001:db8::1'),
    { address: '2001:db8::1' },
    'IPv6',
  ],
  [
    cf('GET d1.cloudfront.net /k%C3%A4se 403 -', 'Mozilla/5.0 -'),
    { target: '/k%C3%A4se', status: 403 },
    'a path stays encoded',
  ],
  ['2026-11-06\t10:11:12\tFRA56', undefined, 'cut'],
  [cf('GET d1.cloudfront.net / 200 -', 'Mozilla/5.0 -').replaceAll('\t', ' '), undefined, 'no tabs'],
  [
    TABS(
      'timestamp(ms) c-ip cs-method cs-uri-stem cs-uri-query sc-status sc-bytes cs(User-Agent) cs(Referer) x-host-header time-taken x-edge-location',
    ),
    undefined,
    'no header',
  ],
]
const CHOSEN_ROWS: readonly Row[] = [
  [
    `#Fields: ${'timestamp(ms) c-ip cs-method cs-uri-stem cs-uri-query sc-status sc-bytes cs(User-Agent) x-host-header x-edge-location'}`,
    'skip',
    'columns that an operator chose',
  ],
  [TABS('1793959872345 203.0.113.9 GET / - 200 5 Mozilla/5.0 www.example.com FRA56'), {}, 'milliseconds'],
  [
    TABS('date time c-ip cs-method cs-uri-stem sc-status sc-bytes cs(User-Agent) x-host-header x-edge-location'),
    'skip',
    'a header without #Fields',
  ],
  [
    TABS('2026-11-06 10:11:12 203.0.113.9 GET / 200 5 Mozilla/5.0 www.example.com FRA56'),
    { timestamp: BASE.timestamp },
    'its columns',
  ],
]

const alb = (client: string, rest: string) =>
  `https 2026-11-06T10:11:13.186641Z app/my-loadbalancer/50dc6c495c0c9188 ${client} 10.0.0.1:80 0.000 0.021 0.001 ${rest} ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337262-36d228ad5d99923122bbe354" "www.example.com" "arn:aws:acm:us-east-2:1:certificate/1" 1 2026-11-06T10:11:12.345000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`
const GET = '"GET https://www.example.com:443/a?b HTTP/1.1"'
const ALB_ROWS: readonly Row[] = [
  [alb('203.0.113.9:2817', `200 200 34 366 ${GET} "Mozilla/5.0"`), {}, 'a plain line'],
  [alb('[2001:db8::1]:2817', `200 200 34 366 ${GET} "Mozilla/5.0"`), { address: '2001:db8::1' }, 'IPv6 in brackets'],
  [alb('2001:db8::1:2817', `200 200 34 366 ${GET} "Mozilla/5.0"`), { address: '2001:db8::1' }, 'IPv6 without brackets'],
  [
    alb('203.0.113.9:2817', `502 - 34 366 ${GET} "-"`).replace('0.000 0.021 0.001', '5.000 -1 -1'),
    { status: 502, userAgent: '', durationMs: undefined },
    'no target',
  ],
  [
    alb('203.0.113.9:2817', `460 - 34 0 ${GET} "curl/7.46.0"`),
    { status: 460, bytes: 0, userAgent: 'curl/7.46.0' },
    'the client left',
  ],
  [
    alb('203.0.113.9:2817', '400 - 0 272 "- http://my-lb.example:80- -" "-"'),
    { method: '', target: '', host: undefined, status: 400, bytes: 272, userAgent: '' },
    'no request',
  ],
  [alb('203.0.113.9:2817', String.raw`200 200 34 366 ${GET} "A \x22q\x22"`), { userAgent: 'A "q"' }, 'escapes'],
  [
    alb('203.0.113.9:2817', `- - 34 366 ${GET} "Mozilla/5.0"`).replace('https ', 'wss '),
    { status: 0 },
    'a WebSocket without a status',
  ],
  [
    `2026-11-06T10:11:12.345000Z my-lb 203.0.113.9:2817 10.0.0.1:80 0.000073 0.021048 0.000057 200 200 0 366 ${GET} "Mozilla/5.0" - -`,
    { durationMs: 21 },
    'the classic balancer',
  ],
  [
    '2026-11-06T10:11:12.345000Z my-lb 203.0.113.9:2817 10.0.0.1:80 0.001 0.000028 0.000041 - - 82 305 "- - - " "-" - -',
    'skip',
    'the classic balancer, TCP: no request',
  ],
  [alb('203.0.113.9:2817', `200 200 34 366 ${GET} "Mozi`).slice(0, 200), undefined, 'cut'],
  [
    alb('203.0.113.9:2817', `200 200 34 366 ${GET} "Mozilla/5.0"`)
      .replace('2026-11-06T10:11:13.186641Z', 'x')
      .replace('2026-11-06T10:11:12.345000Z', 'y'),
    undefined,
    'no time',
  ],
  ['https a b c d e f g h i j k l m n o p', undefined, 'words'],
  ['', 'skip', 'blank'],
]

const traefik = (rest: string) => `203.0.113.9 - - [06/Nov/2026:10:11:12 +0000] "GET / HTTP/1.1" 200 5 ${rest}`
const TRAEFIK_ROWS: readonly Row[] = [
  [traefik('"-" "Mozilla/5.0" 17 "web@docker" "http://172.18.0.2:80" 5ms'), {}, 'a plain line'],
  [
    traefik('"https://a.example/" "Mozilla/5.0" 18 "-" "-" 0ms'),
    { referrer: 'https://a.example/', durationMs: 0 },
    'no router',
  ],
  [traefik('"-" "-" 19 "web@file" "-" 1234ms'), { userAgent: '', durationMs: 1234 }, 'no user agent'],
  [traefik('"-" "Mozilla/5.0"'), undefined, 'combined'],
  [traefik('"-" "Mozilla/5.0" 17 "web@docker" "http://172.18.0.2'), undefined, 'cut'],
]

const haproxy = (rest: string, client = '203.0.113.9:33317') =>
  `${client} [06/Nov/2026:10:11:12.655] http-in static/srv1 ${rest}`
const TIMES = '10/0/30/69/109 200 5 - - ---- 1/1/1/1/0 0/0'
const SYSLOG = 'Nov  6 11:11:12 localhost haproxy[14389]: '
const HAPROXY_ROWS: readonly Row[] = [
  [SYSLOG + haproxy(`${TIMES} {example.com} {} "GET /index.html HTTP/1.1"`), {}, 'after syslog'],
  [
    `<134>1 2026-11-06T10:11:13Z lb haproxy 14389 - - ${haproxy(`${TIMES} {example.com} {} "GET /index.html HTTP/1.1"`)}`,
    {},
    'after syslog of RFC 5424',
  ],
  [haproxy(`${TIMES} "GET /index.html HTTP/1.1"`), { host: undefined }, 'no captures'],
  [
    haproxy(
      `${TIMES} {example.com:443|https://a.example/x|Mozilla/5.0 (X11; Linux)} {nginx} "GET /index.html HTTP/1.1"`,
    ),
    { referrer: 'https://a.example/x', userAgent: 'Mozilla/5.0 (X11; Linux)' },
    'captures by their form',
  ],
  [
    haproxy(
      `${TIMES} {Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)||example.com} "GET /index.html HTTP/1.1"`,
    ),
    { userAgent: 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)' },
    'in another order, one empty',
  ],
  [
    haproxy(`${TIMES} {example.com|198.51.100.3} "GET /index.html HTTP/1.1"`, '10.0.0.7:5'),
    { address: '198.51.100.3' },
    'X-Forwarded-For after a proxy',
  ],
  [
    haproxy(`${TIMES} {example.com} {} "GET https://other.example/index.html HTTP/2.0"`),
    {},
    'absolute form of HTTP/2; the captured host counts',
  ],
  [
    haproxy('10/0/30/69/+109 200 +5 - - ---- 1/1/1/1/0 0/0 {example.com} {} "GET /index.html HTTP/1.1"'),
    {},
    'logged as soon as possible',
  ],
  [
    haproxy('-1/-1/-1/-1/5007 408 212 - - cR-- 2/2/0/0/0 0/0 "<BADREQ>"').replace('static/srv1', 'http-in/<NOSRV>'),
    { method: '', target: '', host: undefined, status: 408, bytes: 212, durationMs: 5007 },
    'no request',
  ],
  [
    haproxy('10/0/-1/-1/109 -1 0 - - CC-- 1/1/1/1/0 0/0 {example.com} {} "GET /index.html HTTP/1.1"'),
    { status: 0, bytes: 0 },
    'the client left',
  ],
  [haproxy(`${TIMES} {example.com} {} "GET /#22a#E2#82#AC HTTP/1.1"`), { target: '/"a€' }, 'HAProxy’s escapes'],
  [
    haproxy(
      `${TIMES} {example.com} {} "GET /index.html HTTP/1.1" 0/0000000000000000/0/0/0 example.com/TLSv1.3/TLS_AES_256_GCM_SHA384`,
    ),
    {},
    'httpslog',
  ],
  [haproxy(`${TIMES} {example.com} {} "GET /very-lo`), { target: '/very-lo' }, 'cut by syslog after everything else'],
  [
    haproxy(`${TIMES} {example.com} {} "GET /index.html HTTP/1.1"`, '2001:db8::1:33317'),
    { address: '2001:db8::1' },
    'IPv6',
  ],
  [haproxy(`${TIMES} {example.com} {} "GET /index.html HTTP/1.1"`, 'unix:1'), { address: '' }, 'a UNIX socket'],
  [`${SYSLOG}Proxy http-in started.`, 'skip', 'a message of the server'],
  [haproxy('1/1/1 200 5').replace('static/srv1', 'static'), undefined, 'the TCP format'],
  [haproxy(`${TIMES} {exa`), undefined, 'cut'],
]

t.test('formats of columns and load balancers, field by field', async (t) => {
  checkTable(t, W3C, { ...BASE, durationMs: 46 }, [...W3C_ROWS, ...BROKEN_TEXT])
  const cloudfront = { ...BASE, host: 'www.example.com', bytes: 5, durationMs: 204 }
  checkTable(t, CLOUDFRONT, cloudfront, [...CLOUDFRONT_ROWS, ...BROKEN_TEXT])
  const { durationMs: _, ...chosen } = { ...cloudfront, timestamp: BASE.timestamp + 345 }
  checkTable(t, CLOUDFRONT, chosen, [...CHOSEN_ROWS, ...BROKEN_TEXT])
  const balanced = {
    ...BASE,
    timestamp: BASE.timestamp + 345,
    host: 'www.example.com',
    target: '/a?b',
    bytes: 366,
    durationMs: 22,
  }
  checkTable(t, AWS_ALB, balanced, [...ALB_ROWS, ...BROKEN_TEXT])
  checkTable(t, TRAEFIK, { ...BASE, bytes: 5, durationMs: 5 }, [...TRAEFIK_ROWS, ...BROKEN_TEXT])
  const proxied = {
    ...BASE,
    timestamp: BASE.timestamp + 655,
    host: 'example.com',
    target: '/index.html',
    bytes: 5,
    userAgent: '',
    durationMs: 109,
  }
  checkTable(t, HAPROXY, proxied, [...HAPROXY_ROWS, ...BROKEN_TEXT])
})
