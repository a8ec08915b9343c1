import type { EventStore } from '../event-store.js'
import type { Sql } from '../sql.js'
import type { ResultRow } from '../store.js'

/** The event store in a file of DuckDB. */
export interface EventFile extends EventStore {
  /**
   * Runs statements that change stored rows, in one transaction with a checkpoint after it. `build` gets a function to
   * query with; no other write, and no checkpoint, which may renumber rows, comes between. Throws
   * `ApiError('database_error')`; nothing is changed then.
   */
  updateRows(build: (query: (query: Sql) => Promise<ResultRow[]>) => Promise<readonly Sql[]>): Promise<void>
}
