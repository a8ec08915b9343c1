import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { createPublicApp } from '../../src/api/app.js'
import { createScriptHandler, isScriptPath, scriptName } from '../../src/api/tracker-script.js'
import { loadConfig } from '../../src/app/config.js'
import { openInstance } from '../../src/app/instance/open-instance.js'
import { directory } from '../fixtures/files.js'

const content = readFileSync('dist/src/browser/tracker/script.js')
const hash = createHash('sha256').update(content).digest('hex').slice(0, 8)
const script = createScriptHandler()
const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  script(new Request(`http://x${path}`, { method, headers }))
const body = async (response: Response | undefined) =>
  Buffer.from((await response?.arrayBuffer()) ?? new ArrayBuffer(0))

t.test('the script has a short name and a hashed name', async (t) => {
  t.equal(scriptName(), `script-${hash}.js`, 'goes with the content')
  const rows: [string, string | undefined, string][] = [
    ['/script.js', 'public, max-age=3600', 'the name that stays'],
    [`/script-${hash}.js`, 'public, max-age=31536000, immutable', 'for good'],
    ['/script-00000000.js', 'public, max-age=3600', 'another version: the current script, not cached permanently'],
    [`/script-${hash}.js?site=7`, 'public, max-age=31536000, immutable', 'the site is for the script'],
    ['/script-0000000.js', undefined, 'seven digits'],
    ['/script-000000000.js', undefined, 'nine digits'],
    [`/script-${hash.toUpperCase().replace(/\d/g, 'A')}.js`, undefined, 'capitals'],
    ['/script.js/', undefined, 'below it'],
    ['/a/script.js', undefined, 'above it'],
    ['/script.json', undefined, 'another file'],
    ['/scriptxjs', undefined, 'no pattern'],
  ]
  for (const [path, caching, why] of rows) {
    const response = ask(path)
    t.equal(response?.headers.get('cache-control'), caching, why)
    t.equal(isScriptPath(path.replace(/\?.*/, '')), caching !== undefined, why)
    if (response) t.ok((await body(response)).equals(content), why)
  }
  t.equal(ask('/script.js', {}, 'POST'), undefined, 'only to be read')
})

t.test('the script is sent compressed as accepted', async (t) => {
  const rows: [string | undefined, string | null, string][] = [
    [undefined, null, 'no header'],
    ['gzip', 'gzip', 'the one'],
    ['gzip, deflate, br, zstd', 'br', 'the smallest'],
    ['GZIP;q=0.5', 'gzip', 'in any case, with a weight'],
    ['br;q=0, gzip;q=1.0', 'gzip', 'refused'],
    ['br; q=0.000', null, 'refused, with a blank'],
    ['br;q=0.001', 'br', 'a little'],
    ['identity', null, 'no compression'],
    ['*', null, 'a wildcard is ignored'],
    ['xbr, brr', null, 'others'],
  ]
  for (const [accepted, coding, why] of rows) {
    const response = ask('/script.js', accepted === undefined ? {} : { 'accept-encoding': accepted })
    t.equal(response?.headers.get('content-encoding') ?? null, coding, why)
    const sent = await body(response)
    t.equal(response?.headers.get('content-length'), `${sent.length}`)
    const plain = coding === 'br' ? brotliDecompressSync(sent) : coding === 'gzip' ? gunzipSync(sent) : sent
    t.ok(plain.equals(content), why)
  }
})

t.test('If-None-Match gets 304, and HEAD no body', async (t) => {
  const etag = `W/"${hash}"`
  const rows: [string, number, string][] = [
    [etag, 304, 'as it was given'],
    [`"${hash}"`, 304, 'as some caches have it'],
    [`"other", ${etag}`, 304, 'among others'],
    ['*', 304, 'any'],
    ['W/"other"', 200, 'another version'],
    ['', 200, 'an empty header'],
  ]
  for (const [header, status, why] of rows) {
    const response = ask('/script.js', { 'if-none-match': header })
    t.equal(response?.status, status, why)
    t.equal((await body(response)).length, status === 304 ? 0 : content.length, why)
    t.match(
      Object.fromEntries(response?.headers ?? []),
      {
        etag,
        vary: 'Accept-Encoding',
        'cache-control': 'public, max-age=3600',
        'access-control-allow-origin': '*',
        'cross-origin-resource-policy': 'cross-origin',
      },
      why,
    )
  }
  const [head, get] = ['HEAD', 'GET'].map((method) => ask('/script.js', { 'accept-encoding': 'gzip' }, method))
  t.same([...(head?.headers ?? [])], [...(get?.headers ?? [])])
  t.equal((await body(head)).length, 0)
})

t.test('both listeners serve the script to pages of any origin', async (t) => {
  const config = loadConfig({
    flags: { data: join(directory(t), 'data'), offline: true },
    env: {},
    read: () => undefined,
  })
  const instance = await openInstance(config, { log: { info() {}, warn() {}, error() {} } })
  t.teardown(() => instance.close())
  const open = createPublicApp((request, peer) => instance.fetch(request, peer), [])
  for (const fetch of [instance.fetch, open]) {
    const response = await fetch(new Request(`http://x/${scriptName()}`), { ip: '127.0.0.1' })
    t.equal(response.status, 200)
    t.match(Object.fromEntries(response.headers), {
      'content-type': 'text/javascript; charset=utf-8',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
    })
    t.ok((await body(response)).equals(content))
    t.equal((await fetch(new Request('http://x/scripts.js'), { ip: '127.0.0.1' })).status, 404)
  }
})
