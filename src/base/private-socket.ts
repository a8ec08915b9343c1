import { once } from 'node:events'
import { existsSync, unlinkSync } from 'node:fs'
import { connect, type Server } from 'node:net'
import { relative } from 'node:path'

/** The limit of macOS; Linux allows 107. Node truncates longer paths silently. */
const MAX_SOCKET_PATH_BYTES = 103

/**
 * Returns the path of a socket: absolute or relative to the working directory, whichever is shorter. Throws an error of one
 * line if both are too long for a socket.
 */
export function shortSocketPath(path: string): string {
  const near = relative('.', path)
  const shorter = Buffer.byteLength(near) < Buffer.byteLength(path) ? near : path
  const length = Buffer.byteLength(shorter)
  if (length <= MAX_SOCKET_PATH_BYTES) return shorter
  throw new Error(
    `${shorter} is too long for a socket: ${length} bytes, the limit is ${MAX_SOCKET_PATH_BYTES}. Choose a data directory with a shorter path, or start in a directory nearer to it.`,
  )
}

/**
 * Listens at a socket that only this user can open (mode 0600). The socket of a dead process is removed. Rejects with an
 * error of one line if another process listens there, and with Node's error if this one cannot.
 */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  if (existsSync(path)) {
    if (await isListening(path)) throw new Error(`another readership listens at ${path}`)
    unlinkSync(path)
  }
  const listening = once(server, 'listening')
  // The socket is bound within the call, so no other file is created under this mask.
  const before = process.umask(0o177)
  server.listen({ path })
  process.umask(before)
  await listening
}

/** Whether a process listens at a socket. */
async function isListening(path: string): Promise<boolean> {
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
