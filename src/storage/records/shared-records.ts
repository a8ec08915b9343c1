import { ApiError } from '../../base/errors.js'
import { type Sql, sql } from '../sql.js'
import type { Records } from '../store.js'

const TAKEN_OVER = 'another writer has taken over'

/**
 * Returns the `write` of the process that holds the lease of the records (storage/records/lease.ts) under this epoch. Once another
 * process has taken the lease over, each write changes nothing and throws `database_error`. Without statements it makes the
 * test alone, after every earlier write whose result is unknown.
 */
export function createFencedWrite(records: Pick<Records, 'query' | 'write'>, epoch: number): Records['write'] {
  // Fails the transaction unless the epoch is ours. It locks the row, so the lease is not taken over before the end.
  const ours = sql`case when epoch = ${epoch} then ${String(epoch)} else ${TAKEN_OVER} end`
  const guard = sql`update writers set epoch = cast(${ours} as bigint)`
  return async (...statements) => {
    try {
      await records.write(guard, ...statements)
    } catch (cause) {
      const [row] = await records.query(sql`select epoch from writers`)
      if (Number(row?.epoch) === epoch) throw cause
      const message = `Nothing can be stored: ${TAKEN_OVER} (epoch ${row?.epoch}, this one has ${epoch}).`
      throw new ApiError('database_error', message, undefined, { cause })
    }
  }
}

/**
 * Beginnings of the statements of a process that only reads: they count uses, end what is over, and log that a secret was
 * shown. Each is right beside those of other processes.
 */
const READER_STATEMENTS = /^\s*(?:update (?:keys|sessions|last_ids)|delete from sessions|insert into audit)\s/

/**
 * Returns the `write` of a process that only reads. A request that began while the process was the writer may still try to
 * change more, and throws `database_error`.
 */
export const createReaderWrite =
  (records: Pick<Records, 'write'>): Records['write'] =>
  async (...statements: Sql[]) => {
    if (!statements.every(({ text: [start = ''] }) => READER_STATEMENTS.test(start)))
      throw new ApiError('database_error', 'This process only reads.')
    await records.write(...statements)
  }
