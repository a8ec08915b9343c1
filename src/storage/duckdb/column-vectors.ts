import type { DuckDBType } from '@duckdb/node-api'
import type { Vector } from '@duckdb/node-bindings'
import { COLUMN_VALUES, type ColumnType, VITAL_COLUMNS } from '../columns.js'
import {
  BIGINT,
  BOOLEAN,
  copy_data_to_vector,
  copy_data_to_vector_validity,
  DOUBLE,
  INTEGER,
  TIMESTAMP,
  UBIGINT,
  UINTEGER,
  VARCHAR,
  vector_assign_string_element,
  vector_ensure_validity_writable,
} from './bindings.js'

/** A column of a table: its type, and how the values of a field are written to its vector. */
export interface StoredColumn {
  type: DuckDBType
  /**
   * Writes a value for each of at most `MAX_VECTOR_ROWS` rows; null and undefined become NULL. Returns the index of the
   * first row whose value the column cannot hold; the vector is unchanged then. A call for each value, as DuckDB's
   * appender needs it, took more than twice the CPU.
   */
  fill<Row>(vector: Vector, rows: readonly Row[], field: keyof Row): number | undefined
}

/** Rows that one vector holds. */
export const MAX_VECTOR_ROWS = 2_048

/** The values of one column before they are copied to its vector; every column takes it in turn. */
const memory = new ArrayBuffer(MAX_VECTOR_ROWS * 16)
const bytes = new Uint8Array(memory)
const int32 = new Int32Array(memory)
const bigInt64 = new BigInt64Array(memory)
const bigUint64 = new BigUint64Array(memory)
const float64 = new Float64Array(memory)
/** One bit for each row that has a value. */
const validity = new Uint8Array(MAX_VECTOR_ROWS / 8)
/** Texts of the current column that are not in `memory`, with their rows. */
const longTexts: { index: number; text: string }[] = []

/** Creates a column of values with `width` bytes, which `put` writes to `memory`. */
const columnOf = <T>(
  type: DuckDBType,
  width: number,
  convert: (value: unknown) => T | null | undefined,
  put: (index: number, value: T) => void,
): StoredColumn => ({
  type,
  fill(vector, rows, field) {
    const count = rows.length
    let nulls = 0
    validity.fill(0)
    // The engine must find no address where a text is NULL or comes later.
    bytes.fill(0, 0, count * width)
    longTexts.length = 0
    // Without `entries()`, whose pairs were a third of an import's garbage.
    let index = -1
    for (const row of rows) {
      index++
      const given = row[field] ?? null
      const value = given === null ? null : convert(given)
      if (value === undefined) return index
      if (value === null) nulls++
      else {
        put(index, value)
        validity[index >> 3] = (validity[index >> 3] ?? 0) | (1 << (index & 7))
      }
    }
    if (nulls > 0) {
      vector_ensure_validity_writable(vector)
      copy_data_to_vector_validity(vector, 0, validity.buffer, 0, Math.ceil(count / 64) * 8)
    }
    if (nulls === count) return undefined
    copy_data_to_vector(vector, 0, memory, 0, count * width)
    for (const { index, text } of longTexts) vector_assign_string_element(vector, index, text)
    return undefined
  },
})

const putInt32 = (index: number, whole: number): void => {
  // Assignment takes the value modulo 2^32.
  int32[index] = whole
}
const putDouble = (index: number, value: number): void => {
  float64[index] = value
}

/** The columns of a field of each type. */
export const STORED_COLUMNS: { readonly [T in ColumnType]: readonly StoredColumn[] } = {
  integer: [columnOf(INTEGER, 4, COLUMN_VALUES.integer, putInt32)],
  uinteger: [columnOf(UINTEGER, 4, COLUMN_VALUES.uinteger, putInt32)],
  bigint: [columnOf(BIGINT, 8, COLUMN_VALUES.bigint, putInt64)],
  ubigint: [
    columnOf(UBIGINT, 8, COLUMN_VALUES.ubigint, (index, value) => {
      bigUint64[index] = value
    }),
  ],
  varchar: [columnOf(VARCHAR, 16, COLUMN_VALUES.varchar, putText)],
  boolean: [
    columnOf(BOOLEAN, 1, COLUMN_VALUES.boolean, (index, value) => {
      bytes[index] = value ? 1 : 0
    }),
  ],
  timestamp: [
    columnOf(TIMESTAMP, 8, COLUMN_VALUES.timestamp, (index, value) => {
      const ms = value.getTime()
      if (Number.isSafeInteger(ms * 1_000)) putInt64(index, ms * 1_000)
      else bigInt64[index] = BigInt(ms) * 1_000n
    }),
  ],
  vitals: VITAL_COLUMNS.map((name) => columnOf(DOUBLE, 8, (value) => COLUMN_VALUES.vitals(value)?.[name], putDouble)),
  json: [columnOf(VARCHAR, 16, COLUMN_VALUES.json, putText)],
}

/** Writes a whole number that is exact as a JavaScript number. */
function putInt64(index: number, whole: number): void {
  const high = Math.floor(whole / 2 ** 32)
  int32[index * 2] = whole - high * 2 ** 32
  int32[index * 2 + 1] = high
}

function putText(index: number, text: string): void {
  if (!putInline(index, text)) longTexts.push({ index, text })
}

/** Texts of up to this many bytes are in the vector itself (`duckdb_string_t` of DuckDB's C API): length, then bytes. */
const MAX_INLINE_BYTES = 12
const MAX_ASCII = 0x7f

/** Writes a text of ASCII that fits into the vector itself; returns false for every other. */
function putInline(index: number, text: string): boolean {
  const { length } = text
  if (length > MAX_INLINE_BYTES) return false
  for (let n = 0; n < length; n++) {
    const code = text.charCodeAt(n)
    if (code > MAX_ASCII) {
      int32.fill(0, index * 4, index * 4 + 4)
      return false
    }
    bytes[index * 16 + 4 + n] = code
  }
  int32[index * 4] = length
  return true
}
