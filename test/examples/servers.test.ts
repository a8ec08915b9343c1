import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { startCollector } from '../fixtures/collector.js'
import { command } from '../fixtures/command.js'
import { directory } from '../fixtures/files.js'
import { CHROME, eventually, freePort, GPTBOT, startInstance } from '../fixtures/instance.js'

const KEY = 'ingest_5b1f0f0e8d8a4c55'

/** Starts an example as a process and resolves when it prints its address. */
async function start(t: Test, name: string, words: readonly string[], cwd: string): Promise<string> {
  const port = await freePort()
  const program = resolve(`dist/examples/${name}.js`)
  const env = { ...process.env, PORT: String(port) }
  const child = spawn(process.execPath, [program, ...words], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(async () => {
    child.kill()
    if (child.exitCode === null) await once(child, 'exit')
  })
  await once(child.stdout, 'data')
  return `http://127.0.0.1:${port}`
}

t.test('a sidecar in front of a site of files', async (t) => {
  const folder = directory(t)
  mkdirSync(join(folder, 'public'))
  writeFileSync(join(folder, 'public/index.html'), '<!doctype html><title>Files</title><body>A page')
  writeFileSync(join(folder, 'public/a.css'), 'p {}')
  writeFileSync(join(folder, 'secret'), 'secret')
  const origin = await start(t, 'static', [], folder)
  const sidecar = await startInstance(origin, join(folder, 'data'), '--inject')
  t.teardown(() => sidecar.stop())
  const headers = { 'user-agent': CHROME }
  const page = await fetch(`${sidecar.site}/`, { headers })
  t.match(await page.text(), /<script defer src="\/_readership\/script-[0-9a-f]{8}\.js\?site=1"><\/script>/)
  const css = await fetch(`${sidecar.site}/a.css`, { headers })
  t.same([await css.text(), css.headers.get('content-type')], ['p {}', 'text/css'])
  const etag = css.headers.get('etag') ?? ''
  t.equal((await fetch(`${sidecar.site}/a.css`, { headers: { 'if-none-match': etag } })).status, 304)
  for (const path of ['/..%2fsecret', '/%2e%2e/secret', '/none', '/%', '/%00'])
    t.equal((await fetch(`${sidecar.site}${path}`, { headers })).status, 404, path)
  await eventually('the page', async () => (await sidecar.pageviews()) === 1)
})

t.test('a sidecar in front of a streaming server that compresses its pages', async (t) => {
  const folder = directory(t)
  const origin = await start(t, 'streaming', [], folder)
  const sidecar = await startInstance(origin, join(folder, 'data'), '--inject')
  t.teardown(() => sidecar.stop())
  for (const encoding of ['gzip', 'identity']) {
    const headers = { 'user-agent': CHROME, 'accept-encoding': encoding, accept: 'text/html' }
    const asked = performance.now()
    const [answer]: IncomingMessage[] = await once(get(`${sidecar.site}/about`, { headers }), 'response')
    const chunks: Buffer[] = []
    let first = 0
    for await (const chunk of answer ?? []) {
      if (chunks.length === 0) first = performance.now() - asked
      chunks.push(chunk)
    }
    const whole = performance.now() - asked
    const body = Buffer.concat(chunks)
    const text = (encoding === 'gzip' ? gunzipSync(body) : body).toString()
    t.ok(whole - first > 200, `${encoding}: the shell came ${Math.round(whole - first)} ms before the rest`)
    t.equal(text.match(/<script defer src="\/_readership\/script-/g)?.length, 1, 'one tag')
    t.match(text, /<title>\/about<\/title>[\s\S]*The part that took long[\s\S]*<\/html>$/)
  }
  const data = await fetch(`${sidecar.site}/_data/about`, { headers: { 'user-agent': CHROME } })
  t.equal(await data.text(), '{"title":"/about"}', 'data is not touched')
  await eventually('the pages', async () => (await sidecar.pageviews()) === 2)
})

t.test('two sidecars ship to a collector', async (t) => {
  const folder = directory(t)
  mkdirSync(join(folder, 'public'))
  writeFileSync(join(folder, 'public/index.html'), '<!doctype html><title>Files</title>')
  const origin = await start(t, 'static', [], folder)
  const ports = [await freePort(), await freePort(), await freePort()].map(String)
  const program = resolve('dist/examples/fleet.js')
  const fleet = spawn(process.execPath, [program, origin, ...ports], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  fleet.stdout.resume()
  fleet.stderr.resume()
  const ended = once(fleet, 'exit')
  const [collector, ...sidecars] = ports.map((port) => `http://127.0.0.1:${port}`)
  for (const site of sidecars)
    await eventually('the sidecar', async () => (await fetch(`${site}/`, { headers: { 'user-agent': GPTBOT } })).ok)
  const made = await command('keys', 'create', '--name', 'test', '--data', join(folder, 'fleet/collector'), '--json')
  const headers = { authorization: `Bearer ${JSON.parse(made.stdout).secret}` }
  const asked = `${collector}/api/agents/overview?site=1&range=24h`
  await eventually('both rows', async () => /"fetches":2\b/.test(await (await fetch(asked, { headers })).text()))
  t.pass('both sidecars’ rows are at the collector')
  fleet.kill()
  t.same(await ended, [0, null], 'and it ends well')
})

t.test('a Worker runs without Node and ships to a collector', async (t) => {
  const collector = await startCollector({ key: KEY })
  t.teardown(collector.stop)
  const bindings = JSON.stringify({ COLLECTOR: collector.url, INGEST_KEY: KEY })
  const script = `const { default: site } = await import(${JSON.stringify(resolve('dist/examples/worker.js'))})
const work = []
const request = new Request('https://site.example/', { headers: { 'user-agent': 'GPTBot/1.2', 'cf-connecting-ip': '203.0.113.9' } })
const page = await site.fetch(request, ${bindings}, { waitUntil: (one) => work.push(one) })
console.log(await page.text())
await Promise.all(work)`
  const conditions = ['--conditions', 'workerd', '--conditions', 'browser', '--no-warnings']
  const bare = ['--import', resolve('dist/test/fixtures/no-node.js'), '--input-type=module', '-e', script]
  const { stdout } = await promisify(execFile)(process.execPath, [...conditions, ...bare])
  t.match(stdout, `<script defer src="${collector.url}/script.js?site=1"></script>`)
  t.match(collector.deliveries, [
    { agent_events: [{ hostname: 'site.example', pathname: '/', status: 200, ip: '203.0.113.9' }] },
  ])
})
