import type { Pool, PoolClient } from 'pg'
import { ApiError, StoreOpenError } from '../../base/errors.js'
import { RECORDS_SCHEMA } from '../records/records-schema.js'
import { type Sql, sql } from '../sql.js'
import type { RecordStore } from '../store.js'
import { CHANGES, type ChangeOptions, listenForChanges } from './changes.js'
import { openPool, runQuery, withConnection, withoutPassword } from './client.js'
import { inTransaction, migrate } from './migrate.js'
import { toOpenError } from './open-error.js'

export interface PostgresOptions extends ChangeOptions {
  /** `postgres://user:password@host:5432/database`. */
  url: string
  now: () => Date
  /** Milliseconds that one statement may take; 30,000 by default. */
  timeout_ms?: number | undefined
}

/** A clock that is further off would give sessions and links wrong ends. */
const MAX_CLOCK_DIFFERENCE_MS = 300_000

/** Opens the records in a PostgreSQL database and migrates them. Throws `StoreOpenError`. */
export async function openPostgresRecords(options: PostgresOptions): Promise<Omit<RecordStore, 'repairs'>> {
  const { url, log, instance } = options
  const name = withoutPassword(url)
  const pool = await openPool(url, {
    timeout_ms: options.timeout_ms ?? 30_000,
    onError: (error) => log('warn', `${name}: a connection ended`, error),
  })
  try {
    await withConnection(pool, (client) => prepare(client, name, options.now))
    const changes = await listenForChanges(pool, options)
    return {
      query: (query) => asApiError('The records cannot be read.', () => runQuery(pool, query)),
      write: (...statements) =>
        asApiError('The records cannot be written.', () =>
          write(
            pool,
            isHeard(statements) ? [...statements, sql`select pg_notify(${CHANGES}, ${instance})`] : statements,
          ),
        ),
      readSize: () =>
        asApiError('The records cannot be measured.', async () => {
          const [row] = await runQuery(pool, sql`select pg_database_size(current_database()) as bytes`)
          return Number(row?.bytes)
        }),
      async close() {
        changes.stop()
        if (!pool.ending) await pool.end()
      },
    }
  } catch (cause) {
    await pool.end().catch(() => {})
    throw toOpenError(name, cause)
  }
}

/**
 * Tables that no process keeps in memory, or only the one that writes. They change each second, and are not announced.
 */
const UNHEARD_TABLES = new Set([
  'writers',
  'salts',
  'journal',
  'commits',
  'recorded',
  'notices',
  'drops',
  'openings',
  'annotation_causes',
  'imports',
  'import_sessions',
  'import_secrets',
])

/** Whether other processes must hear of a write: it changes a table that they may have in memory. */
const isHeard = (statements: readonly Sql[]): boolean =>
  statements.some(({ text: [start = ''] }) => {
    const [, table] = /^\s*(?:insert into|update|delete from) +(\w+)/.exec(start) ?? []
    return table === undefined || !UNHEARD_TABLES.has(table)
  })

async function prepare(client: PoolClient, name: string, now: () => Date): Promise<void> {
  const before = now().getTime()
  const [row] = await runQuery(client, sql`select now() at time zone 'UTC' as now`)
  const server = row?.now instanceof Date ? row.now.getTime() : Number.NaN
  const difference = Math.min(Math.abs(server - before), Math.abs(server - now().getTime()))
  if (difference > MAX_CLOCK_DIFFERENCE_MS)
    throw new StoreOpenError(
      `the clocks of this machine and of ${name} differ by ${Math.round(difference / 60_000)} minutes`,
    )
  await migrate(client, name, RECORDS_SCHEMA)
}

const write = (pool: Pool, statements: readonly Sql[]): Promise<void> =>
  withConnection(pool, (client) =>
    inTransaction(client, async () => {
      for (const statement of statements) await runQuery(client, statement)
    }),
  )

/** Runs `work`; what it throws becomes an `ApiError` with `message`, and never PostgreSQL's words. */
async function asApiError<T>(message: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw cause instanceof ApiError ? cause : new ApiError('database_error', message, undefined, { cause })
  }
}
