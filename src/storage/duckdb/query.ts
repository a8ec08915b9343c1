import type { DuckDBConnection, DuckDBValue, DuckDBValueConverter } from '@duckdb/node-api'
import { duckdbDialect } from '../dialects/duckdb.js'
import { compile, type Param, type Sql } from '../sql.js'
import { type ResultRow, toHexId } from '../store.js'
import {
  arrayFromListValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  JSDuckDBValueConverter,
  objectFromStructValue,
  StatementType,
} from './bindings.js'

/** Runs one statement (DuckDB refuses a second one after a semicolon) and converts its rows as `ResultRow` says. */
export async function runQuery(connection: DuckDBConnection, query: Sql): Promise<ResultRow[]> {
  const { text, values } = compile(query, duckdbDialect.placeholder)
  const statement = await connection.prepare(text)
  try {
    // The writer may change the memory limit, so DuckDB does not refuse it.
    if (statement.statementType === StatementType.SET) throw new Error('A query cannot change a setting.')
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

/** Runs all statements in one transaction: all of them or none take effect. */
export const runTransaction = (writer: DuckDBConnection, statements: readonly Sql[]): Promise<void> =>
  inTransaction(writer, async () => {
    for (const statement of statements) await runQuery(writer, statement)
  })

/** Runs `work` in a transaction, which is rolled back if it throws. */
export async function inTransaction<T>(writer: DuckDBConnection, work: () => Promise<T>): Promise<T> {
  await writer.run('begin transaction')
  try {
    const result = await work()
    await writer.run('commit')
    return result
  } catch (error) {
    await writer.run('rollback').catch(() => {})
    throw error
  }
}
