import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { createApp, createPublicApp } from '../../src/api/app.js'
import { createDashboard } from '../../src/api/dashboard-files.js'
import { createDocs } from '../../src/api/docs-files.js'
import { directory } from '../fixtures/files.js'

const PAGE = `<!doctype html><title>Agents</title>${'<p>They read.</p>'.repeat(100)}`
const HTML = { accept: 'text/html' }

/** A service with a dashboard of one page and a documentation of three files, with a file beside its folder. */
function service(t: Test) {
  const root = directory(t)
  for (const folder of ['dashboard', 'docs/assets']) mkdirSync(join(root, folder), { recursive: true })
  writeFileSync(join(root, 'secret.txt'), 'secret')
  writeFileSync(join(root, 'dashboard/index.html'), 'the dashboard')
  writeFileSync(join(root, 'docs/index.html'), PAGE)
  writeFileSync(join(root, 'docs/agents.html'), PAGE)
  writeFileSync(join(root, 'docs/small.html'), '<p>')
  writeFileSync(join(root, 'docs/assets/search-a1b2.json.gz'), gzipSync('{}'))
  const app = createApp({
    routes: [],
    credentials: {
      keys: { authenticate: () => Promise.reject(new Error('no key is sent')), isActive: async () => false },
    },
    version: '0',
    dashboard: createDashboard(join(root, 'dashboard/')),
    docs: createDocs(join(root, 'docs/')),
    log: (error) => t.fail('nothing is our own fault', { error }),
  })
  const peer = { ip: '', operator: false }
  return {
    app,
    ask: (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      app(new Request(`http://a.example${path}`, { method, headers }), peer),
  }
}

t.test('pages are served to everybody, with a strict policy', async (t) => {
  const { ask } = service(t)
  for (const path of ['/docs/', '/docs/index.html', '/docs/agents.html', '/docs/agents.html?x=1']) {
    const response = await ask(path)
    t.equal(response.status, 200, path)
    t.equal(await response.text(), PAGE, path)
  }
  const { headers } = await ask('/docs/agents.html')
  t.match(headers.get('content-security-policy'), /^default-src 'none'; script-src 'self'; style-src 'self';/)
  t.notMatch(headers.get('content-security-policy'), /unsafe|\*/)
  t.same(
    ['content-type', 'x-content-type-options', 'x-frame-options', 'cache-control', 'vary'].map((name) =>
      headers.get(name),
    ),
    ['text/html; charset=utf-8', 'nosniff', 'DENY', 'no-cache', 'Accept-Encoding'],
  )
  const head = await ask('/docs/', {}, 'HEAD')
  t.same([head.status, await head.text(), head.headers.get('content-length')], [200, '', `${PAGE.length}`])
})

t.test('pages are compressed and revalidated, files with a hash in their names are kept', async (t) => {
  const { ask } = service(t)
  const packed = await ask('/docs/agents.html', { 'accept-encoding': 'gzip, br' })
  t.equal(packed.headers.get('content-encoding'), 'gzip')
  t.equal(gunzipSync(Buffer.from(await packed.arrayBuffer())).toString(), PAGE)
  const [plain, small] = [await ask('/docs/agents.html'), await ask('/docs/small.html', { 'accept-encoding': 'gzip' })]
  t.same([plain.headers.get('content-encoding'), small.headers.get('content-encoding')], [null, null])
  const etag = packed.headers.get('etag') ?? ''
  t.equal((await ask('/docs/agents.html', { 'accept-encoding': 'gzip', 'if-none-match': etag })).status, 304)
  const index = await ask('/docs/assets/search-a1b2.json.gz', { 'accept-encoding': 'gzip' })
  t.same(
    ['cache-control', 'content-type', 'content-encoding'].map((name) => index.headers.get(name)),
    ['public, max-age=31536000, immutable', 'application/gzip', null],
  )
})

t.test('addresses without a page', async (t) => {
  const { ask } = service(t)
  const folder = await ask('/docs')
  t.same([folder.status, folder.headers.get('location')], [301, 'docs/'], 'relative, as below a base path')
  const rows: [string, Record<string, string>, string, number][] = [
    ['/docs/none.html', HTML, 'GET', 404],
    ['/docs/none.html', {}, 'GET', 404],
    ['/docs/assets', {}, 'GET', 404],
    ['/docs/..%2fsecret.txt', {}, 'GET', 404],
    ['/docs/%2e%2e/secret.txt', {}, 'GET', 404],
    ['/docs/../secret.txt', {}, 'GET', 404],
    ['/docsx', {}, 'GET', 404],
    ['/docs/', {}, 'POST', 404],
    ['/docs/', {}, 'DELETE', 404],
  ]
  for (const [path, headers, method, status] of rows) {
    const response = await ask(path, headers, method)
    t.equal(response.status, status, `${method} ${path}`)
    t.notMatch(await response.text(), /^secret/, path)
  }
})

t.test('the public listener has the pages where it has the dashboard', async (t) => {
  const { app } = service(t)
  for (const [exposed, status] of [
    [[], 404],
    [['ingest'], 404],
    [['api'], 200],
  ] as const)
    for (const path of ['/docs/', '/docs/agents.html']) {
      const response = await createPublicApp(app, exposed)(new Request(`http://a.example${path}`), { ip: '' })
      t.equal(response.status, status, `${path}, exposed: ${exposed}`)
    }
})
