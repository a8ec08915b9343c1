import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import { pipeline } from 'node:stream'
import { listenPrivately } from '../../../base/private-socket.js'
import { forEachHeader } from '../../../site/proxy/message-heads.js'
import type { Incoming, Outgoing } from '../../../site/proxy/response-writer.js'
import type { createPublicService } from '../public-service.js'

/** Name the client on the socket, because the connection there is the relay's. A client's own fields are left out. */
const CLIENT_FIELD = 'x-readership-client'
const SCHEME_FIELD = 'x-readership-scheme'

/** Fields about one connection (RFC 9110 7.6.1). */
const CONNECTION_FIELDS = ['connection', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade']
const LEFT_OUT: ReadonlySet<string> = new Set([...CONNECTION_FIELDS, CLIENT_FIELD, SCHEME_FIELD])
const MAX_CONNECTIONS = 256

/** The client of a relayed request, as this process knows it. */
export interface RelayedClient {
  ip: string
  scheme: 'http' | 'https'
}

/**
 * Creates the relay of a site's process: it takes a request of the service to the process that has the store, over its
 * socket, and streams the response back. A client that leaves ends the request there. If the socket cannot be reached,
 * the client gets a 502.
 */
export function createServiceRelay(socketPath: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS })
  return {
    relay(req: Incoming, res: Outgoing, client: RelayedClient): void {
      const { method, url: path } = req
      const outgoing = request({ socketPath, agent, method, path, headers: relayedFields(req, client) })
      const fail = () => {
        if (res.headersSent) res.destroy()
        else res.writeHead(502, { 'content-type': 'text/plain; charset=utf-8' }).end('Bad Gateway\n')
      }
      outgoing.once('response', (incoming) => sendResponse(incoming, res))
      outgoing.on('error', fail)
      res.once('close', () => {
        if (!res.writableFinished) outgoing.destroy()
      })
      pipeline(req, outgoing, () => {})
    },
    close: (): void => agent.destroy(),
  }
}

/** Returns names and values in turns, as Node takes them. */
function relayedFields(req: Incoming, { ip, scheme }: RelayedClient): string[] {
  const fields: string[] = []
  forEachHeader(req.rawHeaders, (name, value) => {
    // HTTP/2 names the host in a pseudo-header.
    if (name === ':authority') fields.push('host', value)
    else if (!name.startsWith(':') && !LEFT_OUT.has(name.toLowerCase())) fields.push(name, value)
  })
  fields.push(CLIENT_FIELD, ip, SCHEME_FIELD, scheme)
  return fields
}

function sendResponse(incoming: IncomingMessage, res: Outgoing): void {
  res.statusCode = incoming.statusCode ?? 502
  forEachHeader(incoming.rawHeaders, (name, value) => {
    if (!LEFT_OUT.has(name.toLowerCase())) res.appendHeader(name, value)
  })
  // The head of a live stream comes before its first row.
  if ('flushHeaders' in res) res.flushHeaders()
  pipeline(incoming, res, () => {})
}

/**
 * Opens the socket at which the other processes of the site reach the service, with mode 0600: the client that a request
 * names there is believed. Rejects as `listenPrivately`.
 */
export async function openServiceSocket(path: string, serve: ReturnType<typeof createPublicService>) {
  const server = createServer((req, res) => {
    const { [CLIENT_FIELD]: ip = '', [SCHEME_FIELD]: scheme } = req.headers
    serve(req, res, { ip: String(ip), scheme: scheme === 'https' ? 'https' : 'http' })
  })
  // Timeouts are those of the client's connection, which the relay passes on by closing its own.
  Object.assign(server, { requestTimeout: 0, keepAliveTimeout: 0 })
  await listenPrivately(server, path)
  return {
    async close(): Promise<void> {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
