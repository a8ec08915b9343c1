import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { clickhouseDialect } from '../dialects/clickhouse.js'
import { compile, type Sql, sql } from '../sql.js'
import { onceReplicated } from './cluster.js'
import { isNetworkError } from './query-errors.js'
import { INSERT_SETTINGS, WRITE_SETTINGS } from './settings.js'

const ATTEMPTS = 3

/** A lost response leaves open whether a request was carried out. Everything that is written may be repeated. */
async function repeat<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await onceReplicated(work)
    } catch (error) {
      if (attempt === ATTEMPTS || !isNetworkError(error)) throw error
    }
  }
}

/** Runs a statement that writes, and that may be repeated. */
export async function runWrite(
  client: ClickHouseClient,
  statement: Sql,
  settings: ClickHouseSettings = {},
): Promise<void> {
  const { text, values } = compile(statement, clickhouseDialect.placeholder)
  const query_params = Object.fromEntries(values.map((value, i) => [`p${i + 1}`, value]))
  const clickhouse_settings = { ...WRITE_SETTINGS, ...settings }
  await repeat(async () => {
    // Not `command`: it puts the values into the URL, which is too short for a list of changes.
    const result = await client.query({ query: text, query_params, clickhouse_settings, format: 'JSON' })
    await result.text()
  })
}

/** Rows to insert: texts, numbers and null, in the order of `columns`. */
export interface Insert {
  readonly table: string
  readonly columns: readonly string[]
  readonly values: readonly (readonly unknown[])[]
}

/** Inserts rows with keys of their own, so that a repeated insert adds nothing. */
export async function insertRows(client: ClickHouseClient, { table, columns, values }: Insert): Promise<void> {
  const [first, ...rest] = columns
  if (values.length === 0 || first === undefined) return
  await repeat(() =>
    client.insert({
      table,
      values,
      columns: [first, ...rest],
      format: 'JSONCompactEachRow',
      clickhouse_settings: INSERT_SETTINGS,
    }),
  )
}

/** The condition that a column has one of these ids. */
export const isOneOf = (column: Sql, ids: Iterable<bigint>): Sql =>
  sql`${column} in (select arrayJoin(JSONExtract(${`[${[...ids].join()}]`}, 'Array(UInt64)')))`
