import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, request as httpRequest, type OutgoingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { sql } from '../../src/storage/sql.js'
import { command } from '../fixtures/command.js'
import { signBody } from '../fixtures/edge-service.js'
import { directory } from '../fixtures/files.js'
import {
  CHROME,
  eventually,
  freePort,
  GPTBOT,
  type Instance,
  startInstance,
  startOrigin,
  startProxy,
  startService,
} from '../fixtures/instance.js'
import { startLossyProxy } from '../fixtures/lossy-proxy.js'
import { seeded } from '../fixtures/random.js'
import { openStoreAt } from '../fixtures/store.js'

/*
 * A real fleet: sidecars in front of a site and a collector, each a process of its own. The collector is killed with -9
 * again and again while hits and views arrive, one sidecar is killed once, and the network loses responses. Sidecars then
 * send rows again that the collector may have stored already. The attack succeeds if a row that was acknowledged is missing,
 * if a row is stored twice, or if one row has only half of a view that both sides reported. Only a killed sidecar may lose
 * rows, and only those of its last second.
 */

/** The full run has FLEET_KILLS=10 FLEET_SECONDS=60. */
const KILLS = Number(process.env.FLEET_KILLS ?? 2)
const SECONDS = Number(process.env.FLEET_SECONDS ?? 4)
/** Milliseconds of rows that a killed sidecar may lose. */
const LAST_SECOND = 1_000

/** A fetch that a sidecar answered, or a hit that it accepted. */
interface Taken {
  what: 'agent' | 'server' | 'browser' | 'custom'
  name: string
  sidecar: number
  /** When its client got the response; undefined without one. */
  at: number | undefined
}

/** The value of each line of a metric, by its label. */
async function metric(instance: Instance, name: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${instance.admin}/metrics`)).text()
  const lines = [...text.matchAll(new RegExp(`^${name}(?:\\{\\w+="(\\w+)"\\})? (\\d+)$`, 'gm'))]
  return Object.fromEntries(lines.map(([, label = '', value]) => [label, Number(value)]))
}

t.test('a collector killed repeatedly and a sidecar killed once: every row is stored exactly once', async (t) => {
  const random = seeded(20261121)
  const origin = await startOrigin()
  const folder = directory(t)
  const port = await freePort()
  const collectors: Instance[] = []
  const startCollector = async () => {
    const started = await startService({ data: join(folder, 'collector'), port })
    collectors.push(started)
    return started
  }
  let collector = await startCollector()
  t.teardown(() => collector.stop('SIGKILL'))
  const key = join(folder, 'ingest.key')
  writeFileSync(key, (await command('sites', 'ingest-key', '1', '--data', collector.data)).stdout, { mode: 0o600 })
  // Some rows are committed and not acknowledged: the sidecar cannot know about them.
  let answers = 0
  const lossy = await startLossyProxy(port, (answer) => answer.includes(' 202 ') && answers++ % 4 === 0)
  t.teardown(() => lossy.close())
  const sidecar = async (name: string, url: string) => {
    const place = { origin: origin.url, data: join(folder, name), port: await freePort(), adminPort: await freePort() }
    return () => startProxy(place, '--collector', url, '--site', '1', '--ingest-key-file', key)
  }
  const [startOne, startTwo] = [await sidecar('one', lossy.url), await sidecar('two', collector.admin)]
  let [one, two] = await Promise.all([startOne(), startTwo()])
  t.teardown(() => Promise.all([one, two].map((instance) => instance.stop('SIGKILL'))))
  const at = (n: number): Instance => (n === 0 ? one : two)

  const taken: Taken[] = []
  const attempts: Record<string, number> = {}
  let acknowledged = 0
  const count = async (sidecar: Instance) => {
    for (const rows of Object.values(await metric(sidecar, 'readership_shipped_rows_total'))) acknowledged += rows
    for (const [outcome, value] of Object.entries(await metric(sidecar, 'readership_ship_requests_total')))
      attempts[outcome] = (attempts[outcome] ?? 0) + value
  }
  const take = async (what: Taken['what'], name: string, sidecar: number, path: string, init: RequestInit) => {
    const answered = await fetch(`${at(sidecar).site}${path}`, init)
      .then(async (response) => ({ ok: response.ok, text: await response.text() }))
      .catch(() => undefined)
    t.not(answered?.ok, false, `${what} ${name}`)
    taken.push({ what, name, sidecar, at: answered && performance.now() })
  }
  let on = true
  const stream = async (n: number) => {
    for (let i = 0; on; i++) {
      await take('agent', `/${n}/a/${i}`, n, `/${n}/a/${i}`, { headers: { 'user-agent': GPTBOT } })
      // Each view has its own person; the load balancer may give a page and its hit to two sidecars.
      const headers = { 'user-agent': CHROME, 'x-forwarded-for': `100.64.${n * 100 + (i >> 8)}.${i & 255}` }
      const path = `/${n}/p/${i}`
      await take('server', path, n, path, { headers: { ...headers, 'sec-fetch-dest': 'document' } })
      const page = { s: 1, u: `${at(n).site}${path}`, w: 1600 }
      const hit = (payload: object) => ({ method: 'POST', headers, body: JSON.stringify(payload) })
      const other = (n + i) % 2
      await take('browser', path, other, '/_readership/api/track', hit(page))
      if (i % 5 === 0)
        await take('custom', path, other, '/_readership/api/track', hit({ ...page, t: 'custom', n: 'sent' }))
      await sleep(25)
    }
  }
  const delivered = async () => {
    const all = await Promise.all([one, two].map((of) => metric(of, 'readership_ship_requests_total')))
    return all.map(({ accepted = 0 }) => accepted)
  }
  const started = performance.now()
  const streams = [stream(0), stream(1)]
  const death = { from: 0, to: 0 }
  for (let kill = 0; kill < KILLS; kill++) {
    const began = performance.now()
    const before = await delivered()
    await eventually(
      'both deliver',
      async () => (await delivered()).every((count, n) => count > (before[n] ?? 0)),
      60_000,
    )
    await sleep(random() * 1_000)
    await collector.stop('SIGKILL')
    if (kill === KILLS >> 1) {
      await sleep(1_200)
      await count(two)
      death.from = performance.now() - LAST_SECOND
      await two.stop('SIGKILL')
      // Earlier responses may be read only now.
      death.to = performance.now()
      ;[two, collector] = await Promise.all([startTwo(), startCollector()])
    } else {
      await sleep(random() * 500)
      collector = await startCollector()
    }
    await sleep((SECONDS * 1_000) / KILLS - (performance.now() - began))
  }
  on = false
  await Promise.all(streams)
  const ended = performance.now()
  const losses: Record<string, number>[] = []
  const end = async () => {
    for (const of of [one, two]) {
      await count(of)
      losses.push(await metric(of, 'readership_drops_total'))
      t.equal(await of.stop(), 0)
    }
  }
  await end()
  // Rows that a sidecar leaves in its spool are sent after its next start.
  ;[one, two] = await Promise.all([startOne(), startTwo()])
  const waiting = () => Promise.all([one, two].map((of) => metric(of, 'readership_spool_rows')))
  await eventually('what waits', async () => (await waiting()).every((of) => of[''] === 0))
  await end()
  t.equal(await collector.stop(), 0)

  const store = await openStoreAt(join(collector.data, 'events.duckdb'))
  t.teardown(() => store.close())
  const events = await store.query(sql`
    select kind, pathname, recorded_by, status, screen_class from events`)
  const fetched = (await store.query(sql`select pathname from agent_events`)).map(({ pathname }) => String(pathname))
  const [deliveries] = await store.query(sql`
    select count(*) as all_of_them, count(distinct sender || ' ' || number) as numbers, count(distinct sender) as senders
    from deliveries`)

  const doubtful = ({ sidecar, at }: Taken) => at === undefined || (sidecar === 1 && at > death.from && at < death.to)
  const pathsOf = (of: string) => (rows: typeof events) =>
    rows.filter(({ kind }) => kind === of).map(({ pathname }) => String(pathname))
  const views = pathsOf('pageview')
  const stored: Record<Taken['what'], string[]> = {
    agent: fetched,
    // A row has the values of both halves of its view.
    server: views(events.filter(({ status }) => status === 200)),
    browser: views(
      events.filter(({ screen_class, recorded_by }) => screen_class === 'xl' && recorded_by === 'browser'),
    ),
    custom: pathsOf('custom')(events),
  }
  t.equal(new Set(views(events)).size, views(events).length, 'one row a view')
  let lost = 0
  for (const what of ['agent', 'server', 'browser', 'custom'] as const) {
    const there = new Set(stored[what])
    t.equal(there.size, stored[what].length, `${what}: none twice`)
    const ofKind = taken.filter((one) => one.what === what)
    const missing = ofKind.filter(({ name, at }) => at !== undefined && !there.has(name))
    const gone = missing.filter((one) => !doubtful(one))
    t.same(gone, [], `${what}: none lost`)
    for (const { name } of gone.slice(0, 3))
      t.comment(await store.query(sql`select columns(c -> c not like 'utm%') from events where pathname = ${name}`))
    if (gone.length > 0) t.comment(collectors.map((each) => each.output()).join('\n'))
    lost += missing.length
    const known = new Set(ofKind.map(({ name }) => name))
    t.same(
      stored[what].filter((path) => !known.has(path)),
      [],
      `${what}: none that nobody sent`,
    )
  }
  for (const of of losses)
    t.match(of, { spool_full: undefined, damaged: undefined, refused: undefined, closed: undefined })
  t.equal(deliveries?.all_of_them, deliveries?.numbers, 'no number twice')
  t.ok(lossy.lost() > 0, 'answers were lost')
  t.comment({
    ...{ taken: taken.filter(({ at }) => at !== undefined).length, unanswered: taken.filter((one) => !one.at).length },
    ...{ of_the_last_second: taken.filter((one) => one.at && doubtful(one)).length, lost_of_it: lost },
    ...{ acknowledged, seconds: Math.round((ended - started) / 1_000) },
    ...{ agent_rows: fetched.length, event_rows: events.length, server: stored.server.length },
    ...{ browser: stored.browser.length, custom: stored.custom.length },
    ...{ lost_answers: lossy.lost(), attempts, deliveries },
  })
  await origin.close()
})

t.test('a collector that is public, below its base path', async (t) => {
  const site = createServer((_, res) => {
    res.setHeader('content-type', 'text/html').end('<!doctype html><title>Tides</title><p>High at noon.')
  }).listen(0, '127.0.0.1')
  await once(site, 'listening')
  t.teardown(() => site.close())
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const folder = directory(t)
  const collector = await startInstance(origin, join(folder, 'collector'), '--expose', 'ingest')
  t.teardown(() => collector.stop())
  const key = (await command('sites', 'ingest-key', '1', '--data', collector.data)).stdout.trim()
  const shipping = ['--collector', `${collector.site}/_readership`, '--site', '1', '--ingest-key', key, '--inject']
  const sidecar = await startInstance(origin, join(folder, 'sidecar'), ...shipping)
  t.teardown(() => sidecar.stop())
  const page = await fetch(`${sidecar.site}/page`, { headers: { 'user-agent': CHROME, accept: 'text/html' } })
  const [, src = ''] = /<script defer src="([^"]+)"/.exec(await page.text()) ?? []
  t.match(src, /^\/_readership\/script-[0-9a-f]{8}\.js\?site=1$/, 'the collector’s id of the site')
  const script = await fetch(`${sidecar.site}${src}`)
  t.match(script.headers.get('content-type'), /javascript/)
  t.equal((await fetch(`${sidecar.site}/agent`, { headers: { 'user-agent': GPTBOT } })).status, 200)
  await eventually('both rows', async () => (await collector.fetches()) === 1 && (await collector.pageviews()) === 1)

  /** Sends the head, and the body after `100 Continue`. */
  const post = (site: string, body: string, headers: OutgoingHttpHeaders) =>
    new Promise<{ status: number | undefined; asked: boolean }>((resolve, reject) => {
      let asked = false
      const request = httpRequest(`${site}/_readership/api/log/edge`, {
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/json',
          'content-length': body.length,
          expect: '100-continue',
        },
      })
      request.on('continue', () => {
        asked = true
        request.end(body)
      })
      request.on('response', (response) => {
        response.resume()
        request.destroy()
        resolve({ status: response.statusCode, asked })
      })
      request.on('error', reject)
      request.flushHeaders()
    })
  const row = (n: number) => ({
    ...{ timestamp: new Date().toISOString(), user_agent: GPTBOT, method: 'GET', hostname: 'one.example', status: 200 },
    pathname: `/${n}/${'x'.repeat(1_500)}`,
  })
  const agent_events = Array.from({ length: 500 }, (_, n) => row(n))
  const body = JSON.stringify({ site_id: 1, agent_events, note: 'x'.repeat(500_000) })
  const signature = { 'x-service-signature': signBody(key, Math.floor(Date.now() / 1000), body) }
  t.ok(body.length > 1 << 20, 'beyond what curl sends unasked')
  t.strictSame(await post(collector.site, body, signature), { status: 202, asked: true })
  t.equal((await post(collector.site, body, {})).status, 401)
  t.equal((await post(sidecar.site, body, signature)).status, 404, 'not exposed')
  t.equal(await collector.fetches(), 501)
})
