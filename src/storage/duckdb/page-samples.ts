import { duckdbDialect } from '../dialects/duckdb.js'
import { PAGE_EDITION_KEY, PAGE_EDITION_TYPES, type PageEditionChanges } from '../page-samples.js'
import { raw, type Sql, sql } from '../sql.js'

/** Stores editions of pages in place of those with the same keys, and deletes others. */
export function buildEditionChanges({ put, remove }: PageEditionChanges): Sql[] {
  const key = raw(PAGE_EDITION_KEY.join(', '))
  const columns = raw(Object.keys(PAGE_EDITION_TYPES).join(', '))
  const rowsOf = (rows: readonly object[]) => duckdbDialect.rows(rows, PAGE_EDITION_TYPES)
  const clear = sql`delete from page_samples where (${key}) in (select ${key} from ${rowsOf([...put, ...remove])} r)`
  return put.length === 0 ? [clear] : [clear, sql`insert into page_samples select ${columns} from ${rowsOf(put)} r`]
}
