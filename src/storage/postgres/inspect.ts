import { setTimeout as delay } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import { RECORDS_SCHEMA } from '../records/records-schema.js'
import { sql } from '../sql.js'
import { openPool, runQuery, withConnection, withoutPassword } from './client.js'
import { toOpenError } from './open-error.js'

/** A PostgreSQL database as an operator has to know it before a start. */
export interface PostgresFindings {
  /** The address and the database, without the password. */
  name: string
  /** The version of the server, such as `18.4`, and its number, 180004. */
  version: string
  version_number: number
  /** Rights that the user lacks, in words. */
  missingRights: string[]
  /** The version of the tables, 0 before they are created, and the one of this program. */
  schema: { stored: number; known: number }
  clockDifference_ms: number
  /** The token of the rows in ClickHouse that the records belong to; undefined before the first writer. */
  token: string | undefined
  /** The right to write; undefined before the tables are created. */
  lease: LeaseFindings | undefined
}

interface LeaseFindings {
  /** The holder's URL; undefined if no process holds it. */
  address: string | undefined
  epoch: number
  /** Whether the holder has renewed it while this process looked. */
  isRenewed: boolean
}

const TIMEOUT_MS = 10_000
/** Longer than the time between two renewals. */
const RENEWAL_WAIT_MS = 3_000

/** Looks at the database and changes nothing. Takes three seconds if a process has the lease. Throws `StoreOpenError`. */
export async function inspectPostgres(url: string, now: () => Date): Promise<PostgresFindings> {
  const name = withoutPassword(url)
  const pool = await openPool(url, { timeout_ms: TIMEOUT_MS, onError() {} })
  try {
    return { name, ...(await withConnection(pool, (client) => inspect(client, now))) }
  } catch (cause) {
    throw toOpenError(name, cause)
  } finally {
    await pool.end()
  }
}

async function inspect(client: PoolClient, now: () => Date): Promise<Omit<PostgresFindings, 'name'>> {
  const before = now().getTime()
  const [server] = await runQuery(
    client,
    sql`select current_setting('server_version') as version, current_setting('server_version_num') as number,
      clock_timestamp() at time zone 'UTC' as now`,
  )
  const after = now().getTime()
  const time = server?.now instanceof Date ? server.now.getTime() : Number.NaN
  const missingRights = await listMissingRights(client)
  const [exists] = await runQuery(client, sql`select to_regclass('schema_versions') is not null as found`)
  const [row] =
    exists?.found === true && missingRights.length === 0
      ? await runQuery(client, sql`select max(version) as version from schema_versions`)
      : []
  const stored = Number(row?.version ?? 0)
  return {
    version: String(server?.version),
    version_number: Number(server?.number),
    missingRights,
    schema: { stored, known: RECORDS_SCHEMA.length },
    clockDifference_ms: time >= before && time <= after ? 0 : Math.min(Math.abs(time - before), Math.abs(time - after)),
    token: stored > 0 ? await readToken(client) : undefined,
    lease: stored >= RECORDS_SCHEMA.length ? await readLease(client) : undefined,
  }
}

async function listMissingRights(client: PoolClient): Promise<string[]> {
  const [schema] = await runQuery(
    client,
    sql`select current_schema() as name, has_schema_privilege(current_schema(), 'create') as may_create`,
  )
  const tables = await runQuery(
    client,
    sql`select tablename as name from pg_tables where schemaname = current_schema()
      and not (has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'select')
        and has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'insert')
        and has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'update')
        and has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'delete')) order by 1`,
  )
  return [
    ...(schema?.may_create === true ? [] : [`to create tables in schema ${schema?.name ?? 'public'}`]),
    ...(tables.length > 0 ? [`to read and change ${tables.map(({ name }) => name).join(', ')}`] : []),
  ]
}

async function readToken(client: PoolClient): Promise<string | undefined> {
  const [row] = await runQuery(
    client,
    sql`select token from openings where other_born = 'clickhouse' order by number limit 1`,
  )
  return row && String(row.token)
}

async function readLease(client: PoolClient): Promise<LeaseFindings | undefined> {
  const read = () => runQuery(client, sql`select epoch, instance, address, renewals from writers`)
  const [first] = await read()
  if (!first) return undefined
  const epoch = Number(first.epoch)
  if (first.instance === '') return { address: undefined, epoch, isRenewed: false }
  await delay(RENEWAL_WAIT_MS)
  const [last] = await read()
  return {
    address: String(last?.address ?? first.address),
    epoch: Number(last?.epoch),
    isRenewed: last?.renewals !== first.renewals || last?.epoch !== first.epoch,
  }
}
