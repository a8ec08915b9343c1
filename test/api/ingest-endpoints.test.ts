import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { z } from 'zod'
import { listenAdmin } from '../../src/api/server.js'
import { openInstance } from '../../src/app/instance/open-instance.js'
import { CHROME, GPTBOT, signBody } from '../fixtures/edge-service.js'
import { directory } from '../fixtures/files.js'
import { raw, send } from '../fixtures/track-server.js'

/**
 * The specified answers of the ingest endpoints, over a real socket of a whole instance. Hostile input is in the tests of
 * each endpoint.
 */

const U = 'https://a.example/page'
const json = (value: unknown) => JSON.stringify(value)
const NO_STORE = { 'cache-control': 'no-store' }
const OPEN = { 'access-control-allow-origin': '*' }

t.test('the ingest endpoints answer as specified', { timeout: 300_000 }, async (t) => {
  const clock = { now: new Date() }
  const log = { info() {}, warn() {}, error() {} }
  const instance = await openInstance(
    { data: directory(t), domain: ['a.example'], min_free_disk: 0, offline: true, ranges: [] },
    { log, now: () => clock.now },
  )
  t.teardown(() => instance.close())
  const { port, close } = await listenAdmin((request, peer) => instance.fetch(request, peer), '127.0.0.1', 0, {
    handleTrack: (req, res, taken) => instance.hit(req, res, taken),
  })
  t.teardown(() => close())
  const way = { port, base: '' } as const
  const operator = async (path: string, body?: object) => {
    const init = body ? { method: 'POST', body: json(body) } : {}
    const response = await instance.control(new Request(`http://localhost${path}`, init))
    return z.object({ data: z.unknown() }).parse(await response.json()).data
  }
  const text = (shape: string, value: unknown) => z.looseObject({ [shape]: z.string() }).parse(value)[shape]
  const key = String(text('ingest_key', await operator('/api/sites/1/ingest-key')))
  const two = await operator('/api/sites', { name: 'Two', domains: ['b.example'] })
  const keyOfTwo = String(text('ingest_key', two))
  const bearer = async (scopes?: string[]) => ({
    Authorization: `Bearer ${text('secret', await operator('/api/keys', { org: 1, name: 'k', ...(scopes && { scopes }) }))}`,
  })
  const [reads, ingests] = [await bearer(), await bearer(['ingest:write'])]

  const JSON_TYPE = { 'Content-Type': 'application/json' }
  let nonce = 0
  /** A body with a nonce, so that two bodies of one second have different signatures. */
  const edge = (more: object = {}) => json({ site_id: 1, agent_events: [], events: [], ...more, nonce: ++nonce })
  const t0 = Math.floor(clock.now.getTime() / 1000)
  const sign = (body: string, { at = t0, by = key } = {}) => ({
    ...JSON_TYPE,
    'X-Service-Signature': signBody(by, at, body),
  })
  const fetched = {
    ...{
      timestamp: clock.now.toISOString(),
      user_agent: GPTBOT,
      method: 'GET',
      hostname: 'a.example',
      pathname: '/agent',
    },
    ...{ status: 200, bytes: 10, duration_ms: 1, content_type: 'text/html', conditional: 0, ip: '203.0.113.9' },
  }
  const viewed = {
    ...{ timestamp: clock.now.toISOString(), user_agent: CHROME, hostname: 'a.example', pathname: '/viewed' },
    ...{ ip: '203.0.113.7' },
  }
  const many = (n: number, one: object) => Array.from({ length: n }, () => one)
  const sized = (bytes: number) => `{"s":1,"u":"${U}","x":"${'y'.repeat(bytes - 21 - U.length)}"}`
  t.equal(sized(65_536).length, 65_536)

  const TRACK = '/api/track'
  const BATCH = '/api/track/batch'
  const GIF = '/api/track/pixel.gif'
  const EDGE = '/api/log/edge'
  const once = edge({ agent_events: [fetched], events: [viewed] })
  type Row = [
    row: string,
    method: string,
    path: string,
    request: { headers?: Record<string, string>; body?: string },
    status: number,
    /** Header fields, and from a JSON body `error.code` and `error.field`, or `data`. */
    expected: { headers?: object; code?: string; field?: string; data?: object },
  ]
  const post = (body: unknown, headers = {}) => ({ headers: { 'User-Agent': CHROME, ...headers }, body: json(body) })
  const delivered = (body: string, by = {}) => ({ headers: sign(body, by), body })
  const hit = (more: object) => post({ s: 1, u: U, ...more })
  const rows: Row[] = [
    ['4.7 track', 'POST', TRACK, hit({}), 204, { headers: { ...OPEN, ...NO_STORE } }],
    ['4.7 text/plain', 'POST', TRACK, post({ s: 1, u: U }, { 'Content-Type': 'text/plain' }), 204, {}],
    ['4.7 preflight', 'OPTIONS', TRACK, {}, 204, { headers: { ...OPEN, 'access-control-allow-methods': 'POST' } }],
    ['4.7 preflight of a batch', 'OPTIONS', BATCH, {}, 204, { headers: OPEN }],
    ['4.7 preflight of the pixel', 'OPTIONS', GIF, {}, 204, { headers: OPEN }],
    ['4.7 preflight of the edge', 'OPTIONS', EDGE, {}, 204, { headers: OPEN }],
    ['4.7 unknown site', 'POST', TRACK, post({ s: 9, u: U }), 403, { headers: { ...OPEN, 'content-length': '0' } }],
    ['4.7 foreign hostname', 'POST', TRACK, post({ s: 1, u: 'https://b.example/' }), 403, { headers: OPEN }],
    ['4.7 batch, an array', 'POST', BATCH, post([{ s: 1, u: U }]), 204, { headers: OPEN }],
    ['4.7 batch, an object', 'POST', BATCH, post({ events: [{ s: 1, u: U }] }), 204, {}],
    ['4.7 batch, all foreign', 'POST', BATCH, post([{ s: 1, u: 'https://b.example/' }]), 403, {}],
    [
      '4.7 pixel',
      'GET',
      `${GIF}?s=1&u=${U}`,
      { headers: { 'User-Agent': CHROME } },
      200,
      { headers: { ...OPEN, 'content-type': 'image/gif' } },
    ],
    [
      '4.7 pixel, foreign',
      'GET',
      `${GIF}?s=2&u=${U}`,
      {},
      200,
      { headers: { ...NO_STORE, 'content-type': 'image/gif' } },
    ],
    [
      '4.7.1 opted out',
      'POST',
      TRACK,
      post({ s: 1, u: U }, { Cookie: 'readership-opt-out=1' }),
      204,
      { headers: OPEN },
    ],
    ['4.7.2 64 KB', 'POST', TRACK, { body: sized(65_536), headers: { 'User-Agent': CHROME } }, 204, {}],
    ['4.7.2 a byte more', 'POST', TRACK, { body: sized(65_537) }, 413, { headers: OPEN }],
    ['4.8 accepted', 'POST', EDGE, delivered(once), 202, { headers: OPEN, data: { agent_events: 1, events: 1 } }],
    ['4.8 repeated', 'POST', EDGE, delivered(once), 409, { headers: OPEN, code: 'conflict' }],
    ['4.8 five minutes', 'POST', EDGE, delivered(edge(), { at: t0 - 300 }), 202, {}],
    ['4.8 a second more', 'POST', EDGE, delivered(edge(), { at: t0 - 301 }), 401, { code: 'unauthorized' }],
    ['4.8 ahead', 'POST', EDGE, delivered(edge(), { at: t0 + 301 }), 401, { code: 'unauthorized' }],
    ['5.2 ingest:write', 'POST', EDGE, { body: edge(), headers: { ...JSON_TYPE, ...ingests } }, 202, {}],
    [
      '5.2 no such scope',
      'POST',
      EDGE,
      { body: edge(), headers: { ...JSON_TYPE, ...reads } },
      403,
      { code: 'forbidden' },
    ],
    [
      '5.3.3 a key reads no ingest key',
      'GET',
      '/api/sites/1/ingest-key',
      { headers: ingests },
      403,
      { code: 'forbidden' },
    ],
    [
      '5.3.3 nor rotates one',
      'POST',
      '/api/sites/1/ingest-key/rotate',
      { headers: ingests },
      403,
      { code: 'forbidden' },
    ],
    ['5.6.2 no signature', 'POST', EDGE, { body: edge(), headers: JSON_TYPE }, 401, { code: 'unauthorized' }],
    ['5.6.3 another key', 'POST', EDGE, delivered(edge(), { by: keyOfTwo }), 401, { code: 'unauthorized' }],
    ['5.6.3 its own site', 'POST', EDGE, delivered(edge({ site_id: 2 }), { by: keyOfTwo }), 202, {}],
    ['5.6.3 another body', 'POST', EDGE, { body: edge(), headers: sign(edge()) }, 401, { code: 'unauthorized' }],
    [
      '7 no such site',
      'POST',
      EDGE,
      { body: edge({ site_id: 9 }), headers: { ...JSON_TYPE, ...ingests } },
      404,
      { code: 'not_found' },
    ],
    [
      '7 a refused hit has no body',
      'POST',
      TRACK,
      post({ s: 1, u: 'https://c.example/' }),
      403,
      { headers: { 'content-length': '0' } },
    ],
    [
      'contract 6 type',
      'POST',
      EDGE,
      { body: once, headers: { ...sign(once), 'Content-Type': 'text/plain' } },
      415,
      {},
    ],
    ['contract 6 no JSON', 'POST', EDGE, delivered('{'), 400, { code: 'bad_request' }],
    [
      ...(['2.5.3 what the server establishes', 'POST', EDGE] as const),
      delivered(edge({ agent_events: [fetched, { ...fetched, verified: true }] })),
      ...([422, { code: 'validation_error', field: 'agent_events[1].verified' }] as const),
    ],
    ['8 a batch of 201', 'POST', BATCH, post(many(201, { s: 1 })), 204, {}],
    ['8 2 MB', 'POST', EDGE, delivered(`{"site_id":1,"pad":"${'x'.repeat(2 * 1024 * 1024 - 22)}"}`), 202, {}],
    [
      '8 a byte more',
      'POST',
      EDGE,
      delivered(`{"site_id":1,"pad":"${'x'.repeat(2 * 1024 * 1024 - 21)}"}`),
      413,
      { code: 'bad_request' },
    ],
    [
      '8 500 rows of each',
      'POST',
      EDGE,
      delivered(
        edge({
          site_id: 2,
          agent_events: many(500, { ...fetched, hostname: 'b.example' }),
          events: many(500, { ...viewed, hostname: 'b.example' }),
        }),
        { by: keyOfTwo },
      ),
      202,
      { data: { agent_events: 500, events: 500 } },
    ],
    [
      '8 501 of agents',
      'POST',
      EDGE,
      delivered(edge({ agent_events: many(501, fetched) })),
      422,
      { code: 'validation_error', field: 'agent_events' },
    ],
    [
      '8 501 of people',
      'POST',
      EDGE,
      delivered(edge({ events: many(501, viewed) })),
      422,
      { code: 'validation_error', field: 'events' },
    ],
  ]
  for (const [row, method, path, request, status, { headers = {}, ...body }] of rows) {
    const told = await send(way, method, path, request)
    t.equal(told.status, status, row)
    t.match(told.headers, headers, row)
    if (path !== EDGE && !path.startsWith('/api/sites')) continue
    const { error, data } = Object(told.body.length > 0 ? JSON.parse(told.body.toString()) : {})
    t.match({ code: error?.code, field: error?.field, data }, body, row)
    t.equal(told.headers['www-authenticate'], status === 401 ? 'Bearer' : undefined, row)
  }

  // The reads return the hits that were sent: one visit of another browser, with one hit of each kind.
  const kinds = [
    {},
    { t: 'custom', n: 'subscribe', p: { plan: 'yearly' } },
    { t: 'outbound', p: { url: 'https://out.example/' } },
    { t: 'file_download', p: { url: 'https://a.example/x.pdf' } },
    { t: 'form', p: { form: 'contact' } },
    { t: 'error', p: { type: 'TypeError', message: 'x is not a function' } },
    { t: 'web_vitals', e: { lcp: 1250 } },
    { t: 'engagement', d: 9000, sc: 80 },
  ]
  const pageviews = async (site: number) =>
    Object(await operator(`/api/stats/overview?site=${site}&range=24h`)).pageviews
  const until = async (ready: () => Promise<boolean>) => {
    for (let n = 0; n < 100 && !(await ready()); n++) await sleep(50)
  }
  // The end of a window is exclusive.
  const later = () => {
    clock.now = new Date(clock.now.getTime() + 1_000)
  }
  later()
  await until(async () => (await pageviews(2)) === 500)
  t.equal(await pageviews(2), 500)
  const firefox = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0' }
  const body = json(kinds.map((kind) => ({ s: 2, u: 'https://b.example/visit', ...kind })))
  t.equal((await send(way, 'POST', BATCH, { body, headers: firefox })).status, 204)
  later()
  await until(async () => (await pageviews(2)) === 501)
  const events = z
    .array(z.looseObject({ kind: z.string(), events: z.int() }))
    .parse(await operator('/api/stats/events?site=2&range=24h'))
  t.same(
    Object.fromEntries(events.map(({ kind, events }) => [kind, events])),
    { custom: 1, outbound: 1, file_download: 1, form: 1 },
    '6: events are read back',
  )
  t.match(await operator('/api/stats/errors?site=2&range=24h'), [{ type: 'TypeError', count: 1 }])
  t.match(await operator('/api/stats/performance?site=2&range=24h'), { lcp: { p50: 1250, samples: 1 } })
  t.match(
    await operator('/api/stats/pages?site=2&range=24h&limit=5'),
    z.unknown().parse([{ pathname: '/viewed' }, { pathname: '/visit', time_on_page: 9, scroll_depth: 80 }]),
  )
  t.equal(Object(await operator('/api/agents/overview?site=2&range=24h')).fetches, 500, '6: and fetches')

  // Both rate limits, in a window of their own.
  clock.now = new Date(Math.ceil(clock.now.getTime() / 60_000) * 60_000)
  const t1 = Math.floor(clock.now.getTime() / 1000)
  const requests = Array.from({ length: 601 }, (_, n) => {
    const one = edge()
    const fields = {
      Host: 'a.example',
      ...sign(one, { at: t1 }),
      'Content-Length': String(one.length),
      ...(n === 600 && { Connection: 'close' }),
    }
    const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
    return `POST ${EDGE} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${one}`
  })
  const { head, body: rest } = await raw(port, requests.join(''))
  const answers = `${head}\r\n\r\n${rest}`
  // All of them wait for the store at once: a busy machine answers some with 503.
  t.equal(answers.match(/HTTP\/1\.1 (?:202|503)/g)?.length, 600, '8: 600 a minute')
  const limited = answers.slice(answers.indexOf('HTTP/1.1 429'))
  t.match(limited, /retry-after: 60\r\n/i)
  t.match(limited, /"code":"rate_limited"/)
  const over = json(many(200, { s: 1, u: U }))
  for (let n = 0; n < 3; n++) await send(way, 'POST', BATCH, { body: over, headers: firefox })
  t.equal(
    (await send(way, 'POST', TRACK, post({ s: 1, u: U }))).status,
    204,
    '8: the 601st is dropped with the same answer',
  )

  const drops = z
    .array(z.object({ door: z.string(), reason: z.string(), count: z.int() }))
    .parse(await operator('/api/sites/1/drops?days=2'))
  const counted: Record<string, number> = {}
  for (const { door, reason, count } of drops)
    counted[`${door} ${reason}`] = (counted[`${door} ${reason}`] ?? 0) + count
  t.same(
    counted,
    {
      'track foreign_host': 3,
      'track opted_out': 1,
      'track malformed': 200,
      'track over_batch': 1,
      'track rate_limited': 1,
    },
    'the owner sees what was dropped',
  )
  const refused = await operator('/api/sites/1/refused-hostnames')
  t.match(refused, [{ hostname: 'c.example' }], 'and the hostname that no site lists')
  t.equal(z.array(z.unknown()).parse(refused).length, 1, 'without those of another site')
})
