import { availableParallelism } from 'node:os'
import { createClient } from '@clickhouse/client'
import { prepareRows } from '../../src/clickhouse/append.js'
import { connect, parseAddress } from '../../src/clickhouse/client.js'
import { insertRows } from '../../src/clickhouse/statements.js'
import { VITAL_COLUMNS } from '../../src/columns.js'
import { openEvents } from '../../src/duckdb/event-store.js'
import { readThreads } from '../../src/engine/machine.js'
import type { EventStore } from '../../src/event-store.js'
import type { AgentEventRow, EventRow } from '../../src/rows.js'
import { raw, sql } from '../../src/sql.js'
import type { ResultRow, Store } from '../../src/store.js'
import { startClickHouse } from '../fixtures/clickhouse-server.js'
import { openClickHouseWriter } from '../fixtures/clickhouse-store.js'
import { END, MEASURED_READS, measureReads, openBenchFile } from './reads.js'

const RUNS = 5
const ROWS_PER_INSERT = 20_000
const ROWS_PER_COMMIT = 5_000
const COMMITS = 10

/**
 * `npm run bench -- engines [people] [agents]`: each read of `reads` over the same hits (1,000,000) and fetches (1,000,000)
 * of 90 days in DuckDB, in ClickHouse from its rows, and in ClickHouse after summing up: milliseconds of its statements, the
 * least of five. Then what writing costs: commits of 5,000 rows, and a scan with and without `final`. Needs `npm run engines`.
 */
export async function run([people = '1000000', agents = '1000000']: string[] = []): Promise<void> {
  const closing: (() => unknown)[] = []
  const t = { teardown: (close: () => unknown) => void closing.push(close) }
  try {
    const settings = { memory_limit: '2GB', threads: readThreads(availableParallelism()), temp_limit: '8GB' }
    const file = await openBenchFile({ people: Number(people), agents: Number(agents), paths: 2_000 })
    const duckdb = await openEvents({ file, settings, now: () => END, clock: () => performance.now(), log: () => {} })
    t.teardown(() => duckdb.close())
    const url = await (await startClickHouse(t)).createDatabase()
    const clickhouse = await openClickHouseWriter(t, url, { now: () => new Date() })
    await copyRows(duckdb, url)

    const asked = MEASURED_READS.filter(([path]) => path !== 'stats/realtime')
    const ofDuckdb = await measureAll(duckdb, asked)
    const fromRows = await measureAll(clickhouse, asked)
    const began = performance.now()
    await clickhouse.aggregate(END)
    console.log(`summed up in ${seconds(began)} s`)
    const summedUp = await measureAll(clickhouse, asked)
    console.log(`${people} hits, ${agents} fetches, 90 days, ms, the least of ${RUNS}`)
    console.log('| read | DuckDB | ClickHouse, from rows | summed up | of DuckDB |')
    console.log(`|${'---|'.repeat(5)}`)
    asked.forEach(([path, query], i) => {
      const [a = 0, b = 0, c = 0] = [ofDuckdb[i], fromRows[i], summedUp[i]]
      const name = `${path}${query && `?${decodeURIComponent(query)}`}`.replaceAll('|', '\\|')
      console.log(`| ${name} | ${[a, b, c].map(Math.round).join(' | ')} | ${(c / a).toFixed(1)} |`)
    })
    await measureWriting(clickhouse, duckdb, url)
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

/** The least time of each read, in milliseconds. */
async function measureAll(store: Pick<Store, 'query' | 'dialect'>, asked: typeof MEASURED_READS): Promise<number[]> {
  const measure = measureReads(store, RUNS)
  const times: number[] = []
  for (const [path, query] of asked) times.push((await measure(path, query)).least)
  return times
}

/** Inserts all rows of DuckDB as they are, without a journal. */
async function copyRows(from: Pick<Store, 'stream'>, url: string): Promise<void> {
  const client = await connect(parseAddress(url))
  const began = performance.now()
  let id = 1
  try {
    for (const table of ['events', 'agent_events'] as const)
      for await (const rows of inParts(from.stream(sql`select * from ${raw(table)}`)))
        for (const { columns, values, ...insert } of prepareRows({ rows: toRows(table, rows), changes: {} }).inserts)
          await insertRows(client, { ...insert, columns, values: values.map((cells) => [...cells, id++, '1', 0]) })
    console.log(`${id - 1} rows copied in ${seconds(began)} s`)
  } finally {
    await client.close()
  }
}

async function* inParts(chunks: AsyncIterable<ResultRow[]>): AsyncGenerator<ResultRow[]> {
  let part: ResultRow[] = []
  for await (const rows of chunks) {
    part.push(...rows)
    if (part.length < ROWS_PER_INSERT) continue
    yield part
    part = []
  }
  yield part
}

const toId = (hex: unknown): bigint => BigInt(`0x${hex}`)

/** Rows of a result as the worker makes them. */
function toRows(table: 'events' | 'agent_events', found: readonly ResultRow[]) {
  if (table === 'agent_events')
    return { events: [], agent_events: found.map((row) => ({ ...row, ip_hash: toId(row.ip_hash) }) as AgentEventRow) }
  const events = found.map((row) => {
    const vitals = Object.fromEntries(
      VITAL_COLUMNS.map((name) => [name, row[name]]).filter(([, value]) => value !== null),
    )
    const ids = { visitor_id: toId(row.visitor_id), session_id: toId(row.session_id) }
    const error: unknown = typeof row.error === 'string' ? JSON.parse(row.error) : null
    return { ...row, ...ids, error, vitals: Object.keys(vitals).length > 0 ? vitals : null } as EventRow
  })
  return { events, agent_events: [] }
}

/** Measures commits, and what it costs to leave out older versions of rows. */
async function measureWriting(clickhouse: EventStore, duckdb: Pick<Store, 'query'>, url: string): Promise<void> {
  const found = await duckdb.query(sql`select * from events limit ${ROWS_PER_COMMIT}`)
  const rows = toRows('events', found)
  const began = performance.now()
  for (let n = 0; n < COMMITS; n++) await clickhouse.append(rows)
  const took = performance.now() - began
  console.log(
    `${COMMITS} commits of ${ROWS_PER_COMMIT} rows: ${Math.round((COMMITS * ROWS_PER_COMMIT * 1_000) / took)} rows/s`,
  )
  const { url: address, ...access } = parseAddress(url)
  const client = createClient({ url: address, ...access })
  try {
    for (const final of ['', 'final']) {
      const times: number[] = []
      for (let n = 0; n < RUNS; n++) {
        const at = performance.now()
        const query = `select uniqExact(visitor_id), sum(engaged_ms) from events ${final}`
        await (await client.query({ query, format: 'JSONEachRow' })).json()
        times.push(performance.now() - at)
      }
      console.log(`a scan of all hits ${final || 'without final'}: ${Math.round(Math.min(...times))} ms`)
    }
  } finally {
    await client.close()
  }
}

const seconds = (began: number): number => Math.round((performance.now() - began) / 1_000)
