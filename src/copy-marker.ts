import { StoreOpenError } from './errors.js'
import { sql } from './sql.js'
import type { Records } from './store.js'

/** Refuses records into which `readership migrate` has not copied everything. Throws `StoreOpenError`. */
export async function requireWholeCopy(records: Pick<Records, 'query'>): Promise<void> {
  const [row] = await records.query(sql`select is_complete from copying`)
  if (row && row.is_complete !== true)
    throw new StoreOpenError(
      'the data is not copied completely: stop the readership that it comes from, and run readership migrate once more',
    )
}

/** Forgets where the data was copied from, before the first write: it cannot be copied here again. */
export async function endCopying(records: Pick<Records, 'query' | 'write'>): Promise<void> {
  const [row] = await records.query(sql`select is_complete from copying`)
  if (row) await records.write(sql`delete from copied`, sql`delete from copying`)
}
