import { connect as connectTcp, isIP, type OnReadOpts, Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'

/** Opens a connection. Calls `onConnect` when it is ready, after the TLS handshake of an https origin. */
export type OpenSocket = (onread: OnReadOpts, onConnect: () => void) => Socket

/** Returns the function that opens connections to an origin. */
export function createOpenSocket(origin: URL, tls: { ca?: string; rejectUnauthorized?: boolean }): OpenSocket {
  const host = origin.hostname.replace(/^\[|\]$/g, '')
  const secure = origin.protocol === 'https:'
  const port = Number(origin.port || (secure ? 443 : 80))
  if (!secure) return (onread, onConnect) => connectTcp({ host, port, onread }, onConnect)
  // The certificate must name the configured origin, not the client's `Host`; an IP address is not a server name.
  const fixed = { ...tls, host, port, servername: isIP(host) ? '' : host, ALPNProtocols: ['http/1.1'] }
  // The session of the last connection makes the next handshake cheap.
  let session: Buffer | undefined
  return (onread, onConnect) => {
    const options: ConnectionOptions & { onread: OnReadOpts } = { ...fixed, onread, ...(session && { session }) }
    const socket = connectTls(options, onConnect)
    socket.on('session', (latest) => {
      session = latest
    })
    return socket
  }
}

/**
 * Lets `isHandled` decide about errors of writing. Node destroys a socket after such an error, and with it the bytes that
 * have arrived: an origin that refuses an upload responds and closes, and the reset makes the next write fail before its
 * response is read. The socket still ends when reading ends.
 */
export function keepOpenAfterWriteError(socket: Socket, isHandled: () => boolean): void {
  const { _write: write, _writev: writev } = Socket.prototype
  const handled = (callback: (error?: Error | null) => void) => (error?: Error | null) =>
    callback(error && isHandled() ? null : error)
  socket._write = (chunk, encoding, callback) => write.call(socket, chunk, encoding, handled(callback))
  socket._writev = (chunks, callback) => writev?.call(socket, chunks, handled(callback))
}
