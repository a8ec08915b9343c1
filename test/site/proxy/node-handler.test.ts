import { once } from 'node:events'
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { isUnderBasePath } from '../../../src/site/proxy/node-handler.js'
import { echo, openRawClient, startServers } from './fixtures/node-server.js'
import { waitFor } from './fixtures/sockets.js'
import { startStreamingServer } from './fixtures/streaming-server.js'

t.test('isUnderBasePath compares byte for byte', async (t) => {
  const rows: [base: string, target: string, expected: boolean][] = [
    ['/_readership', '/_readership/api', true],
    ['/_readership', '/_readership', true],
    ['/_readership', '/_readership?x=1', true],
    ['/_readership', '/_readershipx', false],
    ['/_readership', '/x/_readership/', false],
    ['/_readership', '//_readership/api', false],
    ['/_readership', '/%5freadership/api', false],
    ['/_readership', '/_readership/../page', true],
    ['/_readership', 'http://a/_readership/api', true],
    ['/_readership', '*', false],
    ['', '/api', true],
  ]
  for (const [base, target, expected] of rows) t.equal(isUnderBasePath(base, target), expected, `${base} ${target}`)
})

t.test('passes requests to fetch', async (t) => {
  const { port } = await startServers(t, echo)
  const head = 'HTTP/1.1\r\nHost: Site:1\r\nConnection: close\r\n'
  const rows: [bytes: string, expected: RegExp, why: string][] = [
    [
      `GET /_readership/api/x?a=1?2 ${head}\r\n`,
      /"url":"http:\/\/site:1\/api\/x\?a=1\?2".*"ip":"127\.0\.0\.1"/,
      'the base path is taken off',
    ],
    [`GET /_readership ${head}\r\n`, /302 Found\r\nlocation: _readership\/\r\n/i, 'a slash is added to the base path'],
    [`GET /_readership?a=/b ${head}\r\n`, /location: _readership\/\?a=\/b\r\n/i, 'and the query stays'],
    [`GET /_readership/ ${head}\r\n`, /"url":"http:\/\/site:1\/"/, 'the base path with a slash is the root'],
    [`GET /_readership//evil/x ${head}\r\n`, /"url":"http:\/\/site:1\/\/evil\/x"/, 'two slashes make no host'],
    [`GET http://other/_readership/a ${head}\r\n`, /"url":"http:\/\/site:1\/a"/, 'the absolute form'],
    [
      `POST /_readership/a ${head}Content-Length: 5\r\n\r\nhello`,
      /"method":"POST".*"body":"hello"/,
      'a body with a length',
    ],
    [
      `PUT /_readership/a ${head}Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n`,
      /"body":"hello"/,
      'a chunked body',
    ],
    [`DELETE /_readership/a ${head}\r\n`, /"method":"DELETE".*"body":""/, 'no body'],
    [
      `GET /_readership/a ${head}X-A: 1\r\nX-a: 2\r\nCookie: a=\xe9\r\n\r\n`,
      /\["x-a","1, 2"\]/,
      'repeated fields are joined',
    ],
    [`TRACE /_readership/a ${head}\r\n`, /^HTTP\/1\.1 400 /, 'a method the web has not'],
    ['GET /_readership/a HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', /^HTTP\/1\.1 400 /, 'an invalid host'],
  ]
  for (const [bytes, expected, why] of rows) {
    const client = openRawClient(t, port, '')
    client.socket.write(bytes, 'latin1')
    await once(client.socket, 'close')
    t.match(client.text(), expected, why)
  }
})

t.test('sends responses of fetch', async (t) => {
  const { port, http2, url } = await startServers(t, async (request) => {
    const path = new URL(request.url).pathname
    if (path === '/throw') throw new Error('secret')
    if (path === '/empty') return new Response(null, { status: 204 })
    if (path === '/hop') return new Response('x', { headers: { connection: 'x-hop', 'x-hop': '1', 'keep-alive': '5' } })
    if (path === '/big') return new Response(new Uint8Array(3 << 20))
    const headers = new Headers([
      ['set-cookie', 'a=1, b'],
      ['Set-Cookie', 'c=2'],
      ['link', '<a>'],
      ['link', '<b>'],
    ])
    return new Response('hi', { status: 201, headers })
  })
  const get = async (path: string, method = 'GET') => {
    const client = openRawClient(
      t,
      port,
      `${method} /_readership${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    )
    await once(client.socket, 'close')
    return client.text()
  }
  const text = await get('/')
  t.match(text, /^HTTP\/1\.1 201 Created\r\n/)
  t.match(text, /set-cookie: a=1, b\r\nset-cookie: c=2\r\n/i, 'cookies are never joined')
  t.match(text, /link: <a>, <b>\r\n/i)
  t.match(await get('/', 'HEAD'), /^HTTP\/1\.1 201 [\s\S]*\r\n\r\n$/, 'HEAD')
  t.match(await get('/empty'), /^HTTP\/1\.1 204 [\s\S]*\r\n\r\n$/, '204')
  t.notMatch(await get('/hop'), /x-hop|keep-alive/i, "a connection's fields are the server's")
  t.match(
    await get('/throw'),
    /^HTTP\/1\.1 500 [\s\S]*\r\n\r\n[0-9a-f]+\r\nInternal Server Error\n\r\n0/,
    'a throw is a bare 500',
  )
  t.notMatch(await get('/throw'), /secret/)
  t.equal((await (await fetch(`${url}/_readership/big`)).arrayBuffer()).byteLength, 3 << 20, 'big')

  const client = connectHttp2(http2)
  t.teardown(() => client.destroy())
  const stream = client.request({ ':path': '/_readership/', 'x-a': '1' })
  const [headers]: IncomingHttpHeaders[] = await once(stream, 'response')
  t.equal(headers?.[':status'], 201, 'HTTP/2')
  t.same(headers?.['set-cookie'], ['a=1, b', 'c=2'])
  const hop = client.request({ ':path': '/_readership/hop' })
  const [clean]: IncomingHttpHeaders[] = await once(hop, 'response')
  t.equal(clean?.[':status'], 200, 'no connection field reaches HTTP/2')
})

t.test('passes HTTP/2 requests to fetch', async (t) => {
  const { http2 } = await startServers(t, echo)
  const client = connectHttp2(http2)
  t.teardown(() => client.destroy())
  const stream = client.request({
    ':path': '/_readership/a?b',
    ':method': 'POST',
    ':authority': 'site.example',
    'x-a': '1',
  })
  stream.end('hello')
  let text = ''
  for await (const chunk of stream) text += chunk
  t.match(JSON.parse(text), { url: 'http://site.example/a?b', method: 'POST', body: 'hello', ip: '127.0.0.1' })
  t.notMatch(text, /":path"|:authority/)
})

t.test('streams bodies in both directions', async (t) => {
  const { port, url, http2, counts } = await startStreamingServer(t)
  const request = (path: string, extra = '', method = 'GET') =>
    `${method} /_readership${path} HTTP/1.1\r\nHost: a\r\n${extra}\r\n`

  const events = openRawClient(t, port, request('/events'))
  await waitFor('the head, which does not wait for the first event', () => events.text().includes('\r\n\r\n'))
  counts.sendEvent()
  await waitFor('the event', () => events.text().includes('data: 1'))
  events.socket.destroy()
  await waitFor('cancelled', () => counts.cancelled === 1)
  t.equal(counts.aborted, 1, 'a client that leaves aborts the signal and cancels the body')

  const stalled = connect(port, '127.0.0.1')
  stalled.write(request('/endless'))
  stalled.pause()
  await sleep(300)
  const before = counts.pulled
  await sleep(200)
  t.equal(counts.pulled, before, `backpressure: ${before} chunks of 64 KB were taken for a client that does not read`)
  stalled.destroy()
  await waitFor('cancelled', () => counts.cancelled === 2)

  const client = connectHttp2(http2)
  const endless = client.request({ ':path': '/_readership/endless' })
  await once(endless, 'data')
  endless.close(8)
  await waitFor('cancelled', () => counts.cancelled === 3)
  t.pass('also over HTTP/2')
  const never = client.request({ ':path': '/_readership/never' })
  await waitFor('the call', () => counts.waiting === 1)
  never.close(8)
  await waitFor('aborted', () => counts.aborted === 4)
  client.destroy()

  const gone = openRawClient(t, port, request('/never'))
  await waitFor('the call', () => counts.waiting === 2)
  gone.socket.destroy()
  await waitFor('aborted', () => counts.aborted === 5)

  const broken = openRawClient(t, port, request('/break'))
  await once(broken.socket, 'close')
  t.match(broken.text(), /part\r\n$/, 'a body that breaks off is cut, not ended')

  const size = 8 << 20
  const upload = await fetch(`${url}/_readership/upload`, { method: 'POST', body: new Uint8Array(size) })
  t.equal(await upload.text(), `${size}`, 'an upload')
  counts.received = 0
  const leaver = openRawClient(t, port, request('/upload', 'Content-Length: 1000\r\n', 'POST'))
  leaver.socket.write('x'.repeat(500))
  await waitFor('half', () => counts.received === 500)
  leaver.socket.destroy()
  await waitFor('aborted', () => counts.aborted === 6)

  const again = openRawClient(t, port, request('/ignore', 'Content-Length: 3000000\r\n', 'POST'))
  again.socket.write('y'.repeat(3_000_000))
  again.socket.write(request('/ignore', 'Content-Length: 0\r\nConnection: close\r\n', 'POST'))
  await once(again.socket, 'close')
  t.equal(again.text().match(/413 Payload/g)?.length, 2, 'an unread body does not block the connection')
})

t.test('changes no globals', async (t) => {
  const { Request, Response, Headers } = globalThis
  const { url } = await startServers(t, echo)
  await (await fetch(`${url}/_readership/`)).text()
  t.equal(globalThis.Request, Request)
  t.equal(globalThis.Response, Response)
  t.equal(globalThis.Headers, Headers)
})
