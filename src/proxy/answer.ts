import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Begins an ordinary answer on a socket that Node gave away for an upgrade: Node frames the body (length, chunks or
 * none). The connection ends with it, since what the client sends next was meant for another protocol. `headers` are
 * raw pairs with a `Connection` that says close. Throws, with nothing sent, where Node refuses the status, reason or a
 * header.
 */
export function respondOnSocket(
  req: IncomingMessage,
  client: Socket,
  status: number,
  reason: string | undefined,
  headers: string[],
): ServerResponse {
  const res = new ServerResponse(req)
  res.shouldKeepAlive = false
  res.sendDate = false
  res.writeHead(status, reason, headers)
  res.assignSocket(client)
  // The server that would pass this on has let go of the socket.
  client.on('drain', () => res.emit('drain'))
  res.once('finish', () => linger(client))
  return res
}

/**
 * How long a client may still talk after its answer and our FIN: closing on unread bytes would reset the answer away.
 */
const LINGER_MS = 2_000

function linger(socket: Socket): void {
  if (socket.destroyed) return
  socket.end()
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}
