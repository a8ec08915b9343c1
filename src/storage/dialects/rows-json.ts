import { replaceLoneSurrogates } from '../columns.js'
import type { ValueType } from '../sql.js'

/**
 * Rows as JSON text with the named columns only, for `Dialect.rows`: ids are decimal text, because not every reader of JSON
 * has integers of 64 bits, and instants are milliseconds since 1970.
 */
export const rowsToJson = (rows: readonly object[], types: Readonly<Record<string, ValueType>>): string => {
  const names = Object.keys(types)
  const toJson = (row: object) => Object.fromEntries(names.map((name) => [name, toPlainValue(Reflect.get(row, name))]))
  return JSON.stringify(rows.map(toJson), replaceLoneSurrogates)
}

function toPlainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Date ? value.getTime() : value
}
