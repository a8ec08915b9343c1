import type { Rows } from './rows.js'
import type { Dialect, Sql } from './sql.js'

/**
 * One row of an answer, converted once at the store's rim: counts and sums are numbers, 64-bit ids (UBIGINT) are 16
 * hex digits, instants are Dates, SQL NULL is null.
 */
export type ResultRow = Record<string, unknown>

/** Where events live: append, and ask. */
export interface Store {
  readonly dialect: Dialect
  /**
   * Throws `ApiError('database_error')` when the engine does; the cause goes to the log, never to a client. `signal`
   * stops it: what nobody waits for any more costs nothing more.
   */
  query(query: Sql, signal?: AbortSignal): Promise<ResultRow[]>
  /** As `query`, some rows at a time and no more than the asker has taken: for answers larger than memory. */
  stream(query: Sql, signal?: AbortSignal): AsyncIterable<ResultRow[]>
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
