import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context, MiddlewareHandler } from 'hono'
import type { Readership } from '../src/index.js'
import { type MountOptions, mount, observeWeb, peerAddress } from '../src/mount.js'
import type { WebReadership } from '../src/web.js'

/** The part of a request's `env` that @hono/node-server sets. */
interface Bindings {
  incoming?: IncomingMessage
  outgoing?: ServerResponse
}

/** Options of `middleware`. */
export interface HonoOptions extends MountOptions {
  /** Returns the client's address (default: the peer's). Behind a proxy, use `clientAddress` and `parseTrust`. */
  clientAddress?(c: Context, incoming: IncomingMessage): string
}

/** Options of `webMiddleware`. */
export interface HonoWebOptions {
  /** Returns the client's address from the platform; on Workers, the header `cf-connecting-ip`. */
  clientAddress(c: Context): string
}

/**
 * Hono middleware for @hono/node-server: `site.use(middleware(readership))`, before anything that responds. It records
 * every exchange, and the service responds under the base path. It observes the exchange at the socket, so that
 * compression, streams, HEAD and clients that leave count as they were.
 */
export function middleware(readership: Readership, options: HonoOptions = {}): MiddlewareHandler {
  const handle = mount(readership, options, ['clientAddress'])
  return async (c, next) => {
    const { incoming, outgoing }: Bindings = c.env ?? {}
    // Without a server (`app.request()` in a test) there is no exchange to observe.
    if (incoming === undefined || outgoing === undefined) return next()
    const ip = options.clientAddress?.(c, incoming) ?? peerAddress(incoming)
    let passes: Promise<boolean> | undefined
    const onWait = (later: Promise<boolean>) => {
      passes = later
    }
    if (!handle(incoming, outgoing, ip, { onWait }) || (await passes)) return next()
    // Tells @hono/node-server not to send a response again. `serve` installs its own Response class, which looks at its
    // headers only after something has been read, hence the access to `body`.
    const sent = new Response(null, { headers: { 'x-hono-already-sent': 'true' } })
    void sent.body
    return sent
  }
}

/**
 * Hono middleware for every runtime, also Workers, Deno and Bun:
 * `site.use(webMiddleware(webReadership({...}), { clientAddress }))`, before anything that responds. It records every
 * exchange, and ships the records while the platform lets it (`waitUntil`).
 */
export function webMiddleware(readership: WebReadership, { clientAddress }: HonoWebOptions): MiddlewareHandler {
  if (typeof clientAddress !== 'function')
    throw new TypeError('readership: webMiddleware needs the option clientAddress, which must be a function.')
  return async (c, next) => {
    const observeResponse = observeWeb(c.req.raw, clientAddress(c))
    if (observeResponse === undefined) return next()
    const ship = async (observation: ReturnType<typeof observeResponse>['observation']) => {
      readership.record(await observation)
      await readership.flush()
    }
    try {
      await next()
    } catch (error) {
      waitUntil(c, ship(observeResponse(new Response(null, { status: 500 })).observation))
      throw error
    }
    const { response, observation } = observeResponse(c.res)
    if (response !== c.res) {
      // Removed first: Hono would merge the headers of the previous response into the new one.
      c.res = undefined
      c.res = response
    }
    waitUntil(c, ship(observation))
  }
}

/** Keeps `work` alive after the response. A long-lived process needs no such call, and `executionCtx` throws there. */
function waitUntil(c: Context, work: Promise<void>): void {
  try {
    c.executionCtx.waitUntil(work)
  } catch {}
}
