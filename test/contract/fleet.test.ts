import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { z } from 'zod'
import { openClickHouse } from '../../src/storage/clickhouse/store.js'
import { holdLease } from '../../src/storage/migrate/held-lease.js'
import { openPostgresRecords } from '../../src/storage/postgres/records.js'
import { type Sql, sql } from '../../src/storage/sql.js'
import { noChdb, startClickHouse } from '../fixtures/clickhouse-server.js'
import { command } from '../fixtures/command.js'
import { signBody } from '../fixtures/edge-service.js'
import { directory } from '../fixtures/files.js'
import {
  CHROME,
  eventually,
  freePort,
  GPTBOT,
  type Instance,
  startOrigin,
  startProxy,
  startService,
} from '../fixtures/instance.js'
import { createDatabase, noPostgres, startPostgres } from '../fixtures/postgres.js'

/*
 * Processes that share ClickHouse and PostgreSQL: two that may write, and two that only read; two sidecars deliver to the
 * readers. The writer is killed, its successor stopped for longer than its lease lasts and continued, and PostgreSQL is gone
 * for a while. The attack succeeds if a request that a sidecar answered is missing or stored twice, or a session is split.
 */

/** The full run has FLEET_SECONDS=120 and FLEET_FAULTS=6. */
const SECONDS = Number(process.env.FLEET_SECONDS ?? 30)
const FAULTS = Number(process.env.FLEET_FAULTS ?? 3)
/** Visitors of each sidecar. */
const PEOPLE = 10

t.test(
  'a writer, a standby, two readers and two sidecars',
  { skip: noChdb || noPostgres, timeout: 1_100_000 },
  async (t) => {
    const [origin, clickhouse, postgres] = [await startOrigin(), await startClickHouse(t), await startPostgres(t)]
    t.teardown(() => origin.close())
    const folder = directory(t)
    const [store, control] = [await clickhouse.createDatabase(), await createDatabase(postgres.url, 'fleet')]
    const shared = ['--store', store, '--control', control]
    const running: Instance[] = []
    t.teardown(() => Promise.all(running.map((one) => one.stop('SIGKILL'))))
    const member = async (name: string, ...flags: string[]) => {
      const port = await freePort()
      const own = ['--advertise', `http://127.0.0.1:${port}`]
      const one = await startService({ data: join(folder, name), port }, ...shared, ...own, ...flags)
      running.push(one)
      return one
    }
    const isWriter = async (one: Instance) =>
      (await (await fetch(`${one.admin}/metrics`)).text()).includes('\nreadership_writer 1\n')

    const first = await member('a')
    t.equal(await isWriter(first), true, 'the first that may write does')
    const second = await member('b')
    const [one, other] = [await member('c', '--role', 'reader'), await member('d', '--role', 'reader')]
    t.same(await Promise.all([second, one, other].map(isWriter)), [false, false, false], 'one writes')
    for (const { admin } of [first, one]) {
      const metrics = await (await fetch(`${admin}/metrics`)).text()
      for (const line of [/_lease_held 1\n/, /_lease_renewal_age_seconds [0-4](\.\d+)?\n/, /_clickhouse_parts\{table=/])
        t.match(metrics, line)
    }

    const { stdout: secret } = await command(
      'keys',
      'create',
      '--name',
      'fleet',
      '--scopes',
      'stats:read,manage:read',
      '--data',
      first.data,
    )
    const key = secret.trim()
    const ask = (at: Instance, path: string) =>
      fetch(`${at.admin}${path}`, { headers: { authorization: `Bearer ${key}` } })
    await eventually('a key is known everywhere', async () => (await ask(other, '/api/sites')).ok)
    const refused = await command('keys', 'list', '--data', one.data)
    t.equal(refused.code, 0, 'a reader answers what changes nothing')
    t.match(
      (await command('keys', 'create', '--name', 'x', '--data', one.data)).stderr,
      /only reads/,
      'and says where to change it',
    )

    const ingestKey = (await command('sites', 'ingest-key', '1', '--data', first.data)).stdout.trim()
    const file = join(folder, 'ingest.key')
    writeFileSync(file, ingestKey, { mode: 0o600 })
    const sidecar = async (name: string, at: Instance) => {
      const place = {
        origin: origin.url,
        data: join(folder, name),
        port: await freePort(),
        adminPort: await freePort(),
      }
      const flags = ['--collector', at.admin, '--site', '1', '--ingest-key-file', file]
      const started = await startProxy(place, ...flags)
      running.push(started)
      return started
    }
    const sidecars = [await sidecar('s1', one), await sidecar('s2', other)]

    const taken: Record<'fetch' | 'view', string[]> = { fetch: [], view: [] }
    let on = true
    const streams = sidecars.map(async ({ site }, n) => {
      const take = async (what: keyof typeof taken, path: string, headers: Record<string, string>) => {
        const { ok } = await fetch(`${site}${path}`, { headers })
        if (ok) taken[what].push(path)
      }
      for (let i = 0; on; i++) {
        await take('fetch', `/${n}/a/${i}`, { 'user-agent': GPTBOT })
        // People who read one page after the other for as long as the test lasts: each has one session.
        const headers = { 'user-agent': CHROME, 'x-forwarded-for': `100.64.${n}.${i % PEOPLE}` }
        await take('view', `/${n}/p/${i}`, { ...headers, 'sec-fetch-dest': 'document', accept: 'text/html' })
        await sleep(20)
      }
    })
    const body = (number: number) =>
      JSON.stringify({
        ...{ site_id: 1, batch: { sender: 'f'.repeat(16), number } },
        agent_events: [
          {
            timestamp: new Date().toISOString(),
            user_agent: GPTBOT,
            method: 'GET',
            hostname: 'x.example',
            pathname: '/signed',
            status: 200,
          },
        ],
      })
    const signed = body(1)
    const headers = {
      'content-type': 'application/json',
      'x-service-signature': signBody(ingestKey, Math.floor(Date.now() / 1000), signed),
    }
    const deliver = (at: Instance) => fetch(`${at.admin}/api/log/edge`, { method: 'POST', headers, body: signed })
    t.equal((await deliver(one)).status, 202)
    t.equal((await deliver(other)).status, 409, 'a signature works once, at whichever process')

    let [writer, standby] = [first, second]
    const took: number[] = []
    for (let fault = 0; fault < FAULTS; fault++) {
      await sleep((SECONDS * 1_000) / FAULTS / 2)
      const at = performance.now()
      if (fault % 3 === 2) {
        await postgres.stop()
        await sleep(2_000)
        t.equal((await deliver(one)).status, 503, 'without its database nothing is accepted')
        t.equal((await fetch(`${other.admin}/healthz`)).status, 200, 'and every process lives on')
        await postgres.start()
        await eventually('the writer is the same', () => isWriter(writer))
      } else if (fault % 3 === 0) {
        await writer.stop('SIGKILL')
        await eventually('the standby writes', () => isWriter(standby))
        took.push(performance.now() - at)
        ;[writer, standby] = [standby, await member(`e${fault}`)]
      } else {
        // All of its processes stop, as when a machine is suspended.
        const pids = await processes(writer)
        for (const pid of pids) process.kill(pid, 'SIGSTOP')
        await eventually('the standby writes', () => isWriter(standby))
        took.push(performance.now() - at)
        for (const pid of pids) process.kill(pid, 'SIGCONT')
        ;[writer, standby] = [standby, writer]
        await eventually('the other notices', async () => !(await isWriter(standby)))
      }
      await sleep((SECONDS * 1_000) / FAULTS / 2)
    }
    t.equal((await deliver(one)).status, 409, 'also after another process has taken over')
    on = false
    await Promise.all(streams)
    const waiting = async ({ admin }: Instance) =>
      Number(/^readership_spool_rows (\d+)$/m.exec(await (await fetch(`${admin}/metrics`)).text())?.[1])
    await eventually('the sidecars have delivered', async () =>
      (await Promise.all(sidecars.map(waiting))).every((rows) => rows === 0),
    )

    const rows = await openClickHouse(store)
    t.teardown(() => rows.close())
    const pathsOf = async (query: Sql) => (await rows.query(query)).map(({ pathname }) => String(pathname))
    const stored = {
      fetch: await pathsOf(sql`select pathname from agent_events where pathname <> '/signed'`),
      view: await pathsOf(sql`select pathname from events where kind = 'pageview'`),
    }
    for (const what of ['fetch', 'view'] as const) {
      const there = new Set(stored[what])
      t.ok(taken[what].length > SECONDS * 5, `${taken[what].length} of each sidecar’s ${what}`)
      t.equal(there.size, stored[what].length, `${what}: none twice`)
      t.same(
        taken[what].filter((path) => !there.has(path)),
        [],
        `${what}: none lost`,
      )
    }
    const [people] = await rows.query(sql`
      select count(distinct visitor_id) as visitors, count(distinct session_id) as sessions from events`)
    t.same(people, { visitors: 2 * PEOPLE, sessions: 2 * PEOPLE }, 'one session each, whoever wrote meanwhile')
    t.comment({ fetches: taken.fetch.length, views: taken.view.length, takeovers_ms: took.map(Math.round) })

    const listed = await command('keys', 'list', '--json', '--data', writer.data)
    const [made] = z.array(z.object({ id: z.number() })).parse(JSON.parse(listed.stdout))
    await command('keys', 'revoke', `${made?.id}`, '--data', writer.data)
    await eventually(
      'a revoked key is refused everywhere',
      async () => (await ask(other, '/api/sites')).status === 401,
      1_000,
    )

    await Promise.all([writer, standby].map((each) => each.stop()))
    const records = await openPostgresRecords({
      ...{ url: control, now: () => new Date(), instance: 'test', log() {}, onChange() {} },
    })
    t.teardown(() => records.close())
    const held = await holdLease(records)
    await eventually('a command that holds the lease takes no requests', async () =>
      /has no address/.test(one.output()),
    )
    const refusal = await deliver(one)
    t.match({ status: refusal.status, body: await refusal.text() }, { status: 503, body: /No process writes/ })
    await held?.release()
  },
)

/** A process and its worker. */
async function processes({ child: { pid = 0 } }: Instance): Promise<number[]> {
  const { readFile } = await import('node:fs/promises')
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return [pid, ...children.trim().split(' ').map(Number)]
}
