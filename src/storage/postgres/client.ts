import type { Pool, PoolClient, types } from 'pg'
import { StoreOpenError } from '../../base/errors.js'
import type { Param, Sql } from '../sql.js'
import { compile } from '../sql.js'
import type { ResultRow } from '../store.js'

/** Connections of one process: records are few, and each statement is short. */
const MAX_CONNECTIONS = 4
const CONNECT_TIMEOUT_MS = 5_000
/** A process that is stopped within a transaction keeps its locks no longer: another must be able to take the lease over. */
const IDLE_TRANSACTION_MS = 3_000
/** A connection that was lost without a word counts as lost this long after the time of a statement. */
const RESPONSE_GRACE_MS = 5_000

/** Types of columns (`pg_type.oid`) that the driver gives as text, or reads in the machine's time zone. */
const INT8 = 20
const NUMERIC = 1_700
const TIMESTAMP = 1_114

/**
 * Opens connections to the database of `url`, `postgres://user@host:5432/name?sslmode=verify-full`; none is made before the
 * first statement. Throws `StoreOpenError` if the package `pg` is not installed or the URL cannot be read.
 */
export async function openPool(
  url: string,
  { timeout_ms, onError }: { timeout_ms: number; onError(error: Error): void },
): Promise<Pool> {
  const driver = await import('pg').catch((cause: unknown) => {
    throw new StoreOpenError('records in PostgreSQL need the package pg: npm install pg', { cause })
  })
  const { Pool, types: defaults } = driver.default
  try {
    const pool = new Pool({
      connectionString: url,
      max: MAX_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: timeout_ms,
      idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
      query_timeout: timeout_ms + RESPONSE_GRACE_MS,
      keepAlive: true,
      application_name: 'readership',
      types: { getTypeParser: createParsers(defaults) },
    })
    // A connection that ends while it is idle is replaced at the next statement.
    pool.on('error', onError)
    return pool
  } catch (cause) {
    throw new StoreOpenError(`${withoutPassword(url)} is not an address of a PostgreSQL database`, { cause })
  }
}

function createParsers(defaults: typeof types): typeof types.getTypeParser {
  const parsers = new Map<number, (text: string) => unknown>([
    [INT8, Number],
    [NUMERIC, Number],
    [TIMESTAMP, (text) => new Date(`${text.replace(' ', 'T')}Z`)],
  ])
  return (oid: number, format?: 'text' | 'binary') =>
    (format === 'binary' ? undefined : parsers.get(oid)) ?? defaults.getTypeParser(oid, format)
}

/** Runs `work` with a connection of its own, which is closed if it throws. */
export async function withConnection<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  // The statement that the end of a connection interrupts rejects; the event would end the process.
  const ignore = () => {}
  client.on('error', ignore)
  let failed = true
  try {
    const result = await work(client)
    failed = false
    return result
  } finally {
    client.off('error', ignore)
    client.release(failed)
  }
}

/** Runs one statement; its values are parameters. */
export async function runQuery(client: Pick<Pool | PoolClient, 'query'>, query: Sql): Promise<ResultRow[]> {
  const { text, values } = compile(query, placeholder)
  const { rows } = await client.query<ResultRow>(text, values.map(toPostgres))
  return rows
}

/** Types the values as DuckDB has them, so that one text means the same to both. */
function placeholder(position: number, value: Param): string {
  if (value === null) return `$${position}`
  if (value instanceof Date) return `$${position}::timestamp`
  if (typeof value === 'string') return `$${position}::text`
  if (typeof value === 'boolean') return `$${position}::boolean`
  if (typeof value === 'bigint') return `$${position}::numeric`
  return Number.isSafeInteger(value) ? `$${position}::bigint` : `$${position}::double precision`
}

/**
 * Instants are stored without a zone, in UTC; the driver would write a Date in the machine's. A text cannot have U+0000,
 * which a robots.txt may: U+FFFD takes its place.
 */
function toPostgres(value: Param): unknown {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'bigint') return `${value}`
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value
}

/** The address as it may be shown and logged. */
export function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return 'the address'
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}
