import type { DuckDBDataChunk as DataChunk, DuckDBAppender } from '@duckdb/node-api'
import { type Columns, RowError, type RowTable } from '../columns.js'
import { DuckDBDataChunk, data_chunk_get_vector } from './bindings.js'
import { MAX_VECTOR_ROWS, STORED_COLUMNS, type StoredColumn } from './column-vectors.js'

/** Appends `rows` to `table`; throws `RowError` at a value that its column cannot hold, and has appended nothing then. */
export function appendRows<Row>(
  appender: DuckDBAppender,
  table: RowTable,
  columns: Columns<Row>,
  rows: readonly Row[],
): void {
  const stored: { field: Extract<keyof Row, string>; column: StoredColumn }[] = []
  for (const field in columns) for (const column of STORED_COLUMNS[columns[field]]) stored.push({ field, column })
  const types = stored.map(({ column }) => column.type)
  const chunks: DataChunk[] = []
  for (let from = 0; from < rows.length; from += MAX_VECTOR_ROWS) {
    const part = rows.slice(from, from + MAX_VECTOR_ROWS)
    const chunk = DuckDBDataChunk.create(types, part.length)
    for (const [place, { field, column }] of stored.entries()) {
      const misfit = column.fill(data_chunk_get_vector(chunk.chunk, place), part, field)
      if (misfit !== undefined) throw new RowError(table, from + misfit, field, part[misfit]?.[field])
    }
    chunks.push(chunk)
  }
  for (const chunk of chunks) appender.appendDataChunk(chunk)
}
