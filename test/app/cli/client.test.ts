import { once } from 'node:events'
import { createServer } from 'node:http'
import t from 'tap'
import { socketPath } from '../../../src/api/server.js'
import { withClient } from '../../../src/app/cli/client.js'
import { loadConfig } from '../../../src/app/config.js'
import { createTerminal } from '../../fixtures/command.js'
import { directory } from '../../fixtures/files.js'

t.test('each request has a connection of its own, so that none meets one that the instance closes', async (t) => {
  const data = directory(t)
  const connections = new Set<object>()
  const server = createServer((request, response) => {
    // An instance that closes an idle connection just when the next request is on its way.
    if (connections.has(request.socket)) request.socket.destroy()
    connections.add(request.socket)
    request.resume().once('end', () => response.end('{"data":1}'))
  })
  t.teardown(() => server.close())
  server.listen(socketPath(data))
  await once(server, 'listening')
  const config = loadConfig({ flags: { data }, env: {}, read: () => undefined })
  await withClient({ config, terminal: createTerminal().terminal }, async (client) => {
    for (let n = 0; n < 3; n++) t.same(await client.call('POST', '/control/imports/1/lines', {}), { data: 1 })
  })
})
