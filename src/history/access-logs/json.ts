import { defineJsonFormat, objectAt, readHeaders } from './json-shape.js'

/** Caddy (2.0 and later); its other log lines are skipped. */
export const CADDY = defineJsonFormat({
  name: 'caddy',
  title: 'Caddy, JSON',
  traits: 'are JSON with Caddy’s `request`, `status` and `ts`',
  time: ['ts'],
  texts: {
    address: ['request.client_ip', 'request.remote_ip', 'request.remote_addr'],
    forwarded: ['request.headers.X-Forwarded-For'],
    host: ['request.host'],
    method: ['request.method'],
    target: ['request.uri'],
    status: ['status'],
    bytes: ['size'],
    referrer: ['request.headers.Referer'],
    userAgent: ['request.headers.User-Agent'],
    contentType: ['resp_headers.Content-Type'],
  },
  durations: { duration: 1000 },
  headers: (line) => readHeaders(objectAt(line, 'request')?.headers),
  adjust(raw, line) {
    // Caddy 2.5 and later say which address they believe.
    if (typeof objectAt(line, 'request')?.client_ip === 'string') raw.forwarded = undefined
    // A log without `ts` and `status` is another JSON that happens to have a `request`.
    if (line.ts === undefined || line.status === undefined) raw.time = Number.NaN
  },
  // Its error log has the requests that failed a second time; lines about the server itself may have no logger.
  createSkip: () => (line) =>
    line.ts !== undefined &&
    (line.request === undefined
      ? line.logger !== undefined || (line.level !== undefined && line.msg !== undefined)
      : String(line.logger).startsWith('http.log.error')),
})

/** Traefik; what it logs about itself is skipped. Headers are only there if `accessLog.fields` keeps them. */
export const TRAEFIK_JSON = defineJsonFormat({
  name: 'traefik-json',
  title: 'Traefik, JSON',
  traits: 'are JSON with Traefik’s `ClientHost`, `RequestPath` and `DownstreamStatus`',
  time: ['StartUTC', 'time'],
  texts: {
    address: ['ClientHost', 'ClientAddr'],
    forwarded: ['request_X-Forwarded-For'],
    host: ['RequestHost', 'RequestAddr'],
    method: ['RequestMethod'],
    target: ['RequestPath'],
    status: ['DownstreamStatus', 'OriginStatus'],
    bytes: ['DownstreamContentSize', 'OriginContentSize'],
    referrer: ['request_Referer'],
    userAgent: ['request_User-Agent'],
    contentType: ['downstream_Content-Type', 'origin_Content-Type'],
  },
  durations: { Duration: 1e-6 },
  headers: (line) => readHeaders(line, 'request_'),
  createSkip: () => (line) => line.RequestMethod === undefined && line.msg !== undefined && line.level !== undefined,
})

/** Cloudflare Logpush, dataset `http_requests`, in any of its timestamp formats. */
export const CLOUDFLARE = defineJsonFormat({
  name: 'cloudflare',
  title: 'Cloudflare Logpush, HTTP requests',
  traits: 'are JSON with Cloudflare’s `ClientIP`, `ClientRequestURI` and `EdgeStartTimestamp`',
  time: ['EdgeStartTimestamp', 'EdgeEndTimestamp'],
  texts: {
    address: ['ClientIP'],
    host: ['ClientRequestHost'],
    method: ['ClientRequestMethod'],
    target: ['ClientRequestURI', 'ClientRequestPath'],
    status: ['EdgeResponseStatus'],
    bytes: ['EdgeResponseBodyBytes', 'EdgeResponseBytes'],
    referrer: ['ClientRequestReferer'],
    userAgent: ['ClientRequestUserAgent'],
    contentType: ['EdgeResponseContentType'],
  },
  durations: { EdgeTimeToFirstByteMs: 1 },
  headers: (line) => readHeaders(line.RequestHeaders),
})

/**
 * Vercel's log drain. A function writes one line for each of its messages with the same request, of which the first
 * counts; lines of builds have no request.
 */
export const VERCEL = defineJsonFormat({
  name: 'vercel',
  title: 'Vercel log drain',
  traits: 'are JSON with Vercel’s `deploymentId` and `proxy`',
  time: ['proxy.timestamp'],
  texts: {
    address: ['proxy.clientIp'],
    host: ['proxy.host'],
    method: ['proxy.method'],
    target: ['proxy.path'],
    status: ['proxy.statusCode', 'statusCode'],
    bytes: ['proxy.responseByteSize'],
    referrer: ['proxy.referer'],
    userAgent: ['proxy.userAgent'],
  },
  createSkip() {
    const recent = new Set<unknown>()
    return (line) => {
      if (line.deploymentId === undefined) return false
      if (line.proxy === undefined || (line.requestId !== undefined && recent.has(line.requestId))) return true
      if (recent.size >= MAX_RECENT_REQUESTS) recent.clear()
      if (line.requestId !== undefined) recent.add(line.requestId)
      return false
    }
  },
})
const MAX_RECENT_REQUESTS = 10_000

/** CloudFront standard logging v2 in its format `json`: the names of the columns are the keys. */
export const CLOUDFRONT_JSON = defineJsonFormat({
  name: 'cloudfront-json',
  title: 'CloudFront standard log, JSON',
  traits: 'are JSON with CloudFront’s `c-ip`, `cs-method` and `cs-uri-stem`',
  time: ['timestamp(ms)', 'timestamp'],
  texts: {
    address: ['c-ip'],
    host: ['x-host-header', 'cs(Host)'],
    method: ['cs-method'],
    target: ['cs-uri-stem'],
    query: ['cs-uri-query'],
    status: ['sc-status'],
    bytes: ['sc-bytes'],
    referrer: ['cs(Referer)'],
    userAgent: ['cs(User-Agent)'],
    contentType: ['sc-content-type'],
  },
  durations: { 'time-taken': 1000 },
  adjust(raw, line) {
    if (Number.isNaN(raw.time)) raw.time = Date.parse(`${line.date}T${line.time}Z`)
    raw.userAgent = decodePercent(raw.userAgent)
    if (raw.method === undefined) raw.target = undefined
  },
})

/** Undoes the percent-encoding of CloudFront, which is double for user agents in older logs. */
export function decodePercent(text: string | undefined): string | undefined {
  let decoded = text
  for (let round = 0; round < 2 && decoded?.includes('%'); round++)
    try {
      decoded = decodeURIComponent(decoded)
    } catch {
      return decoded
    }
  return decoded
}

/**
 * JSON whose fields an operator named: nginx's `log_format … escape=json`, Fastly, HAProxy and others. The names are those
 * of nginx's variables and of the examples in their documentation.
 */
export const NAMED_JSON = defineJsonFormat({
  name: 'json',
  title: 'JSON with the usual names (nginx, Fastly)',
  traits: 'are JSON with a time, a request and a status under usual names',
  time: [
    'msec',
    'time_iso8601',
    'time_local',
    '@timestamp',
    'timestamp',
    'time',
    'ts',
    'time_start',
    'start_time',
    'datetime',
    'event_datetime',
    'date',
    'request_time_iso8601',
  ],
  texts: {
    address: [
      'remote_addr',
      'client_ip',
      'clientip',
      'clientIp',
      'client_addr',
      'client',
      'remote_ip',
      'remoteIp',
      'remote_address',
      'remoteAddr',
      'ip',
      'ip_address',
      'remote_host',
      'c_ip',
    ],
    forwarded: ['http_x_forwarded_for', 'x_forwarded_for', 'xff', 'forwarded_for'],
    host: ['http_host', 'host', 'hostname', 'vhost', 'server_name', 'domain'],
    request: ['request'],
    method: ['request_method', 'method', 'verb', 'http_method', 'requestMethod'],
    target: ['request_uri', 'requestUri', 'url', 'request_url', 'requestUrl', 'uri', 'path', 'request_path'],
    query: ['args', 'query_string', 'query'],
    status: [
      'status',
      'status_code',
      'statusCode',
      'response_status',
      'response_code',
      'response',
      'http_status',
      'code',
    ],
    bytes: [
      'body_bytes_sent',
      'bytes_sent',
      'bytes',
      'response_body_size',
      'response_size',
      'size',
      'body_bytes',
      'resp_body_size',
      'bytes_out',
      'content_length',
    ],
    referrer: ['http_referer', 'http_referrer', 'referer', 'referrer', 'request_referer', 'request_referrer'],
    userAgent: [
      'http_user_agent',
      'user_agent',
      'userAgent',
      'agent',
      'useragent',
      'request_user_agent',
      'ua',
      'remote_user_agent',
    ],
    contentType: ['sent_http_content_type', 'content_type', 'resp_content_type', 'response_content_type'],
  },
  durations: {
    request_time: 1000,
    duration_ms: 1,
    latency_ms: 1,
    time_elapsed: 0.001,
    elapsed_ms: 1,
    request_time_ms: 1,
  },
  headers: (line) => readHeaders(line, 'http_'),
  adjust(raw) {
    // Some name the method `request`.
    if (raw.request !== undefined && !raw.request.includes(' ') && raw.target !== undefined) {
      raw.method ??= raw.request
      raw.request = undefined
    }
    if (raw.status === undefined) raw.time = Number.NaN
  },
})
