import type { Server } from 'node:http'
import { createServer as createHttp2Server, type ServerHttp2Session } from 'node:http2'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import type { TlsCertificate } from './certificate.js'
import type { Incoming, Outgoing } from './response-writer.js'

export interface TlsOptions {
  certificate: TlsCertificate
  /**
   * Receives the connections that speak HTTP/1.1, so that every limit, timeout and upgrade is the same as on the plain
   * listener. It need not listen itself.
   */
  http1: Server
  /** Handles the requests of HTTP/2, in Node's compatibility form. */
  handler(req: Incoming, res: Outgoing): void
  /** Time after which a session without a stream is closed, in ms (default 75,000). */
  idleTimeout?: number
}

/** The result of reading the certificate again, for one line in the log. */
type ReloadResult = { ok: true; certificate: TlsCertificate } | { ok: false; reason: string }

const HANDSHAKE_TIMEOUT_MS = 10_000
const SESSION_CLOSE_TIMEOUT_MS = 1_000

/** Upload bytes in flight for one client, all streams together: 10 MB/s at 100 ms. */
const SESSION_WINDOW_BYTES = 1_048_576

/**
 * Bounds what one HTTP/2 client may cost. nghttp2 itself limits floods of resets (CVE-2023-44487) and endless
 * CONTINUATION frames (1,000 at once, then 33/s; 8 frames); the tests check both, to detect a Node without these limits.
 */
const HTTP2_LIMITS = {
  // MB per session: four times what 128 streams may buffer for sending.
  maxSessionMemory: 32,
  // Cookies come as several fields.
  maxHeaderListPairs: 1_000,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  maxSendHeaderBlockLength: 131_072,
  // No extended CONNECT (RFC 8441): browsers then open WebSockets over HTTP/1.1, which the upgrader handles.
  settings: {
    maxConcurrentStreams: 128,
    maxHeaderListSize: 65_536,
    initialWindowSize: 262_144,
    enableConnectProtocol: false,
  },
}

/** Creates the TLS listener: HTTP/2 or HTTP/1.1 as the client chooses by ALPN (RFC 7301), HTTP/1.1 without ALPN. */
export function createTlsListener(options: TlsOptions) {
  const { http1, handler } = options
  const { http2, sessions } = createSessionServer(handler, options.idleTimeout ?? 75_000)
  let handshake_errors = 0
  const { cert, key } = options.certificate
  const server = createTlsServer(
    {
      cert,
      key,
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['h2', 'http/1.1'],
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      noDelay: true,
    },
    (socket: TLSSocket) => {
      // Both servers document their `connection` event for injecting connections.
      if (socket.alpnProtocol === 'h2') http2.emit('connection', socket)
      else http1.emit('connection', socket)
    },
  )
  server.maxConnections = http1.maxConnections
  server.on('tlsClientError', () => {
    handshake_errors++
  })
  // A server that does not listen itself would not check for heads that take too long.
  server.once('listening', () => {
    if (!http1.listening) http1.emit('listening')
  })

  return {
    /** The server to listen with. */
    server,
    /** Uses another certificate for new connections; running ones keep theirs. If `read` throws, nothing changes. */
    async reload(read: () => Promise<TlsCertificate>): Promise<ReloadResult> {
      try {
        const certificate = await read()
        server.setSecureContext({ cert: certificate.cert, key: certificate.key, minVersion: 'TLSv1.2' })
        return { ok: true, certificate }
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        return { ok: false, reason: `${reason}; the current certificate remains in use` }
      }
    },
    stats: () => ({ sessions: sessions.size, handshake_errors }),
    /** Takes no new sessions, lets streams finish for at most `grace` ms. `http1` closes its own connections. */
    async close(grace: number): Promise<void> {
      if (server.listening) server.close()
      const closed = [...sessions].map((session) => new Promise((resolve) => session.once('close', resolve)))
      for (const session of sessions) session.close()
      const timer = setTimeout(() => {
        for (const session of sessions) session.destroy()
      }, grace)
      await Promise.all(closed)
      clearTimeout(timer)
    },
  }
}

/** Creates the HTTP/2 server, which closes sessions without a stream after `idleTimeout` ms. */
function createSessionServer(handler: TlsOptions['handler'], idleTimeout: number) {
  const sessions = new Set<ServerHttp2Session>()
  const http2 = createHttp2Server(HTTP2_LIMITS, handler)
  http2.on('checkContinue', handler)
  http2.on('sessionError', () => {})
  http2.on('session', (session) => {
    let streams = 0
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    session.on('stream', (stream) => {
      streams++
      stream.once('close', () => {
        streams--
      })
    })
    session.setLocalWindowSize(SESSION_WINDOW_BYTES)
    session.setTimeout(idleTimeout)
    // An event and not the callback of setTimeout, which is called only once.
    session.on('timeout', () => {
      if (streams === 0) closeIdleSession(session)
    })
  })
  return { http2, sessions }
}

/** Sends GOAWAY, and closes the connection of a client that ignores it. */
function closeIdleSession(session: ServerHttp2Session): void {
  session.close()
  const timer = setTimeout(() => session.destroy(), SESSION_CLOSE_TIMEOUT_MS)
  session.once('close', () => clearTimeout(timer))
}
