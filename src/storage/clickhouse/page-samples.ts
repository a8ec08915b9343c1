import type { ClickHouseClient } from '@clickhouse/client'
import { clickhouseDialect } from '../dialects/clickhouse.js'
import { PAGE_EDITION_KEY, PAGE_EDITION_TYPES, type PageEditionChanges } from '../page-samples.js'
import { raw, sql } from '../sql.js'
import { runWrite } from './statements.js'

/** Stores editions of pages in place of those with the same keys, and deletes others. It may be repeated. */
export async function writePageEditions(
  { client, number }: { client: ClickHouseClient; number: bigint },
  { put, remove }: PageEditionChanges,
): Promise<void> {
  const write = async (rows: readonly object[], types: typeof PAGE_EDITION_TYPES, deleted: 0 | 1) => {
    if (rows.length === 0) return
    const columns = raw(Object.keys(types).join(', '))
    await runWrite(
      client,
      sql`insert into page_samples (${columns}, ver, is_deleted)
        select ${columns}, ${number}, ${deleted} from ${clickhouseDialect.rows(rows, types)} r`,
    )
  }
  await write(put, PAGE_EDITION_TYPES, 0)
  const isOfKey = ([name]: [string, unknown]) => PAGE_EDITION_KEY.some((one) => one === name)
  await write(remove, Object.fromEntries(Object.entries(PAGE_EDITION_TYPES).filter(isOfKey)), 1)
}
