import { once } from 'node:events'
import { createServer } from 'node:net'

/** A port that the demo listens on. */
interface WantedPort {
  readonly flag: string
  readonly host: string
  readonly port: number
  /** True if the operator set the port; the demo takes another one in place of a default that is taken. */
  readonly isChosen: boolean
}

/** How many ports after a default one are tried. */
const TRIES = 50

/**
 * Returns a port for each one that is wanted, all of them free and different. Throws an error of one line that names
 * every chosen port that is taken, before anything is written.
 */
export async function choosePorts(
  wanted: readonly WantedPort[],
  say: (text: string) => void,
): Promise<readonly number[]> {
  const taken: string[] = []
  const ports: number[] = []
  for (const { flag, host, port, isChosen } of wanted) {
    const candidates = Array.from({ length: isChosen ? 1 : TRIES }, (_, i) => port + i)
    let free: number | undefined
    for (const candidate of candidates)
      if (!ports.includes(candidate) && (await isFree(host, candidate))) {
        free = candidate
        break
      }
    if (free === undefined) taken.push(`${port} (${flag})`)
    else if (free !== port) say(`Port ${port} is taken: the demo uses ${free} in its place (${flag} ${free}).`)
    ports.push(free ?? port)
  }
  if (taken.length === 0) return ports
  throw new Error(`Another program listens on ${taken.join(' and ')}: choose other ports, or stop that program.`)
}

/** Returns whether nothing listens there: opens the port for a moment. */
async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, host), 'listening')
  } catch {
    return false
  }
  await once(server.close(), 'close')
  return true
}
