import type { DuckDBConnection } from '@duckdb/node-api'
import { StoreOpenError } from './open.js'
import { inTransaction } from './query.js'

/** The statements from one version of a schema to the next; a version is its place in the list, from 1. */
export type Migration = readonly string[]

/**
 * Migrates a file to the last version: each step in its own transaction, with the row that records it, and a checkpoint
 * after all of them, because a schema change must not be replayed from the log. Throws `StoreOpenError` if the file has a
 * later version than this program knows.
 */
export async function migrate(connection: DuckDBConnection, file: string, migrations: readonly Migration[]) {
  await connection.run('create table if not exists schema_versions (version integer, applied_at timestamp)')
  const reader = await connection.runAndReadAll('select coalesce(max(version), 0)::integer from schema_versions')
  const version = Number(reader.value(0, 0))
  if (version > migrations.length) {
    throw new StoreOpenError(
      `${file} has schema version ${version}, and this readership knows versions up to ${migrations.length}`,
    )
  }
  for (const [index, statements] of migrations.entries()) {
    if (index < version) continue
    await inTransaction(connection, async () => {
      for (const statement of statements) await connection.run(statement)
      await connection.run(`insert into schema_versions values (${index + 1}, now()::timestamp)`)
    })
  }
  if (version < migrations.length) await connection.run('checkpoint')
}
