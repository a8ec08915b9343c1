import t from 'tap'
import { parseAddress } from '../../../src/storage/clickhouse/client.js'
import { replicate } from '../../../src/storage/clickhouse/cluster.js'
import { inspectClickHouse } from '../../../src/storage/clickhouse/inspect.js'
import { openClickHouse } from '../../../src/storage/clickhouse/store.js'
import { sql } from '../../../src/storage/sql.js'
import { noChdb, startClickHouse } from '../../fixtures/clickhouse-server.js'
import { openClickHouseWriter, openJournalRecords } from '../../fixtures/clickhouse-store.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'

const PATH = "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'"

t.test('a statement creates a table on every replica', async (t) => {
  const cases: [string, string][] = [
    [
      'create table if not exists a (b Int32) engine = ReplacingMergeTree(ver, is_deleted) order by b',
      `create table if not exists a on cluster \`c\` (b Int32) engine = ReplicatedReplacingMergeTree(${PATH}, ver, is_deleted) order by b`,
    ],
    [
      'create table if not exists a (b Int32)\n  engine = MergeTree order by b settings old_parts_lifetime = 1, x = 2',
      `create table if not exists a on cluster \`c\` (b Int32)\n  engine = ReplicatedMergeTree(${PATH}) order by b settings old_parts_lifetime = 1, cleanup_delay_period = 1, max_cleanup_delay_period = 1, x = 2`,
    ],
  ]
  cases.push(['drop table if exists a sync', 'drop table if exists a on cluster `c` sync'])
  for (const [statement, expected] of cases) t.equal(replicate(statement, 'c'), expected)
})

t.test('a store in a cluster: the engine takes each statement', { skip: noChdb }, async (t) => {
  const server = await startClickHouse(t, 'ours')
  const url = await server.createDatabase()
  const { database } = parseAddress(url)
  const records = await openJournalRecords(t)
  // Several at once: one creates the tables.
  const [first, ...others] = await Promise.all([openClickHouse(url), openClickHouse(url), openClickHouse(url)])
  await Promise.all([first, ...others].map((one) => one?.close()))
  const store = await openClickHouseWriter(t, url, { records, now: () => new Date() })
  t.strictSame(
    await store.query(sql`
      select distinct engine from system.tables where database = ${`${database}_replicas`} order by engine`),
    [{ engine: 'ReplicatedMergeTree' }, { engine: 'ReplicatedReplacingMergeTree' }],
    'every table has replicas, and the lock is released',
  )
  t.strictSame(
    await store.query(sql`
      select t.name as name from system.tables t where t.database = ${database} and t.name not in (
        select name from system.tables where database = ${`${database}_replicas`})`),
    [],
  )

  t.match(
    await inspectClickHouse(url, () => new Date()),
    { hasRights: true, schema: { stored: 4, known: 4 } },
    'doctor',
  )

  const visitor_id = 7n
  await store.append({
    events: [eventRow({ visitor_id }), eventRow({ visitor_id: 8n, session_id: 8n })],
    agent_events: [agentRow({})],
  })
  await server.control?.(0, 3)
  const count = () => store.query(sql`select count(*) as n from events`)
  t.strictSame(await count(), [{ n: 2 }], 'a replica that is behind is asked again')
  await store.aggregate(new Date())
  t.strictSame(await store.query(sql`select count(*) as n from sessions`), [{ n: 2 }])
  for (let more = true; more; ) more = (await store.remove({ site: 1, visitor: visitor_id, key: 'a' })).more
  t.strictSame(await count(), [{ n: 1 }], 'parts of all replicas were looked at')
})

t.test('a cluster that cannot hold the store is refused in one line', { skip: noChdb }, async (t) => {
  const server = await startClickHouse(t, 'ours')
  const url = await server.createDatabase()
  const cases: [string, RegExp][] = [
    ['ours_of_two', /cluster=ours_of_two: this cluster has 2 shards, and one is needed\./],
    ['theirs', /cluster=theirs: this cluster is not in system\.clusters of the server\./],
  ]
  for (const [cluster, message] of cases)
    await t.rejects(openClickHouse(url.replace('cluster=ours', `cluster=${cluster}`)), {
      name: 'ClickHouseOpenError',
      message,
    })
})
