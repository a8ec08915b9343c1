import { once } from 'node:events'
import { createServer, get as httpGet, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server, type IncomingHttpHeaders } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import t, { type Test } from 'tap'
import type { Observation } from '../../src/capture/observation.js'
import { isUnderBasePath, toNodeHandler } from '../../src/proxy/node-handler.js'
import { observe } from '../../src/proxy/observe-node.js'

const portOf = (server: { address(): string | AddressInfo | null }): number => {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
const until = async (what: string, condition: () => boolean, ms = 3000): Promise<void> => {
  const end = Date.now() + ms
  while (!condition()) {
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`)
    await sleep(5)
  }
}
type Fetch = (request: Request, peer: { ip: string }) => Promise<Response>

async function serve(t: Test, fetch: Fetch, basePath = '/_readership') {
  const handler = toNodeHandler({ fetch }, { basePath })
  const server = createServer((req, res) => void handler(req, res))
  const http2 = createHttp2Server((req, res) => void handler(req, res))
  for (const one of [server, http2]) {
    one.listen(0, '127.0.0.1')
    await once(one, 'listening')
  }
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
    http2.close()
  })
  return { port: portOf(server), url: `http://127.0.0.1:${portOf(server)}`, http2: `http://127.0.0.1:${portOf(http2)}` }
}

/** A client of raw bytes over HTTP/1.1. */
function raw(t: Test, port: number, bytes: string) {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.write(bytes)
  t.teardown(() => socket.destroy())
  return { socket, text: () => text }
}

const echo: Fetch = async (request, peer) =>
  Response.json({
    url: request.url,
    method: request.method,
    headers: [...request.headers],
    body: await request.text(),
    ip: peer.ip,
  })

t.test('under', async (t) => {
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

t.test('requests', async (t) => {
  const { port } = await serve(t, echo)
  const head = 'HTTP/1.1\r\nHost: Site:1\r\nConnection: close\r\n'
  const rows: [bytes: string, expected: RegExp, why: string][] = [
    [
      `GET /_readership/api/x?a=1?2 ${head}\r\n`,
      /"url":"http:\/\/site:1\/api\/x\?a=1\?2".*"ip":"127\.0\.0\.1"/,
      'the base path is taken off',
    ],
    [`GET /_readership ${head}\r\n`, /"url":"http:\/\/site:1\/"/, 'the base path alone is the root'],
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
    [
      'GET /_readership/a HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n',
      /^HTTP\/1\.1 400 /,
      'a host that is none',
    ],
  ]
  for (const [bytes, expected, why] of rows) {
    const client = raw(t, port, '')
    client.socket.write(bytes, 'latin1')
    await once(client.socket, 'close')
    t.match(client.text(), expected, why)
  }
})

t.test('responses', async (t) => {
  const { port, http2, url } = await serve(t, async (request) => {
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
    const client = raw(t, port, `${method} /_readership${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
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

t.test('HTTP/2 requests', async (t) => {
  const { http2 } = await serve(t, echo)
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

t.test('streams', async (t) => {
  let cancelled = 0
  let pulled = 0
  let aborted = 0
  let received = 0
  const { port, url, http2 } = await serve(t, async (request) => {
    request.signal.addEventListener('abort', () => aborted++)
    const path = new URL(request.url).pathname
    if (path === '/upload') {
      for await (const chunk of request.body ?? []) received += chunk.byteLength
      return new Response(`${received}`)
    }
    if (path === '/ignore') return new Response('no thanks', { status: 413 })
    if (path === '/never') {
      await once(request.signal, 'abort')
      return new Response('late')
    }
    if (path === '/break') {
      let n = 0
      return new Response(
        new ReadableStream({
          async pull(controller) {
            if (n++ < 3) return controller.enqueue(Buffer.from('part'))
            await sleep(20)
            controller.error(new Error('broken'))
          },
        }),
      )
    }
    if (path === '/events') {
      return new Response(
        new ReadableStream({
          async start(controller) {
            await sleep(100)
            controller.enqueue(Buffer.from('data: 1\n\n'))
          },
          cancel: () => {
            cancelled++
          },
        }),
      )
    }
    return new Response(
      new ReadableStream({
        pull(controller) {
          pulled++
          controller.enqueue(new Uint8Array(65_536))
        },
        cancel: () => {
          cancelled++
        },
      }),
    )
  })
  const request = (path: string, extra = '', method = 'GET') =>
    `${method} /_readership${path} HTTP/1.1\r\nHost: a\r\n${extra}\r\n`

  const events = raw(t, port, request('/events'))
  await until('the head', () => events.text().includes('\r\n\r\n'), 90)
  t.notMatch(events.text(), /data:/, 'the head does not wait for the first event')
  await until('the event', () => events.text().includes('data: 1'))
  events.socket.destroy()
  await until('cancelled', () => cancelled === 1)
  t.equal(aborted, 1, 'a client that leaves aborts the signal and cancels the body')

  const stalled = connect(port, '127.0.0.1')
  stalled.write(request('/endless'))
  stalled.pause()
  await sleep(300)
  const before = pulled
  await sleep(200)
  t.equal(pulled, before, `backpressure: ${before} chunks of 64 KB were taken for a client that does not read`)
  stalled.destroy()
  await until('cancelled', () => cancelled === 2)

  const client = connectHttp2(http2)
  const endless = client.request({ ':path': '/_readership/endless' })
  await once(endless, 'data')
  endless.close(8)
  await until('cancelled', () => cancelled === 3)
  t.pass('also over HTTP/2')
  const waiting = client.request({ ':path': '/_readership/never' })
  await sleep(30)
  waiting.close(8)
  await until('aborted', () => aborted === 4)
  client.destroy()

  const gone = raw(t, port, request('/never'))
  await sleep(30)
  gone.socket.destroy()
  await until('aborted', () => aborted === 5)

  const broken = raw(t, port, request('/break'))
  await once(broken.socket, 'close')
  t.match(broken.text(), /part\r\n$/, 'a body that breaks off is cut, not ended')

  const size = 8 << 20
  const upload = await fetch(`${url}/_readership/upload`, { method: 'POST', body: new Uint8Array(size) })
  t.equal(await upload.text(), `${size}`, 'an upload')
  received = 0
  const leaver = raw(t, port, request('/upload', 'Content-Length: 1000\r\n', 'POST'))
  leaver.socket.write('x'.repeat(500))
  await until('half', () => received === 500)
  leaver.socket.destroy()
  await until('aborted', () => aborted === 6)

  const again = raw(t, port, request('/ignore', 'Content-Length: 3000000\r\n', 'POST'))
  again.socket.write('y'.repeat(3_000_000))
  again.socket.write(request('/ignore', 'Content-Length: 0\r\nConnection: close\r\n', 'POST'))
  await once(again.socket, 'close')
  t.equal(again.text().match(/413 Payload/g)?.length, 2, 'a body that nobody read does not block the connection')
})

t.test('nothing global is touched', async (t) => {
  const { Request, Response, Headers } = globalThis
  const { url } = await serve(t, echo)
  await (await fetch(`${url}/_readership/`)).text()
  t.equal(globalThis.Request, Request)
  t.equal(globalThis.Response, Response)
  t.equal(globalThis.Headers, Headers)
})

t.test('observe', async (t) => {
  const seen: Observation[] = []
  const site = createServer((req: IncomingMessage, res: ServerResponse) => {
    observe(req, res, '192.0.2.9', (observation) => seen.push(observation))
    const path = (req.url ?? '').split('?')[0]
    const html = { 'Content-Type': 'text/html' }
    if (path === '/head-object') res.writeHead(200, html).end('12345')
    else if (path === '/head-array') res.writeHead(200, ['content-type', 'text/css']).end('123')
    else if (path === '/head-reason') res.writeHead(404, 'Nope', html).end()
    else if (path === '/set') {
      res.setHeader('content-type', 'text/plain')
      res.write('é')
      res.write('ff', 'hex')
      res.end(Buffer.from([1, 2, 3]), () => {})
    } else if (path === '/not-modified') res.writeHead(304).end()
    else if (path === '/gzip') {
      res.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' })
      const gzip = createGzip()
      gzip.pipe(res)
      gzip.end('a'.repeat(100_000))
    } else if (path === '/slow') return
    else if (path === '/endless') {
      res.writeHead(200, html)
      const more = () => {
        while (res.write(Buffer.alloc(65_536)));
      }
      res.on('drain', more)
      more()
    } else if (path === '/twice') {
      observe(req, res, '192.0.2.9', (observation) => seen.push(observation))
      res.end('x')
    } else if (path === '/rewritten') {
      req.url = '/other'
      res.end()
    } else res.end('ok')
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  t.teardown(() => {
    site.close()
    site.closeAllConnections()
  })
  const ask = async (bytes: string): Promise<{ observation: Observation | undefined }> => {
    seen.length = 0
    const client = raw(t, portOf(site), bytes)
    await once(client.socket, 'close')
    await until('the observation', () => seen.length > 0)
    await sleep(5)
    t.equal(seen.length, 1, 'once')
    return { observation: seen[0] }
  }
  const end = 'Host: Site.Example:80\r\nConnection: close\r\n\r\n'
  const rows: [start: string, expected: Partial<Observation>, why: string][] = [
    [
      'GET /head-object?a=1&b',
      {
        status: 200,
        bytes: 5,
        content_type: 'text/html',
        pathname: '/head-object',
        query: 'a=1&b',
        hostname: 'site.example',
        method: 'GET',
        ip: '192.0.2.9',
      },
      'headers given to writeHead',
    ],
    ['GET /head-array', { bytes: 3, content_type: 'text/css' }, 'as an array'],
    ['GET /head-reason', { status: 404, bytes: 0, content_type: 'text/html' }, 'behind a reason'],
    ['GET /set', { bytes: 2 + 1 + 3, content_type: 'text/plain' }, 'strings, encodings, bytes'],
    ['HEAD /head-object', { method: 'HEAD', bytes: 0, status: 200 }, 'HEAD sends no body'],
    ['GET /not-modified', { status: 304, bytes: 0, content_type: '' }, '304'],
    ['GET /twice', { bytes: 1 }, 'watched twice'],
    ['GET /rewritten', { pathname: '/rewritten' }, 'the URL as it came'],
    ['GET //a/..;/%2F', { pathname: '//a/..;/%2F' }, 'byte for byte'],
    ['GET http://other/x?', { pathname: '/x', query: '', hostname: 'site.example' }, 'the absolute form'],
  ]
  for (const [start, expected, why] of rows)
    t.match((await ask(`${start} HTTP/1.1\r\n${end}`)).observation, expected, why)

  const { observation: full } = await ask(
    `GET / HTTP/1.1\r\nUser-Agent: GPTBot/1.2\r\nReferer: https://a/\r\nIf-None-Match: "x"\r\nAccept-Language: de\r\nSec-GPC: 1\r\nAuthorization: secret\r\nCookie: secret\r\n${end}`,
  )
  t.match(full, { user_agent: 'GPTBot/1.2', referrer: 'https://a/', conditional: 1 })
  t.same(full?.headers, { 'accept-language': 'de', 'sec-gpc': '1' }, 'only the headers that are ours to see')
  t.match(full?.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const { observation: bare } = await ask(`GET / HTTP/1.1\r\n${end}`)
  t.notOk(bare && ('headers' in bare || 'query' in bare || 'referrer' in bare), 'absent, never empty')

  seen.length = 0
  const [gzip]: IncomingMessage[] = await once(httpGet(`http://127.0.0.1:${portOf(site)}/gzip`), 'response')
  let travelled = 0
  for await (const chunk of gzip ?? []) travelled += chunk.length
  await until('the observation', () => seen.length === 1)
  t.ok(travelled > 0 && travelled < 1_000, 'compressed')
  t.equal(seen[0]?.bytes, travelled, 'as many as travelled')

  seen.length = 0
  const slow = raw(t, portOf(site), `GET /slow HTTP/1.1\r\n${end}`)
  await sleep(50)
  slow.socket.destroy()
  await until('499', () => seen.length === 1)
  t.match(
    seen[0],
    { status: 499, bytes: 0, content_type: '', pathname: '/slow' },
    'a client that left before the response',
  )
  t.ok((seen[0]?.duration_ms ?? -1) >= 40)

  seen.length = 0
  const half = raw(t, portOf(site), `GET /endless HTTP/1.1\r\n${end}`)
  await until('some', () => half.text().length > 500_000)
  half.socket.destroy()
  await until('cut', () => seen.length === 1)
  const { status, bytes } = seen[0] ?? { status: 0, bytes: 0 }
  t.equal(status, 200, 'a client that left within it')
  t.ok(bytes > 400_000 && bytes < 30_000_000, `${bytes} bytes were sent`)
})
