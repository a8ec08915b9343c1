import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { refuseConnection } from './broken-request.js'
import { sendErrorPage } from './error-page.js'
import { createForwarder, type ForwarderOptions, type OriginCounters } from './forward.js'
import { createRequestHandler, type ExchangeCounters, type RequestHandlerOptions } from './request-handler.js'
import type { Incoming, Outgoing } from './response-writer.js'

interface ListenerOptions {
  /** Requests that ask to leave HTTP/1.1; without it they are forwarded as if they had not asked. */
  upgrade?(req: IncomingMessage, socket: Duplex, head: Buffer): void
  /** From the first byte of a request to the end of its head, ms. */
  requestHeadTimeout: number
  /** An idle connection is kept for this long, ms. */
  keepAliveTimeout: number
  maxConnections: number
}
type AllOptions = ForwarderOptions & RequestHandlerOptions & ListenerOptions
type Defaulted = keyof typeof DEFAULTS
export type ProxyOptions = Omit<AllOptions, Defaulted> & Partial<Pick<AllOptions, Defaulted>>

export interface ProxyCounters extends OriginCounters, ExchangeCounters {
  /** Exchanges that are not over. */
  active: number
  /** Connections not taken because there were too many. */
  connections_dropped: number
}

export interface Proxy {
  readonly server: Server
  /** The same for any other server: node:http2's compatible API, a TLS server. */
  handler(req: Incoming, res: Outgoing): void
  stats(): ProxyCounters
  /** Take nothing new, let what runs finish for at most `grace` ms, then cut it. */
  close(grace: number): Promise<void>
}

const DEFAULTS = {
  connectTimeout: 10_000,
  headersTimeout: 60_000,
  bodyIdleTimeout: 300_000,
  clientTimeout: 60_000,
  requestHeadTimeout: 20_000,
  /** Above the 60 s that balancers in front keep theirs, so that they never meet one that we are closing. */
  keepAliveTimeout: 75_000,
  maxHeaderSize: 64 * 1024,
  maxConnections: 20_000,
  now: () => Date.now(),
  monotonic: () => performance.now(),
}

/** While this share of the connections is taken, those without a request are closed this often, ms. */
const CROWDED_SHARE = 0.9
const IDLE_CLOSE_INTERVAL_MS = 100

/** The public listener: every request to the origin and back. It does not listen yet. */
export function createProxy(given: ProxyOptions): Proxy {
  const options: AllOptions = { ...DEFAULTS, ...given }
  const origin = createForwarder(options)
  const exchanges = createRequestHandler(options, origin)
  let connections_dropped = 0
  const server = createServer(
    {
      maxHeaderSize: options.maxHeaderSize,
      headersTimeout: options.requestHeadTimeout,
      // An upload may take hours as long as it moves: `clientTimeout` watches that.
      requestTimeout: 0,
      keepAliveTimeout: options.keepAliveTimeout,
      // A page of 100 KB goes through without a pause; a client that does not read holds no more than this.
      highWaterMark: 128 * 1024,
      connectionsCheckingInterval: Math.min(5_000, options.requestHeadTimeout),
    },
    exchanges.handle,
  )
  // Node would leave further fields out without a word, one that frames the body among them.
  server.maxHeadersCount = 0
  server.maxConnections = options.maxConnections
  server.on('checkContinue', exchanges.handle)
  server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) => {
    exchanges.counters.refused += 1
    sendErrorPage(res, 417, req.method ?? 'GET', true)
  })
  server.on('connect', (_, socket) => refuseConnection(socket, 501))
  server.on('clientError', exchanges.handleParserError)
  const connections = new Set<Socket>()
  const crowded = () => connections.size >= options.maxConnections * CROWDED_SHARE
  let making: NodeJS.Timeout | undefined
  /** Who only keeps a place must not keep anyone out. */
  const makeRoom = () => {
    if (making !== undefined || !crowded()) return
    making = setTimeout(() => {
      making = undefined
      server.closeIdleConnections()
      makeRoom()
    }, IDLE_CLOSE_INTERVAL_MS).unref()
  }
  server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
    makeRoom()
  })
  server.on('drop', () => {
    connections_dropped += 1
  })
  if (options.upgrade) server.on('upgrade', (req, socket, head) => options.upgrade?.(req, socket, head))

  return {
    server,
    handler: exchanges.handle,
    stats: () => {
      const { statuses, ...counters } = exchanges.counters
      const active = exchanges.active()
      return { ...counters, ...origin.counters(), statuses: { ...statuses }, active, connections_dropped }
    },
    async close(grace) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      await exchanges.drain(grace, () => server.closeIdleConnections())
      server.closeAllConnections()
      await Promise.all([closed, origin.destroy()])
    },
  }
}
