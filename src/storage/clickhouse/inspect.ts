import { text } from 'node:stream/consumers'
import { connect, parseAddress } from './client.js'
import { readClockDifference } from './clock.js'
import { listShards, requireOneShard } from './cluster.js'
import { readVersion, requireVersion } from './migrate.js'
import { toOpenError } from './query-errors.js'
import { MIGRATIONS } from './schema.js'

/** A database of a ClickHouse server as an operator has to know it before a start. */
export interface ClickHouseFindings {
  /** The address and the database, without the password. */
  name: string
  user: string
  /** The version of the server, such as `26.7.2.1`. */
  version: string
  /** Whether it is not older than the version that the tests run with. */
  isTested: boolean
  hasRights: boolean
  /** The version of the tables, 0 before they are created, and the one of this program. */
  schema: { stored: number; known: number }
  clockDifference_ms: number
  /** The token of the records that the rows belong to; undefined before the first writer. */
  token: string | undefined
}

/** The version of the tests; `migrate.ts` has the oldest one that can be used. */
const TESTED = [26, 7] as const

/** Looks at the database and changes nothing. Throws `ClickHouseOpenError` if it cannot be reached or is too old. */
export async function inspectClickHouse(url: string, now: () => Date): Promise<ClickHouseFindings> {
  const address = parseAddress(url)
  const client = await connect(address)
  const selectOne = async (query: string): Promise<Record<string, unknown> | undefined> => {
    const result = await client.query({ query, format: 'JSONEachRow' })
    return (await result.json<Record<string, unknown>>())[0]
  }
  try {
    const version = String((await selectOne('select version() as version'))?.version)
    requireVersion(version)
    const { cluster } = address
    if (cluster !== undefined) {
      const shards = await client.query({ query: listShards(cluster), format: 'JSONEachRow' })
      requireOneShard(cluster, (await shards.json()).length)
    }
    const [major = 0, minor = 0] = version.split('.').map(Number)
    // The statement takes no format.
    const isGranted = async (rights: string) =>
      (await text((await client.exec({ query: `check grant ${rights}` })).stream)).trim() === '1'
    const hasRights =
      (await isGranted(`select, insert, alter, create table, drop table on ${address.database}.*`)) &&
      (cluster === undefined || (await isGranted('cluster, remote on *.*')))
    const stored = await readVersion(client)
    const binding = stored > 0 ? await selectOne('select token from bindings order by bound_at limit 1') : undefined
    return {
      name: `${address.url}, database ${address.database}`,
      user: address.username,
      version,
      isTested: major > TESTED[0] || (major === TESTED[0] && minor >= TESTED[1]),
      hasRights,
      schema: { stored, known: MIGRATIONS.length },
      clockDifference_ms: await readClockDifference(client, now),
      token: binding && String(binding.token),
    }
  } catch (cause) {
    throw toOpenError(cause, address)
  } finally {
    await client.close()
  }
}
