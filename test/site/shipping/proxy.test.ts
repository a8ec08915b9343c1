import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { z } from 'zod'
import { listener } from '../../../adapters/node.js'
import { userAgent } from '../../../src/base/outbound/guarded-outbound.js'
import { openReadership } from '../../../src/index.js'
import { nameRuleSet } from '../../../src/rules/build-rule-set.js'
import { startCollector } from '../../fixtures/collector.js'
import { command } from '../../fixtures/command.js'
import { directory } from '../../fixtures/files.js'
import { CHROME, cli, dataDir, eventually, GPTBOT, startInstance, startOrigin } from '../../fixtures/instance.js'
import { KEY } from '../../fixtures/shipping.js'

/** A sidecar and a middleware that keep nothing: the whole of each, as it is started. */

const keyFile = (data: string): string => {
  mkdirSync(data, { recursive: true })
  const file = join(data, 'ingest.key')
  writeFileSync(file, `${KEY}\n`, { mode: 0o600 })
  return file
}

t.test(
  'readership proxy --collector: rows arrive, kill -9 loses none, and the commands say where they are',
  async (t) => {
    const origin = await startOrigin()
    const collector = await startCollector({ key: KEY })
    const data = dataDir(t)
    const args = ['--collector', collector.url, '--site', '3', '--ingest-key-file', keyFile(data)]
    const first = await startInstance(origin.url, data, ...args)
    const visit = async (site: string, path: string, agent: string) =>
      (await fetch(`${site}${path}`, { headers: { 'user-agent': agent } })).text()
    await visit(first.site, '/a', GPTBOT)
    await visit(first.site, '/b?utm_source=x', CHROME)
    await eventually('both rows', () => collector.paths().length === 2)
    t.match(
      collector.deliveries.flatMap(({ events }) => events),
      [{ pathname: '/b', query: 'utm_source=x', ip: '127.0.0.1' }],
    )
    t.ok(collector.deliveries.every(({ site_id }) => site_id === 3))

    const metrics = async () => (await fetch(`${first.admin}/metrics`)).text()
    await eventually('the metrics', async () =>
      /^readership_shipped_rows_total\{list="agent_events"\} 1$/m.test(await metrics()),
    )
    t.match(await metrics(), /^readership_collector_ready 1$/m)
    t.match(await metrics(), /^readership_rules_age_seconds \d/m)
    t.match(await metrics(), /^readership_requests_total\{status="2xx"\} 2$/m)
    const read = await fetch(`${first.admin}/api/stats/overview?site=1`)
    t.equal(read.status, 404)
    // The message does not name the collector, because an adapter shows it to every client.
    t.match(await read.json(), {
      error: { code: 'not_found', message: /It ships them to its collector; send the request there/ },
    })
    t.equal((await fetch(`${first.admin}/control/status`)).status, 404, 'the operator’s, at the socket only')
    t.equal((await fetch(`${first.site}/_readership/metrics`)).status, 404)
    for (const name of ['tail', 'stats']) {
      const { code, stderr } = await command(name, '--data', data)
      t.equal(code, 1)
      t.match(stderr, /This instance stores no rows. It ships them to http/, name)
    }
    t.match((await command('doctor', '--data', data)).stdout, /runs, and ships rows to http/)
    const beside = await cli('proxy', 'http://127.0.0.1:9', '--port', '0', '--admin-port', '0', '--data', data, ...args)
    t.equal(beside.code, 1)
    t.match(beside.stderr, /spool is in use by another process/)

    await collector.stop()
    for (let n = 0; n < 20; n++) await visit(first.site, `/away/${n}`, GPTBOT)
    await eventually('they wait', async () => /^readership_spool_rows 20$/m.test(await metrics()))
    await eventually('the trouble', async () => /^readership_collector_ready 0$/m.test(await metrics()))
    t.equal((await first.ready()).status, 200, 'they are safe: no reason to take the site away')
    await sleep(1_000)
    await first.stop('SIGKILL')
    await collector.start()
    const second = await startInstance(origin.url, data, ...args)
    await eventually('what waited', () => collector.paths().length === 22)
    await visit(second.site, '/last', GPTBOT)
    t.equal(await second.stop(), 0)
    t.equal(new Set(collector.paths()).size, 23)
    t.notMatch(first.output() + second.output(), KEY)
    t.match((await command('stats', '--data', data)).stderr, /shipped to a collector: ask there/)
    await origin.close()
    await collector.stop()
  },
)

t.test('a middleware with a collector has the same three functions', async (t) => {
  const collector = await startCollector({ key: KEY })
  const data = directory(t)
  const redirects = [{ from: '/old', to: '/new', status: 301 as const }]
  const rules = { site: 2, domains: [], rules: [], sitemaps: [], robots: [], redirects }
  writeFileSync(join(data, 'rules.json'), JSON.stringify(nameRuleSet([rules])))
  const readership = await openReadership({ data, collector: `${collector.url}/`, site: 2, ingest_key: KEY })
  const server = createServer(
    listener(readership, (req, res) => {
      res.statusCode = req.url === '/old' ? 404 : 200
      res.setHeader('content-type', 'text/html').end('<p>')
    }),
  ).listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const [response] = await once(get({ port, path: '/page', headers: { 'user-agent': CHROME } }), 'response')
  response.resume()
  await eventually('the row', () => collector.paths().includes('/page'))
  t.equal(collector.deliveries[0]?.site_id, 2)
  const statusOf = async (agent: string) => {
    const [missing] = await once(get({ port, path: '/old', headers: { 'user-agent': agent } }), 'response')
    missing.resume()
    return missing.statusCode
  }
  t.equal(await statusOf(CHROME), 301, 'the redirects that it had last')
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync('package.json', 'utf8')))
  t.equal(await statusOf(userAgent(version)), 404, 'but readership itself sees the site as it is')
  const health = await readership.fetch(new Request('http://x/healthz'), { ip: '' })
  t.equal(await health.text(), 'ok\n')
  server.close()
  server.closeAllConnections()
  await readership.close()
  await readership.close()
  await collector.stop()
  await t.rejects(openReadership({ data, collector: collector.url }), {
    name: 'ConfigError',
    setting: 'ingest_key_file',
  })
  await t.rejects(openReadership({ data, collector: collector.url, ingest_key_file: join(data, 'none') }), {
    message: /The ingest key cannot be read from .*none: ENOENT/,
  })
})

t.test('a process without other work ends, even if the collector is down', async (t) => {
  const script = `
    import { openReadership } from '${join(process.cwd(), 'dist/src/index.js')}'
    const readership = await openReadership({ data: '${directory(t)}', collector: 'http://127.0.0.1:9', ingest_key: 'k' })
    readership.record({ timestamp: new Date().toISOString(), user_agent: '', method: 'GET', hostname: 'a', pathname: '/',
      status: 200, bytes: 0, duration_ms: 0, content_type: '', conditional: 0, ip: '::1' })
    await readership.close()
    console.log('closed')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  const [code] = await once(child, 'exit')
  t.equal(code, 0)
  t.equal(said, 'closed\n')
})
