import t, { type Test } from 'tap'
import { type ClickHouseServer, noChdb, noServer, realServer, startClickHouse } from '../fixtures/clickhouse-server.js'
import { openClickHouseWriter, openInterruptible } from '../fixtures/clickhouse-store.js'
import { openStore } from '../fixtures/open-store.js'
import { checkDeliveries } from '../oracle/deliveries.js'
import { checkRandomSites } from '../oracle/random-sites.js'
import { aggregatesContract, interruptedAggregation, removedAggregates } from './aggregates-contract.js'
import { appendInParts, compareReads, compareStreams, contractRows, whole } from './engine-reads.js'
import { compareLookUps, lookUpRows } from './look-ups.js'
import { storeContract } from './store-contract.js'
import { takeoverContract } from './takeover-contract.js'
import { writeContract } from './write-contract.js'

const open = async (t: Test, server: ClickHouseServer) => openClickHouseWriter(t, await server.createDatabase())

/** Everything that a store on ClickHouse must do, in a process of its own or on a real server. */
const checkServer = (start: (t: Test) => ClickHouseServer | Promise<ClickHouseServer>) => async (t: Test) => {
  const server = await start(t)
  storeContract(t, (t) => open(t, server))
  writeContract(t, server)
  takeoverContract(t, server)
  t.test('reads give the same answers as on DuckDB', async (t) => {
    const rows = contractRows()
    const [duckdb, clickhouse] = [await openStore(t), await open(t, server)]
    await duckdb.append(rows)
    await appendInParts(clickhouse, rows)
    compareReads(t, rows, () => [duckdb, clickhouse])
    compareStreams(t, () => [duckdb, clickhouse])
    t.test('look-ups give the same answers', async (t) => {
      const { rows: given, loose } = lookUpRows()
      for (const store of [duckdb, clickhouse]) await store.append(given, undefined, { loose })
      await compareLookUps(t, [duckdb, clickhouse])
    })
  })
  const skip = !whole && 'CONTRACT_ROWS=200000 runs it'
  t.test('shuffled, split and late deliveries give what happened', { skip }, (t) =>
    checkDeliveries(t, () => open(t, server)),
  )
  t.test('reads of random small sites equal the recount', { skip }, (t) => checkRandomSites(t, () => open(t, server)))
  aggregatesContract(t, (t) => open(t, server))
  t.test('aggregates leave with their rows', async (t) => removedAggregates(t, await open(t, server)))
  t.test('summing up may be interrupted anywhere', async (t) =>
    interruptedAggregation(t, await openInterruptible(t, server)),
  )
}

t.test('ClickHouse in a process of its own', { skip: noChdb }, checkServer(startClickHouse))
t.test('a real ClickHouse server', { skip: noServer }, checkServer(realServer))
