import type { PoolClient } from 'pg'
import { StoreOpenError } from '../../base/errors.js'
import type { Migration } from '../records/records-schema.js'

/** The advisory lock of all processes that migrate this database; any number will do. */
const MIGRATION_LOCK = 7_323_478_237

/**
 * Migrates the database to the last version of the schema: each step in a transaction with the row that records it. One
 * process does, the others wait. Throws `StoreOpenError` if the database has a later version than this program knows.
 */
export async function migrate(client: PoolClient, name: string, migrations: readonly Migration[]): Promise<void> {
  await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
  try {
    await client.query('create table if not exists schema_versions (version integer, applied_at timestamp)')
    const { rows } = await client.query<{ version: number }>(
      'select coalesce(max(version), 0) as version from schema_versions',
    )
    const version = Number(rows[0]?.version)
    if (version > migrations.length)
      throw new StoreOpenError(
        `${name} has schema version ${version}, and this readership knows versions up to ${migrations.length}`,
      )
    for (const [index, statements] of migrations.entries()) {
      if (index < version) continue
      await inTransaction(client, async () => {
        for (const statement of statements) await client.query(statement)
        await client.query("insert into schema_versions values ($1, now() at time zone 'UTC')", [index + 1])
      })
    }
  } finally {
    await client.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK])
  }
}

/** Runs `work` in a transaction, which is rolled back if it throws. */
export async function inTransaction<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}
