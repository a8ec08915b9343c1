import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { listenPrivately, shortSocketPath } from '../base/private-socket.js'
import type { App } from './app.js'
import { errorResponse } from './error-response.js'
import type { createNodeTrackHandler } from './track/node-handler.js'

/** A listener of the service. */
interface Listener {
  /** A URL, or the path of a socket. */
  readonly at: string
  /** Accepts no new connections, closes idle ones at once and the others after their response, or after `grace` ms. */
  close(grace?: number): Promise<void>
}

/** Turns a web-standard handler into a request listener for Node servers of HTTP/1.1 and HTTP/2. */
const nodeHandler = (
  fetch: (request: Request, incoming: IncomingMessage | Http2ServerRequest) => Promise<Response>,
  schemeOf?: ListenerOptions['scheme'],
) =>
  getRequestListener((request, { incoming }) => fetch(toStandardRequest(request, schemeOf?.(incoming)), incoming), {
    // The process may be another application, whose globals must stay as they are.
    overrideGlobalObjects: false,
    // HTTP/1.0 requests, such as load balancers' health checks, may have no host.
    hostname: 'localhost',
    // `fetch` renders its own errors; these are targets or methods that a `Request` cannot have.
    errorHandler: () => errorResponse('bad_request', 'The target or method of the request is not valid.'),
  })

/**
 * Copies the listener's request into a real `Request`: middleware calls `new Request(request)`, which fails on the
 * listener's own objects. The signal is kept; it is aborted when the client disconnects.
 */
const toStandardRequest = ({ url, method, headers, body, signal }: Request, scheme?: 'http' | 'https'): Request =>
  new Request(scheme === undefined ? url : url.replace(/^https?(?=:)/, scheme), {
    method,
    headers,
    signal,
    ...(body ? { body, duplex: 'half' } : {}),
  })

/** Bounds how long a slow sender can hold a connection. */
const ARRIVAL_TIMEOUT_MS = 30_000

/** An upload may take hours as long as it progresses; its route watches that. */
const isUpload = ({ method, url = '' }: IncomingMessage): boolean =>
  method === 'POST' && url.startsWith('/api/imports?')

function limitArrival(req: IncomingMessage, ms: number): void {
  const timer = setTimeout(() => req.complete || req.socket.destroy(), ms).unref()
  req.once('close', () => clearTimeout(timer))
}

interface ListenerOptions {
  /** Serves track requests on Node's own objects, and returns whether it did. */
  handleTrack?: ReturnType<typeof createNodeTrackHandler>
  /** Returns the client's address behind trusted proxies; the peer's address if absent. */
  client?(req: IncomingMessage | Http2ServerRequest): string
  /** Returns the scheme that the client used, if a proxy terminates TLS; the connection's own if absent. */
  scheme?(req: IncomingMessage | Http2ServerRequest): 'http' | 'https'
  arrival_timeout_ms?: number
}

const createListenerServer = (
  app: App,
  operator: boolean,
  { handleTrack, client = peerAddressOf, scheme, arrival_timeout_ms = ARRIVAL_TIMEOUT_MS }: ListenerOptions = {},
): Server => {
  const handle = nodeHandler((request, incoming) => app(request, { ip: client(incoming), operator }), scheme)
  const server = createServer((req, res) => {
    if (!isUpload(req)) limitArrival(req, arrival_timeout_ms)
    if (!handleTrack?.(req, res, { target: req.url ?? '/', host: req.headers.host ?? '', ip: client(req) }))
      void handle(req, res)
  })
  server.headersTimeout = 15_000
  server.requestTimeout = 0
  server.maxConnections = 1_000
  return server
}

const peerAddressOf = (req: IncomingMessage | Http2ServerRequest): string => req.socket.remoteAddress ?? ''

const createClose = (server: Server) => async (grace: number) => {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  const cut = setTimeout(() => server.closeAllConnections(), grace)
  await closed
  clearTimeout(cut)
}

/** Opens the admin listener. Rejects with Node's error (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`) if it cannot listen. */
export async function listenAdmin(
  app: App,
  host: string,
  port: number,
  options?: ListenerOptions,
): Promise<Listener & { port: number }> {
  const server = createListenerServer(app, false, options)
  server.listen({ host, port })
  await once(server, 'listening')
  const address = server.address()
  const bound = typeof address === 'object' && address ? address.port : port
  const at = `http://${host.includes(':') ? `[${host}]` : host}:${bound}`
  return { at, port: bound, close: (grace = 0) => createClose(server)(grace) }
}

/** Returns the path of the control socket in a data directory. Throws as `shortSocketPath`. */
export const socketPath = (data: string): string => shortSocketPath(join(data, 'control.sock'))

/**
 * Opens the control socket with mode 0600: a process that can open it is the operator. Rejects as `listenPrivately`.
 */
export async function listenControl(app: App, path: string): Promise<Listener> {
  const server = createListenerServer(app, true)
  // `tail` streams for hours; the time for a request to arrive stays bounded.
  server.timeout = 0
  await listenPrivately(server, path)
  return { at: path, close: (grace = 0) => createClose(server)(grace) }
}
