import { Agent, createServer, get } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { portOf, startProxy, waitUntil } from './fixtures/sockets.js'

/** Starts an origin that takes every request on a connection for the user who signed it in, as IIS does. */
async function site(t: Test) {
  const users = new Map<Socket, string>()
  const challenged = new Set<Socket>()
  const origin = createServer((req, res) => {
    const { socket } = req
    const [scheme, step = '', name] = (req.headers.authorization ?? '').split(/[\s:]/)
    if (step === 'first') {
      challenged.add(socket)
      res.writeHead(401, { 'WWW-Authenticate': `${scheme} challenge` }).end()
      return
    }
    if (step === 'last' && name !== undefined && challenged.has(socket)) users.set(socket, name)
    socket.once('close', () => users.delete(socket))
    res.end(users.get(socket) ?? 'anonymous')
  })
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const { proxy, port } = await startProxy(portOf(origin))
  t.teardown(async () => {
    await proxy.close(0)
    origin.close()
  })
  return { proxy, port, users }
}

const client = (t: Test, port: number) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const ask = (authorization?: string) =>
    new Promise<string>((resolve, reject) => {
      get({ port, agent, headers: authorization === undefined ? {} : { authorization } }, async (res) => {
        let text = ''
        for await (const part of res) text += part
        resolve(text)
      }).on('error', reject)
    })
  return { ask, leave: () => agent.destroy() }
}

t.test('a client that signs its connection in shares it with no other client', async (t) => {
  for (const scheme of ['NTLM ', 'negotiate ', 'NTLM\t']) {
    const { port, users } = await site(t)
    const [alice, bob, other] = [client(t, port), client(t, port), client(t, port)]
    t.equal(await other.ask(), 'anonymous')
    // Concurrently, so that their steps interleave.
    await Promise.all([alice.ask(`${scheme}first`), bob.ask(`${scheme}first`)])
    t.same(await Promise.all([alice.ask(`${scheme}last:alice`), bob.ask(`${scheme}last:bob`)]), ['alice', 'bob'])
    for (let i = 0; i < 3; i++) {
      t.equal(await other.ask(), 'anonymous', `${scheme}: another client is not taken for the one before`)
      t.same(await Promise.all([bob.ask(), alice.ask()]), ['bob', 'alice'], 'a client that has signed in stays so')
    }
    alice.leave()
    t.ok(await waitUntil(() => users.size === 1), 'its connection to the origin ends with its own')
    t.equal(await other.ask(), 'anonymous')
    t.equal(await bob.ask(), 'bob')
  }
})

t.test('an HTTP/2 session that signs in shares its connection with no other client', async (t) => {
  const { proxy, port } = await site(t)
  const server = createHttp2Server(proxy.handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const session = connectHttp2(`http://127.0.0.1:${portOf(server)}`)
  t.teardown(() => {
    session.close()
    server.close()
  })
  for (const authorization of ['NTLM first', 'NTLM last:alice']) {
    const stream = session.request({ ':authority': 'site.example', ':path': '/', authorization }).resume()
    await new Promise((resolve) => stream.once('close', resolve))
  }
  t.equal(await client(t, port).ask(), 'anonymous')
})
