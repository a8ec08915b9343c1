import { once } from 'node:events'
import { createServer, get } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listener } from '../../adapters/node.js'
import { reads } from '../../src/analytics/reads/index.js'
import { createPublicApp } from '../../src/api/app.js'
import { listenAdmin } from '../../src/api/server.js'
import { type Config, loadConfig } from '../../src/app/config.js'
import type { Instance } from '../../src/app/instance/instance.js'
import { openInstance } from '../../src/app/instance/open-instance.js'
import { directory } from '../fixtures/files.js'

const DASH = 'https://dash.example'
const LOCAL = 'http://localhost:3000'
const log = { info() {}, warn() {}, error() {} }

async function open(t: Test, flags: Partial<Config> = { cors_origins: [DASH, LOCAL, 'https://bücher.example'] }) {
  const config = loadConfig({
    flags: { data: join(directory(t), 'data'), offline: true, ...flags },
    env: {},
    read: () => undefined,
  })
  const instance = await openInstance(config, { log })
  t.teardown(() => instance.close())
  const made = await instance.control(new Request('http://x/api/keys', { method: 'POST', body: '{"name":"dash"}' }))
  const { data } = (await made.json()) as { data: { secret: string } }
  const call = (
    path: string,
    headers: Record<string, string>,
    method = 'GET',
    on: Instance['fetch'] = instance.fetch,
  ) => on(new Request(`http://127.0.0.1:8081${path}`, { method, headers }), { ip: '127.0.0.1' })
  return { instance, call, key: { authorization: `Bearer ${data.secret}` } }
}

/** The CORS headers of a response. */
const words = (response: Response) =>
  Object.fromEntries([...response.headers].filter(([name]) => name.startsWith('access-control-')))
const PREFLIGHT = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' }

t.test('configured origins get CORS headers, others none', async (t) => {
  const { call, key } = await open(t)
  const rows: [string | undefined, boolean, string][] = [
    [DASH, true, 'listed'],
    [LOCAL, true, 'listed, with its port'],
    ['https://xn--bcher-kva.example', true, 'IDN as browsers send it'],
    [undefined, false, 'no page at all'],
    ['', false, 'empty'],
    ['null', false, 'a file, a sandboxed frame'],
    ['*', false, 'no pattern'],
    ['http://dash.example', false, 'another scheme'],
    ['https://dash.example:8443', false, 'another port'],
    ['https://dash.example:443', false, 'no browser writes its own port'],
    ['http://localhost', false, 'listed with a port'],
    ['https://dash.example.evil.example', false, 'listed is its prefix'],
    ['https://evildash.example', false, 'listed is its suffix'],
    ['https://x.dash.example', false, 'below it'],
    ['https://DASH.example', false, 'no browser writes capitals'],
    ['https://dash.example/', false, 'with a path'],
    ['https://dash.example.', false, 'with the root dot'],
    [`${DASH}, https://evil.example`, false, 'two of them'],
    [`${DASH} `, true, 'blanks around a value are not the value'],
    [`https://evil.example ${DASH}`, false, 'two with a blank'],
    ['https://dash.example@evil.example', false, 'a user'],
    ['https://b%C3%BCcher.example', false, 'encoded'],
  ]
  for (const [origin, allowed, why] of rows) {
    const headers = origin === undefined ? {} : { origin }
    const preflight = await call('/api/stats/overview?site=1', { ...headers, ...PREFLIGHT }, 'OPTIONS')
    const answer = await call('/api/stats/overview?site=1', { ...headers, ...key })
    t.equal(preflight.status, 204, why)
    t.equal(await preflight.text(), '')
    t.equal(answer.status, 200, 'the browser keeps the response from the page')
    for (const { headers } of [preflight, answer]) t.equal(headers.get('vary'), 'Origin', `${why}: Vary`)
    const name = { 'access-control-allow-origin': origin?.trim() }
    t.same(
      words(preflight),
      allowed
        ? {
            ...name,
            'access-control-allow-methods': 'GET',
            'access-control-allow-headers': 'authorization',
            'access-control-max-age': '7200',
          }
        : {},
      why,
    )
    t.same(
      words(answer),
      allowed ? { ...name, 'access-control-expose-headers': 'Retry-After, Content-Disposition' } : {},
      why,
    )
  }
})

t.test('errors of reads have CORS headers, and other routes have none', async (t) => {
  const { call, key, instance } = await open(t)
  const origin = { origin: DASH }
  const rows: [string, Record<string, string>, number, boolean, string][] = [
    ['/api/stats/overview?site=1', {}, 401, true, 'no key'],
    ['/api/stats/overview?site=1', { authorization: 'Bearer svcg_x' }, 401, true, 'no such key'],
    ['/api/stats/overview?site=x', key, 422, true, 'a bad value'],
    ['/api/stats/overview?site=9', key, 404, true, 'no such site'],
    ...reads.map(({ path }): [string, Record<string, string>, number, boolean, string] => [
      path.replace(/\{\w+\}/g, '1'),
      {},
      401,
      true,
      'every read',
    ]),
    ['/api/sites', key, 403, false, 'management'],
    ['/api/keys', key, 403, false, 'keys'],
    ['/healthz', {}, 200, false, 'health'],
    ['/metrics', {}, 200, false, 'metrics'],
    ['/api/openapi.json', {}, 200, false, 'the document'],
    ['/api/docs', {}, 200, false, 'the docs'],
    ['/nowhere', {}, 404, false, 'an unknown path'],
    ['/control/status', {}, 404, false, "the operator's"],
  ]
  for (const [path, headers, status, cors, why] of rows) {
    const response = await call(path, { ...origin, ...headers })
    t.equal(response.status, status, `${why}: ${path}`)
    t.equal(response.headers.get('access-control-allow-origin'), cors ? DASH : null, `${why}: ${path}`)
    t.notOk(response.headers.has('access-control-allow-credentials'))
    const preflight = await call(path, { ...origin, ...PREFLIGHT }, 'OPTIONS')
    t.equal(preflight.status, cors ? 204 : 404, `preflight of ${path}`)
    t.equal(preflight.headers.has('access-control-allow-origin'), cors)
  }
  const write = await call('/api/stats/overview?site=1', { ...origin, ...key }, 'POST')
  t.equal(write.status, 404, 'a preflight never runs the route')
  await instance.close()
  const broken = await call('/api/stats/overview?site=1', { ...origin, ...key })
  t.equal(broken.status, 503, 'the store is gone')
  t.equal(broken.headers.get('access-control-allow-origin'), DASH)
  t.match(broken.headers.get('access-control-expose-headers'), /Retry-After/)
  t.ok(broken.headers.has('retry-after'))
})

t.test('no origin is allowed by default', async (t) => {
  const { call, key } = await open(t, {})
  for (const origin of [DASH, 'null', 'http://127.0.0.1:8081']) {
    t.same(words(await call('/api/stats/overview?site=1', { origin, ...key })), {}, origin)
    t.same(words(await call('/api/stats/overview?site=1', { origin, ...PREFLIGHT }, 'OPTIONS')), {}, origin)
  }
})

t.test('CORS works on the admin listener, under the base path and mounted', async (t) => {
  const { instance, key } = await open(t)
  const admin = await listenAdmin((request, peer) => instance.fetch(request, peer), '127.0.0.1', 0)
  t.teardown(() => admin.close())
  const mounted = createServer(listener(instance, (_, res) => res.end('the site'))).listen(0, '127.0.0.1')
  await once(mounted, 'listening')
  t.teardown(() => mounted.close())
  const address = mounted.address() as AddressInfo
  const exposed = createPublicApp((request, peer) => instance.fetch(request, peer), ['api'])
  const instances: [string, (path: string, init: RequestInit) => Promise<Response>][] = [
    ['admin', (path, init) => fetch(`${admin.at}${path}`, init)],
    ['mounted', (path, init) => fetch(`http://127.0.0.1:${address.port}/_readership${path}`, init)],
    ['exposed', (path, init) => exposed(new Request(`http://site.example${path}`, init), { ip: '127.0.0.1' })],
  ]
  for (const [name, ask] of instances) {
    const read = await ask('/api/stats/overview?site=1', { headers: { origin: DASH, ...key } })
    t.equal(read.status, 200, name)
    t.equal(read.headers.get('access-control-allow-origin'), DASH, name)
    await read.text()
    const preflight = await ask('/api/stats/overview?site=1', {
      method: 'OPTIONS',
      headers: { origin: DASH, ...PREFLIGHT },
    })
    t.equal(preflight.status, 204, name)
    t.equal(preflight.headers.get('access-control-allow-headers'), 'authorization', name)
  }
  const twice = await new Promise<string | undefined>((resolve, reject) => {
    const headers = ['Host', 'x', 'Origin', DASH, 'Origin', 'https://evil.example', 'Authorization', key.authorization]
    get(`${admin.at}/api/stats/overview?site=1`, { headers }, (response) => {
      response.resume()
      t.equal(response.statusCode, 200)
      resolve(response.headers['access-control-allow-origin'])
    }).on('error', reject)
  })
  t.equal(twice, undefined, 'two Origin lines are not an origin')
  const socket = connect(admin.port, '127.0.0.1')
  socket.end('OPTIONS * HTTP/1.1\r\nHost: x\r\nOrigin: https://dash.example\r\nConnection: close\r\n\r\n')
  let raw = ''
  for await (const chunk of socket) raw += String(chunk)
  t.match(raw, /^HTTP\/1\.1 4\d\d /, 'OPTIONS * is refused')
  t.notMatch(raw, /access-control/i)
})
