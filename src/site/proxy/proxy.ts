import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createForwarder, type ForwarderOptions, type OriginCounters } from './forward.js'
import { type ExchangeCounters, RequestHandler, type RequestHandlerOptions } from './request-handler.js'
import { afterPendingResponses, refuseConnection, sendErrorPage } from './response-writer.js'

interface ListenerOptions {
  /** Handles requests to upgrade; without it they are forwarded as ordinary requests. */
  upgrade?(req: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Time from the first byte of a request to the end of its head, ms. */
  requestHeadTimeout: number
  /** Time for which an idle connection is kept, ms. */
  keepAliveTimeout: number
  maxConnections: number
}
type AllOptions = ForwarderOptions & RequestHandlerOptions & ListenerOptions
type Defaulted = keyof typeof DEFAULTS
export type ProxyOptions = Omit<AllOptions, Defaulted> & Partial<Pick<AllOptions, Defaulted>>

export interface ProxyCounters extends OriginCounters, ExchangeCounters {
  /** Exchanges that are not over. */
  active: number
  /** Connections dropped because there were too many. */
  connections_dropped: number
}

const DEFAULTS = {
  connectTimeout: 10_000,
  headersTimeout: 60_000,
  bodyIdleTimeout: 300_000,
  clientTimeout: 60_000,
  requestHeadTimeout: 20_000,
  /** Longer than the 60 s of load balancers in front, so that they never use a connection that is being closed. */
  keepAliveTimeout: 75_000,
  maxHeaderSize: 64 * 1024,
  maxConnections: 20_000,
  now: () => Date.now(),
  monotonic: () => performance.now(),
}

/** Creates the public listener, which takes every request to the origin and back. It does not listen yet. */
export function createProxy(given: ProxyOptions) {
  const options: AllOptions = { ...DEFAULTS, ...given }
  const forwarder = createForwarder(options)
  const handler = new RequestHandler(options, forwarder)
  let connections_dropped = 0
  const server: Server = createServer(
    {
      maxHeaderSize: options.maxHeaderSize,
      headersTimeout: options.requestHeadTimeout,
      // An upload may take hours as long as it progresses; `clientTimeout` watches that.
      requestTimeout: 0,
      keepAliveTimeout: options.keepAliveTimeout,
      // Lets a page of 100 KB pass without a pause; a client that does not read holds no more than this.
      highWaterMark: 128 * 1024,
      connectionsCheckingInterval: Math.min(5_000, options.requestHeadTimeout),
    },
    handler.handle,
  )
  // Otherwise Node silently leaves out further fields, possibly one that frames the body.
  server.maxHeadersCount = 0
  server.maxConnections = options.maxConnections
  server.on('checkContinue', handler.handle)
  server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) => {
    handler.counters.refused += 1
    sendErrorPage(res, 417, req.method ?? 'GET', true)
  })
  server.on('connect', (_, socket) => {
    // Node has removed its own listener.
    socket.on('error', () => {})
    if (socket instanceof Socket) afterPendingResponses(socket, () => refuseConnection(socket, 501))
    else socket.destroy()
  })
  server.on('clientError', handler.handleParserError)
  closeIdleWhenCrowded(server, options.maxConnections)
  server.on('drop', () => {
    connections_dropped += 1
  })
  if (options.upgrade) server.on('upgrade', (req, socket, head) => options.upgrade?.(req, socket, head))

  return {
    server,
    /** Handles a request of another server: the compatibility API of node:http2, or a TLS server. */
    handler: handler.handle,
    stats: (): ProxyCounters => ({
      ...handler.counters,
      ...forwarder.counters(),
      statuses: { ...handler.counters.statuses },
      active: handler.active,
      connections_dropped,
    }),
    /** Takes no new connections, lets exchanges end for at most `grace` ms, then closes them. */
    async close(grace: number): Promise<void> {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      await handler.drain(grace, () => server.closeIdleConnections())
      server.closeAllConnections()
      await Promise.all([closed, forwarder.destroy()])
    },
  }
}

/** While this share of the connections is in use, idle ones are closed at the interval below. */
const CROWDED_SHARE = 0.9
const IDLE_CLOSE_INTERVAL_MS = 100

/** Closes idle connections while there are nearly too many, so that they do not keep active clients out. */
function closeIdleWhenCrowded(server: Server, maxConnections: number): void {
  const connections = new Set<Socket>()
  let timer: NodeJS.Timeout | undefined
  const check = () => {
    if (timer !== undefined || connections.size < maxConnections * CROWDED_SHARE) return
    timer = setTimeout(() => {
      timer = undefined
      server.closeIdleConnections()
      check()
    }, IDLE_CLOSE_INTERVAL_MS).unref()
  }
  server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
    check()
  })
}
