import { Socket } from 'node:net'

/** A peer that vanished without a word is found out by TCP after this and ten probes a second apart. */
const KEEPALIVE_MS = 60_000
/**
 * Joins two sockets until both are closed: bytes both ways with backpressure, a half-close passed on as a half-close, a
 * reset as a reset, and never one side left open when the other is gone. A tunnel that is open both ways has no idle
 * limit: a quiet WebSocket is a healthy one. Once one side has ended, the other may stand still for `idle` ms.
 */
export function tunnel(a: Socket, b: Socket, idle: number): void {
  for (const socket of [a, b]) {
    socket.setTimeout(0)
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEPALIVE_MS)
  }
  a.pipe(b)
  b.pipe(a)
  follow(a, b, idle)
  follow(b, a, idle)
}

/** When `leader` is closed, so is `other`, after what was written to it has left. */
function follow(leader: Socket, other: Socket, idle: number): void {
  const limit = () => other.setTimeout(idle, () => other.destroy())
  const close = (failed: boolean) => {
    if (failed) return abort(other)
    limit()
    other.destroySoon()
  }
  // A client that ended and then vanished cannot be told from one that still listens.
  leader.once('end', limit)
  if (leader.destroyed) close(leader.errored !== null)
  else leader.once('close', close)
}

/** Ends a connection so that its peer cannot take it for a clean end. */
export function abort(socket: Socket): void {
  // Only plain TCP can be reset; a TLS connection that closes without close_notify says the same.
  if (socket.constructor === Socket && !socket.connecting && !socket.destroyed) socket.resetAndDestroy()
  else socket.destroy()
}
