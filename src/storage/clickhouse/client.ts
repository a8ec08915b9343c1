import type { ClickHouseClient } from '@clickhouse/client'
import { REPLICATED_SETTINGS } from './settings.js'

/** The store cannot be opened: one line for the operator, without the password. */
export class ClickHouseOpenError extends Error {
  override readonly name = 'ClickHouseOpenError'
}

/** A server and database, and how to sign in. */
export interface ClickHouseAddress {
  readonly url: string
  readonly username: string
  readonly password: string
  readonly database: string
  /** The cluster whose replicas each have all rows; undefined for one server. */
  readonly cluster: string | undefined
}

const DEFAULT_PORT = { http: 8123, https: 8443 }

/**
 * Parses `clickhouse://user:password@host:8123/database`; with `?secure=true` over TLS, port 8443 by default; with
 * `?cluster=name` for tables on all replicas of a cluster. Throws `ClickHouseOpenError`.
 */
export function parseAddress(text: string): ClickHouseAddress {
  const refuse = (why: string) => new ClickHouseOpenError(`--store clickhouse://user@host:8123/database: ${why}`)
  if (!URL.canParse(text)) throw refuse('it is not a URL.')
  const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(text)
  if (protocol !== 'clickhouse:') throw refuse('the scheme must be clickhouse.')
  if (hostname === '') throw refuse('it names no host.')
  const unknown = [...searchParams.keys()].find((key) => !['secure', 'cluster'].includes(key))
  if (unknown !== undefined) throw refuse(`unknown parameter ${unknown}; secure=true and cluster=name are known.`)
  const secure = searchParams.get('secure') ?? 'false'
  if (!['true', 'false'].includes(secure)) throw refuse('secure must be true or false.')
  const cluster = searchParams.get('cluster') ?? undefined
  if (cluster !== undefined && !/^[\w.-]+$/.test(cluster))
    throw refuse('cluster must be a name (letters, digits, underscore, dot, hyphen).')
  const scheme = secure === 'true' ? 'https' : 'http'
  const database = decodeURIComponent(pathname.slice(1))
  if (!/^\w+$/.test(database)) throw refuse('the path must be the name of a database (letters, digits, underscore).')
  return {
    url: `${scheme}://${hostname}:${port || DEFAULT_PORT[scheme]}`,
    username: decodeURIComponent(username) || 'default',
    password: decodeURIComponent(password),
    database,
    cluster,
  }
}

/** Waits for a connection or for the first byte of a response; queries have their own limit, which ends before. */
const REQUEST_TIMEOUT_MS = 16 * 60_000
const MAX_CONNECTIONS = 10

/** Loads the client, which only this store needs. Throws `ClickHouseOpenError`. */
export async function connect({
  url,
  username,
  password,
  database,
  cluster,
}: ClickHouseAddress): Promise<ClickHouseClient> {
  const { ClickHouseLogLevel, createClient } = await import('@clickhouse/client').catch(() => {
    throw new ClickHouseOpenError('--store clickhouse:// needs a package: npm install @clickhouse/client')
  })
  return createClient({
    url,
    username,
    password,
    database,
    application: 'readership',
    request_timeout: REQUEST_TIMEOUT_MS,
    max_open_connections: MAX_CONNECTIONS,
    // Values of a statement may be longer than a URL.
    use_multipart_params: true,
    ...(cluster === undefined ? {} : { clickhouse_settings: REPLICATED_SETTINGS }),
    // Errors are thrown, and the caller logs them.
    log: { level: ClickHouseLogLevel.OFF },
  })
}
