import type { ConnectionOptions } from './origin/connection.js'
import { OriginPool } from './origin/pool.js'
import type { Incoming } from './response-writer.js'

/**
 * Schemes that sign in a connection instead of a request (RFC 4559 6): the next request on it is taken for the same
 * user. RFC 9110 allows no tab after the scheme, but some servers take it for a space (Apache).
 */
const CONNECTION_AUTH_SCHEMES = /^(?:ntlm|negotiate)(?:\s|$)/i

/** As long as an idle client connection is kept: each new connection would ask the client to sign in again. */
const OWN_POOL_IDLE_MS = 75_000

/**
 * Creates the connections to the origin. All clients share them, except a client that signs its connection in: from then
 * on it has connections of its own, which end with its own connection.
 */
export function createOriginPools(options: ConnectionOptions) {
  const shared = new OriginPool(options)
  const ownPools = new Map<object, OriginPool>()
  return {
    /** Returns the pool for a request. */
    poolFor(req: Incoming): OriginPool {
      if (ownPools.size === 0 && req.headers.authorization === undefined) return shared
      const client = 'stream' in req ? (req.stream.session ?? req.stream) : req.socket
      const existing = ownPools.get(client)
      if (existing !== undefined) return existing
      const { authorization } = req.headers
      if (authorization === undefined || client.destroyed || !CONNECTION_AUTH_SCHEMES.test(authorization)) return shared
      const pool = new OriginPool(options, OWN_POOL_IDLE_MS)
      ownPools.set(client, pool)
      client.once('close', () => {
        ownPools.delete(client)
        pool.destroy()
      })
      return pool
    },
    /** Closes all connections, also those in use. */
    destroy(): void {
      for (const pool of [shared, ...ownPools.values()]) pool.destroy()
    },
  }
}
