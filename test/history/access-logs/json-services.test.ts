import t from 'tap'
import { CLOUDFLARE, CLOUDFRONT_JSON, VERCEL } from '../../../src/history/access-logs/json.js'
import { BASE, BROKEN_JSON, change, checkTable, json, type Row } from './golden.js'

const time = '2026-11-06T10:11:12Z'
const cloudflare = change({
  ClientIP: '203.0.113.9',
  ClientRequestHost: 'example.com',
  ClientRequestMethod: 'GET',
  ClientRequestURI: '/a?b',
  ClientRequestReferer: 'https://a.example/',
  ClientRequestUserAgent: 'Mozilla/5.0',
  EdgeEndTimestamp: '2026-11-06T10:11:13Z',
  EdgeResponseBytes: 5,
  EdgeResponseStatus: 200,
  EdgeResponseContentType: 'text/html',
  EdgeStartTimestamp: time,
  RayID: '3a6050bcbe121a87',
})
const CLOUDFLARE_BASE = {
  ...BASE,
  target: '/a?b',
  host: 'example.com',
  bytes: 5,
  referrer: 'https://a.example/',
  contentType: 'text/html',
}
const CLOUDFLARE_ROWS: readonly Row[] = [
  [cloudflare({}), {}, 'rfc3339'],
  [cloudflare({ EdgeStartTimestamp: 1793959872 }), {}, 'unix'],
  [cloudflare({ EdgeStartTimestamp: 1793959872000000000 }), {}, 'unixnano'],
  [cloudflare({ EdgeStartTimestamp: '2026-11-06T10:11:12.345678Z' }), { timestamp: BASE.timestamp + 345 }, 'rfc3339ns'],
  [cloudflare({ ClientIP: '2001:db8::1' }), { address: '2001:db8::1' }, 'IPv6'],
  [cloudflare({ ClientRequestURI: undefined, ClientRequestPath: '/p' }), { target: '/p' }, 'the path alone'],
  [cloudflare({ EdgeResponseStatus: 0 }), { status: 0 }, 'the client left'],
  [cloudflare({ EdgeTimeToFirstByteMs: 12 }), { durationMs: 12 }, 'time to the first byte'],
  [
    cloudflare({ RequestHeaders: { 'accept-language': 'de' } }),
    { requestHeaders: { 'accept-language': 'de' } },
    'headers as custom fields',
  ],
  [cloudflare({ ClientRequestUserAgent: '' }), { userAgent: '' }, 'no user agent'],
  [cloudflare({ EdgeStartTimestamp: undefined, EdgeEndTimestamp: undefined }), undefined, 'no time'],
  ...BROKEN_JSON,
]

const proxy = {
  timestamp: 1793959872345,
  method: 'GET',
  host: 'my-app.vercel.app',
  path: '/dynamic/some-value.json?route=some-value',
  userAgent: ['Mozilla/5.0'],
  referer: '*.vercel.app',
  region: 'sfo1',
  statusCode: 200,
  clientIp: '203.0.113.9',
  scheme: 'https',
  vercelCache: 'MISS',
}
let requests = 0
const vercel = (keys: object, more: object = {}) =>
  json({
    id: '1',
    deploymentId: 'dpl_1',
    source: 'lambda',
    host: 'x.vercel.app',
    timestamp: 1793959872999,
    requestId: `r${requests++}`,
    statusCode: 200,
    proxy: { ...proxy, ...keys },
    ...more,
  })
const VERCEL_BASE = {
  ...BASE,
  timestamp: BASE.timestamp + 345,
  target: proxy.path,
  host: proxy.host,
  referrer: '*.vercel.app',
}
const VERCEL_ROWS: readonly Row[] = [
  [vercel({}), {}, 'a function'],
  [vercel({}, { requestId: 'r0', message: 'console.log' }), 'skip', 'a message of the same request'],
  [vercel({ responseByteSize: 1024 }, { source: 'static' }), { bytes: 1024 }, 'a file'],
  [vercel({ statusCode: -1 }), { status: 0 }, 'no response'],
  [vercel({ statusCode: undefined }), {}, 'the status of the line'],
  [vercel({ userAgent: [] }), { userAgent: '' }, 'no user agent'],
  [vercel({ userAgent: ['curl/8', 'x'] }), { userAgent: 'curl/8' }, 'several user agents'],
  [vercel({}, { requestId: undefined }), {}, 'no request id'],
  [vercel({ clientIp: '2001:db8::1', method: 'HEAD' }), { address: '2001:db8::1', method: 'HEAD' }, 'IPv6'],
  [
    json({ id: '2', deploymentId: 'dpl_1', source: 'build', timestamp: 1793959872999, message: 'npm ci' }),
    'skip',
    'a build',
  ],
  [vercel({ timestamp: undefined }), undefined, 'no time'],
  ...BROKEN_JSON,
]

const cloudfront = change({
  date: '2026-11-06',
  time: '10:11:12',
  'x-edge-location': 'FRA56-P1',
  'c-ip': '203.0.113.9',
  'cs-method': 'GET',
  'cs(Host)': 'd111111abcdef8.cloudfront.net',
  'cs-uri-stem': '/a',
  'cs-uri-query': 'b=c',
  'sc-status': '200',
  'sc-bytes': '5',
  'cs(Referer)': '-',
  'cs(User-Agent)': 'Mozilla/5.0%20(X11)',
  'x-host-header': 'www.example.com',
  'time-taken': '0.204',
})
const CLOUDFRONT_ROWS: readonly Row[] = [
  [cloudfront({}), {}, 'date and time'],
  [cloudfront({ 'timestamp(ms)': '1793959872345' }), { timestamp: BASE.timestamp + 345 }, 'milliseconds'],
  [
    cloudfront({ 'cs-uri-query': '-', 'x-host-header': undefined }),
    { target: '/a', host: 'd111111abcdef8.cloudfront.net' },
    'no query, no other host',
  ],
  [cloudfront({ 'sc-status': '000' }), { status: 0 }, 'the client left'],
  [cloudfront({ date: undefined }), undefined, 'no time'],
  ...BROKEN_JSON,
]

t.test('JSON of services, field by field', async (t) => {
  checkTable(t, CLOUDFLARE, CLOUDFLARE_BASE, CLOUDFLARE_ROWS)
  checkTable(t, VERCEL, VERCEL_BASE, VERCEL_ROWS)
  const base = {
    ...BASE,
    target: '/a?b=c',
    bytes: 5,
    host: 'www.example.com',
    userAgent: 'Mozilla/5.0 (X11)',
    durationMs: 204,
  }
  checkTable(t, CLOUDFRONT_JSON, base, CLOUDFRONT_ROWS)
})
