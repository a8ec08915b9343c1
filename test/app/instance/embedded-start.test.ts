import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { listener } from '../../../adapters/node.js'
import { openReadership } from '../../../src/app/instance/open-readership.js'
import { directory } from '../../fixtures/files.js'
import { waitFor } from '../../fixtures/worker-client.js'

/** Tests an application that opens readership before it listens, as the README shows it. */

/** A port that nothing listens on. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

t.test('robots.txt is read after the first request, and the dashboard is announced with its port', async (t) => {
  const port = await freePort()
  const [lines, alarms, asked]: string[][] = [[], [], []]
  const log = {
    info: (_: object, message: string) => void lines?.push(message),
    warn: (_: object, message: string) => void alarms?.push(message),
    error: (_: object, message: string) => void alarms?.push(message),
  }
  const data = directory(t)
  const readership = await openReadership({ data, offline: true, origin: `http://127.0.0.1:${port}`, log })
  const server = createServer(
    listener(readership, (req, res) => {
      asked?.push(req.url ?? '')
      const type = req.url === '/' ? 'text/html' : 'text/plain'
      res.writeHead(req.url === '/llms.txt' ? 404 : 200, { 'content-type': type }).end('User-agent: *\nDisallow: /x\n')
    }),
  ).listen(port, '127.0.0.1')
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await readership.close()
  })
  await once(server, 'listening')
  // A client that leaves the port out of `Host`.
  const [response] = await once(request({ port, host: '127.0.0.1', headers: { host: '127.0.0.1' } }).end(), 'response')
  response.resume()
  await waitFor(() => asked?.includes('/llms.txt') === true, 'both files are read')
  t.equal(asked?.[0], '/', 'the visitor came first')
  t.same(alarms, [])
  const announced = lines?.filter((line) => line.startsWith('dashboard at')) ?? []
  t.equal(announced.length, 1)
  t.match(announced[0], `http://localhost:${port}/_readership/`)
})
