import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { unlink } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { listenPrivately, shortSocketPath } from '../../base/private-socket.js'

/** Longer than a process that starts at the same moment needs to replace a dead socket with its own. */
const SETTLE_MS = 50

/**
 * Reserves a directory for this process by a socket in it, which answers exactly as long as the process lives, also for
 * other containers that mount the directory. Throws an error of one line if another process holds it.
 */
export async function lockDirectory(path: string, held: string): Promise<{ release(): Promise<void> }> {
  const at = shortSocketPath(path)
  const taken = () => new Error(`${held} is in use by another process; each needs a directory of its own.`)
  const name = randomBytes(8).toString('hex')
  if ((await readHolder(at)) !== undefined) throw taken()
  await unlink(at).catch(() => {})
  const server = createServer((socket) => socket.on('error', () => {}).end(name))
  await listenPrivately(server, at).catch(() => {
    throw taken()
  })
  server.unref()
  await sleep(SETTLE_MS)
  if ((await readHolder(at)) !== name) {
    // Not `close`, which would unlink a socket that belongs to the other process by now.
    throw taken()
  }
  return {
    async release() {
      const closed = once(server, 'close')
      server.close()
      await closed
    },
  }
}

/** Returns the name that the process at a socket sends, or undefined if none listens. */
async function readHolder(at: string): Promise<string | undefined> {
  const socket = connect(at)
  let said = ''
  try {
    await once(socket, 'connect')
    const timeout = setTimeout(() => socket.destroy(), 2_000)
    for await (const chunk of socket) said += chunk
    clearTimeout(timeout)
    return said
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : ''
    // No process listens, or the file is not a socket.
    return code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTSOCK' ? undefined : said
  } finally {
    socket.destroy()
  }
}
