import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { type Sql, sql } from '../../src/storage/sql.js'
import { openWorkerStores } from '../../src/worker/open-stores.js'
import { openSharedSalts } from '../../src/worker/shared-salts.js'
import type { WorkerOptions } from '../../src/worker-client/protocol.js'
import { noChdb, startClickHouse } from '../fixtures/clickhouse-server.js'
import { damageFile } from '../fixtures/file-damage.js'
import { directory } from '../fixtures/files.js'
import { eventually } from '../fixtures/instance.js'
import { createDatabase, noPostgres, startPostgres } from '../fixtures/postgres.js'
import { seeded } from '../fixtures/random.js'
import { eventRow } from '../fixtures/rows.js'
import { openStoreAt } from '../fixtures/store.js'

/** Opens the stores of a worker with events in a file and records that it shares. */
async function open(t: Test, control: string, instance: string, given: Partial<WorkerOptions> = {}) {
  const options: WorkerOptions = {
    ...{ data: directory(t), memory_limit: '256MB', threads: 1, min_free_disk: 0, version: '0', offline: true },
    ...{
      domain: [],
      in_application: false,
      ranges: [],
      spam_referrers: [],
      trusted_referrers: [],
      role: 'both',
      address: `http://${instance}`,
    },
    ...{ control, instance, from: { run: instance, sequence: 0, human: 0, agent: 0, drops: {} } },
    ...given,
  }
  const lines: string[] = []
  const stores = await openWorkerStores(options, {
    log: (level, message) => lines.push(`${level} ${message}`),
    onRepaired() {},
    onRecordsChange() {},
    onLeaseLost() {},
  }).catch((error: unknown) => {
    throw Object.assign(new Error(String(error), { cause: error }), { lines })
  })
  const close = async (release = true) => {
    if (release) await stores.held?.kept?.release()
    else stores.held?.kept?.stop()
    await stores.events.close()
    await stores.records.close()
  }
  return { ...stores, lines, close }
}

t.test('processes that share their records', { skip: noPostgres, timeout: 600_000 }, async (t) => {
  const server = await startPostgres(t)

  t.test('a writer that was taken over writes no records and no salts', async (t) => {
    const url = await createDatabase(server.url, 'fenced')
    const [old, opening] = [await open(t, url, 'a'), open(t, url, 'b')]
    let isOver = false
    const write = (...statements: Sql[]) =>
      // A write of salts is repeated for as long as the process lives.
      isOver ? new Promise<void>(() => {}) : old.records.write(...statements)
    const salts = await openSharedSalts({ ...old.records, write }, () => {})
    salts.write('first')
    const read = async () => (await old.records.query(sql`select content from salts`)).map(({ content }) => content)
    await eventually('the salts are written', async () => (await read()).join() === 'first')
    await old.records.write(sql`insert into goals (id) values (1)`)
    // As if the process had been stopped: it renews nothing.
    old.held?.kept?.stop()
    const present = await opening
    const refused = { code: 'database_error', message: /another writer has taken over/ }
    await t.rejects(old.records.write(sql`insert into goals (id) values (2)`), refused)
    salts.write('second')
    await present.records.write(sql`insert into goals (id) values (3)`)
    await sleep(500)
    t.same(await read(), ['first'])
    const ids = await present.records.query(sql`select id from goals order by id`)
    t.same(ids, [{ id: 1 }, { id: 3 }])
    isOver = true
    await present.close()
    await old.close(false)
  })

  t.test('a standby waits on while the database is away', async (t) => {
    const url = await createDatabase(server.url, 'waits')
    const first = await open(t, url, 'a')
    const opening = open(t, url, 'b')
    opening.catch(() => {})
    await sleep(1_500)
    await server.stop()
    await sleep(2_500)
    await server.start()
    await eventually('the first writes again', () =>
      first.records.write(sql`insert into goals (id) values (1)`).then(() => true),
    )
    await first.close()
    const second = await opening
    const said = second.lines.filter((line) => line.includes('cannot be looked up'))
    t.equal(said.length, 1, 'which is logged once')
    await second.close()
  })

  t.test('stores that cannot be opened leave neither a connection nor the lease', async (t) => {
    const url = await createDatabase(server.url, 'refused')
    const data = directory(t)
    await (await openStoreAt(join(data, 'events.duckdb'))).close()
    await damageFile(data, 'events.duckdb', 'later schema', seeded(1))
    await t.rejects(open(t, url, 'a', { data }))
    const client = new pg.Client({ connectionString: `${server.url}/postgres` })
    await client.connect()
    t.teardown(() => client.end())
    const isClosed = async () =>
      (await client.query("select 1 from pg_stat_activity where datname = 'refused'")).rowCount === 0
    await eventually('the connections are closed', isClosed)
    const next = await open(t, url, 'b')
    t.same(await next.records.query(sql`select instance from writers`), [{ instance: 'b' }])
    await next.close()
  })

  t.test('a writer that was taken over stores no rows', { skip: noChdb }, async (t) => {
    const [url, clickhouse] = [await createDatabase(server.url, 'rows'), await startClickHouse(t)]
    const store = await clickhouse.createDatabase()
    const old = await open(t, url, 'a', { store })
    const rows = { events: [eventRow()], agent_events: [] }
    const position = { run: '00000000000000aa', sequence: 1, human: 1, agent: 0, drops: {} }
    await old.events.append(rows, position)
    // As if another process had not heard of the first, which does not look whether it has the lease.
    old.held?.kept?.stop()
    await old.records.write(sql`update writers set instance = ''`)
    const present = await open(t, url, 'b', { store })
    const refused = { code: 'database_error', message: /another writer has taken over/ }
    await t.rejects(old.events.append(rows, { ...position, sequence: 2 }), refused)
    await t.rejects(old.events.replaceSitemap('example.com', []), refused)
    await present.events.append(rows, { ...position, run: '00000000000000bb' })
    t.same(await present.events.query(sql`select count(*) as n from events`), [{ n: 2 }])
    t.match(await present.events.lastCommit(position.run), { sequence: 1 })
    await present.close()
    await old.close(false)
  })

  t.test('a process that only reads has the limits of reads, and changes no record', { skip: noChdb }, async (t) => {
    const [url, clickhouse] = [await createDatabase(server.url, 'reads'), await startClickHouse(t)]
    const store = await clickhouse.createDatabase()
    const limits = { timeout_ms: 500 }
    const [writer, reader] = [await open(t, url, 'a', { store, limits }), await open(t, url, 'b', { store, limits })]
    const slow = sql`select count(*) as n from numbers(100000000000) where number % 7 = 3`
    for (const { events } of [writer, reader])
      await t.rejects(events.query(slow), { code: 'database_error', message: /longer than 0.5 s/ })
    await writer.records.write(sql`insert into goals (id) values (1)`)
    await t.rejects(reader.records.write(sql`insert into goals (id) values (2)`), { message: /only reads/ })
    await reader.records.write(sql`update keys set requests = requests + 1 where id = 1`)
    await reader.close()
    await writer.close()
  })
})
