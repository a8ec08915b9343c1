import { Socket } from 'node:net'

/** TCP detects a peer that vanished silently after this and ten probes a second apart. */
const KEEPALIVE_MS = 60_000

/**
 * Joins two sockets until both are closed: bytes in both directions with backpressure. A half-close is passed on as a
 * half-close, a reset as a reset, and neither side stays open when the other is gone. A tunnel that is open in both
 * directions has no idle limit, because a healthy WebSocket may be silent. Once one side has ended, the other may be
 * silent for `idle` ms.
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

/** Closes `other` when `leader` is closed, after the bytes written to it have left. */
function follow(leader: Socket, other: Socket, idle: number): void {
  const limit = () => other.setTimeout(idle, () => other.destroy())
  const close = (failed: boolean) => {
    if (failed) return abort(other)
    limit()
    other.destroySoon()
  }
  // A client that ended and then vanished looks like one that still listens.
  leader.once('end', limit)
  if (leader.destroyed) close(leader.errored !== null)
  else leader.once('close', close)
}

/** Ends a connection so that its peer cannot take it for a clean end. */
export function abort(socket: Socket): void {
  // Only plain TCP can be reset; a TLS connection that closes without close_notify has the same meaning.
  if (socket.constructor === Socket && !socket.connecting && !socket.destroyed) socket.resetAndDestroy()
  else socket.destroy()
}
