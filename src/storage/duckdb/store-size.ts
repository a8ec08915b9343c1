import { DAY_MS } from '../../base/time-units.js'
import type { StoreSize } from '../event-store.js'
import { raw, type Sql, sql } from '../sql.js'
import type { ResultRow } from '../store.js'

/** The tables that grow with traffic, each with the time of its rows. */
const TIME_COLUMNS = {
  events: 'timestamp',
  loose_reports: 'timestamp',
  agent_events: 'timestamp',
  sessions: 'started',
  session_pages: 'started',
  daily_urls: 'day',
  daily_agents: 'day',
  daily_views: 'day',
} as const
/** Growth is that of the last week. */
const GROWTH_DAYS = 7

type Query = (query: Sql) => Promise<ResultRow[]>

/** Measures the blocks of the file and its log: those that rows take, and those that new rows will take first. */
export async function readUsedBytes(
  query: Query,
  walBytes: number,
): Promise<Pick<StoreSize, 'used_bytes' | 'free_bytes'>> {
  const [size] = await query(
    sql`select used_blocks * block_size as used, free_blocks * block_size as free from pragma_database_size()`,
  )
  return { used_bytes: Number(size?.used) + walBytes, free_bytes: Number(size?.free) }
}

/**
 * Measures each table: its rows, the blocks that only it uses, and its growth a day as the share of its rows that is of the
 * last week. A block may hold the ends of several tables, and counts for each.
 */
export async function readTableSizes(query: Query, now: Date): Promise<StoreSize['tables']> {
  const since = new Date(now.getTime() - GROWTH_DAYS * DAY_MS)
  const tables = []
  for (const [table, column] of Object.entries(TIME_COLUMNS)) {
    const [[blocks], [rows]] = [
      await query(sql`
        select count(distinct block_id) * (select block_size from pragma_database_size()) as bytes
        from pragma_storage_info(${table}) where persistent`),
      await query(sql`
        select count(*) as total, count(*) filter (where ${raw(column)} >= ${since}) as recent,
          min(${raw(column)}) as first
        from ${raw(table)}`),
    ]
    const [total, bytes] = [Number(rows?.total), Number(blocks?.bytes)]
    const age = rows?.first instanceof Date ? (now.getTime() - rows.first.getTime()) / DAY_MS : 0
    const days = Math.min(GROWTH_DAYS, Math.max(1, age))
    const share = total === 0 ? 0 : Number(rows?.recent) / total
    tables.push({ table, rows: total, bytes, growth_bytes: Math.round((bytes * share) / days) })
  }
  return tables
}
