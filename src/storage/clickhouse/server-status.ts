import type { ClickHouseClient } from '@clickhouse/client'
import type { ServerStatus } from '../event-store.js'
import { sql } from '../sql.js'
import { runQuery } from './query.js'

/** A server that takes longer is as good as away for those who ask how it is. */
const LIMITS = { timeout_ms: 2_000, memory_bytes: 1e8 }

/** Reads the state of the server with one query of its system tables, of which a user sees the part that concerns their own tables. */
export async function readServerStatus(client: ClickHouseClient): Promise<ServerStatus> {
  const rows = await runQuery(
    client,
    sql`select 'parts' as what, table, toInt64(count()) as value from system.parts
        where database = currentDatabase() and active group by table
      union all select 'bytes', '', toInt64(sum(bytes_on_disk)) from system.parts
        where database = currentDatabase() and active
      union all select 'mutations', '', toInt64(count()) from system.mutations
        where database = currentDatabase() and not is_done
      union all select 'delay', '', toInt64(max(absolute_delay)) from system.replicas
        where database = currentDatabase() having count() > 0`,
    { limits: LIMITS, signal: AbortSignal.timeout(LIMITS.timeout_ms) },
  )
  const find = (what: string) => rows.find((row) => row.what === what)?.value
  const delay = find('delay')
  return {
    parts: Object.fromEntries(
      rows.filter(({ what }) => what === 'parts').map(({ table, value }) => [String(table), Number(value)]),
    ),
    bytes: Number(find('bytes') ?? 0),
    unfinished_mutations: Number(find('mutations') ?? 0),
    ...(delay !== undefined && { replication_delay_seconds: Number(delay) }),
  }
}
