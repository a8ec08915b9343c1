import t from 'tap'
import { CADDY, NAMED_JSON, TRAEFIK_JSON } from '../../../src/history/access-logs/json.js'
import { BASE, BROKEN_JSON, change, checkTable, json, type Row } from './golden.js'

const time = '2026-11-06T10:11:12Z'

const nginx = change({
  time_iso8601: '2026-11-06T11:11:12+01:00',
  remote_addr: '203.0.113.9',
  request: 'GET /a?b=c HTTP/2.0',
  status: '404',
  body_bytes_sent: '5',
  http_referer: 'https://a.example/',
  http_user_agent: 'Mozilla/5.0',
  request_time: '0.021',
  http_host: 'www.example.com',
})
const NGINX_BASE = {
  ...BASE,
  target: '/a?b=c',
  status: 404,
  bytes: 5,
  referrer: 'https://a.example/',
  durationMs: 21,
  host: 'www.example.com',
  requestHeaders: { referer: 'https://a.example/', 'user-agent': 'Mozilla/5.0', host: 'www.example.com' },
}
const plain = change({
  timestamp: time,
  client_ip: '203.0.113.9',
  method: 'GET',
  url: '/',
  status: 200,
  user_agent: 'Mozilla/5.0',
})
const NAMED_ROWS: readonly Row[] = [
  [nginx({}), {}, 'nginx, escape=json'],
  [nginx({ msec: '1793959872.345' }), { timestamp: BASE.timestamp + 345 }, 'milliseconds count before whole seconds'],
  [nginx({ time_iso8601: undefined, time_local: '06/Nov/2026:12:11:12 +0200' }), {}, 'the common time'],
  [
    nginx({ time_iso8601: undefined, '@timestamp': '2026-11-06T10:11:12.5Z' }),
    { timestamp: BASE.timestamp + 500 },
    'Elastic’s name',
  ],
  [
    nginx({ request: undefined, request_method: 'POST', request_uri: '/x?y', uri: '/index.php' }),
    { method: 'POST', target: '/x?y' },
    'method and URI, before the rewritten one',
  ],
  [
    nginx({ request: undefined, request_method: 'GET', uri: '/x', args: 'y=1' }),
    { target: '/x?y=1' },
    'path and query',
  ],
  [nginx({ request: '' }), { method: '', target: '' }, 'no request'],
  [nginx({ request: '\u0016\u0003\u0001 x' }), { method: '', target: '' }, 'TLS'],
  [nginx({ status: 499, body_bytes_sent: 0 }), { status: 499, bytes: 0 }, 'numbers'],
  [
    nginx({ remote_addr: '10.0.0.7', http_x_forwarded_for: '198.51.100.1, 203.0.113.8, 10.0.0.3' }),
    {
      address: '203.0.113.8',
      requestHeaders: { ...NGINX_BASE.requestHeaders, 'x-forwarded-for': '198.51.100.1, 203.0.113.8, 10.0.0.3' },
    },
    'a proxy in a private network reports the client',
  ],
  [
    nginx({ http_accept_language: 'de', http_cookie: 'secret=1', http_sec_fetch_mode: 'navigate' }),
    { requestHeaders: { ...NGINX_BASE.requestHeaders, 'accept-language': 'de', 'sec-fetch-mode': 'navigate' } },
    'headers, without cookies',
  ],
]
const PLAIN_ROWS: readonly Row[] = [
  [plain({}), {}, 'usual names'],
  [
    json({
      timestamp: '2026-11-06T10:11:12+0000',
      client_ip: '203.0.113.9',
      host: 'a.example',
      url: '/',
      request_method: 'GET',
      request_protocol: 'HTTP/2',
      request_referer: '',
      request_user_agent: 'Mozilla/5.0',
      response_state: 'HIT',
      response_status: 200,
      response_body_size: 5,
    }),
    { host: 'a.example', bytes: 5 },
    'Fastly',
  ],
  [
    json({
      time_start: 1793959872000,
      time_elapsed: 1500,
      client_ip: '203.0.113.9',
      request: 'GET',
      url: '/',
      host: 'a.example',
      request_user_agent: 'Mozilla/5.0',
      response_status: 200,
    }),
    { host: 'a.example', durationMs: 1.5 },
    'Fastly with the method as `request`, in microseconds',
  ],
  [plain({ timestamp: 1793959872 }), {}, 'seconds'],
  [plain({ timestamp: 1793959872000 }), {}, 'milliseconds'],
  [plain({ timestamp: 1793959872000000 }), {}, 'microseconds'],
  [plain({ timestamp: '2026-11-06 10:11:12' }), {}, 'no zone is UTC'],
  [plain({ url: 'https://A.example:8443/x?y' }), { target: '/x?y', host: 'a.example' }, 'a whole URL'],
  [plain({ url: '/x?y=1', query_string: 'y=1' }), { target: '/x?y=1' }, 'a query that the URL has too'],
  [plain({ url: 'https://a.example?y' }), { target: '/?y', host: 'a.example' }, 'a whole URL without a path'],
  [plain({ client_ip: '[2001:db8::1]:4433' }), { address: '2001:db8::1' }, 'IPv6 with a port'],
  [
    plain({ client_ip: '198.51.100.1:80', user_agent: null }),
    { address: '198.51.100.1', userAgent: '' },
    'a port, no user agent',
  ],
  [
    plain({ client_ip: undefined, xff: '198.51.100.1, 10.0.0.1' }),
    { address: '198.51.100.1' },
    'only a forwarded list',
  ],
  [plain({ method: 'G E T' }), { method: '', target: '' }, 'not a method'],
  [plain({ method: undefined }), {}, 'no method'],
  [plain({ user_agent: ['A', 'B'] }), { userAgent: 'A' }, 'a list'],
  [plain({ status: 'ok' }), undefined, 'status is not a number'],
  [plain({ status: undefined }), undefined, 'no status'],
  [plain({ timestamp: 'yesterday' }), undefined, 'no time'],
  [plain({ url: undefined, method: undefined }), undefined, 'no request'],
  [json({ level: 'info', msg: 'started', time: '2026-11-06T10:11:12Z' }), undefined, 'a log of something else'],
  ...BROKEN_JSON,
]

const request = {
  remote_ip: '203.0.113.9',
  remote_port: '41342',
  client_ip: '203.0.113.9',
  proto: 'HTTP/2.0',
  method: 'GET',
  host: 'example.com',
  uri: '/a?b',
  headers: {
    'User-Agent': ['Mozilla/5.0'],
    'Accept-Language': ['de', 'en'],
    Cookie: ['REDACTED'],
    Referer: ['https://a.example/'],
  },
}
const caddy = change({
  level: 'info',
  ts: 1793959872.3450003,
  logger: 'http.log.access',
  msg: 'handled request',
  request,
  bytes_read: 0,
  duration: 0.000929675,
  size: 10900,
  status: 200,
  resp_headers: { Server: ['Caddy'], 'Content-Type': ['text/html; charset=utf-8'] },
})
const CADDY_BASE = {
  ...BASE,
  timestamp: BASE.timestamp + 345,
  target: '/a?b',
  host: 'example.com',
  bytes: 10900,
  referrer: 'https://a.example/',
  durationMs: 0.93,
  contentType: 'text/html; charset=utf-8',
  requestHeaders: { 'user-agent': 'Mozilla/5.0', 'accept-language': 'de, en', referer: 'https://a.example/' },
}
const CADDY_ROWS: readonly Row[] = [
  [caddy({}), {}, 'Caddy 2.7'],
  [`caddy-1  | ${caddy({})}`, {}, 'after Docker Compose'],
  [json({ log: `${caddy({})}\n`, stream: 'stderr', time: '2026-11-06T10:11:13Z' }), {}, 'as Docker stores it'],
  [caddy({ ts: '2026-11-06T10:11:12.345Z' }), {}, 'time_format iso8601'],
  [caddy({ ts: '2026/11/06 10:11:12.345' }), {}, 'time_format wall'],
  [caddy({ ts: 1793959872345 }), {}, 'time_format unix_milli_float'],
  [caddy({ ts: 1793959872345000000 }), {}, 'time_format unix_nano'],
  [
    caddy({ request: { ...request, client_ip: undefined, remote_ip: undefined, remote_addr: '203.0.113.9:41342' } }),
    {},
    'Caddy 2.4',
  ],
  [
    caddy({
      request: { ...request, client_ip: undefined, remote_ip: '::1', headers: { 'X-Forwarded-For': ['203.0.113.9'] } },
    }),
    { referrer: '', userAgent: '', requestHeaders: { 'x-forwarded-for': '203.0.113.9' } },
    'after a proxy on the same machine',
  ],
  [caddy({ request: { ...request, remote_ip: '10.0.0.1' } }), {}, 'client_ip counts before remote_ip'],
  [
    caddy({ request: { ...request, client_ip: '10.0.0.9', headers: { 'X-Forwarded-For': ['198.51.100.1'] } } }),
    { address: '10.0.0.9', referrer: '', userAgent: '', requestHeaders: { 'x-forwarded-for': '198.51.100.1' } },
    'client_ip is what Caddy believes, also with a list',
  ],
  [
    caddy({ request: { ...request, headers: {} } }),
    { referrer: '', userAgent: '', requestHeaders: undefined },
    'no headers',
  ],
  [caddy({ resp_headers: undefined, size: 0 }), { bytes: 0, contentType: undefined }, 'no response headers'],
  [caddy({ status: 0 }), { status: 0 }, 'the client left'],
  [caddy({ duration: '1.5ms' }), { durationMs: undefined }, 'a duration in words'],
  [json({ level: 'info', ts: 1793959872.3, logger: 'tls', msg: 'cleaning storage unit' }), 'skip', 'its other logs'],
  [json({ level: 'info', ts: 1793959872.3, msg: 'using config from file' }), 'skip', 'a line without a logger'],
  [
    json({ level: 'error', ts: 1793959872.3, logger: 'http.log.error', request: { uri: '/' }, status: 502 }),
    'skip',
    'its error log, which has the request a second time',
  ],
  [caddy({ ts: undefined }), undefined, 'no time'],
  [caddy({ status: undefined }), undefined, 'no status'],
  ...BROKEN_JSON,
]

const traefik = change({
  ClientAddr: '203.0.113.9:54262',
  ClientHost: '203.0.113.9',
  DownstreamContentSize: 5,
  DownstreamStatus: 200,
  Duration: 26000000,
  RequestAddr: 'example.com:443',
  RequestHost: 'example.com',
  RequestMethod: 'GET',
  RequestPath: '/a?b',
  RequestProtocol: 'HTTP/2.0',
  StartUTC: '2026-11-06T10:11:12.345678901Z',
  level: 'info',
  msg: '',
  'request_User-Agent': 'Mozilla/5.0',
  request_Referer: 'https://a.example/',
  'downstream_Content-Type': 'text/html',
})
const TRAEFIK_BASE = {
  ...BASE,
  timestamp: BASE.timestamp + 345,
  target: '/a?b',
  host: 'example.com',
  bytes: 5,
  referrer: 'https://a.example/',
  durationMs: 26,
  contentType: 'text/html',
  requestHeaders: { 'user-agent': 'Mozilla/5.0', referer: 'https://a.example/' },
}
const TRAEFIK_ROWS: readonly Row[] = [
  [traefik({}), {}, 'with headers kept'],
  [
    traefik({ 'request_User-Agent': undefined, request_Referer: undefined }),
    { userAgent: '', referrer: '', requestHeaders: undefined },
    'by default without headers',
  ],
  [traefik({ ClientHost: '2001:db8::1' }), { address: '2001:db8::1' }, 'IPv6'],
  [traefik({ ClientHost: undefined }), {}, 'ClientAddr alone'],
  [traefik({ RequestHost: undefined }), {}, 'RequestAddr alone'],
  [
    traefik({ ClientHost: '172.18.0.1', 'request_X-Forwarded-For': '203.0.113.9' }),
    { requestHeaders: { ...TRAEFIK_BASE.requestHeaders, 'x-forwarded-for': '203.0.113.9' } },
    'after a proxy',
  ],
  [traefik({ DownstreamStatus: 0, OriginStatus: 0 }), { status: 0 }, 'no response'],
  [traefik({ StartUTC: undefined, time: '2026-11-06T10:11:13Z' }), { timestamp: BASE.timestamp + 1000 }, 'no start'],
  [json({ level: 'info', msg: 'Configuration loaded', time: '2026-11-06T10:11:12Z' }), 'skip', 'its other logs'],
  [traefik({ RequestMethod: undefined, RequestPath: undefined, msg: undefined }), undefined, 'no request'],
  ...BROKEN_JSON,
]

t.test('JSON of servers, field by field', async (t) => {
  checkTable(t, NAMED_JSON, NGINX_BASE, NAMED_ROWS)
  checkTable(t, NAMED_JSON, BASE, PLAIN_ROWS)
  checkTable(t, CADDY, CADDY_BASE, CADDY_ROWS)
  checkTable(t, TRAEFIK_JSON, TRAEFIK_BASE, TRAEFIK_ROWS)
})
