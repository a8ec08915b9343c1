import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openClickHouse } from '../../src/storage/clickhouse/store.js'
import { openPostgresRecords } from '../../src/storage/postgres/records.js'
import { raw, sql } from '../../src/storage/sql.js'
import { assertEqual } from '../fixtures/assert-equal.js'
import { noChdb, startClickHouse } from '../fixtures/clickhouse-server.js'
import { asStore, change, fillStores, openFilesAt, readAllRecords, readEvents } from '../fixtures/copied-store.js'
import { deliver, delivery } from '../fixtures/edge-deliveries.js'
import { signBody } from '../fixtures/edge-service.js'
import { directory } from '../fixtures/files.js'
import { cli, eventually, freePort, GPTBOT, startOrigin, startProxy, startService } from '../fixtures/instance.js'
import { createDatabase, noPostgres, startPostgres } from '../fixtures/postgres.js'
import { seeded } from '../fixtures/random.js'
import { eventRow } from '../fixtures/rows.js'
import { compareReads } from './engine-reads.js'

/*
 * Copies a data directory to ClickHouse and PostgreSQL and back, with the real command: killed at random, while readership
 * stores rows, and after rows were erased and came late. In the end all rows, records and answers are equal.
 */

const SEED = Number(process.env.MIGRATE_SEED ?? Date.now() % 2 ** 31)
const GENERATED = { sessions: 150, agents: 300 }

/** Starts the command and kills it `ms` after `hasBegun` is true, if it has not ended by then. */
async function killAfter(args: readonly string[], hasBegun: () => Promise<boolean>, ms: number): Promise<void> {
  const child = spawn(process.execPath, ['dist/bin/readership.js', ...args], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  while (child.exitCode === null && !(await hasBegun())) await sleep(20)
  await Promise.race([ended, sleep(ms)])
  child.kill('SIGKILL')
  await ended
}

/** Everything that is stored on the servers. */
async function openServers(t: Pick<Test, 'teardown'>, store: string, control: string) {
  const events = await openClickHouse(store)
  const instance = 'test'
  const records = await openPostgresRecords({ url: control, now: () => new Date(), log() {}, instance, onChange() {} })
  const close = async () => {
    await events.close()
    await records.close()
  }
  t.teardown(close)
  return { events, records, close }
}

t.test('a store is copied to servers and back', { skip: noChdb || noPostgres, timeout: 1_100_000 }, async (t) => {
  t.comment(`MIGRATE_SEED=${SEED}`)
  const random = seeded(SEED)
  const [clickhouse, postgres] = [await startClickHouse(t), await startPostgres(t)]
  const [store, control] = [await clickhouse.createDatabase(), await createDatabase(postgres.url, 'copied')]
  const [from, back] = [directory(t), join(directory(t), 'back')]
  await fillStores(from, GENERATED)
  const servers = ['--store', store, '--control', control]
  const there = ['migrate', '--to', store, '--control', control, '--data', from]
  const backAgain = ['migrate', '--to', `duckdb:${back}`, ...servers, '--data', directory(t)]

  const target = await openServers(t, store, control)
  const countCopied = async () => Number((await target.records.query(sql`select count(*) as n from copied`))[0]?.n)
  const killThere = async () => {
    const before = (await countCopied()) + random.int(30)
    await killAfter(there, async () => (await countCopied()) > before, random.int(200))
  }
  for (let n = 0; n < 2; n++) await killThere()
  t.ok((await countCopied()) > 3, 'each run went on where the one before was killed')
  const port = await freePort()
  const refused = await cli('serve', '--port', String(port), ...servers, '--data', directory(t), '--offline')
  t.match(refused, { code: 1, stderr: /not copied completely/ }, 'no readership starts on a part')

  const wrong = (url: string) => url.replace(/:[^:@/]+@/, ':hunter2@')
  for (const [to, records, line] of [
    [wrong(store), control, /ClickHouse/],
    [store, wrong(control), /the user or the password is wrong/],
  ] as const) {
    const { code, stderr } = await cli('migrate', '--to', to, '--control', records, '--data', from)
    t.match({ code, stderr }, { code: 1, stderr: line })
    t.equal(stderr.trim().split('\n').length, 1, 'one line')
    t.notMatch(stderr, /hunter2/, 'without the password')
  }

  const running = await startService({ data: from, port })
  t.teardown(() => running.stop('SIGKILL'))
  const key = (await cli('sites', 'ingest-key', '1', '--data', from)).stdout.trim()
  const { stop } = deliver(running.admin, key)
  const during = await cli(...there)
  t.match(during, { code: 0, stdout: /in use.*stop readership and run this once more/ }, during.stderr)
  const accepted = await stop()
  t.ok(accepted > 10, `${accepted} deliveries meanwhile`)
  await running.stop()

  await change(from, async ({ events, records }) => {
    const late = eventRow({ timestamp: new Date('2026-11-20T13:00:00Z'), visitor_id: 77n, session_id: 78n })
    await events.append({ events: [late, late], agent_events: [] })
    await events.remove({ site: 1, visitor: 2n ** 64n - 1n })
    await records.write(sql`update goals set name = 'changed'`)
  })
  await killThere()
  const last = await cli(...there)
  t.match(last, { code: 0, stdout: /Complete: source and target are equal/ }, last.stderr)

  const source = await openFilesAt(from)
  const expected = { events: await readEvents(source.events), records: await readAllRecords(source.records) }
  const stored = await source.events.query(sql`select count(*) as n from agent_events where pathname like '/%/0'`)
  t.ok(Number(stored[0]?.n) >= accepted, 'the deliveries are in the source')
  assertEqual(t, await readEvents(target.events), expected.events, 'rows')
  assertEqual(t, await readAllRecords(target.records), expected.records, 'records')
  const sessions = await source.events.query(sql`select distinct session_id from events where site_id = 1 limit 50`)
  const ids = sessions.map(({ session_id }) => BigInt(`0x${session_id}`))
  await t.test('reads give the same answers', async (t) => {
    compareReads(t, { events: ids.map((session_id) => eventRow({ session_id })), agent_events: [] }, () => [
      asStore(source.events),
      asStore(target.events),
    ])
  })
  await source.close()
  await target.close()

  const service = await startService({ data: directory(t), port }, ...servers)
  t.teardown(() => service.stop('SIGKILL'))
  const busy = await cli(...backAgain)
  t.match(busy, { code: 0, stdout: /The source is in use/ }, `a running source: ${busy.stderr}`)
  const again = await cli(...there)
  t.match(again, { code: 1, stderr: /another process writes/ }, 'a target that is in use')
  const body = delivery(1_000_000)
  const signature = signBody(key, Math.floor(Date.now() / 1000), body)
  const sent = await fetch(`${service.admin}/api/log/edge`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json', 'x-service-signature': signature }, body },
  })
  t.equal(sent.status, 202, 'the copy takes rows, and keys of its source')
  await service.stop('SIGKILL')
  t.match(await cli(...there), { code: 1, stderr: /readership has used since/ }, 'a target that was used')

  const file = join(back, 'events.duckdb')
  await killAfter(backAgain, async () => existsSync(file), 1_000 + random.int(4_000))
  const returned = await cli(...backAgain)
  t.match(returned, { code: 0, stdout: /Complete: source and target are equal/ }, returned.stderr)
  const [servers2, files] = [await openServers(t, store, control), await openFilesAt(back)]
  const found = await readEvents(files.events)
  assertEqual(t, found, await readEvents(servers2.events), 'rows after the way back')
  assertEqual(
    t,
    await readAllRecords(files.records),
    await readAllRecords(servers2.records),
    'records after the way back',
  )
  for (const table of ['events', 'loose_reports', 'sitemap_urls'])
    assertEqual(t, without(found[table]), without(expected.events[table]), `${table} of the beginning`)
  await files.close()
  await change(back, async ({ records }) => t.same(await records.query(sql`select * from ${raw('losses')}`), []))

  await t.test('a proxy that waits for the copy pauses no site', async (t) => {
    const [from, data, origin] = [directory(t), directory(t), await startOrigin()]
    t.teardown(() => origin.close())
    const [store, control] = [await clickhouse.createDatabase(), await createDatabase(postgres.url, 'waited')]
    const there = ['migrate', '--to', store, '--control', control, '--data', from]
    await fillStores(from)
    const old = await startService({ data: from, port })
    await cli(...there)
    await old.stop()
    const ports = { port: await freePort(), adminPort: await freePort() }
    const proxy = await startProxy({ origin: origin.url, data, ...ports }, '--store', store, '--control', control)
    t.teardown(() => proxy.stop('SIGKILL'))
    const page = await fetch(`${proxy.site}/waiting`, { headers: { 'user-agent': GPTBOT } })
    t.equal(page.status, 200, 'the site is served')
    t.match(await proxy.ready(), { status: 503, body: /degraded/ })
    t.match(proxy.output(), /not copied completely/)
    t.match(await cli(...there), { code: 0, stdout: /Complete/ })
    await eventually('the proxy has opened the copy', async () => (await proxy.ready()).status === 200)
    const target = await openServers(t, store, control)
    const stored = () => target.events.query(sql`select site_id from agent_events where pathname = '/waiting'`)
    await eventually('the row is stored', async () => (await stored()).length === 1)
  })
})

/** Rows but for those that the service stored at the end. */
const without = (rows: readonly string[] = []): string[] => rows.filter((row) => !row.includes('/1000000/'))
