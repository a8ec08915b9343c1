import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { createApp, createPublicApp } from '../../src/api/app.js'
import { createExposureDedupe, evaluationRoute, flagRoutes } from '../../src/api/flags.js'
import { createRateLimit } from '../../src/api/rate-limit.js'
import { createDeviceReader } from '../../src/capture/device.js'
import type { Hit } from '../../src/capture/hit.js'
import { createFlags } from '../../src/manage/flags.js'
import { createKeys, type Scope } from '../../src/manage/keys.js'
import { bootstrap } from '../../src/manage/orgs.js'
import { createSites } from '../../src/manage/sites.js'
import { sql } from '../../src/storage/sql.js'
import { deed } from '../fixtures/audit-context.js'
import { copySite } from '../fixtures/copy-site.js'
import { createInProcessEngine } from '../fixtures/in-process-worker.js'

const START = Date.parse('2026-11-21T10:00:00.000Z')
const MINUTE = 60_000
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'
const COUNTRIES: Record<string, string> = { '192.0.2.1': 'DE', '192.0.2.2': 'FR' }
const Enabled = z.object({ enabled: z.boolean() })
const PAGE = 'https://example.com/articles/tides?utm_source=mail'

/** Site 1 is example.com, honours GPC and excludes /private/**; site 2 is other.example, site 3 the second organisation's. */
async function open(t: Test) {
  const { workerClient } = await createInProcessEngine(t)
  const { records } = workerClient
  const clock = { at: START }
  const now = () => new Date(clock.at)
  await bootstrap(records, { domains: ['example.com'], timezone: 'UTC', now: now() })
  const like1 = (id: number, org: number, domain: string) => copySite(id, { org, domains: `["${domain}"]` })
  await records.write(
    sql`insert into organisations (id, name, created_at, require_totp) values (2, 'Other', ${now()}, false)`,
    like1(2, 1, 'other.example'),
    like1(3, 2, 'third.example'),
    sql`update sites set respect_gpc = true, excluded_paths = '["/private/**"]' where id = 1`,
  )
  const sites = createSites(records)
  const keys = createKeys({ records, sites, now, random: randomBytes })
  const flags = createFlags(records)
  const hits: Hit[] = []
  const limit = (per?: number) =>
    createRateLimit({ now: () => clock.at, random: randomBytes, ...(per === undefined ? {} : { per }) })
  const logged: unknown[] = []
  const app = createApp({
    routes: [
      evaluationRoute({
        ...{ sites: sites.list, flags, device: createDeviceReader(), record: (hit) => hits.push(hit) },
        // A table in place of the worker's geo file; the worker may be away.
        country: async (ip) =>
          ip === '198.51.100.9' ? Promise.reject(new Error('restarting')) : (COUNTRIES[ip] ?? null),
        isNew: createExposureDedupe({ now: () => clock.at }),
        limits: { evaluations: limit(), hits: limit(20) },
      }),
      ...flagRoutes({ sites, flags }),
    ],
    ...{ credentials: { keys }, version: '0', now, log: (error: unknown) => logged.push(error) },
  })
  const call = async (
    on: (request: Request) => Promise<Response>,
    method: string,
    url: string,
    headers: Record<string, string>,
    body?: unknown,
  ) => {
    const response = await on(
      new Request(url, {
        ...{ method, headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    )
    const text = await response.text()
    const { data, error } = text.startsWith('{') ? JSON.parse(text) : {}
    return { status: response.status, headers: response.headers, data, error, text }
  }
  const visible = createPublicApp(app, [])
  return {
    ...{ clock, hits, logged, records },
    since: () => hits.splice(0),
    ask: (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      call((request) => app(request, { ip: '', operator: true }), method, `http://localhost${path}`, headers, body),
    as: (secret: string, method: string, path: string, body?: unknown) =>
      call(
        (request) => app(request, { ip: '', operator: false }),
        ...([method, `http://localhost${path}`, { authorization: `Bearer ${secret}` }, body] as const),
      ),
    key: async (org: number, scopes: Scope[], site?: number) =>
      (await keys.create({ org, name: 'x', scopes, ...(site === undefined ? {} : { site }) }, deed)).secret,
    /** A request as a page's browser sends it to the public listener. */
    evaluate: (query: string, headers: Record<string, string> = { referer: PAGE }, ip = '192.0.2.1') =>
      call(
        (request) => visible(request, { ip }),
        ...(['GET', `https://example.com/api/flags/evaluate?${query}`, { 'user-agent': FIREFOX, ...headers }] as const),
      ),
  }
}

const flag = { site: 1, key: 'tide-chart', enabled: true }
const halves = [
  { key: 'plain', weight: 1 },
  { key: 'drawn', weight: 1 },
]

t.test('flags can be created, read, changed and deleted', async (t) => {
  const { ask, as, key } = await open(t)
  const given = { ...flag, rollout: 0.25, variants: halves, filters: { dimension: 'path', op: 'eq', value: '/x' } }
  const made = await ask('POST', '/api/flags', given)
  const filters = [{ dimension: 'pathname', op: 'is', value: '/x' }]
  t.strictSame([made.status, made.data], [201, { id: 1, version: 1, ...given, filters }])
  t.strictSame((await ask('GET', '/api/flags?site=1')).data, [made.data])
  t.strictSame((await ask('GET', '/api/flags/1')).data, made.data)
  const change = { enabled: false, variants: null, filters: null, key: 'chart' }
  const changed = await ask('PATCH', '/api/flags/1', change, { 'if-match': '"1"' })
  t.strictSame(changed.data, { id: 1, version: 2, site: 1, key: 'chart', enabled: false, rollout: 0.25 })
  t.equal((await ask('PATCH', '/api/flags/1', { rollout: 1 }, { 'if-match': '"1"' })).status, 409)
  const bare = await ask('POST', '/api/flags', { site: 1, key: 'new' })
  t.strictSame(bare.data, { id: 2, version: 1, site: 1, key: 'new', enabled: false, rollout: 1 }, 'off, then for all')
  t.match(await ask('POST', '/api/flags', { site: 1, key: 'chart' }), { status: 409, error: { field: 'key' } })
  t.equal((await ask('POST', '/api/flags', { site: 2, key: 'chart' })).status, 201, 'a key is of a site')
  const keys = [
    await key(1, ['manage:read']),
    await key(1, ['stats:read']),
    await key(1, ['manage:write']),
    await key(2, ['manage:read', 'manage:write']),
    await key(1, ['manage:read', 'manage:write'], 2),
  ]
  const rows: [method: string, path: string, body: unknown, statuses: number[]][] = [
    ['GET', '/api/flags?site=1', undefined, [200, 403, 403, 404, 404]],
    ['GET', '/api/flags/1', undefined, [200, 403, 403, 404, 404]],
    ['PATCH', '/api/flags/1', {}, [403, 403, 200, 404, 404]],
    ['POST', '/api/flags', { site: 1, key: 'more' }, [403, 403, 201, 404, 404]],
    ['DELETE', '/api/flags/1', undefined, [403, 403, 204, 404, 404]],
  ]
  for (const [method, path, body, statuses] of rows) {
    const found: number[] = []
    for (const secret of keys) found.push((await as(secret, method, path, body)).status)
    t.strictSame(found, statuses, `${method} ${path}`)
  }
})

t.test('malformed flags are refused with the field', async (t) => {
  const { ask, logged } = await open(t)
  const bad: [body: unknown, field: string | undefined, why: string][] = [
    ['[]', undefined, 'no object'],
    [{}, 'site', 'an empty object'],
    [{ ...flag, name: 'x' }, 'name', 'a name, which flags do not have'],
    [{ ...flag, key: '' }, 'key', 'an empty key'],
    [{ ...flag, key: 'Tide Chart' }, 'key', 'characters that no key has'],
    [{ ...flag, key: 'x'.repeat(65) }, 'key', 'too long'],
    [{ ...flag, key: '__proto__ ' }, 'key', 'a space'],
    [{ ...flag, enabled: 'yes' }, 'enabled', 'no truth'],
    [{ ...flag, rollout: -0.1 }, 'rollout', 'below 0'],
    [{ ...flag, rollout: 1.1 }, 'rollout', 'above everybody'],
    [{ ...flag, rollout: '0.5' }, 'rollout', 'no number'],
    ['{"site":1,"key":"a","rollout":1e999}', 'rollout', 'without end'],
    [{ ...flag, variants: [] }, 'variants', 'none in it'],
    [
      { ...flag, variants: Array.from({ length: 21 }, (_, i) => ({ key: `v${i}`, weight: 1 })) },
      'variants',
      'too many',
    ],
    [{ ...flag, variants: [...halves, { key: 'plain', weight: 2 }] }, 'variants', 'two of a key'],
    [{ ...flag, variants: [{ key: 'plain', weight: 0 }] }, 'variants[0].weight', 'another site'],
    [{ ...flag, variants: [{ key: 'plain', weight: -1 }] }, 'variants[0].weight', 'less'],
    [{ ...flag, variants: [{ key: 'pla\u0000in', weight: 1 }] }, 'variants[0].key', 'no key'],
    [{ ...flag, variants: [{ key: 'plain', weight: 1, more: 1 }] }, 'variants[0].more', 'an unknown field'],
    [{ ...flag, filters: [] }, 'filters', 'none in it'],
    [{ ...flag, filters: 'all' }, 'filters', 'no filters'],
    [{ ...flag, filters: [{ dimension: 'city', op: 'is', value: 'Bonn' }] }, 'filters', 'not known here'],
    [{ ...flag, filters: [{ dimension: 'pathname', op: 'matches', value: 'x' }] }, 'filters', 'a pattern'],
    [{ ...flag, variants: null }, 'variants', 'null is of a change'],
  ]
  await ask('POST', '/api/flags', { site: 1, key: 'there' })
  for (const [body, field, why] of bad) {
    const { status, error } = await ask('POST', '/api/flags', body)
    t.strictSame([status, error?.field], [422, field], `${why}: ${error?.message}`)
    const name = field?.replace(/\[.*/, '') ?? ''
    const value = typeof body === 'object' ? Object(body)[name] : undefined
    if (value === undefined || value === null || name === 'site') continue
    t.equal((await ask('PATCH', '/api/flags/1', { [name]: value })).error?.field, field, `a change: ${why}`)
  }
  t.equal((await ask('GET', '/api/flags/1')).data.version, 1)
  t.strictSame(logged, [])
})

t.test('only pages of the site can evaluate its flags', async (t) => {
  const { ask, evaluate, logged } = await open(t)
  await ask('POST', '/api/flags', flag)
  const rows: [query: string, headers: Record<string, string>, status: number, why: string][] = [
    ['site=1&id=a', { referer: PAGE }, 200, 'by Referer'],
    ['site=1&id=a', { referer: 'https://www.example.com/' }, 200, 'with www.'],
    ['site=1&id=a', { origin: 'https://example.com' }, 200, 'by Origin'],
    ['site=1&id=a', { origin: 'http://example.com:8080' }, 200, 'on another port'],
    ['site=1&id=a', { 'sec-fetch-site': 'same-origin' }, 200, 'a page that hides where it is'],
    ['site=1&id=a', {}, 403, 'no header names a page'],
    ['site=1&id=a', { origin: 'null' }, 403, 'a page without an origin'],
    ['site=1&id=a', { origin: 'https://evil.example', referer: PAGE }, 403, 'the Origin counts'],
    ['site=1&id=a', { referer: 'https://example.com.evil.example/' }, 403, 'another site'],
    ['site=1&id=a', { referer: 'example.com' }, 403, 'no URL'],
    ['site=1&id=a', { referer: 'ftp://example.com/' }, 403, 'no page'],
    ['site=2&id=a', { referer: PAGE }, 403, 'another site’s flags'],
    ['site=9&id=a', { referer: PAGE }, 403, 'no site: the same'],
    [`site=1&id=a&u=${encodeURIComponent('https://other.example/')}`, { referer: PAGE }, 403, 'of another page'],
    ['site=1&id=a&u=nothing', { referer: PAGE }, 422, 'no page'],
    ['site=1', { referer: PAGE }, 422, 'no id'],
    ['site=1&id=', { referer: PAGE }, 422, 'an empty id'],
    [`site=1&id=${'x'.repeat(201)}`, { referer: PAGE }, 422, 'too long'],
    ['id=a', { referer: PAGE }, 422, 'no site'],
    ['site=1&id=%ff', { referer: PAGE }, 422, 'no UTF-8'],
    [`site=1&id=${encodeURIComponent('🦆'.repeat(100))}`, { referer: PAGE }, 200, 'any characters'],
  ]
  for (const [query, headers, status, why] of rows) {
    const answer = await evaluate(query, headers)
    t.equal(answer.status, status, `${why}: ${answer.text}`)
    t.equal(answer.headers.get('access-control-allow-origin'), '*', `${why}: any page can read it`)
  }
  t.equal(
    (await evaluate('site=9&id=a')).text,
    (await evaluate('site=2&id=a')).text,
    'existing and unknown sites look alike',
  )
  const { data, headers } = await evaluate('site=1&id=a')
  t.strictSame(data, { flags: { 'tide-chart': { enabled: true } } })
  t.equal(headers.get('cache-control'), 'private, no-store')
  t.strictSame(logged, [])
})

t.test('conditions use attributes of page and request', async (t) => {
  const { ask, evaluate } = await open(t)
  const only = (key: string, dimension: string, value: string) => ({
    ...{ ...flag, key },
    filters: [{ dimension, op: 'is', value }],
  })
  for (const body of [
    only('path', 'pathname', '/articles/tides'),
    only('mail', 'utm_source', 'mail'),
    only('german', 'language', 'de-AT'),
    only('firefox', 'browser', 'Firefox'),
    only('linux', 'os', 'Linux'),
    only('desktop', 'device_type', 'desktop'),
    only('host', 'hostname', 'example.com'),
  ])
    t.equal((await ask('POST', '/api/flags', body)).status, 201)
  const on = async (query: string, headers: Record<string, string>) => {
    const { data } = await evaluate(`site=1&id=a${query}`, headers)
    return Object.keys(data.flags).filter((key) => data.flags[key].enabled)
  }
  t.strictSame(await on('', { referer: PAGE, 'accept-language': 'de-AT,de;q=0.9' }), [
    ...['path', 'mail', 'german', 'firefox', 'linux', 'desktop', 'host'],
  ])
  const iphone =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1'
  t.strictSame(await on('', { referer: 'https://www.example.com/', 'user-agent': iphone }), [], 'nothing fits')
  const u = `&u=${encodeURIComponent(PAGE)}`
  t.strictSame(
    await on(u, { referer: 'https://example.com/', 'user-agent': iphone }),
    ['path', 'mail', 'host'],
    'u counts',
  )
})

t.test(
  'an exposure is recorded as a custom event once in half an hour, unless the visitor is not recorded',
  async (t) => {
    const { ask, evaluate, since, clock } = await open(t)
    await ask('POST', '/api/flags', { ...flag, variants: halves })
    await ask('POST', '/api/flags', { ...flag, key: 'plain' })
    await ask('POST', '/api/flags', { ...flag, key: 'off', enabled: false })
    await evaluate('site=1&id=a', { referer: PAGE, 'sec-ch-ua-mobile': '?0' })
    const hit = {
      ...{ site: 1, kind: 'custom', name: 'flag_exposure', hostname: 'example.com', pathname: '/articles/tides' },
      ...{ query: 'utm_source=mail', timestamp: '2026-11-21T10:00:00.000Z', ip: '192.0.2.1', user_agent: FIREFOX },
      headers: { 'sec-ch-ua-mobile': '?0' },
    }
    t.strictSame(since(), [
      // 0.81 of two halves (test/manage/evaluate-flag.test.ts).
      { ...hit, props: { flag: 'tide-chart', variant: 'drawn' } },
      { ...hit, props: { flag: 'plain' } },
    ])
    clock.at += 30 * MINUTE - 1
    await evaluate('site=1&id=a')
    t.equal(since().length, 0, 'within half an hour')
    clock.at += 1
    await evaluate('site=1&id=a')
    t.equal(since().length, 2, 'after it')
    const silent: [headers: Record<string, string>, why: string][] = [
      [{ referer: PAGE, 'sec-gpc': '1' }, 'asked not to be, on a site that honours it'],
      [{ referer: PAGE, dnt: '1' }, 'the older wish'],
      [{ referer: PAGE, cookie: 'x=1; readership-opt-out=1' }, 'opted out'],
      [{ referer: 'https://example.com/private/x' }, 'a page that is not recorded'],
    ]
    for (const [headers, why] of silent) {
      const { data } = await evaluate('site=1&id=b', headers)
      t.match(data.flags, { 'tide-chart': { enabled: true } }, `answered: ${why}`)
      t.equal(since().length, 0, why)
    }
    await evaluate('site=1&id=b')
    t.equal(since().length, 2, 'what was not recorded counts as no exposure')
    for (let i = 0; i < 20; i++) await evaluate(`site=1&id=many-${i}`)
    t.equal(since().length, 16, 'exposures are hits: of these a site takes so many from one address (here 20)')
  },
)

t.test('evaluations are rate limited', async (t) => {
  const { evaluate, clock } = await open(t)
  const statuses = (n: number, ip: string) =>
    Promise.all(Array.from({ length: n }, async () => (await evaluate('site=1&id=a', { referer: PAGE }, ip)).status))
  const first = await statuses(602, '192.0.2.1')
  t.equal(first.filter((status) => status === 200).length, 600)
  t.equal(first.filter((status) => status === 429).length, 2)
  t.equal((await evaluate('site=1&id=a')).headers.get('retry-after'), '60')
  t.strictSame(await statuses(1, '192.0.2.2'), [200], 'others are not held up')
  clock.at += MINUTE
  t.strictSame(await statuses(1, '192.0.2.1'), [200])
})

t.test('remembered exposures are bounded', async (t) => {
  let at = START
  const isNew = createExposureDedupe({ now: () => at, most: 3 })
  const rows: [id: string, later: number, expected: boolean, why: string][] = [
    ['a', 0, true, 'first'],
    ['b', 1, true, 'first'],
    ['c', 1, true, 'first'],
    ['a', 1, false, 'known'],
    ['d', 1, true, 'first, and a is forgotten for it'],
    ['b', 1, false, 'known'],
    ['a', 1, true, 'as if new: b is forgotten'],
    ['c', 30 * MINUTE, true, 'too long ago'],
  ]
  for (const [id, later, expected, why] of rows) {
    at += later
    t.equal(isNew(1, 'f', id), expected, `${id}: ${why}`)
  }
  t.equal(isNew(2, 'f', 'c'), true, 'another site')
  t.equal(isNew(1, 'g', 'c'), true, 'another flag')
})

t.test('a flag may depend on the country that the address tells', async (t) => {
  const { ask, evaluate } = await open(t)
  const german = [{ dimension: 'country', op: 'is', value: 'DE' }]
  await ask('POST', '/api/flags', { ...flag, filters: german })
  await ask('POST', '/api/flags', { ...flag, key: 'abroad', filters: [{ not: german[0] }] })
  await ask('POST', '/api/flags', { ...flag, key: 'known', filters: [{ dimension: 'country', op: 'is_set' }] })
  const cases: [ip: string, on: readonly string[], why: string][] = [
    ['192.0.2.1', ['known', 'tide-chart'], 'in Germany'],
    ['192.0.2.2', ['abroad', 'known'], 'in France'],
    ['192.0.2.3', ['abroad'], 'nowhere that is known: an absent value passes only negative conditions'],
    ['198.51.100.9', ['abroad'], 'the worker is away: the same, and no error'],
  ]
  for (const [ip, on, why] of cases) {
    const { status, data } = await evaluate('site=1&id=reader-3', { referer: PAGE }, ip)
    t.equal(status, 200, why)
    const found = Object.entries(data.flags).flatMap(([key, value]) => (Enabled.parse(value).enabled ? [key] : []))
    t.strictSame(found.sort(), on, why)
  }
})
