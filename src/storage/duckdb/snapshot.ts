import { join } from 'node:path'
import { raw, sql } from '../sql.js'
import type { TakeSnapshot } from '../store.js'
import type { Database } from './database.js'
import { backupDirectory } from './open.js'
import { runQuery } from './query.js'
import { asApiError } from './query-errors.js'

/** One piece of a snapshot, a million rows at most, may take so long on a slow machine that other programs use too. */
const TIMEOUT_MS = 600_000

/**
 * Returns a function that takes snapshots of a file. A snapshot is a transaction that only reads, on a
 * connection of its own: rows are stored and streamed meanwhile, and checkpoints succeed.
 */
export const createSnapshot =
  (database: Pick<Database, 'hold'>, file: string): TakeSnapshot =>
  (work, prepare) =>
    asApiError('The snapshot failed.', () =>
      database.hold(
        async (run, cleanUp) => {
          await prepare?.()
          try {
            await run(async (connection) => {
              await connection.run('begin transaction read only')
              // The transaction sees the file as it is at its first statement.
              await connection.run('select 1 from schema_versions limit 1')
            })
            return await work({
              query: (query) => run((connection) => runQuery(connection, query)),
              async writeParquet(name, query) {
                // COPY takes no parameter there.
                const target = join(backupDirectory(file), name).replaceAll("'", "''")
                const copy = sql`copy (${query}) to ${raw(`'${target}'`)} (format parquet, compression zstd)`
                await run((connection) => runQuery(connection, copy))
              },
            })
          } finally {
            await cleanUp((connection) => connection.run('rollback')).catch(() => {})
          }
        },
        { for: 'snapshot', timeout_ms: TIMEOUT_MS },
      ),
    )
