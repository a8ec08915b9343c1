import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { z } from 'zod'
import { type ClickHouseAddress, ClickHouseOpenError } from './client.js'
import { listShards, lockEngine, onCluster, replicate, requireOneShard, systemTableOfReplicas } from './cluster.js'
import { listColumns, MIGRATIONS, ROW_TABLES } from './schema.js'

/** The database of the store, and the cluster that it is in. */
type Place = Pick<ClickHouseAddress, 'database' | 'cluster'>

/** A program that holds the lock longer has died: every statement of a migration is done in seconds. */
const LOCK_MS = 60_000
const RETRY_MS = 200

const VERSIONS = `create table if not exists schema_versions (version UInt32, applied_at DateTime64(3, 'UTC') default now64(3))
  engine = MergeTree order by version`

/** The first version with updates as patches; 26.7 is the one that is tested. */
const OLDEST_SERVER = [25, 8] as const

/** Throws `ClickHouseOpenError` for a version of ClickHouse that is too old, such as `24.8.4.13`. */
export function requireVersion(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldest, least] = OLDEST_SERVER
  if (major < oldest || (major === oldest && minor < least))
    throw new ClickHouseOpenError(`ClickHouse ${version} is too old: ${OLDEST_SERVER.join('.')} or newer is needed.`)
}

/**
 * Brings the tables to the version of this program. Only one program at a time changes them: it holds the lock, a table
 * that only one of several programs can create. In a cluster, on all replicas. Throws `ClickHouseOpenError` if the
 * tables are newer than the program, or for a cluster of several shards.
 */
export async function migrate(client: ClickHouseClient, address: Place, migrations = MIGRATIONS): Promise<void> {
  const { cluster } = address
  const [server] = await select(client, 'select version() as version')
  requireVersion(String(server?.version))
  if (cluster !== undefined) requireOneShard(cluster, (await select(client, listShards(cluster))).length)
  if (await isCurrent(client, migrations.length)) return
  const create = (statement: string) => run(client, cluster === undefined ? statement : replicate(statement, cluster))
  const release = await takeLock(client, address)
  try {
    await create(VERSIONS)
    const done = await readVersion(client)
    for (const [i, statements] of migrations.entries()) {
      if (i < done) continue
      for (const statement of statements) await create(statement)
      await run(client, `insert into schema_versions (version) values (${i + 1})`)
    }
    for (const statement of await missingColumns(client)) await run(client, statement)
  } finally {
    await release()
  }
}

async function isCurrent(client: ClickHouseClient, programVersion: number): Promise<boolean> {
  const version = await readVersion(client)
  if (version > programVersion)
    throw new ClickHouseOpenError(
      `The database has schema version ${version}, and this program knows ${programVersion}: use a newer readership.`,
    )
  return version === programVersion && (await missingColumns(client)).length === 0
}

/** The version of the tables; 0 before they are created. */
export async function readVersion(client: ClickHouseClient): Promise<number> {
  const [exists] = await select(
    client,
    "select name from system.tables where database = currentDatabase() and name = 'schema_versions'",
  )
  if (!exists) return 0
  const [row] = await select(client, 'select max(version) as version from schema_versions')
  return z.coerce.number().parse(row?.version ?? 0)
}

/** Statements that add the columns that rows have and the tables do not: they were declared after the tables were made. */
async function missingColumns(client: ClickHouseClient): Promise<string[]> {
  const found = await select(client, 'select table, name from system.columns where database = currentDatabase()')
  const stored = new Set(found.map(({ table, name }) => `${table} ${name}`))
  return ROW_TABLES.flatMap((table) =>
    listColumns(table)
      .filter(({ name }) => !stored.has(`${table} ${name}`))
      .map(({ name, type }) => `alter table ${table} add column if not exists ${name} ${type}`),
  )
}

/** Waits for the lock and returns a function that releases it. A lock of a program that died is removed. */
async function takeLock(client: ClickHouseClient, { cluster, database }: Place): Promise<() => Promise<void>> {
  const holder = randomUUID()
  const release = () => run(client, `drop table if exists schema_lock ${onCluster(cluster)} sync`)
  for (let waited = 0; ; waited += RETRY_MS) {
    const created = await run(
      client,
      `create table schema_lock (held UInt8) engine = ${lockEngine(cluster)} order by held comment '${holder}'`,
    ).then(
      () => true,
      (error: unknown) => {
        if (isExisting(error)) return false
        throw error
      },
    )
    if (created) return release
    const [lock] = await select(
      client,
      `select dateDiff('millisecond', metadata_modification_time, now64(3)) as age
        from ${systemTableOfReplicas('system.tables', cluster)} where database = '${database}' and name = 'schema_lock'`,
    )
    if (Number(lock?.age ?? 0) > LOCK_MS) await release()
    else if (waited > 2 * LOCK_MS)
      throw new ClickHouseOpenError(
        'Another program has been changing the tables for two minutes, or the table schema_lock of one that died is still known to Keeper (system drop replica).',
      )
    else await delay(RETRY_MS)
  }
}

/** A table of that name exists already (code 57), or its replica on another server of the cluster does (253). */
const isExisting = (error: unknown): boolean => z.object({ code: z.enum(['57', '253']) }).safeParse(error).success

const run = async (client: ClickHouseClient, query: string): Promise<void> => {
  await client.command({ query })
}

async function select(client: ClickHouseClient, query: string): Promise<Record<string, unknown>[]> {
  const result = await client.query({ query, format: 'JSONEachRow' })
  return result.json<Record<string, unknown>>()
}
