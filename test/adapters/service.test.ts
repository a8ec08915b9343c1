import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openReadership } from '../../src/index.js'
import { startCollector } from '../fixtures/collector.js'
import { command } from '../fixtures/command.js'
import { directory } from '../fixtures/files.js'
import { eventually, GPTBOT } from '../fixtures/instance.js'
import { exchangeBytes } from '../site/proxy/fixtures/sockets.js'
import { onNode, SITES, type Start } from './sites.js'

const KEY = 'ingest_5b1f0f0e8d8a4c55'
const log = { info() {}, warn() {}, error() {} }

async function serve(t: Test, start: Start, readership: Parameters<Start>[0]) {
  const server = start(readership).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
}

const visit = async (url: string) => {
  const page = await fetch(`${url}/page`, { headers: { 'user-agent': GPTBOT } })
  await page.text()
  const script = await fetch(`${url}/_readership/script.js?site=1`)
  const body = JSON.stringify({ s: 1, u: `${url}/page`, t: 'custom', n: 'subscribe' })
  const hit = await fetch(`${url}/_readership/api/track`, { method: 'POST', body })
  const text = await script.text()
  return [page.status, script.status, script.headers.get('content-type'), text.includes('api/track'), hit.status]
}
const ANSWERS = [200, 200, 'text/javascript; charset=utf-8', true, 204]

for (const [name, start] of Object.entries(SITES))
  t.test(`${name}, with a collector: ships the page and the hit, also across close`, async (t) => {
    const collector = await startCollector({ key: KEY })
    t.teardown(collector.stop)
    const data = directory(t)
    const readership = await openReadership({ data, collector: collector.url, site: 1, ingest_key: KEY, log })
    const url = await serve(t, start, readership)
    t.same(await visit(url), ANSWERS)
    const elsewhere = await fetch(`${url}/_readership/api/stats/overview?site=1`)
    t.match([elsewhere.status, await elsewhere.text()], [404, /send the request there/], 'reads are the collector’s')
    await readership.close()
    const rows = collector.deliveries.map(({ agent_events, hits }) => ({ agent_events, hits }))
    t.match(
      { agent_events: rows.flatMap((row) => row.agent_events), hits: rows.flatMap((row) => row.hits ?? []) },
      {
        agent_events: [{ pathname: '/page', status: 200, bytes: 14, ip: '127.0.0.1' }],
        hits: [{ ip: '127.0.0.1', payload: { s: 1, t: 'custom', n: 'subscribe', u: 'https://127.0.0.1/page' } }],
      },
    )
    t.equal((await fetch(`${url}/page`)).status, 200, 'the site goes on')
  })

for (const [name, start, host, pages, why] of [
  ...Object.entries(SITES).map(
    ([name, start]) =>
      [
        name,
        start,
        'shop.example:8000',
        /^dashboard at http:\/\/shop\.example:8000\/_readership\/; .* login-link --data /,
        'its Host',
      ] as const,
  ),
  [
    'plain http, hostile',
    onNode,
    'a.com/x#\u009b2J',
    /^dashboard at http:\/\/localhost:\d+\/_readership\/; /,
    'no such Host',
  ],
] as const)
  t.test(
    `${name}: the first request tells where the dashboard is, and login-link works there`,
    { timeout: 300_000 },
    async (t) => {
      const data = directory(t)
      const said: string[] = []
      const readership = await openReadership({
        data,
        offline: true,
        log: { ...log, info: (_, text) => said.push(text) },
      })
      t.teardown(() => readership.close())
      const url = await serve(t, start, readership)
      t.match((await command('login-link', '--data', data)).stderr, /known after its first request/)
      const { port } = new URL(url)
      const head = `Host: ${host}\r\nConnection: close\r\n\r\n`
      for (const path of ['/page', '/page']) await exchangeBytes(Number(port), [`GET ${path} HTTP/1.1\r\n${head}`])
      t.equal(said.length, 1, 'once')
      t.match(said[0], pages, why)
      const { stdout } = await command('login-link', '--data', data)
      t.match(stdout, `http://localhost:${port}/_readership/sign-in?token=`, 'a token goes to this application only')
      const page = await fetch(stdout.trim().replace('localhost', '127.0.0.1'))
      t.match([page.status, page.headers.get('content-type')], [200, /^text\/html/], 'and the address works')
      const root = await fetch(`${url}/_readership`)
      t.match([root.status, root.url], [200, `${url}/_readership/`], 'the path works without a slash')
      const docs = await fetch(`${url}/_readership/docs`)
      t.match([docs.url, await docs.text()], [`${url}/_readership/docs/`, /href="agents\.html"/], 'the documentation')
      t.notMatch(await (await fetch(`${url}/docs`)).text(), /agents\.html/, "the site's own /docs")
    },
  )

t.test('plain http, with a store: serves the base path, and close flushes buffered rows', async (t) => {
  const data = directory(t)
  const readership = await openReadership({ data, offline: true, log })
  const url = await serve(t, onNode, readership)
  t.same(await visit(url), ANSWERS)
  const { secret } = JSON.parse((await command('keys', 'create', '--name', 'test', '--data', data, '--json')).stdout)
  const headers = { authorization: `Bearer ${secret}` }
  const asked = `${url}/_readership/api/agents/overview?site=1&range=24h`
  await eventually('the fetch', async () => /"fetches":1\b/.test(await (await fetch(asked, { headers })).text()))
  t.equal((await fetch(`${url}/_readership/healthz`)).status, 200)
  await fetch(`${url}/page`, { headers: { 'user-agent': GPTBOT } })
  await readership.close()
  t.ok(readdirSync(data).includes('events.duckdb'), join(data, 'events.duckdb'))
  const again = await openReadership({ data, offline: true, log })
  t.teardown(() => again.close())
  const answer = await again.fetch(new Request(asked.replace('/_readership', ''), { headers }), { ip: '' })
  t.match(await answer.json(), { data: { fetches: 2 } })
})
