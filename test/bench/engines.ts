import { rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { connect, parseAddress } from '../../src/storage/clickhouse/client.js'
import { listColumns } from '../../src/storage/clickhouse/schema.js'
import { VITAL_COLUMNS } from '../../src/storage/columns.js'
import { DuckDBInstance } from '../../src/storage/duckdb/bindings.js'
import { openEvents } from '../../src/storage/duckdb/event-store.js'
import type { EventStore } from '../../src/storage/event-store.js'
import type { EventRow } from '../../src/storage/rows.js'
import { sql } from '../../src/storage/sql.js'
import type { ResultRow, Store } from '../../src/storage/store.js'
import { readThreads } from '../../src/worker-client/machine.js'
import { startClickHouse } from '../fixtures/clickhouse-server.js'
import { openClickHouseWriter } from '../fixtures/clickhouse-store.js'
import { END, MEASURED_READS, measureReads, openBenchFile } from './reads.js'

const ROWS_PER_COMMIT = 5_000
const COMMITS = 10

/**
 * `npm run bench -- engines [people] [agents] [runs]`: each read of `reads` over the same hits (1,000,000) and fetches (1,000,000)
 * of 90 days in DuckDB, in ClickHouse from its rows, and in ClickHouse after aggregation: milliseconds of its statements, the
 * least of five runs. Then what writing costs: commits of 5,000 rows, and a scan with and without `final`. Needs `npm run engines`.
 */
export async function run([people = '1000000', agents = '1000000', repeated = '5']: string[] = []): Promise<void> {
  const runs = Number(repeated)
  const closing: (() => unknown)[] = []
  const t = { teardown: (close: () => unknown) => void closing.push(close) }
  try {
    const settings = { memory_limit: '2GB', threads: readThreads(availableParallelism()), temp_limit: '8GB' }
    const file = await openBenchFile({ people: Number(people), agents: Number(agents), paths: 2_000 })
    const url = await (await startClickHouse(t)).createDatabase()
    const clickhouse = await openClickHouseWriter(t, url, { now: () => new Date() })
    await copyRows(file, url)
    const duckdb = await openEvents({ file, settings, now: () => END, clock: () => performance.now(), log: () => {} })
    t.teardown(() => duckdb.close())

    const asked = MEASURED_READS.filter(([path]) => path !== 'stats/realtime')
    const ofDuckdb = await measureAll(duckdb, asked, runs)
    const fromRows = await measureAll(clickhouse, asked, runs)
    const began = performance.now()
    await clickhouse.aggregate(END)
    console.log(`aggregated in ${seconds(began)} s`)
    const summedUp = await measureAll(clickhouse, asked, runs)
    console.log(`${people} hits, ${agents} fetches, 90 days, ms, the least of ${runs}`)
    console.log('| read | DuckDB | ClickHouse, from rows | aggregated | of DuckDB |')
    console.log(`|${'---|'.repeat(5)}`)
    asked.forEach(([path, query], i) => {
      const [a = 0, b = 0, c = 0] = [ofDuckdb[i], fromRows[i], summedUp[i]]
      const name = `${path}${query && `?${decodeURIComponent(query)}`}`.replaceAll('|', '\\|')
      console.log(`| ${name} | ${[a, b, c].map(Math.round).join(' | ')} | ${(c / a).toFixed(1)} |`)
    })
    await measureWriting(clickhouse, duckdb, { url, runs })
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

/** The least time of each read, in milliseconds. */
async function measureAll(
  store: Pick<Store, 'query' | 'dialect'>,
  asked: typeof MEASURED_READS,
  runs: number,
): Promise<number[]> {
  const measure = measureReads(store, runs)
  const times: number[] = []
  for (const [path, query] of asked) {
    // A read that takes longer than the store allows must not cost the others their figures.
    const least = await measure(path, query).then(
      ({ least }) => least,
      (error: unknown) => console.log(`${path}?${decodeURIComponent(query)}: ${error}`),
    )
    times.push(least ?? Number.NaN)
    // An hour of silence would look like a fault, and what was measured before one is worth having.
    console.error(`${path}?${decodeURIComponent(query)}: ${Math.round(least ?? Number.NaN)} ms`)
  }
  return times
}

/** Copies all rows of DuckDB's file as they are, without a journal, through a file that both engines know. */
async function copyRows(file: string, url: string): Promise<void> {
  const began = performance.now()
  const parquet = `${file}.parquet`
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' })
  const client = await connect(parseAddress(url))
  try {
    const connection = await instance.connect()
    for (const table of ['events', 'agent_events'] as const) {
      const columns = listColumns(table)
        .map(({ name }) => name)
        .filter((name) => !['row_id', 'ver', 'is_deleted'].includes(name))
        .join(', ')
      await connection.run(`copy (select ${columns} from ${table}) to '${parquet}' (format parquet)`)
      await client.command({
        query: `insert into ${table} (${columns}, row_id, ver, is_deleted)
          select ${columns}, rowNumberInAllBlocks() + 1, 1, 0 from file('${parquet}', Parquet)`,
      })
    }
    connection.closeSync()
    console.log(`rows copied in ${seconds(began)} s`)
  } finally {
    rmSync(parquet, { force: true })
    instance.closeSync()
    await client.close()
  }
}

const toId = (hex: unknown): bigint => BigInt(`0x${hex}`)

/** Hits of a result as the worker makes them. */
const toEvents = (found: readonly ResultRow[]): EventRow[] =>
  found.map((row) => {
    const vitals = Object.fromEntries(
      VITAL_COLUMNS.map((name) => [name, row[name]]).filter(([, value]) => value !== null),
    )
    const ids = { visitor_id: toId(row.visitor_id), session_id: toId(row.session_id) }
    const error: unknown = typeof row.error === 'string' ? JSON.parse(row.error) : null
    return { ...row, ...ids, error, vitals: Object.keys(vitals).length > 0 ? vitals : null } as EventRow
  })

/** Measures commits, and what it costs to leave out older versions of rows. */
async function measureWriting(
  clickhouse: EventStore,
  duckdb: Pick<Store, 'query'>,
  { url, runs }: { url: string; runs: number },
): Promise<void> {
  const found = await duckdb.query(sql`select * from events limit ${ROWS_PER_COMMIT}`)
  const rows = { events: toEvents(found), agent_events: [] }
  const began = performance.now()
  for (let n = 0; n < COMMITS; n++) await clickhouse.append(rows)
  const took = performance.now() - began
  console.log(
    `${COMMITS} commits of ${ROWS_PER_COMMIT} rows: ${Math.round((COMMITS * ROWS_PER_COMMIT * 1_000) / took)} rows/s`,
  )
  const client = await connect(parseAddress(url))
  try {
    for (const final of ['', 'final']) {
      const times: number[] = []
      for (let n = 0; n < runs; n++) {
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
