import { randomUUID } from 'node:crypto'
import { RowError } from '../columns.js'
import { clickhouseDialect } from '../dialects/clickhouse.js'
import { ApiError } from '../errors.js'
import type { Rows } from '../rows.js'
import type { Sql } from '../sql.js'
import type { ResultRow, Store } from '../store.js'
import { appendBatch, type BatchName } from './append.js'
import { connect, parseAddress } from './client.js'
import { migrate } from './migrate.js'
import { runQuery, streamQuery } from './query.js'
import { toApiError, toOpenError } from './query-errors.js'
import type { QueryLimits } from './settings.js'

export interface ClickHouseStore extends Store {
  /** As `Store.append`; with a name, a batch that is appended again adds nothing. */
  append(rows: Rows, name?: BatchName): Promise<void>
}

const DEFAULT_LIMITS: QueryLimits = { timeout_ms: 30_000, memory_bytes: 4 * 2 ** 30 }
/** A stream is as long as its client takes to read it. */
const STREAM_TIMEOUT_MS = 15 * 60_000

/**
 * Opens the store of hits and fetches in a database of a ClickHouse server, `clickhouse://user:password@host:8123/db`, and
 * creates its tables if they are missing. Throws `ClickHouseOpenError`.
 */
export async function openClickHouse(
  url: string,
  { limits = DEFAULT_LIMITS }: { limits?: QueryLimits } = {},
): Promise<ClickHouseStore> {
  const address = parseAddress(url)
  const client = await connect(address)
  try {
    await migrate(client)
  } catch (cause) {
    await client.close()
    throw toOpenError(cause, address)
  }
  let closed = false
  const requireOpen = () => {
    if (closed) throw new ApiError('database_error', 'The store is closed.')
  }
  return {
    dialect: clickhouseDialect,
    async query(query: Sql, signal?: AbortSignal): Promise<ResultRow[]> {
      requireOpen()
      try {
        return await runQuery(client, query, { limits, signal })
      } catch (cause) {
        throw toApiError(cause, limits, signal)
      }
    },
    async *stream(query: Sql, signal?: AbortSignal): AsyncIterable<ResultRow[]> {
      requireOpen()
      const longer = { ...limits, timeout_ms: STREAM_TIMEOUT_MS }
      try {
        yield* streamQuery(client, query, { limits: longer, signal })
      } catch (cause) {
        throw toApiError(cause, longer, signal)
      }
    },
    async append(rows: Rows, name: BatchName = { batch: randomUUID(), epoch: 0 }): Promise<void> {
      requireOpen()
      try {
        await appendBatch(client, rows, name)
      } catch (cause) {
        if (cause instanceof RowError) throw cause
        throw new ApiError('database_error', 'The rows could not be stored.', undefined, { cause })
      }
    },
    async close(): Promise<void> {
      closed = true
      await client.close()
    },
  }
}
