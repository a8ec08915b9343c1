import { once } from 'node:events'
import { existsSync, unlinkSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import { connect } from 'node:net'
import { join, relative } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import type { Peer } from './app.js'
import { errorResponse } from './error-response.js'
import type { createNodeTrackHandler } from './track/node-handler.js'

type App = (request: Request, peer: Peer) => Promise<Response>

/** A listener of the service. */
export interface Listener {
  /** Where it listens: a URL, or the socket's path. */
  readonly at: string
  /** No new connection; idle ones go at once, the rest when answered or after `grace` milliseconds. */
  close(grace?: number): Promise<void>
}

/** `fetch` for a Node server, of whichever protocol. */
export const nodeHandler = (
  fetch: (request: Request, incoming: IncomingMessage | Http2ServerRequest) => Promise<Response>,
  schemeOf?: ListenerOptions['scheme'],
) =>
  getRequestListener((request, { incoming }) => fetch(toStandardRequest(request, schemeOf?.(incoming)), incoming), {
    // The process may be somebody else's application: its globals are not ours to replace.
    overrideGlobalObjects: false,
    // HTTP/1.0 need not say a host, and load balancers' health checks do not.
    hostname: 'localhost',
    // What `fetch` throws it renders itself: this is a target or a method that no `Request` can have.
    errorHandler: () => errorResponse('bad_request', 'This is no request that the service understands.'),
  })

/**
 * The listener's own requests are look-alikes: `new Request(request)` fails on them, which middleware relies on. The
 * signal is theirs: it is aborted when the client leaves.
 */
const toStandardRequest = ({ url, method, headers, body, signal }: Request, scheme?: 'http' | 'https'): Request =>
  new Request(scheme === undefined ? url : url.replace(/^https?(?=:)/, scheme), {
    ...{ method, headers, signal },
    ...(body ? { body, duplex: 'half' } : {}),
  })

/** What a listener may do beside handing web requests on. */
export interface ListenerOptions {
  /** Answers some requests by itself, and says so. */
  handleTrack?: ReturnType<typeof createNodeTrackHandler>
  /** The client of a request whose peer may be a proxy; the peer itself where this is absent. */
  client?(req: IncomingMessage | Http2ServerRequest): string
  /** What that client speaks, where TLS may end before us; the connection's own where this is absent. */
  scheme?(req: IncomingMessage | Http2ServerRequest): 'http' | 'https'
}

const createListenerServer = (
  app: App,
  operator: boolean,
  { handleTrack: doors, client = peerAddressOf, scheme }: ListenerOptions = {},
): Server => {
  const handle = nodeHandler((request, incoming) => app(request, { ip: client(incoming), operator }), scheme)
  const server = createServer((req, res) => {
    if (!doors?.(req, res, { target: req.url ?? '/', host: req.headers.host ?? '', ip: client(req) }))
      void handle(req, res)
  })
  // A slow sender holds a socket, not a place: a whole request within half a minute.
  server.headersTimeout = 15_000
  server.requestTimeout = 30_000
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

/** The admin listener. Rejects with Node's error (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`) where it cannot listen. */
export async function listenAdmin(
  app: App,
  host: string,
  port: number,
  ways?: ListenerOptions,
): Promise<Listener & { port: number }> {
  const server = createListenerServer(app, false, ways)
  server.listen({ host, port })
  await once(server, 'listening')
  const address = server.address()
  const bound = typeof address === 'object' && address ? address.port : port
  const at = `http://${host.includes(':') ? `[${host}]` : host}:${bound}`
  return { at, port: bound, close: (grace = 0) => createClose(server)(grace) }
}

/** Whether somebody answers at a socket. */
const isListening = async (path: string): Promise<boolean> => {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** Bytes of a socket's path that every system takes: macOS has 103, Linux 107. Node cuts a longer one without a word. */
const MAX_SOCKET_PATH_BYTES = 103

/**
 * Where the control socket of a data directory is: absolute or from here, whichever way to write it is shorter. Throws
 * one line that names it where both are too long to be a socket's.
 */
export function socketPath(data: string): string {
  const path = join(data, 'control.sock')
  const near = relative('.', path)
  const shorter = Buffer.byteLength(near) < Buffer.byteLength(path) ? near : path
  const length = Buffer.byteLength(shorter)
  if (length <= MAX_SOCKET_PATH_BYTES) return shorter
  throw new Error(
    `${shorter} is too long for a socket: ${length} bytes, and at most ${MAX_SOCKET_PATH_BYTES} work; choose a data directory with a shorter path, or start nearer to it.`,
  )
}

/**
 * The control socket: who can open it is the operator (contract 2), so it is made with mode 0600. What a dead process
 * left is removed, but only when nobody answers there.
 */
export async function listenControl(app: App, path: string): Promise<Listener> {
  if (existsSync(path)) {
    if (await isListening(path)) throw new Error(`another readership answers at ${path}`)
    unlinkSync(path)
  }
  const server = createListenerServer(app, true)
  // Followers of `tail` stay for hours; a request is still whole within its time.
  server.timeout = 0
  const listening = once(server, 'listening')
  // A pipe is bound within the call: nothing else is made under this mask.
  const before = process.umask(0o177)
  server.listen({ path })
  process.umask(before)
  await listening
  return { at: path, close: (grace = 0) => createClose(server)(grace) }
}
