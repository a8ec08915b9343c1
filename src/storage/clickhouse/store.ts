import type { ClickHouseClient } from '@clickhouse/client'
import { ApiError } from '../../base/errors.js'
import { clickhouseDialect } from '../dialects/clickhouse.js'
import type { ServerStatus } from '../event-store.js'
import type { Sql } from '../sql.js'
import type { ReadTimeouts, Records, ResultRow, Store } from '../store.js'
import { requireBinding } from './binding.js'
import { type ClickHouseAddress, connect, parseAddress } from './client.js'
import { migrate } from './migrate.js'
import { runQuery, streamQuery } from './query.js'
import { toApiError, toOpenError } from './query-errors.js'
import { readServerStatus } from './server-status.js'
import type { QueryLimits } from './settings.js'

export interface ClickHouseOptions {
  /** Absent values are the store's defaults. */
  limits?: Partial<QueryLimits & Pick<ReadTimeouts, 'longest_ms'>>
  /** Connects to the server; `connect` by default. */
  connectTo?: typeof connect
  /** The records that the rows must belong to, if they belong to any yet. */
  records?: Pick<Records, 'query'>
}

/** The reading side of the store. */
export interface ClickHouseReader extends Omit<Store, 'append'> {
  readonly client: ClickHouseClient
  readonly address: ClickHouseAddress
  /** Throws `ApiError('database_error')` if the store is closed. */
  requireOpen(): void
  serverStatus(): Promise<ServerStatus>
}

/** A stream is as long as its client takes to read it. */
const DEFAULT_LIMITS = { timeout_ms: 30_000, memory_bytes: 4 * 2 ** 30, longest_ms: 15 * 60_000 }

/**
 * Opens the store of hits and fetches in a database of a ClickHouse server, `clickhouse://user:password@host:8123/db`, for
 * reading, and creates its tables if they are missing. Throws `ClickHouseOpenError`, and `StoreOpenError` for the rows of
 * other records.
 */
export async function openClickHouse(
  url: string,
  { limits: given, connectTo = connect, records }: ClickHouseOptions = {},
): Promise<ClickHouseReader> {
  const limits = { ...DEFAULT_LIMITS, ...given }
  const address = parseAddress(url)
  const client = await connectTo(address)
  try {
    await migrate(client, address)
    if (records) await requireBinding(client, records)
  } catch (cause) {
    await client.close()
    throw toOpenError(cause, address)
  }
  let closed = false
  const requireOpen = () => {
    if (closed) throw new ApiError('database_error', 'The store is closed.')
  }
  return {
    client,
    address,
    requireOpen,
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
      const longer = { ...limits, timeout_ms: limits.longest_ms }
      try {
        yield* streamQuery(client, query, { limits: longer, signal })
      } catch (cause) {
        throw toApiError(cause, longer, signal)
      }
    },
    async serverStatus() {
      requireOpen()
      try {
        return await readServerStatus(client)
      } catch (cause) {
        throw toApiError(cause, limits)
      }
    },
    async close(): Promise<void> {
      closed = true
      await client.close()
    },
  }
}
