import type { DuckDBAppender } from '@duckdb/node-api'
import { COLUMN_VALUES, type Columns, type ColumnType, RowError, type RowTable, VITAL_COLUMNS } from '../columns.js'
import { toTimestamp } from './query.js'

/** Appends `rows` to `table`; throws `RowError` at the first value that its column cannot hold. */
export function appendRows<Row>(
  appender: DuckDBAppender,
  table: RowTable,
  columns: Columns<Row>,
  rows: readonly Row[],
) {
  // Looked up once: a fifth of the cost of appending a row was the lookup of its columns' types.
  const steps: { column: Extract<keyof Row, string>; append: Append; width: number }[] = []
  for (const column in columns) {
    const type = columns[column]
    steps.push({ column, append: APPENDERS[type], width: type === 'vitals' ? VITAL_COLUMNS.length : 1 })
  }
  rows.forEach((row, index) => {
    for (const { column, append, width } of steps) {
      const value = row[column]
      if (value === null || value === undefined) for (let n = 0; n < width; n++) appender.appendNull()
      else if (!append(appender, value)) throw new RowError(table, index, column, value)
    }
    appender.endRow()
  })
}

/** Returns false if the column cannot hold the value. */
type Append = (appender: DuckDBAppender, value: unknown) => boolean

/** Makes an `Append` of what a column can hold and how that is appended. */
const appendAs =
  <T>(convert: (value: unknown) => T | undefined, append: (appender: DuckDBAppender, value: T) => void): Append =>
  (appender, value) => {
    const converted = convert(value)
    if (converted === undefined) return false
    append(appender, converted)
    return true
  }

const APPENDERS: { readonly [T in ColumnType]: Append } = {
  integer: appendAs(COLUMN_VALUES.integer, (appender, value) => appender.appendInteger(value)),
  uinteger: appendAs(COLUMN_VALUES.uinteger, (appender, value) => appender.appendUInteger(value)),
  bigint: appendAs(COLUMN_VALUES.bigint, (appender, value) => appender.appendBigInt(BigInt(value))),
  ubigint: appendAs(COLUMN_VALUES.ubigint, (appender, value) => appender.appendUBigInt(value)),
  varchar: appendAs(COLUMN_VALUES.varchar, (appender, value) => appender.appendVarchar(value)),
  boolean: appendAs(COLUMN_VALUES.boolean, (appender, value) => appender.appendBoolean(value)),
  timestamp: appendAs(COLUMN_VALUES.timestamp, (appender, value) => appender.appendTimestamp(toTimestamp(value))),
  vitals: appendAs(COLUMN_VALUES.vitals, (appender, value) => {
    for (const vital of VITAL_COLUMNS) appendMeasured(appender, value[vital])
  }),
  json: appendAs(COLUMN_VALUES.json, (appender, value) => appender.appendVarchar(value)),
}

function appendMeasured(appender: DuckDBAppender, value: number | null): void {
  if (value === null) appender.appendNull()
  else appender.appendDouble(value)
}
