import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context, MiddlewareHandler } from 'hono'
import { type MountOptions, mount, peerAddress, type Readership } from '../src/index.js'

/** What @hono/node-server puts in a request's `env`. */
interface Bindings {
  incoming?: IncomingMessage
  outgoing?: ServerResponse
}

export interface HonoOptions extends MountOptions {
  /** The client's address (default: the peer's). Behind a proxy: `clientAddress` and `parseTrust` of 'readership'. */
  clientAddress?(c: Context, incoming: IncomingMessage): string
}

/**
 * `site.use(middleware(readership))` on @hono/node-server: every exchange is recorded, and the service answers under
 * the base path. The exchange is watched at the socket's side of Hono, so that compression, streams, HEAD and clients
 * that leave count as they were.
 */
export function middleware(
  readership: Readership,
  options: HonoOptions = {},
): MiddlewareHandler<{ Bindings: Bindings }> {
  const take = mount(readership, options)
  return async (c, next) => {
    const { incoming, outgoing } = c.env ?? {}
    // Without a server, as in `app.request()` of a test, there is no exchange to watch.
    if (incoming === undefined || outgoing === undefined) return next()
    const ip = options.clientAddress?.(c, incoming) ?? peerAddress(incoming)
    if (!take(incoming, outgoing, ip)) return next()
    // The server's sign that the answer is not to be written again. `serve` makes a Response of its own global, whose headers are
    // looked at only when something has been read of it.
    const sent = new Response(null, { headers: { 'x-hono-already-sent': 'true' } })
    void sent.body
    return sent
  }
}
