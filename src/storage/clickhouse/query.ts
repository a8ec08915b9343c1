import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { clickhouseDialect } from '../dialects/clickhouse.js'
import { compile, type Sql } from '../sql.js'
import { type ResultRow, toHexId } from '../store.js'
import { onceReplicated } from './cluster.js'
import type { Column } from './schema.js'
import { type QueryLimits, readSettings } from './settings.js'

/**
 * Result columns that are ids. ClickHouse counts in UInt64 too, so a type cannot tell them apart: a read that returns an id
 * under another name has to add it here (test/contract/store compares every read with DuckDB).
 */
const ID_COLUMNS = new Set(['visitor_id', 'session_id', 'ip_hash', 'import_key', 'visitor', 'known_id', 'id'])

interface QueryOptions {
  limits: QueryLimits
  signal?: AbortSignal | undefined
  settings?: ClickHouseSettings
}

/** Limits of a select that a change of rows depends on: it may read all rows of a site. */
const CHANGE_LIMITS: QueryLimits = { timeout_ms: 600_000, memory_bytes: 4 * 2 ** 30 }

/** Runs a select that a change of rows depends on. */
export const readRows = (client: ClickHouseClient, query: Sql, settings?: ClickHouseSettings): Promise<ResultRow[]> =>
  runQuery(client, query, { limits: CHANGE_LIMITS, ...(settings ? { settings } : {}) })

/** Runs one statement that only reads, with its values as parameters of the server. */
export async function runQuery(client: ClickHouseClient, query: Sql, options: QueryOptions): Promise<ResultRow[]> {
  const result = await onceReplicated(() =>
    client.query({
      ...parametersOf(query, options),
      format: 'JSONCompact',
      // The server has the whole result before it responds, so an error has a status of its own.
      clickhouse_settings: { ...readSettings(options.limits), wait_end_of_query: 1, ...options.settings },
    }),
  )
  const { meta = [], data } = await result.json<unknown[]>()
  const toRow = rowReader(meta)
  return data.map(toRow)
}

/** As `runQuery`, in chunks as they arrive. Leaving the loop closes the connection, which stops the statement. */
export async function* streamQuery(
  client: ClickHouseClient,
  query: Sql,
  options: QueryOptions,
): AsyncGenerator<ResultRow[]> {
  const result = await onceReplicated(() =>
    client.query({
      ...parametersOf(query, options),
      format: 'JSONCompactEachRowWithNamesAndTypes',
      clickhouse_settings: readSettings(options.limits),
    }),
  )
  // The client lets go of the signal once the response begins.
  const leave = () => result.close()
  options.signal?.addEventListener('abort', leave, { once: true })
  if (options.signal?.aborted) leave()
  let names: unknown[] | undefined
  let toRow: ((values: readonly unknown[]) => ResultRow) | undefined
  try {
    for await (const lines of result.stream<unknown[]>()) {
      const rows: ResultRow[] = []
      for (const line of lines) {
        const values = line.json<unknown[]>()
        if (toRow) rows.push(toRow(values))
        else if (names === undefined) names = values
        else toRow = rowReader(names.map((name, i) => ({ name: String(name), type: String(values[i]) })))
      }
      if (rows.length > 0) yield rows
    }
  } finally {
    options.signal?.removeEventListener('abort', leave)
    result.close()
  }
}

function parametersOf(query: Sql, { signal }: QueryOptions) {
  const { text, values } = compile(query, clickhouseDialect.placeholder)
  return {
    query: text,
    query_params: Object.fromEntries(values.map((value, i) => [`p${i + 1}`, value])),
    ...(signal ? { abort_signal: signal } : {}),
  }
}

/** Returns a function that makes a row of values in the order of `columns`, converted as `ResultRow` says. */
function rowReader(columns: readonly Column[]): (values: readonly unknown[]) => ResultRow {
  const readers = columns.map(({ name, type }) => ({ name, read: valueReader(name, type) }))
  return (values) => Object.fromEntries(readers.map(({ name, read }, i) => [name, read(values[i])]))
}

type ReadValue = (value: unknown) => unknown

const INTEGER = /^U?Int\d+$/
const INSTANT = /^DateTime/

function valueReader(name: string, type: string): ReadValue {
  const plain = type.replace(/^LowCardinality\((.*)\)$/, '$1').replace(/^Nullable\((.*)\)$/, '$1')
  if (plain === 'UInt64' && ID_COLUMNS.has(name)) return orNull((value) => toHexId(BigInt(String(value))))
  if (INTEGER.test(plain)) return orNull(Number)
  if (INSTANT.test(plain)) return orNull((value) => new Date(String(value)))
  return (value) => value
}

const orNull =
  (read: ReadValue): ReadValue =>
  (value) =>
    value === null ? null : read(value)
