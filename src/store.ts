import type { Rows } from './record/row.js'
import type { Dialect, Sql } from './sql.js'

/**
 * One row of an answer, converted once at the store's rim: counts and sums are numbers, 64-bit ids (UBIGINT) are 16
 * hex digits, instants are Dates, SQL NULL is null.
 */
export type ResultRow = Record<string, unknown>

/** Where events live: append, and ask. */
export interface Store {
  readonly dialect: Dialect
  /** Throws `ApiError('database_error')` when the engine does; the cause goes to the log, never to a client. */
  query(query: Sql): Promise<ResultRow[]>
  /** All rows or none; durable when it resolves. */
  append(rows: Rows): Promise<void>
  close(): Promise<void>
}

/** Where records live (sites, keys, accounts): small, updated in place, in a file of their own. */
export interface Records {
  query(query: Sql): Promise<ResultRow[]>
  /** All statements in one transaction; durable when it resolves. */
  write(...statements: Sql[]): Promise<void>
}
