import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcp, type Socket } from 'node:net'
import type { Test } from 'tap'
import { createOutbound, type OutboundDeps } from '../../../src/base/outbound/guarded-outbound.js'
import { OutboundError } from '../../../src/base/outbound/outbound.js'

export const OPTIONS = { limit: 100_000, timeout: 5_000, redirects: 5 }
export const ANY_PORT = { port: () => true }
/** Allows servers on this machine, which the guard otherwise refuses. */
export const LOCALHOST = { ...ANY_PORT, address: (address: string) => address === '127.0.0.1' }
const resolveNothing = async (name: string): Promise<string[]> => {
  throw new OutboundError('unreachable', `${name} has no address`)
}
export const createTestOutbound = (deps: Partial<OutboundDeps>) =>
  createOutbound({ resolve: resolveNothing, offline: false, version: '1.2.3', ...deps })

/** Starts an HTTP server that counts connections and keeps requests. */
export async function startServer(
  t: Test,
  answer: (req: IncomingMessage, res: ServerResponse) => void,
  host = '127.0.0.1',
) {
  const server = createServer(answer)
  const seen = { connections: 0, requests: [] as IncomingMessage[], port: 0 }
  server.on('connection', () => seen.connections++)
  server.on('request', (req) => seen.requests.push(req))
  server.listen(0, host)
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  seen.port = (server.address() as AddressInfo).port
  return seen
}

/** Starts a server of raw bytes, for responses that an HTTP server would not send. */
export async function startRawServer(t: Test, talk: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createTcp((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.once('data', () => talk(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, sockets }
}

export async function reasonOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'response'
  } catch (error) {
    return error instanceof OutboundError ? error.reason : String(error)
  }
}
