import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2'
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls'
import type { TlsCertificate } from './certificate.js'

export interface TlsOptions {
  certificate: TlsCertificate
  /**
   * Gets the connections that speak HTTP/1.1, so that every limit, time-out and upgrade is the plain listener's own. It
   * need not listen itself.
   */
  http1: Server
  /** Gets the requests of HTTP/2, in Node's compatible form. */
  handler(req: IncomingMessage | Http2ServerRequest, res: ServerResponse | Http2ServerResponse): void
  /** A session without a stream is closed after this, in ms (default 75,000). */
  idleTimeout?: number
}

export interface TlsListener {
  /** To listen with. */
  readonly server: TlsServer
  /** New connections get this pair; running ones keep theirs. `read` that throws changes nothing. */
  reload(read: () => Promise<TlsCertificate>): Promise<ReloadResult>
  stats(): { sessions: number; handshake_errors: number }
  /**
   * Takes nothing new, lets streams finish for at most `grace` ms, then cuts. HTTP/1.1 connections are `http1`'s to
   * close.
   */
  close(grace: number): Promise<void>
}
/** What a reload came to, for one line in the log. */
export type ReloadResult = { ok: true; pair: TlsCertificate } | { ok: false; reason: string }

const HANDSHAKE_TIMEOUT_MS = 10_000
const SESSION_CLOSE_TIMEOUT_MS = 1_000

/** Bytes a client may have on the way to us, all streams together: 10 MB/s of uploads at 100 ms. */
const SESSION_WINDOW_BYTES = 1_048_576

/**
 * What one HTTP/2 client may cost. Resets in a flood (CVE-2023-44487) and endless CONTINUATION frames are limited by
 * nghttp2 itself (1,000 at once, then 33/s; 8 frames); both are tested here, so that a Node without them is found out.
 */
const HTTP2_LIMITS = {
  // MB per session: what 128 streams may hold on their way out, four times over.
  maxSessionMemory: 32,
  // Cookies come in crumbs, one field each.
  maxHeaderListPairs: 1_000,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  maxSendHeaderBlockLength: 131_072,
  // No extended CONNECT (RFC 8441): a browser then opens its WebSocket over HTTP/1.1, which goes to the upgrader.
  settings: {
    maxConcurrentStreams: 128,
    maxHeaderListSize: 65_536,
    initialWindowSize: 262_144,
    enableConnectProtocol: false,
  },
}

/** The TLS listener: HTTP/2 or HTTP/1.1 as the client chooses by ALPN (RFC 7301), HTTP/1.1 where it says nothing. */
export function createTlsListener(options: TlsOptions): TlsListener {
  const { http1, handler, idleTimeout = 75_000 } = options
  const sessions = new Set<ServerHttp2Session>()
  let handshake_errors = 0

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
    // Not as setTimeout's callback, which is called but once.
    session.on('timeout', () => {
      if (streams === 0) closeIdleSession(session)
    })
  })

  const server = createTlsServer(
    {
      cert: options.certificate.cert,
      key: options.certificate.key,
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['h2', 'http/1.1'],
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      noDelay: true,
    },
    (socket: TLSSocket) => {
      // Injecting connections is what the `connection` event of both servers is documented for.
      if (socket.alpnProtocol === 'h2') http2.emit('connection', socket)
      else http1.emit('connection', socket)
    },
  )
  server.maxConnections = http1.maxConnections
  server.on('tlsClientError', () => {
    handshake_errors++
  })
  // A server that does not listen itself would not look for connections whose head takes too long.
  server.once('listening', () => {
    if (!http1.listening) http1.emit('listening')
  })

  return {
    server,
    async reload(read) {
      try {
        const pair = await read()
        server.setSecureContext({ cert: pair.cert, key: pair.key, minVersion: 'TLSv1.2' })
        return { ok: true, pair }
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        return { ok: false, reason: `${reason}; the certificate in use stays` }
      }
    },
    stats: () => ({ sessions: sessions.size, handshake_errors }),
    async close(grace) {
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

/** GOAWAY, and for a client that does not mind it the connection's end. */
function closeIdleSession(session: ServerHttp2Session): void {
  session.close()
  const timer = setTimeout(() => session.destroy(), SESSION_CLOSE_TIMEOUT_MS)
  session.once('close', () => clearTimeout(timer))
}
