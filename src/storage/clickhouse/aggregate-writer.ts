import { raw, type Sql, sql } from '../sql.js'
import type { ResultRow } from '../store.js'
import { type AggregateTable, aggregateKey } from './schema.js'

/** Writes aggregates, one statement after the other. */
export interface AggregateWriter {
  select(query: Sql): Promise<ResultRow[]>
  /** Runs a statement that inserts what it selects. */
  run(statement: Sql): Promise<void>
  /** The number of a new change: the version of the rows that it writes, higher than that of any row before. */
  takeNumber(): Promise<bigint>
}

/** Deletes the rows of a table of aggregates within `scope` that the change with this number did not write. */
export function deleteOlder(
  { run }: AggregateWriter,
  table: AggregateTable,
  number: bigint,
  scope: Sql,
): Promise<void> {
  const key = raw(aggregateKey(table).join(', '))
  return run(sql`insert into ${raw(table)} (${key}, ver, is_deleted)
    select ${key}, ${number}, 1 from ${raw(table)} where ver < ${number} and ${scope}`)
}

/** How far a writer is that has aggregated nothing. */
export const BEGINNING_OF_TIME = new Date(0)
