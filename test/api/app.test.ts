import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { listAgents, loadCatalog } from '../../src/agents/catalog.js'
import { createApp } from '../../src/api/app.js'
import { createMetrics } from '../../src/api/metrics.js'
import { readRoutes } from '../../src/api/reads.js'
import type { Route } from '../../src/api/route.js'
import { type ServiceDeps, serviceRoutes } from '../../src/api/service-routes.js'
import { dropRoutes } from '../../src/api/sites.js'
import { createTrackEndpoints } from '../../src/api/track/endpoints.js'
import { trackRoutes } from '../../src/api/track/routes.js'
import { ApiError } from '../../src/base/errors.js'
import { createDrops } from '../../src/manage/drops.js'
import { createIngestKeys } from '../../src/manage/ingest-keys.js'
import { createKeys } from '../../src/manage/keys.js'
import { bootstrap } from '../../src/manage/orgs.js'
import { createSites } from '../../src/manage/sites.js'
import { openStoreLosses } from '../../src/manage/store-losses.js'
import { createBackups } from '../../src/storage/backup/backups.js'
import { sql } from '../../src/storage/sql.js'
import { deed } from '../fixtures/audit-context.js'
import { copySite } from '../fixtures/copy-site.js'
import { createInProcessEngine } from '../fixtures/in-process-worker.js'

const now = () => new Date('2026-11-21T10:00:00.000Z')

/** The service with two organisations: sites 1 and 2 belong to the first, site 3 to the second. */
async function open(t: Test, more: readonly Route[] = []) {
  const parts = await createInProcessEngine(t)
  const { workerClient } = parts
  await bootstrap(workerClient.records, { domains: [], timezone: 'UTC', now: now() })
  await workerClient.records.write(
    sql`insert into organisations (id, name, created_at, require_totp) values (2, 'Other', ${now()}, false)`,
    copySite(2, { org: 1, name: 'second' }),
    copySite(3, { org: 2, name: 'foreign' }),
  )
  const sites = createSites(workerClient.records)
  const keys = createKeys({ records: workerClient.records, sites, now, random: (n) => randomBytes(n) })
  const losses = await openStoreLosses({ ...workerClient, sites, assignStep: async () => ({}), wakeRemovals() {} })
  const service: ServiceDeps = {
    workerClient: {
      ...workerClient,
      call: async (name) =>
        name === 'reclassify' ? { catalog_version: '', rows: 0, changed: 0, remaining: 0, moves: [] } : [],
    },
    health: () => parts.status,
    ...{ losses, sites, keys, backups: createBackups(workerClient, losses) },
    ingestKeys: createIngestKeys({ records: workerClient.records, now, random: (n) => randomBytes(n) }),
    metrics: createMetrics({
      ...{ health: () => parts.status, isWriter: () => true },
      recorder: () => ({ waiting: 3, drops: { queue_full: 2 }, on: true }),
      ingestDrops: () => [{ door: 'track', reason: 'foreign_host', count: 7 }],
      proxy: () => ({ statuses: { '2xx': 5 }, failures: { refused: 1 }, active: 1 }),
    }),
    ...{ status: async () => ({ version: '0' }), vacuum: async () => undefined },
  }
  const logged: unknown[] = []
  const drops = createDrops({ records: workerClient.records, now })
  const endpoints = createTrackEndpoints({
    sites: sites.list,
    record: () => {},
    drop: drops.add,
    limit: { take: () => true, isExhausted: () => false, size: 0 },
    now: () => now().getTime(),
    log: (error) => logged.push(error),
  })
  const table = [
    ...readRoutes({ store: workerClient.events, now, catalog: listAgents(loadCatalog()), sites }),
    ...serviceRoutes(service),
    ...trackRoutes(endpoints),
    ...dropRoutes({ sites, drops, refusedHostnames: { list: async () => [] } }),
  ]
  const app = createApp({
    routes: [...table, ...more],
    credentials: { keys },
    version: '0',
    log: (error) => logged.push(error),
  })
  const ask = (path: string, init: RequestInit & { operator?: boolean } = {}) =>
    app(new Request(`http://127.0.0.1:8081${path}`, init), { ip: '127.0.0.1', operator: init.operator ?? false })
  const bearer = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } })
  return { ...parts, app, ask, bearer, keys, table, logged }
}

const bodyOf = async (response: Response) => JSON.parse((await response.text()) || '{}')

t.test('only the operator reaches control routes; test/api/access-matrix.ts has the other routes', async (t) => {
  const { ask, bearer, keys, table } = await open(t)
  const all = await keys.create({ org: 1, name: 'all', scopes: ['stats:read', 'manage:read', 'manage:write'] }, deed)
  const callers = { nobody: {}, unknown: bearer(`svcg_00000000_${'a'.repeat(43)}`), all: bearer(all.secret) }
  const responses: readonly [status: number, method: string, ...paths: string[]][] = [
    [200, 'get', 'status', 'tail', 'agents/holdings', 'store', 'copy'],
    [200, 'post', 'agents/refresh', 'agents/reclassify', 'geoip/reload'],
    // Required parameters are missing.
    [422, 'get', 'sql', 'agents/identify', 'copy/days', 'copy/fingerprints', 'copy/rows', 'copy/records'],
    [422, 'get', 'export/rows', 'export/file'],
    [400, 'post', 'store/assign', 'store/accept', 'backup'],
    [409, 'post', 'store/vacuum'],
  ]
  const expected: Record<string, number> = Object.fromEntries(
    responses.flatMap(([status, method, ...paths]) => paths.map((path) => [`${method} /control/${path}`, status])),
  )
  for (const { method, path, access } of table) {
    const name = `${method} ${path}`
    t.equal(access === 'operator', name in expected, `${name} is in the table`)
    if (access !== 'operator') continue
    const url = `${path}?follow=0`
    for (const [caller, init] of Object.entries(callers)) {
      const { status } = await ask(url, { method: method.toUpperCase(), ...init })
      t.equal(status, 404, `${name} by ${caller}`)
    }
    const response = await ask(url, { method: method.toUpperCase(), operator: true })
    t.equal(response.status, expected[name], name)
    await response.text()
  }
})

t.test('a key never reaches beyond its organisation and its site', async (t) => {
  const { ask, bearer, keys } = await open(t)
  const rows: [Parameters<typeof keys.create>[0], number[], string][] = [
    [{ org: 1, name: 'a', scopes: ['manage:read'] }, [1, 2], 'its organisation'],
    [{ org: 1, site: 2, name: 'b', scopes: ['manage:read'] }, [2], 'its one site'],
    [{ org: 2, name: 'c', scopes: ['manage:read'] }, [3], 'the other organisation'],
  ]
  const ids = async (init: Parameters<typeof ask>[1]) =>
    (await bodyOf(await ask('/api/sites', init))).data.map((site: { id: number }) => site.id)
  for (const [made, expected, why] of rows)
    t.same(await ids(bearer((await keys.create(made, deed)).secret)), expected, why)
  t.same(await ids({ operator: true }), [1, 2, 3], 'the operator sees all')
})

t.test('every read is limited to the sites of its key', async (t) => {
  const { ask, bearer, keys, table } = await open(t)
  const org = bearer((await keys.create({ org: 1, name: 'org', scopes: [] }, deed)).secret)
  const bound = bearer((await keys.create({ org: 1, site: 2, name: 'bound', scopes: [] }, deed)).secret)
  // site 1, site 2, site 3 (another organisation), site 9 (does not exist)
  const expected = { org: [200, 200, 404, 404], bound: [404, 200, 404, 404] }
  const asked = table.filter((route) => route.access === 'stats:read' && 'site' in (route.query?.shape ?? {}))
  for (const { path, query } of asked.filter((route) => !route.path.includes('{')))
    for (const [name, key] of Object.entries({ org, bound })) {
      const has = (name: string) => name in (query?.shape ?? {}) && !path.includes('/export.')
      const more = has('dimension') ? '&dimension=pathname' : has('steps') ? '&steps=/' : ''
      const statuses = [1, 2, 3, 9].map(async (site) => (await ask(`${path}?site=${site}${more}`, key)).status)
      t.same(await Promise.all(statuses), expected[name === 'org' ? 'org' : 'bound'], `${path} by ${name}`)
    }
})

t.test('API keys are created, listed, used and revoked at once', async (t) => {
  const { ask, bearer } = await open(t)
  const operator = { operator: true }
  const post = (body: string) => ask('/api/keys', { ...operator, method: 'POST', body })
  const made = await post('{"org":1,"name":"ci","scopes":["manage:read"],"expires_at":"2027-01-01T01:00:00+01:00"}')
  t.equal(made.status, 201)
  const { data } = await bodyOf(made)
  t.match(data, { id: 1, org: 1, name: 'ci', scopes: ['manage:read'], expires_at: '2027-01-01T00:00:00.000Z' })
  const list = await bodyOf(await ask('/api/keys?org=1', operator))
  t.equal(list.meta.total, 1)
  t.notOk('secret' in list.data[0])
  t.same((await bodyOf(await ask('/api/keys?org=2', operator))).data, [])
  t.equal((await ask('/api/sites', bearer(data.secret))).status, 200)
  t.match((await bodyOf(await ask('/api/keys/1/usage', operator))).data, {
    requests: 1,
    last_used_at: now().toISOString(),
  })
  const gone = await ask('/api/keys/1', { ...operator, method: 'DELETE' })
  t.equal(gone.status, 204)
  t.equal(await gone.text(), '')
  t.equal((await ask('/api/sites', bearer(data.secret))).status, 401)
})

t.test('errors have one shape, and one status each', async (t) => {
  const thrown = (path: string, error: unknown): Route => ({
    method: 'get',
    path,
    access: 'public',
    tag: 'test',
    summary: path,
    run: async () => {
      throw error
    },
  })
  const { ask, logged } = await open(t, [
    thrown('/t/bug', new TypeError('secret detail at /home/x.ts')),
    thrown('/t/string', 'thrown text'),
    thrown(
      '/t/db',
      new ApiError('database_error', 'The store does not answer.', undefined, { cause: new Error('SQL') }),
    ),
    thrown('/t/rate', new ApiError('rate_limited', 'Slow down.')),
    thrown('/t/conflict', new ApiError('conflict', 'Taken.', 'name')),
    thrown('/t/upstream', new ApiError('upstream_error', 'The origin failed.')),
  ])
  const post = (body: string | Buffer): Parameters<typeof ask>[1] => ({
    operator: true,
    method: 'POST',
    body: String(body),
  })
  const rows: [string, Parameters<typeof ask>[1], number, string, string | undefined, string][] = [
    ['/nowhere', {}, 404, 'not_found', undefined, 'no such path'],
    ['/api/', {}, 404, 'not_found', undefined, 'no such path under /api'],
    ['/api/sites', { method: 'PATCH', operator: true }, 404, 'not_found', undefined, 'no such method'],
    ['/api/keys/abc', { method: 'DELETE', operator: true }, 404, 'not_found', undefined, 'not an id'],
    ['/api/keys/1e3', { method: 'DELETE', operator: true }, 404, 'not_found', undefined, 'no such id'],
    ['/api/keys?org=x', { operator: true }, 422, 'validation_error', 'org', 'a bad known parameter'],
    ['/api/keys', post('{'), 400, 'bad_request', undefined, 'not JSON'],
    ['/api/keys', post('[]'), 422, 'validation_error', undefined, 'not an object'],
    ['/api/keys', post('{}'), 422, 'validation_error', 'name', 'no name'],
    ['/api/keys', post('{"name":"x","scope":"stats:read"}'), 422, 'validation_error', 'scope', 'a misspelt field'],
    ['/api/keys', post('{"name":" "}'), 422, 'validation_error', 'name', 'blank name'],
    ['/api/keys', post('{"name":"x","scopes":["root"]}'), 422, 'validation_error', 'scopes[0]', 'unknown scope'],
    ['/api/keys', post('{"name":"x","expires_at":"soon"}'), 422, 'validation_error', 'expires_at', 'not an instant'],
    [
      '/api/keys',
      post('{"name":"x","expires_at":"2020-01-01T00:00:00Z"}'),
      422,
      'validation_error',
      'expires_at',
      'past',
    ],
    ['/api/keys', post('{"name":"x","org":9}'), 404, 'not_found', 'org', 'no such organisation'],
    ['/api/keys', post('{"name":"x","site":3}'), 404, 'not_found', 'site', "another organisation's site"],
    ['/api/keys', post(`{"name":"${'x'.repeat(70_000)}"}`), 413, 'bad_request', undefined, 'over the limit'],
    ['/t/bug', {}, 500, 'internal_error', undefined, 'our fault'],
    ['/t/string', {}, 500, 'internal_error', undefined, 'not even an Error'],
    ['/t/db', {}, 503, 'database_error', undefined, 'the store'],
    ['/t/rate', {}, 429, 'rate_limited', undefined, 'too many'],
    ['/t/conflict', {}, 409, 'conflict', 'name', 'taken'],
    ['/t/upstream', {}, 502, 'upstream_error', undefined, 'the origin'],
  ]
  for (const [path, init, status, code, field, why] of rows) {
    const response = await ask(path, init)
    t.equal(response.status, status, why)
    t.match(response.headers.get('content-type'), /^application\/json/)
    const text = await response.text()
    const { error } = JSON.parse(text)
    t.equal(error.code, code, why)
    t.equal(error.field, field, `${why}: field`)
    t.notMatch(text, /secret detail|SQL|\.ts|thrown text/, 'nothing of the inside')
    t.equal(response.headers.has('retry-after'), status === 503 || status === 429, `${why}: Retry-After`)
  }
  t.equal(logged.length, 3, 'internal errors are logged')
})

t.test('health, readiness and metrics respond', async (t) => {
  const { ask, status } = await open(t)
  Object.assign(status, {
    rows: { human: 7, agent: 9 },
    drops: { queue_full: 1, fault: 4 },
    flush_ms: [10, 20, 30, 40],
    worker: { pid: 4711, resident_bytes: 120_000_000, cpu_seconds: 3.5 },
  })
  t.equal(await (await ask('/healthz')).text(), 'ok\n')
  t.equal((await ask('/readyz')).status, 200)
  const metrics = await (await ask('/metrics')).text()
  for (const line of [
    'readership_rows_total{audience="human"} 7',
    'readership_rows_total{audience="agent"} 9',
    'readership_drops_total{reason="queue_full"} 3',
    'readership_drops_total{reason="fault"} 4',
    'readership_door_drops_total{door="track",reason="foreign_host"} 7',
    'readership_queue_depth 3',
    'readership_flush_seconds{quantile="0.5"} 0.02',
    'readership_flush_seconds{quantile="0.99"} 0.04',
    'readership_requests_total{status="2xx"} 5',
    'readership_origin_errors_total{kind="refused"} 1',
    'readership_worker_resident_memory_bytes 120000000',
    'readership_worker_cpu_seconds 3.5',
    'readership_store_ready 1',
    'readership_writer 1',
  ])
    t.ok(metrics.includes(`${line}\n`), line)
  for (const name of ['nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes'])
    t.match(metrics, new RegExp(`^${name} [\\d.e+-]+$`, 'm'), name)
  t.ok((await (await ask('/metrics')).text()).includes('readership_rows_total{audience="human"} 7\n'), 'asked twice')
  Object.assign(status, { state: 'degraded', reason: 'the disk is full' })
  const degraded = await ask('/readyz')
  t.equal(degraded.status, 503)
  t.same((await bodyOf(degraded)).data, { state: 'degraded', reason: 'the disk is full' })
  t.equal((await ask('/healthz')).status, 200, 'the process still serves')
})

t.test('pages of the service set security headers and load nothing', async (t) => {
  const { ask } = await open(t)
  for (const path of ['/api/docs', '/api/openapi.json', '/nowhere', '/metrics']) {
    const { headers } = await ask(path)
    t.equal(headers.get('x-content-type-options'), 'nosniff', path)
    t.equal(headers.get('cache-control'), 'no-store', path)
    t.match(headers.get('content-security-policy'), /default-src 'none'/, path)
    t.match(headers.get('content-security-policy'), /frame-ancestors 'none'/, path)
  }
  const docs = await (await ask('/api/docs')).text()
  t.match(docs, /GET \/api\/sites/)
  t.notMatch(docs, /control/, "the operator's own are not shown")
  t.notMatch(docs, /<script|<link|\bsrc=|\bhref="(?!#|openapi\.json"|\.\.\/docs\/")|url\(|@import/, 'offline')
})

t.test('every field of a response is in the API document', async (t) => {
  const { ask, table } = await open(t)
  for (const route of table.filter(({ tag }) => tag === 'stats' || tag === 'agents')) {
    if (route.path.includes('{')) continue
    const given = [...new URLSearchParams('site=1&dimension=pathname&steps=/&range=90d&compare=previous&limit=1')]
    const path = `${route.path}?${new URLSearchParams(given.filter(([name]) => name in (route.query?.shape ?? {})))}`
    const response = await ask(path, { operator: true })
    t.equal(response.status, 200, path)
    const { meta } = z.object({ meta: z.record(z.string(), z.unknown()) }).parse(await bodyOf(response))
    const described = z.object({ shape: z.record(z.string(), z.unknown()) }).parse(route.meta).shape
    t.strictSame(
      Object.keys(meta).filter((key) => !(key in described)),
      [],
      `${route.path}: meta`,
    )
  }
})

/** The credentials in the document, for routes that not only an API key's scope opens. */
const CREDENTIALS: Record<string, string[]> = {
  public: [],
  admin: ['session'],
  signed: ['ingest_signature', 'api_key'],
  'stats:read': ['api_key', 'session', 'share'],
  'manage:read': ['api_key', 'session'],
  'manage:write': ['api_key', 'session'],
}

t.test('the OpenAPI document is complete', async (t) => {
  const { ask, table } = await open(t)
  const document = await bodyOf(await ask('/api/openapi.json'))
  const at = (ref: string) =>
    ref
      .split('/')
      .slice(1)
      .reduce((part, word) => part?.[word], document)
  const inlined = (one: unknown): unknown => {
    if (Array.isArray(one)) return one.map(inlined)
    if (typeof one !== 'object' || one === null) return one
    if ('$ref' in one && /#.components.(parameters|responses)/.test(String(one.$ref))) return at(String(one.$ref))
    return Object.fromEntries(Object.entries(one).map(([name, part]) => [name, inlined(part)]))
  }
  const Schema = z.record(z.string(), z.unknown())
  const Parameter = z.object({
    name: z.string(),
    in: z.enum(['path', 'query']),
    required: z.boolean().optional(),
    schema: Schema.optional(),
  })
  const Operation = z.object({
    operationId: z.string().regex(/^[a-z_]+$/),
    summary: z.string().min(1),
    tags: z.array(z.string()).min(1),
    security: z.array(z.record(z.string(), z.array(z.string()))),
    parameters: z.array(Parameter).default([]),
    responses: z.record(z.string().regex(/^[1-5]\d\d$/), z.object({ description: z.string().min(1) })),
  })
  const Document = z.object({
    openapi: z.literal('3.1.0'),
    info: z.object({ title: z.string(), version: z.string() }),
    paths: z.record(
      z.string().startsWith('/'),
      z.record(z.enum(['get', 'post', 'patch', 'delete']), Operation.optional()),
    ),
    components: z.object({
      securitySchemes: z.object({ api_key: z.object({ type: z.literal('http'), scheme: z.literal('bearer') }) }),
    }),
  })
  const { paths } = Document.parse(inlined(document))
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref ?? '')
  for (const ref of refs) t.ok(at(ref), `${ref} is there`)
  const ids = new Set<string>()
  for (const route of table) {
    const operation = paths[route.path]?.[route.method]
    const name = `${route.method} ${route.path}`
    if (route.access === 'operator') {
      t.notOk(operation, `${name} is for the operator only`)
      continue
    }
    if (!operation) {
      t.fail(`${name} is missing`)
      continue
    }
    t.notOk(ids.has(operation.operationId), `${operation.operationId} is unique`)
    ids.add(operation.operationId)
    const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, word]) => word)
    t.same(
      operation.parameters.filter((one) => one.in === 'path').map((one) => [one.name, one.required, one.schema?.type]),
      inPath.map((word) => [word, true, route.pathParameter ? 'string' : 'integer']),
      `${name}: words of the path`,
    )
    t.same(
      operation.parameters.filter((one) => one.in === 'query').map((one) => one.name),
      Object.keys(route.query?.shape ?? {}),
      `${name}: parameters`,
    )
    t.same(operation.security.flatMap(Object.keys), CREDENTIALS[route.access] ?? ['api_key'], `${name}: credential`)
    t.ok(operation.responses[route.status ?? 200], `${name}: success`)
    if (route.access !== 'public')
      for (const status of [401, 403]) t.ok(operation.responses[status], `${name}: ${status}`)
  }
})
