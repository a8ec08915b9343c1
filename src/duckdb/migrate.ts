import type { DuckDBConnection } from '@duckdb/node-api'
import { StoreOpenError } from './open.js'

/** The statements that lead from one version of a schema to the next; its version is its place in the list, from 1. */
export type Migration = readonly string[]

/**
 * Brings a file to the last version, each step in a transaction of its own with the row that says so, and a checkpoint
 * behind them all: a change of schema is never left to be replayed from the log.
 * Throws `StoreFault` where the file is of a later version than this program knows.
 */
export async function migrate(connection: DuckDBConnection, file: string, migrations: readonly Migration[]) {
  await connection.run('create table if not exists schema_versions (version integer, applied_at timestamp)')
  const reader = await connection.runAndReadAll('select coalesce(max(version), 0)::integer from schema_versions')
  const at = Number(reader.value(0, 0))
  if (at > migrations.length) {
    throw new StoreOpenError(`${file} has schema version ${at}, and this readership knows up to ${migrations.length}`)
  }
  for (const [index, statements] of migrations.entries()) {
    if (index < at) continue
    await connection.run('begin transaction')
    try {
      for (const statement of statements) await connection.run(statement)
      await connection.run(`insert into schema_versions values (${index + 1}, now()::timestamp)`)
      await connection.run('commit')
    } catch (error) {
      await connection.run('rollback').catch(() => {})
      throw error
    }
  }
  if (at < migrations.length) await connection.run('checkpoint')
}
