import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { createClient } from '@clickhouse/client'
import t, { type Test } from 'tap'
import { parseAddress } from '../../../src/storage/clickhouse/client.js'
import { migrate, requireVersion } from '../../../src/storage/clickhouse/migrate.js'
import { MIGRATIONS } from '../../../src/storage/clickhouse/schema.js'
import { openClickHouse } from '../../../src/storage/clickhouse/store.js'
import { raw, sql } from '../../../src/storage/sql.js'
import { noChdb, startClickHouse } from '../../fixtures/clickhouse-server.js'
import { openClickHouseWriter, openJournalRecords } from '../../fixtures/clickhouse-store.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'

t.test('an address is parsed, and a wrong one is refused without its password', async (t) => {
  const address = (given: object) => ({
    ...{ username: 'default', password: '', database: 'd', cluster: undefined },
    ...given,
  })
  const good: [string, object][] = [
    ['clickhouse://h/d', { url: 'http://h:8123' }],
    ['clickhouse://h/d?cluster=c-1.a', { url: 'http://h:8123', cluster: 'c-1.a' }],
    ['clickhouse://h/d?secure=true', { url: 'https://h:8443' }],
    ['clickhouse://h:9/d?secure=false', { url: 'http://h:9' }],
    [
      'clickhouse://u%40x:p%2Fw@[::1]:1/d_1',
      { url: 'http://[::1]:1', username: 'u@x', password: 'p/w', database: 'd_1' },
    ],
  ]
  for (const [url, expected] of good) t.strictSame(parseAddress(url), address(expected), url)
  const bad: [string, RegExp][] = [
    ['clickhouse', /not a URL/],
    ['http://u:secret@h/d', /scheme/],
    ['clickhouse://u:secret@h', /database/],
    ['clickhouse://u:secret@h/a/b', /database/],
    ['clickhouse://u:secret@h/d;drop', /database/],
    ['clickhouse://u:secret@h/d?clusters=c', /unknown parameter clusters/],
    ["clickhouse://u:secret@h/d?cluster=c'", /cluster must be a name/],
    ['clickhouse://u:secret@h/d?cluster=', /cluster must be a name/],
    ['clickhouse://u:secret@h/d?secure=yes', /secure must be/],
    ['clickhouse:///d', /no host/],
  ]
  for (const [url, message] of bad) {
    const error = await openClickHouse(url).catch((error: unknown) => error)
    t.match(error, { name: 'ClickHouseOpenError', message }, url)
    t.notMatch(String(error), 'secret')
  }
})

t.test('with secure=true the first byte is that of a TLS handshake', async (t) => {
  const first: number[] = []
  const server = createTcpServer((socket) =>
    socket.once('data', (data) => {
      first.push(data[0] ?? 0)
      socket.destroy()
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  await t.rejects(openClickHouse(`clickhouse://u:secret@127.0.0.1:${port}/d?secure=true`), {
    name: 'ClickHouseOpenError',
    message: /^ClickHouse at https:\/\/127.0.0.1:\d+, database d, user u: no connection \(\w+\)\.$/,
  })
  t.ok(first.length > 0 && first.every((byte) => byte === 0x16), `${first}`)
})

/** One server for all tests but the last, which stops it. */
let started: ReturnType<typeof startClickHouse> | undefined
const shared = () => (started ??= startClickHouse(t))

t.test('a server that does not let the store be opened is named in one line', { skip: noChdb }, async (t) => {
  const url = await (await shared()).createDatabase()
  const { port, password } = new URL(url)
  const closed = createServer()
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
  const free = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  const rows: [string, RegExp][] = [
    [url.replace(password, 'secret'), /user default: the user or the password is wrong\.$/],
    [
      url.replace(/\/\w+$/, '/nothing'),
      /database nothing, user default: the database does not exist; create it first\.$/,
    ],
    [url.replace(port, String(free.port)), /no connection \(ECONNREFUSED\)\.$/],
  ]
  for (const [given, message] of rows) {
    const error = await openClickHouse(given).catch((error: unknown) => error)
    t.match(error, { name: 'ClickHouseOpenError', message })
    t.notMatch(String(error), /secret|\n/)
    t.notMatch(String(error), password)
  }
})

t.test('a clock that is ten minutes off is named', { skip: noChdb }, async (t) => {
  const url = await (await shared()).createDatabase()
  for (const minutes of [10, -10]) {
    const opening = openClickHouseWriter(t, url, { now: () => new Date(Date.now() + minutes * 60_000) })
    await t.rejects(opening, {
      message: /^The clocks of this machine and of the ClickHouse server differ by 10 minutes/,
    })
  }
})

t.test('an old version of ClickHouse is refused', async (t) => {
  for (const version of ['24.12.1.1', '25.7.9.9', '23.8'])
    t.throws(() => requireVersion(version), { message: `ClickHouse ${version} is too old: 25.8 or newer is needed.` })
  for (const version of ['25.8.1.1', '25.12.1.1', '26.1', '26.7.2.1']) t.doesNotThrow(() => requireVersion(version))
})

/** A new database, and a client with the rights of the store to look at its tables and change them. */
async function openDatabase(t: Test) {
  const server = await shared()
  const url = await server.createDatabase()
  const { username, password, database, url: address } = parseAddress(url)
  const client = createClient({ url: address, username, password, database })
  t.teardown(() => client.close())
  const select = async (query: string) => (await client.query({ query, format: 'JSONEachRow' })).json()
  return { server, url, client, select, run: (query: string) => client.command({ query }) }
}

const versions = (count: number) => Array.from({ length: count }, (_, n) => ({ version: n + 1 }))

t.test('tables are created once by several programs, and a newer schema is refused', { skip: noChdb }, async (t) => {
  const { url, client, select, run } = await openDatabase(t)
  const stores = await Promise.all(Array.from({ length: 4 }, () => openClickHouse(url)))
  t.strictSame(
    await select('select version from schema_versions order by version'),
    versions(MIGRATIONS.length),
    'one of four programs created them',
  )
  const writer = await openClickHouseWriter(t, url)
  await writer.append({ events: [eventRow({ traits: '{}' })], agent_events: [] })
  await Promise.all(stores.map((one) => one.close()))

  // As if the column had been declared after these tables were made.
  await run('alter table events drop column reported_at')
  const again = await openClickHouse(url)
  t.strictSame(await again.query(sql`select traits, reported_at from events`), [{ traits: '{}', reported_at: null }])
  await again.close()

  const statements = ['create table if not exists later (a Int32) engine = MergeTree order by a']
  const address = parseAddress(url)
  await migrate(client, address, [...MIGRATIONS, statements])
  await migrate(client, address, [...MIGRATIONS, statements])
  t.strictSame(await select('select version from schema_versions order by version'), versions(MIGRATIONS.length + 1))
  await t.rejects(openClickHouse(url), {
    name: 'ClickHouseOpenError',
    message: `The database has schema version ${MIGRATIONS.length + 1}, and this program knows ${MIGRATIONS.length}: use a newer readership.`,
  })
  t.strictSame(await select("select name from system.tables where name = 'schema_lock'"), [], 'the lock is released')
})

t.test(
  'a database of version 2 gets the new names, and its sessions are aggregated again',
  { skip: noChdb },
  async (t) => {
    const { url, select, run } = await openDatabase(t)
    const records = await openJournalRecords(t)
    const hit = eventRow({ timestamp: new Date(Date.now() - 86_400_000) })
    const until = new Date()
    const store = await openClickHouseWriter(t, url, { records })
    await store.append({ events: [hit], agent_events: [] })
    await store.aggregate(until)
    const stored = await select('select * except (ver, is_deleted) from sessions')
    t.equal(stored.length, 1)
    await store.close()
    for (const statement of [
      'alter table sessions rename column interactions to acts, rename column visitor_ids to ids, rename column traits_vary to mixed',
      'alter table session_pages rename column page_interactions to page_acts, rename column visitor_ids to ids',
      'rename table aggregated_until to seals, daily_aggregated_until to daily_seals, stale_sessions to unsealed',
      'alter table schema_versions delete where version >= 3 settings mutations_sync = 1',
    ])
      await run(statement)

    const again = await openClickHouseWriter(t, url, { records, epoch: 2 })
    t.strictSame(await select('select * except (ver, is_deleted) from sessions'), stored)
    t.strictSame(
      await select(
        "select name from system.tables where name in ('seals', 'daily_seals', 'unsealed') and database = currentDatabase()",
      ),
      [],
    )
    await again.aggregate(until)
    t.strictSame(await select('select * except (ver, is_deleted) from sessions final'), stored)
    await again.close()
  },
)

t.test('a database belongs to the records that it was first used with', { skip: noChdb }, async (t) => {
  const url = await (await startClickHouse(t)).createDatabase()
  const [ours, others] = [await openJournalRecords(t), await openJournalRecords(t)]
  const store = await openClickHouseWriter(t, url, { records: ours })
  await store.append({ events: [], agent_events: [agentRow({ site_id: 7 })] })
  await store.close()
  await openClickHouseWriter(t, url, { records: ours, epoch: 2 }).then((again) => again.close())
  const refused = openClickHouseWriter(t, url, { records: others })
  await t.rejects(refused, { name: 'StoreOpenError', message: /^--store and --control do not belong together/ })
  const notOurs = openClickHouse(url, { records: others })
  await t.rejects(notOurs, { name: 'StoreOpenError', message: /^--store and --control do not/ }, 'nor read with others')
  const [last] = await ours.query(sql`select id from last_ids where kind = 'sites'`)
  t.equal(last?.id, 7, 'a site id that has rows is not given again')
})

t.test('an insert whose response was lost is repeated and adds nothing', { skip: noChdb }, async (t) => {
  const { server, url, select } = await openDatabase(t)
  const store = await openClickHouseWriter(t, url)
  const rows = {
    // Two months, so that the insert writes two parts.
    events: [1, 2, 3].map((n) => eventRow({ engaged_ms: n, timestamp: new Date(Date.UTC(2026, 9 + (n % 2), 5)) })),
    agent_events: [agentRow(), agentRow()],
  }
  await store.append(rows)
  const before = await server.control?.(1)
  await store.append(rows)
  const after = await server.control?.()
  t.strictSame(await store.query(sql`select count(*) as n, sum(engaged_ms) as ms from events`), [{ n: 6, ms: 12 }])
  t.strictSame(await store.query(sql`select count(*) as n from agent_events`), [{ n: 4 }])
  t.ok((after?.requests ?? 0) - (before?.requests ?? 0) >= 3, 'the insert was sent twice')
  t.strictSame(await select('select sum(rows) > 6 as more from system.parts where table = $$events$$ and active'), [
    { more: 1 },
  ])
})

t.test('a result is streamed, stopped and bounded', { skip: noChdb }, async (t) => {
  const { server, url } = await openDatabase(t)
  const store = await openClickHouse(url)
  t.teardown(() => store.close())
  const numbers = (count: number) => raw(`select number as n, toString(number) as s from numbers(${count})`)
  let [chunks, rows, sum] = [0, 0, 0]
  for await (const chunk of store.stream(numbers(300_000))) {
    chunks++
    rows += chunk.length
    sum += chunk.reduce((total, { n }) => total + Number(n), 0)
  }
  t.strictSame([rows, sum], [300_000, (300_000 * 299_999) / 2])
  t.ok(chunks > 4, `${chunks} chunks`)
  for await (const chunk of store.stream(raw('select 1 as n from events'))) t.fail(`${chunk.length} rows of no table`)

  for await (const chunk of store.stream(numbers(5_000_000))) {
    t.ok(chunk.length > 0)
    break
  }
  const stopping = new AbortController()
  const read = async (query: ReturnType<typeof raw>) => {
    for await (const chunk of store.stream(query, stopping.signal)) if (chunk.length > 0) stopping.abort()
  }
  const cancelled = { code: 'database_error', message: 'The query was cancelled.' }
  await t.rejects(read(numbers(5_000_000)), cancelled)
  const slow = raw('select count() as n from numbers(20000000000) where sipHash64(number) = 1')
  const before = (await server.control?.())?.closedEarly ?? 0
  await t.rejects(store.query(raw('select sleepEachRow(0.1) from numbers(20)'), AbortSignal.timeout(100)), cancelled)
  let closed = before
  // The server may hear of it after the client.
  for (let n = 0; n < 50 && closed === before; n++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    closed = (await server.control?.())?.closedEarly ?? 0
  }
  t.ok(closed > before, 'the connection is closed, which stops the statement')

  const failing = async () => {
    for await (const chunk of store.stream(raw('select throwIf(number = 200000) as n from numbers(300000)')))
      rows += chunk.length
  }
  await t.rejects(failing(), { code: 'database_error' }, 'a failure half-way is not an end')

  const bounded = await openClickHouse(url, { limits: { timeout_ms: 1_000, memory_bytes: 20_000_000 } })
  t.teardown(() => bounded.close())
  await t.rejects(bounded.query(slow), { message: /took longer than 1 s/ })
  await t.rejects(bounded.query(raw('select groupArray(number) as n from numbers(20000000)')), {
    message: /needs more memory/,
  })
  for (const statement of [
    'drop table events',
    'insert into aggregated_until values (0)',
    'alter table events delete where 1',
  ])
    await t.rejects(store.query(raw(statement)), { code: 'database_error' }, statement)
})

t.test('values are parameters of the server, whatever they contain', { skip: noChdb }, async (t) => {
  const { server, url } = await openDatabase(t)
  const store = await openClickHouse(url)
  t.teardown(() => store.close())
  for (const value of [
    "'",
    '\\',
    "\\'",
    '\t\n\r\0\b',
    '{p1:String}',
    '--',
    '\\N',
    'ü🦆',
    '',
    ' ',
    '"',
    'x'.repeat(100_000),
  ])
    t.ok((await store.query(sql`select ${value} as v`))[0]?.v === value, JSON.stringify(value.slice(0, 20)))
  for (const value of [0, -1, 2 ** 53 - 1, 0.1, 1e300, -1e-7, true, false])
    t.strictSame(await store.query(sql`select ${value} as v`), [{ v: value }])
  t.ok(((await server.control?.())?.multipart ?? 0) >= 20, 'they are in the body, not in the URL')
})

t.test(
  'the state of the server is one query, and commits are counted where they are written',
  { skip: noChdb },
  async (t) => {
    const { url, server } = await openDatabase(t)
    const store = await openClickHouseWriter(t, url)
    const months = [9, 10].map((month) => eventRow({ timestamp: new Date(Date.UTC(2026, month, 5)) }))
    await store.append({ events: months, agent_events: [] })
    await store.append({ events: [], agent_events: [agentRow()] })
    const before = await server.control?.()
    const status = await store.serverStatus?.()
    t.equal((await server.control?.())?.requests, (before?.requests ?? 0) + 1)
    t.match(status, { parts: { events: 2, agent_events: 1 }, unfinished_mutations: 0, commits: { count: 2, rows: 3 } })
    t.ok((status?.commits?.seconds ?? 0) > 0)
    t.notOk(status && 'replication_delay_seconds' in status, 'there are no replicas')
    const reader = await openClickHouse(url)
    t.teardown(() => reader.close())
    t.match(await reader.serverStatus(), { parts: { events: 2 }, commits: undefined })
  },
)

t.test('a server that goes away makes calls fail, and none hangs', { skip: noChdb }, async (t) => {
  const { server, url } = await openDatabase(t)
  const store = await openClickHouseWriter(t, url)
  await server.stop?.()
  await t.rejects(store.query(sql`select 1`), { code: 'database_error' })
  await t.rejects(store.append({ events: [eventRow()], agent_events: [] }), { code: 'database_error' })
  await t.rejects(async () => store.serverStatus?.(), { code: 'database_error' })
  const read = async () => {
    for await (const rows of store.stream(sql`select 1`)) t.fail(`${rows.length} rows`)
  }
  await t.rejects(read(), { code: 'database_error' })
})
