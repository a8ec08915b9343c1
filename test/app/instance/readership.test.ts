import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { z } from 'zod'
import { loadConfig } from '../../../src/app/config.js'
import { openInstance } from '../../../src/app/instance/open-instance.js'
import { openReadership } from '../../../src/app/instance/open-readership.js'
import { sql } from '../../../src/storage/sql.js'
import type { WorkerClient } from '../../../src/worker-client/worker-client.js'
import { startWorkerClient } from '../../../src/worker-client/worker-client.js'
import { directory } from '../../fixtures/files.js'
import { observation } from '../../fixtures/observations.js'

t.test('a recorder that switched itself off makes the instance not ready, with the reason and a gauge', async (t) => {
  const config = loadConfig({ flags: { data: directory(t), offline: true }, env: {}, read: () => undefined })
  const log = { info() {}, warn() {}, error() {} }
  const start: typeof startWorkerClient = async (options) => ({
    ...(await startWorkerClient(options)),
    record: () => Promise.reject(new Error('the batch cannot be stored')),
  })
  const instance = await openInstance(config, { log, start })
  t.teardown(() => instance.close())
  const ask = async (path: string) => instance.control(new Request(`http://localhost${path}`))
  t.equal((await ask('/readyz')).status, 200)
  t.match(await (await ask('/metrics')).text(), /^readership_recorder_on 1$/m)

  // Each batch of 1,000 is one fault, ten in a minute switch it off.
  for (let n = 0; n < 10_000; n++) instance.record(observation())
  await sleep(50)

  const ready = await ask('/readyz')
  t.equal(ready.status, 503)
  const { data } = z.object({ data: z.object({ state: z.string(), reason: z.string() }) }).parse(await ready.json())
  t.match(data, { state: 'degraded', reason: /recording is off/ })
  const status = z.object({ data: z.object({ store: z.unknown() }) }).parse(await (await ask('/control/status')).json())
  t.match(status.data.store, data, 'the doctor is told the same')
  const metrics = await (await ask('/metrics')).text()
  t.match(metrics, /^readership_recorder_on 0$/m)
  t.match(metrics, /^readership_store_ready 0$/m)
  t.match(metrics, /^readership_drops_total\{reason="fault"\} 10000$/m)
})

t.test('after a worker crash the records are reloaded and belong to their owner', async (t) => {
  const flags = { data: directory(t), offline: true, domain: ['a.example', 'b.example'] }
  const config = loadConfig({ flags, env: {}, read: () => undefined })
  const log = { info() {}, warn() {}, error() {} }
  let opened = 0
  const engines: WorkerClient[] = []
  const start: typeof startWorkerClient = async (options) => {
    const engine = await startWorkerClient({
      ...options,
      async prepare(records) {
        opened += 1
        // As of a file whose last write could not be replayed.
        if (opened > 1) await records.write(sql`update sites set currency = 'CHF' where id = 1`)
        await options.prepare?.(records)
      },
    })
    engines.push(engine)
    return engine
  }
  const instance = await openInstance(config, { log, start })
  t.teardown(() => instance.close())
  const ask = async (method: string, body?: object) => {
    const given = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    const response = await instance.control(new Request('http://localhost/api/sites/1', { method, ...given }))
    return z
      .object({ data: z.object({ domains: z.array(z.string()), currency: z.string() }) })
      .parse(await response.json()).data
  }
  t.strictSame(await ask('GET'), { domains: ['a.example', 'b.example'], currency: 'EUR' })
  t.strictSame(await ask('PATCH', { domains: ['a.example'] }), { domains: ['a.example'], currency: 'EUR' })
  const [engine] = engines
  let pid: number | undefined
  while (pid === undefined) {
    await sleep(20)
    pid = engine?.status().worker?.pid
  }
  process.kill(pid, 'SIGKILL')
  while (engine?.status().restarts !== 1 || engine.status().state !== 'ready') await sleep(20)
  t.strictSame(await ask('GET'), { domains: ['a.example'], currency: 'CHF' })
})

t.test('policy changes that a hostile client invents do not pile up before a busy worker', async (t) => {
  const config = loadConfig({ flags: { data: directory(t), offline: true }, env: {}, read: () => undefined })
  const log = { info() {}, warn() {}, error() {} }
  const heard: (() => void)[] = []
  const start: typeof startWorkerClient = async (options) => {
    const engine = await startWorkerClient(options)
    const call: typeof engine.call = (name, argument) =>
      name === 'policy_seen'
        ? new Promise((resolve) => heard.push(() => resolve(undefined)))
        : engine.call(name, argument)
    return { ...engine, call }
  }
  const instance = await openInstance(config, { log, start })
  t.teardown(() => instance.close())
  const flood = () => {
    for (let n = 0; n < 1_000; n++) instance.policySeen(`${n}.example`, '/robots.txt', n)
  }
  flood()
  t.equal(heard.length, 64)
  for (const hear of heard) hear()
  await sleep(0)
  flood()
  t.equal(heard.length, 128, 'and goes on when it has heard')
})

t.test('the owner sees what the worker dropped, counted once', async (t) => {
  const config = loadConfig({ flags: { data: directory(t), offline: true }, env: {}, read: () => undefined })
  const log = { info() {}, warn() {}, error() {} }
  const instance = await openInstance(config, { log })
  t.teardown(() => instance.close())
  const hit = { s: 1, u: 'http://localhost/' }
  const events = [hit, { ...hit, t: 'engagement' }, { ...hit, t: 'error', p: {} }, { ...hit, t: 'web_vitals' }]
  const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/137.0.0.0 Safari/537.36' }
  const post = (body: object, headers: Record<string, string>) =>
    instance.fetch(
      new Request('http://localhost/api/track/batch', { method: 'POST', headers, body: JSON.stringify(body) }),
      { ip: '192.0.2.1' },
    )
  t.equal((await post(events, headers)).status, 204)
  t.equal((await post([{ ...hit, t: 'custom', n: 'x' }], { 'user-agent': 'GPTBot/1.2' })).status, 204)
  const Drops = z.object({ data: z.array(z.object({ door: z.string(), reason: z.string(), count: z.number() })) })
  const ask = async () =>
    Drops.parse(await (await instance.control(new Request('http://localhost/api/sites/1/drops'))).json()).data
  let drops = await ask()
  for (let n = 0; n < 100 && drops.length < 2; n++) {
    await sleep(50)
    drops = await ask()
  }
  t.strictSame(drops, [
    { door: 'track', reason: 'nothing_measured', count: 3 },
    { door: 'track', reason: 'agent', count: 1 },
  ])
  const metrics = await (await instance.control(new Request('http://localhost/metrics'))).text()
  t.match(metrics, /^readership_door_drops_total\{door="track",reason="nothing_measured"\} 3$/m)
  t.match(metrics, /^readership_drops_total\{reason="nothing_measured"\} 3$/m)
})

t.test(
  'inside an application: a misspelt option is refused, files are this user’s alone, and its own questions are not fetches',
  async (t) => {
    // An application in plain JavaScript can misspell an option.
    const misspelt = { offline: true, orgin: 'http://localhost:3000' }
    await t.rejects(openReadership(misspelt), {
      message: 'orgin is not an option of openReadership; did you mean origin?',
    })

    const data = directory(t)
    chmodSync(data, 0o755)
    const before = process.umask(0o022)
    t.teardown(() => process.umask(before))
    const readership = await openReadership({ data, offline: true, origin: 'http://127.0.0.1:9' })
    t.teardown(() => readership.close())
    const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync('package.json', 'utf8')))
    const user_agent = `readership/${version}`
    for (const [pathname, ip] of [
      ['/robots.txt', '127.0.0.1'],
      ['/llms.txt', '::1'],
      // As Express says it, of a socket that is for both families.
      ['/robots.txt', '::ffff:127.0.0.1'],
      ['/hidden', '198.51.100.7'],
    ] as const)
      readership.record(observation({ pathname, ip, user_agent, content_type: 'text/plain' }))
    const count = async () => {
      const path = '/control/tail?n=50&audience=all&follow=0'
      const asked = get({ socketPath: join(data, 'control.sock'), path })
      const [response] = await once(asked, 'response')
      return (await text(response)).split('\n').filter((line) => line !== '')
    }
    let rows = await count()
    while (rows.length === 0) {
      await sleep(50)
      rows = await count()
    }
    t.equal(rows.length, 1)
    t.match(rows[0], /hidden/, 'who says so elsewhere is counted')
    for (const name of readdirSync(data).filter((name) => name.includes('duckdb')))
      t.equal(statSync(join(data, name)).mode & 0o077, 0, name)
    t.ok(readdirSync(data).includes('events.duckdb.wal'))
  },
)

t.test('a store that accepts nothing, as on a full disk, does not delay close', async (t) => {
  const flags = { data: directory(t), offline: true, min_free_disk: 2 ** 52 }
  const config = loadConfig({ flags, env: {}, read: () => undefined })
  const said: [object, string][] = []
  const log = { info() {}, warn() {}, error: (details: object, message: string) => void said.push([details, message]) }
  const instance = await openInstance(config, { log, start: (given) => startWorkerClient({ ...given, drain_ms: 200 }) })
  instance.record(observation())
  const ready = async () => (await instance.control(new Request('http://localhost/readyz'))).status
  for (let n = 0; n < 100 && (await ready()) !== 503; n++) await sleep(50)
  t.equal(await ready(), 503)
  t.equal(await Promise.race([instance.close().then(() => 'closed'), sleep(12_000, 'open', { ref: false })]), 'closed')
  t.strictSame(said, [[{ rows: 1 }, 'rows that waited for the store are lost']])
})
