import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context, MiddlewareHandler } from 'hono'
import type { Readership } from '../src/index.js'
import { type MountOptions, mount, observeWeb, peerAddress } from '../src/mount.js'
import type { WebReadership } from '../src/web.js'

/** What @hono/node-server puts in a request's `env`. */
interface Bindings {
  incoming?: IncomingMessage
  outgoing?: ServerResponse
}

export interface HonoOptions extends MountOptions {
  /** The client's address (default: the peer's). Behind a proxy: `clientAddress` and `parseTrust` of 'readership'. */
  clientAddress?(c: Context, incoming: IncomingMessage): string
}

export interface HonoWebOptions {
  /** The client's address as the platform knows it, which on Workers is the header `cf-connecting-ip`. */
  clientAddress(c: Context): string
}

/**
 * `site.use(middleware(readership))` on @hono/node-server, before anything that answers: every exchange is recorded, and
 * the service answers under the base path. The exchange is watched at the socket's side of Hono, so that compression,
 * streams, HEAD and clients that leave count as they were.
 */
export function middleware(readership: Readership, options: HonoOptions = {}): MiddlewareHandler {
  const take = mount(readership, options)
  return async (c, next) => {
    const { incoming, outgoing }: Bindings = c.env ?? {}
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

/**
 * `site.use(webMiddleware(webReadership({...}), { clientAddress }))` wherever Hono runs, Workers, Deno and Bun too, before
 * anything that answers: every exchange is recorded, and shipped while the platform lets it (`waitUntil`).
 */
export function webMiddleware(readership: WebReadership, { clientAddress }: HonoWebOptions): MiddlewareHandler {
  return async (c, next) => {
    const watched = observeWeb(c.req.raw, clientAddress(c))
    if (watched === undefined) return next()
    const ship = async (over: ReturnType<typeof watched>['observation']) => {
      readership.record(await over)
      await readership.flush()
    }
    try {
      await next()
    } catch (error) {
      outlive(c, ship(watched(new Response(null, { status: 500 })).observation))
      throw error
    }
    const { response, observation: over } = watched(c.res)
    if (response !== c.res) {
      // Taken off first: what Hono does with the response before would make its headers twice.
      c.res = undefined
      c.res = response
    }
    outlive(c, ship(over))
  }
}

/** A process that stays needs no leave; of a platform that does not, `executionCtx` throws where there is none. */
function outlive(c: Context, work: Promise<void>): void {
  try {
    c.executionCtx.waitUntil(work)
  } catch {}
}
