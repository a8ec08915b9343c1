import { Pool } from 'undici'
import type { Incoming } from './response-writer.js'

/**
 * Schemes that sign in a connection instead of a request (RFC 4559 6): the next request on it is taken for the same
 * user. RFC 9110 allows no tab after the scheme, but some servers take it for a space (Apache).
 */
const CONNECTION_AUTH_SCHEMES = /^(?:ntlm|negotiate)(?:\s|$)/i

/** As long as an idle client connection is kept: each new connection would ask the client to sign in again. */
const OWN_POOL_KEEP_ALIVE_MS = 75_000

/**
 * Creates the connections to the origin. All clients share them, except a client that signs its connection in: from then
 * on it has connections of its own, which end with its own connection.
 */
export function createOriginPools(origin: string, options: Pool.Options) {
  const shared = new Pool(origin, options)
  const ownPools = new Map<object, Pool>()
  return {
    /** Returns the pool for a request. */
    poolFor(req: Incoming): Pool {
      const isHttp2 = 'stream' in req
      const client = isHttp2 ? (req.stream.session ?? req.stream) : req.socket
      const existing = ownPools.size === 0 ? undefined : ownPools.get(client)
      if (existing !== undefined) return existing
      const { authorization } = req.headers
      if (authorization === undefined || client.destroyed || !CONNECTION_AUTH_SCHEMES.test(authorization)) return shared
      // HTTP/1.1 sends one request at a time; HTTP/2 streams must not wait for one another.
      const limit = isHttp2 ? {} : { connections: 1 }
      const pool = new Pool(origin, { ...options, ...limit, keepAliveTimeout: OWN_POOL_KEEP_ALIVE_MS })
      ownPools.set(client, pool)
      client.once('close', () => {
        ownPools.delete(client)
        void pool.destroy()
      })
      return pool
    },
    /** Closes all connections, also those in use. */
    async destroy(): Promise<void> {
      await Promise.all([shared, ...ownPools.values()].map((pool) => pool.destroy()))
    },
  }
}
