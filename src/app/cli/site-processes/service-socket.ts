import { once } from 'node:events'
import { createServer } from 'node:http'
import { listenPrivately } from '../../../base/private-socket.js'
import type { createPublicService } from '../public-service.js'
import { CLIENT_FIELD, SCHEME_FIELD } from './service-relay.js'

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
