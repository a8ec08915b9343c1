import { openInterruptible } from '../fixtures/clickhouse-store.js'
import { openStore } from '../fixtures/open-store.js'
import { checkAnswers } from '../oracle/answers.js'
import { checkBill } from '../oracle/bill.js'
import { checkBlankPages } from '../oracle/blank-pages.js'
import { checkDeliveries } from '../oracle/deliveries.js'
import { checkEditions } from '../oracle/editions.js'
import { checkFormatReads } from '../oracle/format-reads.js'
import { checkPhantomLinks } from '../oracle/phantom-links.js'
import { checkRandomSites } from '../oracle/random-sites.js'
import { aggregatesContract, interruptedAggregation, removedAggregates } from './aggregates-contract.js'
import { appendInParts, compareReads, compareStreams, contractEditions, contractRows, whole } from './engine-reads.js'
import { compareLookUps, lookUpRows } from './look-ups.js'
import { checkOnClickHouse, openOn } from './on-clickhouse.js'

/** The reads of a store on ClickHouse, from rows and from aggregates; how it writes is a program of its own. */
checkOnClickHouse((t, server) => {
  t.test('reads give the same answers as on DuckDB', async (t) => {
    const rows = contractRows()
    const [duckdb, clickhouse] = [await openStore(t), await openOn(t, server)]
    await duckdb.append(rows)
    await appendInParts(clickhouse, rows)
    for (const store of [duckdb, clickhouse]) await store.writePageEditions(contractEditions(rows))
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
    checkDeliveries(t, () => openOn(t, server)),
  )
  t.test('reads of random small sites equal the recount', { skip }, (t) => checkRandomSites(t, () => openOn(t, server)))
  t.test('formats and links of llms.txt equal their recount', async (t) => checkFormatReads(t, await openOn(t, server)))
  t.test('editions equal their recount', async (t) => checkEditions(t, await openOn(t, server)))
  t.test('missing pages equal their recount', async (t) => checkPhantomLinks(t, await openOn(t, server)))
  t.test('blank pages equal their recount', async (t) => checkBlankPages(t, await openOn(t, server)))
  t.test('answers equal their recount', async (t) => checkAnswers(t, await openOn(t, server)))
  t.test('the bill equals its recount', async (t) => checkBill(t, await openOn(t, server)))
  aggregatesContract(t, (t) => openOn(t, server))
  t.test('aggregates leave with their rows', async (t) => removedAggregates(t, await openOn(t, server)))
  t.test('aggregation may be interrupted anywhere', async (t) =>
    interruptedAggregation(t, await openInterruptible(t, server)),
  )
})
