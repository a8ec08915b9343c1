import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { createApp } from '../../src/api/app.js'
import { createDashboard } from '../../src/api/dashboard-files.js'
import type { Route } from '../../src/api/route.js'
import { directory } from '../fixtures/files.js'

const PAGE = '<!doctype html><html><head><base href="./"><title>readership</title></head></html>'
const SCRIPT = 'console.log("the dashboard")\n'.repeat(50)
const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

/** A built dashboard of four files, one of them in Brotli alone as in the package, with a file beside its folder. */
function build(t: Test): string {
  const root = directory(t)
  const folder = join(root, 'dashboard')
  mkdirSync(join(folder, 'assets'), { recursive: true })
  writeFileSync(join(root, 'secret.txt'), 'secret')
  writeFileSync(join(folder, 'index.html'), PAGE)
  writeFileSync(join(folder, 'manifest.webmanifest'), '{}')
  writeFileSync(join(folder, 'assets', 'app-a1b2.js.br'), brotliCompressSync(SCRIPT))
  writeFileSync(join(folder, 'assets', 'small-c3d4.css'), 'a{}')
  return folder
}

const route = (path: string): Route => ({
  ...{ method: 'get', path, access: 'public', tag: 'service', summary: path },
  run: async () => ({ route: path }),
})

/** The service with two routes and a dashboard. */
function service(folder: string) {
  const app = createApp({
    routes: [route('/api/sites'), route('/sign-in')],
    credentials: {
      keys: {
        authenticate: () => Promise.reject(new Error('no key is sent')),
        isActive: async () => false,
      },
    },
    version: '0',
    dashboard: createDashboard(`${folder}/`),
    log: (error) => t.fail('nothing is our own fault', { error }),
  })
  return async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const response = await app(new Request(`http://a.example${path}`, { method, headers }), { ip: '', operator: false })
    return { response, status: response.status, headers: response.headers, text: await response.clone().text() }
  }
}

t.test('the page is served at every address of the dashboard, and its base leads to the root', async (t) => {
  const ask = service(build(t))
  const rows: [string, Record<string, string>, number, string | undefined, string][] = [
    ['/', {}, 200, './', 'the root'],
    ['/?x=1', {}, 200, './', 'a query is not part of the path'],
    ['/sites', {}, 200, './', 'one word'],
    ['/sites/', {}, 200, '../', 'below it'],
    ['/sites/1/pages', {}, 200, '../../', 'two below'],
    ['/sites/1/pages/%2Fpricing%2Fa', {}, 200, '../../../', 'an escaped slash is not a slash'],
    ['/settings', {}, 200, './', 'settings'],
    ['/settings/keys', {}, 200, '../', 'a part of them'],
    ['/account', {}, 200, './', 'the account'],
    ['/share/abc?embed=1', {}, 200, '../', 'a share link'],
    ['/sites/../share/a', {}, 200, '../', 'dots are resolved first'],
    ['/sites/%2e%2e/share/a', {}, 200, '../', 'however they are written'],
    ['/sites/%00', {}, 200, '../', 'NUL is a letter of the address'],
    [`/sites/${'x'.repeat(10_000)}`, {}, 200, '../', '10,000 letters'],
    ['/nowhere', HTML, 404, './', 'an unknown address, in a browser'],
    ['/no/where/', HTML, 404, '../../', 'and below it'],
    ['//evil.example/x', HTML, 404, '../../', 'a host is a word of the path'],
    ['/siteswap', HTML, 404, './', 'a longer word'],
    ['/nowhere', {}, 404, undefined, 'JSON for a program'],
    ['/nowhere', { accept: '*/*' }, 404, undefined, 'anything is not a page'],
    ['/api/nowhere', HTML, 404, undefined, 'always below /api'],
    ['/index.html', HTML, 404, './', 'the page has one name'],
  ]
  for (const [path, headers, status, base, why] of rows) {
    const found = await ask(path, headers)
    const shown = base === undefined ? undefined : PAGE.replace('./', base)
    t.match(
      [found.status, shown === undefined ? undefined : found.text],
      [status, shown],
      `${why}: ${path.slice(0, 40)}`,
    )
    if (base === undefined) t.match(JSON.parse(found.text), { error: { code: 'not_found' } }, why)
  }
  for (const path of ['/api/sites', '/sign-in'])
    t.same(JSON.parse((await ask(path, HTML)).text), { data: { route: path } }, `${path} stays a route`)
  t.equal((await ask('/', HTML, 'POST')).status, 404, 'pages are read only')
})

t.test('headers of the page: nothing from elsewhere, no frame, revalidated by its content', async (t) => {
  const ask = service(build(t))
  const { headers } = await ask('/sites/1')
  t.same(
    ['content-security-policy', 'x-frame-options', 'x-content-type-options', 'cache-control', 'referrer-policy'].map(
      (name) => headers.get(name),
    ),
    [
      "default-src 'self'; img-src 'self' data:; base-uri 'self'; frame-ancestors 'none'; form-action 'self'; object-src 'none'",
      ...['DENY', 'nosniff', 'no-cache', 'same-origin'],
    ],
  )
  t.equal((await ask('/share/abc')).headers.get('referrer-policy'), 'no-referrer', 'the address is the secret')
  const etag = headers.get('etag') ?? ''
  t.equal((await ask('/sites/2', { 'if-none-match': etag })).status, 304, 'the same base is the same page')
  t.equal((await ask('/', { 'if-none-match': etag })).status, 200, 'another base is another page')
  t.equal((await ask('/nowhere/x', { ...HTML, 'if-none-match': etag })).status, 404, 'unknown stays unknown')
  const head = await ask('/sites/1', {}, 'HEAD')
  t.same([head.status, head.text, head.headers.get('content-length')], [200, '', `${PAGE.length + 1}`], 'HEAD')
})

t.test('files are compressed as the client accepts, and cached by their names', async (t) => {
  const ask = service(build(t))
  const IMMUTABLE = 'public, max-age=31536000, immutable'
  const rows: [string, string | undefined, string | null, (body: Buffer) => Buffer][] = [
    ['/assets/app-a1b2.js', undefined, null, (body) => body],
    ['/assets/app-a1b2.js', 'gzip', 'gzip', gunzipSync],
    ['/assets/app-a1b2.js', 'gzip, br', 'br', brotliDecompressSync],
    ['/assets/app-a1b2.js', 'br;q=0, gzip', 'gzip', gunzipSync],
  ]
  for (const [path, accepted, encoding, decode] of rows) {
    const { response, headers } = await ask(path, accepted === undefined ? {} : { 'accept-encoding': accepted })
    t.equal(decode(Buffer.from(await response.arrayBuffer())).toString(), SCRIPT, `${accepted}`)
    t.same(
      ['content-encoding', 'content-type', 'cache-control', 'vary', 'x-content-type-options'].map((name) =>
        headers.get(name),
      ),
      [encoding, 'text/javascript; charset=utf-8', IMMUTABLE, 'Accept-Encoding', 'nosniff'],
      `${accepted}`,
    )
  }
  const small = await ask('/assets/small-c3d4.css', { 'accept-encoding': 'br, gzip' })
  t.same([small.text, small.headers.get('content-type')], ['a{}', 'text/css; charset=utf-8'], 'no smaller copy exists')
  const manifest = await ask('/manifest.webmanifest')
  t.same([manifest.status, manifest.headers.get('cache-control')], [200, 'no-cache'], 'a name without a hash')
  const again = await ask('/manifest.webmanifest', { 'if-none-match': manifest.headers.get('etag') ?? '' })
  t.equal(again.status, 304)
  for (const path of [
    ...[
      '/assets/',
      '/assets',
      '/assets/app-a1b2',
      '/assets/%61pp-a1b2.js',
      '/assets/app-a1b2.js%00',
      '/assets/none.js',
    ],
    ...['/..%2fsecret.txt', '/assets/..%2f..%2fsecret.txt', '/%2e%2e%2fsecret.txt', '/assets/..%5c..%5csecret.txt'],
    ...['/../secret.txt', '/assets//app-a1b2.js', `/assets/${'../'.repeat(20)}secret.txt`, '/dashboard/index.html'],
  ]) {
    const { status, text } = await ask(path)
    t.equal(status, 404, path.slice(0, 60))
    t.notMatch(text, /^secret/, path.slice(0, 60))
  }
})

t.test('the logo is the icon, also under the name that browsers guess', async (t) => {
  const ask = service(build(t))
  for (const path of ['/favicon.svg', '/favicon.ico']) {
    const { status, text, headers } = await ask(path)
    t.same([status, headers.get('content-type')], [200, 'image/svg+xml'], path)
    t.match(text, /#1c5cab.*#a84a0b/, 'in both colours')
    t.notMatch(text, /script|href/, 'and nothing else')
  }
})

t.test('a build without the dashboard says so, and links the API', async (t) => {
  const folder = join(directory(t), 'absent')
  const ask = service(folder)
  const { status, text, headers } = await ask('/sites/1')
  t.equal(status, 200)
  t.match(text, /<base href="\.\.\/">.*has no dashboard.*href="api\/docs"/s)
  t.match(headers.get('content-security-policy'), /default-src 'self'/)
  t.equal((await ask('/nowhere', HTML)).status, 404)
  mkdirSync(folder)
  writeFileSync(join(folder, 'index.html'), PAGE)
  t.equal((await ask('/')).text, PAGE, 'until it is built')
})
