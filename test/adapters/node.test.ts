import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { listener } from '../../adapters/node.js'
import type { Observation } from '../../src/index.js'

t.test('takes base path and client address from the options', async (t) => {
  const seen: Observation[] = []
  const readership = {
    record: (observation: Observation) => void seen.push(observation),
    fetch: async (request: Request, peer: { ip: string }) =>
      new Response(`${new URL(request.url).pathname} ${peer.ip}`),
    close: async () => {},
  }
  const server = createServer(
    listener(readership, (_req, res) => res.end('site'), { basePath: '/stats', clientAddress: () => '192.0.2.7' }),
  ).listen(0)
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  t.equal(await (await fetch(`${url}/stats/api/x`)).text(), '/api/x 192.0.2.7')
  t.equal(await (await fetch(`${url}/_readership/api/x`)).text(), 'site')
  await sleep(20)
  t.match(seen, [{ pathname: '/_readership/api/x', ip: '192.0.2.7' }])
})
