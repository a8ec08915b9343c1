import { Pool } from 'undici'
import type { Incoming } from './response-writer.js'

/**
 * Schemes that sign in a connection and not a request (RFC 4559 6): who comes next on it is taken for the same person. A
 * tab behind the name is none of RFC 9110's, and some take it for a space all the same (Apache).
 */
const CONNECTION_AUTH_SCHEMES = /^(?:ntlm|negotiate)(?:\s|$)/i

/** As long as an idle client is kept, ms: each new connection would ask it to sign in again. */
const OWN_POOL_KEEP_ALIVE_MS = 75_000

/** The connections to the origin. */
export interface OriginPools {
  /** Those that a request may go on. */
  poolFor(req: Incoming): Pool
  /** Closes all, also those in use. */
  destroy(): Promise<void>
}

/**
 * All clients share the connections to the origin, but one that signs its connection in: from then on it has one of its
 * own, which ends with its own.
 */
export function createOriginPools(origin: string, options: Pool.Options): OriginPools {
  const shared = new Pool(origin, options)
  const own = new Map<object, Pool>()
  return {
    poolFor(req) {
      const modern = 'stream' in req
      const client = modern ? (req.stream.session ?? req.stream) : req.socket
      const its = own.size === 0 ? undefined : own.get(client)
      if (its !== undefined) return its
      const { authorization } = req.headers
      if (authorization === undefined || client.destroyed || !CONNECTION_AUTH_SCHEMES.test(authorization)) return shared
      // HTTP/1.1 asks one thing at a time; streams must not wait for one another.
      const limit = modern ? {} : { connections: 1 }
      const made = new Pool(origin, { ...options, ...limit, keepAliveTimeout: OWN_POOL_KEEP_ALIVE_MS })
      own.set(client, made)
      client.once('close', () => {
        own.delete(client)
        void made.destroy()
      })
      return made
    },
    async destroy() {
      await Promise.all([shared, ...own.values()].map((pool) => pool.destroy()))
    },
  }
}
