import type { DuckDBConnection, DuckDBValue, DuckDBValueConverter } from '@duckdb/node-api'
import { duckdbDialect } from '../dialects/duckdb.js'
import { compile, type Param, type Sql } from '../sql.js'
import type { ResultRow } from '../store.js'
import {
  arrayFromListValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  JSDuckDBValueConverter,
  objectFromStructValue,
} from './bindings.js'

/** Runs one statement (a second one behind a semicolon is refused) and converts its rows as `ResultRow` says. */
export async function runQuery(connection: DuckDBConnection, query: Sql): Promise<ResultRow[]> {
  const { text, values } = compile(query, duckdbDialect.placeholder)
  const statement = await connection.prepare(text)
  try {
    if (values.length > 0) statement.bind(values.map(toDuckDB))
    const reader = await statement.runAndReadAll()
    return reader.convertRowObjects(toResult)
  } finally {
    statement.destroySync()
  }
}

export const toTimestamp = (date: Date) => new DuckDBTimestampValue(BigInt(date.getTime()) * 1000n)

const toDuckDB = (value: Param): DuckDBValue => (value instanceof Date ? toTimestamp(value) : value)

const toResult: DuckDBValueConverter<unknown> = (value, type, converter) => {
  if (value === null) return null
  if (typeof value === 'bigint') {
    return type.typeId === DuckDBTypeId.UBIGINT ? toHexId(value) : Number(value)
  }
  if (type.typeId === DuckDBTypeId.LIST) return arrayFromListValue(value, type, converter)
  if (type.typeId === DuckDBTypeId.STRUCT) return objectFromStructValue(value, type, converter)
  return JSDuckDBValueConverter(value, type, JSDuckDBValueConverter)
}

/** A 64-bit id as it goes to a client: 16 hex digits. */
export const toHexId = (id: bigint): string => id.toString(16).padStart(16, '0')

/** All statements in one transaction: every one of them or none. */
export async function runTransaction(writer: DuckDBConnection, statements: readonly Sql[]): Promise<void> {
  await writer.run('begin transaction')
  try {
    for (const statement of statements) await runQuery(writer, statement)
    await writer.run('commit')
  } catch (error) {
    await writer.run('rollback').catch(() => {})
    throw error
  }
}
