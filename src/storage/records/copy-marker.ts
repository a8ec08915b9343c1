import { StoreOpenError } from '../../base/errors.js'
import { sql } from '../sql.js'
import type { Records } from '../store.js'

/** Refuses records into which `migrate` or `restore` has not copied everything. Throws `StoreOpenError`. */
export async function requireWholeCopy(records: Pick<Records, 'query'>): Promise<void> {
  const [row] = await records.query(sql`select source, is_complete from copying`)
  if (row && row.is_complete !== true)
    throw new StoreOpenError(
      row.source === FROM_BACKUP
        ? 'the data is not restored completely: delete it, and run readership restore once more'
        : 'the data is not copied completely: stop the readership that it comes from, and run readership migrate once more',
    )
}

/** The source of data that `restore` copies; another one is when the records were created (`migrate`). */
export const FROM_BACKUP = 'backup'

/** Forgets where the data was copied from, before the first write: it cannot be copied here again. */
export async function endCopying(records: Pick<Records, 'query' | 'write'>): Promise<void> {
  const [row] = await records.query(sql`select is_complete from copying`)
  if (row) await records.write(sql`delete from copied`, sql`delete from copying`)
}
