import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { unlink } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Bytes of a socket's path that every system takes. */
const SOCKET_PATH = 103
/** Longer than somebody who starts at the same moment needs from finding a dead socket to having one of its own. */
const SETTLE = 50

/**
 * A directory for this process alone: a socket in it at which its holder answers, for as long as it lives and no longer,
 * in whichever container that looks into the directory. Throws one line where somebody else holds it.
 */
export async function lock(path: string, held: string): Promise<{ release(): Promise<void> }> {
  const near = relative('.', path)
  const at = Buffer.byteLength(near) < Buffer.byteLength(path) ? near : path
  if (Buffer.byteLength(at) > SOCKET_PATH)
    throw new Error(`${at} is too long for a socket, at most ${SOCKET_PATH} bytes work; choose a shorter directory.`)
  const taken = () => new Error(`${held} is in use by another process; each needs a directory of its own.`)
  const name = randomBytes(8).toString('hex')
  if ((await holder(at)) !== undefined) throw taken()
  await unlink(at).catch(() => {})
  const server = createServer((socket) => socket.on('error', () => {}).end(name))
  const listening = once(server, 'listening')
  const before = process.umask(0o177)
  server.listen({ path: at })
  process.umask(before)
  await listening.catch(() => {
    throw taken()
  })
  server.unref()
  await sleep(SETTLE)
  if ((await holder(at)) !== name) {
    // Not `close`: that would unlink what is another's by now.
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

/** What who listens at a socket calls itself; undefined where nobody does. */
async function holder(at: string): Promise<string | undefined> {
  const socket = connect(at)
  let said = ''
  try {
    await once(socket, 'connect')
    const patience = setTimeout(() => socket.destroy(), 2_000)
    for await (const chunk of socket) said += chunk
    clearTimeout(patience)
    return said
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : ''
    // Nobody there, or what is there is no socket of anybody.
    return code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTSOCK' ? undefined : said
  } finally {
    socket.destroy()
  }
}
