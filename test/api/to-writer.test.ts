import { createServer } from 'node:http'
import t from 'tap'
import { listenAdmin } from '../../src/api/server.js'
import { passToWriter } from '../../src/api/to-writer.js'

/** A writer that says what it was asked, and streams at `/api/stats/realtime/stream`. */
async function startWriter() {
  const server = createServer(async (req, res) => {
    if (req.url?.startsWith('/api/stats/realtime/stream')) {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write('event: first\n\n')
      req.on('close', () => server.emit('left'))
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    const { host, cookie, 'x-forwarded-for': ip, 'x-forwarded-proto': scheme } = req.headers
    res.writeHead(req.url === '/none' ? 204 : 201, { 'set-cookie': ['a=1', 'b=2'], 'content-type': 'application/json' })
    if (req.url === '/none') res.end()
    else
      res.end(
        JSON.stringify({
          method: req.method,
          url: req.url,
          host,
          cookie,
          ip,
          scheme,
          body: `${Buffer.concat(chunks)}`,
        }),
      )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return { server, url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}` }
}

t.test('a process that only reads passes on what changes something', async (t) => {
  const writer = await startWriter()
  t.teardown(() => writer.server.closeAllConnections())
  t.teardown(() => writer.server.close())
  const state: { isWriter: boolean; at: string | undefined } = { isWriter: false, at: writer.url }
  const logged: string[] = []
  const app = passToWriter(async () => Response.json({ from: 'here' }), {
    isWriter: () => state.isWriter,
    writerAddress: () => state.at,
    log: (reason) => logged.push(reason),
  })
  const reader = await listenAdmin(app, '127.0.0.1', 0, { client: () => '192.0.2.7' })
  t.teardown(() => reader.close())
  const ask = (path: string, init: RequestInit = {}) => fetch(`${reader.at}${path}`, init)

  const here: [method: string, path: string, why: string][] = [
    ['GET', '/api/stats/overview', 'a read'],
    ['HEAD', '/api/stats/overview', 'a read without its body'],
    ['OPTIONS', '/api/track', 'a preflight'],
  ]
  for (const [method, path, why] of here) {
    const response = await ask(path, { method })
    t.equal(response.status, 200, why)
    if (method === 'GET') t.same(await response.json(), { from: 'here' }, why)
  }
  const body = '{"name":"Ä"}'
  for (const method of ['POST', 'PATCH', 'PUT', 'DELETE']) {
    const response = await ask('/api/goals?site=1', { method, body, headers: { cookie: 'session=s' } })
    t.equal(response.status, 201, method)
    t.same(response.headers.getSetCookie(), ['a=1', 'b=2'], 'each cookie')
    t.same(await response.json(), {
      ...{ method, url: '/api/goals?site=1', host: new URL(reader.at).host, cookie: 'session=s' },
      ...{ ip: '192.0.2.7', scheme: 'http', body },
    })
  }
  for (const path of ['/api/track/pixel.gif?d=x', '/api/flags/evaluate?site=1'])
    t.match(
      await (await ask(path)).json(),
      { method: 'GET', url: path },
      'what records is the writer’s, whatever its method',
    )
  t.equal((await ask('/none', { method: 'DELETE' })).status, 204, 'a response without a body')

  const left = new Promise((resolve) => writer.server.once('left', resolve))
  const leaving = new AbortController()
  const stream = await ask('/api/stats/realtime/stream?site=1', { signal: leaving.signal })
  const reading = stream.body?.getReader()
  t.equal(new TextDecoder().decode((await reading?.read())?.value), 'event: first\n\n', 'rows come as they are stored')
  leaving.abort()
  await left
  t.pass('a client that leaves ends the stream at the writer')

  const operator = await app(new Request('http://x/api/keys', { method: 'POST' }), { ip: '', operator: true })
  t.equal(operator.status, 409)
  t.match(await operator.json(), { error: { message: new RegExp(writer.url) } }, 'the operator is told where')
  t.equal((await ask('/api/goals', { method: 'POST', headers: { 'x-readership-passed': '1' } })).status, 503, 'once')
  state.at = undefined
  const alone = await ask('/api/log/edge', { method: 'POST', body })
  t.equal(alone.status, 503)
  t.equal(alone.headers.get('retry-after'), '5', 'while there is no writer, senders keep their rows')
  state.at = 'http://127.0.0.1:1'
  const away = 'http://127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1'
  const requests: [at: string, status: number, logged: string[], why: string][] = [
    ['http://127.0.0.1:1', 503, [away], 'nor while it cannot be reached, which is logged'],
    ['http://127.0.0.1:1', 503, [away], 'once'],
    [writer.url, 201, [away], 'it is back'],
    ['http://127.0.0.1:1', 503, [away, away], 'and away again, which is logged again'],
  ]
  for (const [at, status, lines, why] of requests) {
    state.at = at
    t.equal((await ask('/api/goals', { method: 'POST', body })).status, status, why)
    t.same(logged, lines, why)
  }
  state.isWriter = true
  t.same(
    await (await ask('/api/goals', { method: 'POST', body })).json(),
    { from: 'here' },
    'as soon as this is the writer',
  )
})

t.test('a stream whose writer has died without a word ends, so that its client asks again', async (t) => {
  const writer = await startWriter()
  t.teardown(() => writer.server.closeAllConnections())
  t.teardown(() => writer.server.close())
  const app = passToWriter(async () => Response.json({}), {
    isWriter: () => false,
    writerAddress: () => writer.url,
    log() {},
    silence_ms: 200,
  })
  const stream = await app(new Request('http://x/api/stats/realtime/stream?site=1'), { ip: '', operator: false })
  const reader = stream.body?.getReader()
  t.equal((await reader?.read())?.done, false, 'the first event')
  await t.rejects(async () => reader?.read(), { code: 'UND_ERR_BODY_TIMEOUT' })
})
