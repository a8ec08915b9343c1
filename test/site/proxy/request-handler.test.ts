import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { createServer as createTlsServer } from 'node:tls'
import t from 'tap'
import { exchangeBytes, portOf, sleep, startProxy, startRawServer, waitUntil } from './fixtures/sockets.js'
import { field, type Message, parseStrictly } from './fixtures/strict-parser.js'

t.test('records an exchange', async (t) => {
  const origin = createServer((req, res) => {
    req.resume()
    req.on('end', () => {
      if (req.url === '/304') res.writeHead(304).end()
      else res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end('hello')
    })
  })
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  let time = Date.UTC(2026, 10, 21, 8, 0, 0, 5)
  const { proxy, port, records } = await startProxy(portOf(origin), {
    now: () => time,
    clientAddress: () => '198.51.100.9',
  })
  const lines = [
    'GET /Caf%C3%A9//x;y?utm_source=a&b HTTP/1.1',
    'Host: Www.Example:8080',
    'User-Agent: Probe/1.0',
    'Referer: https://other.example/p?q',
    'Accept-Language: de',
    'If-None-Match: "x"',
    'Sec-Fetch-Dest: document',
    'DNT: 1',
    'Cookie: secret=1; readership-opt-out=1',
    'Connection: close',
  ]
  await exchangeBytes(port, [`${lines.join('\r\n')}\r\n\r\n`])
  await waitUntil(() => records.length === 1)
  const { duration_ms, ...facts } = records[0] ?? { duration_ms: -1 }
  t.ok(duration_ms >= 0 && duration_ms < 5_000)
  t.same(facts, {
    timestamp: '2026-11-21T08:00:00.005Z',
    user_agent: 'Probe/1.0',
    method: 'GET',
    hostname: 'www.example',
    pathname: '/Caf%C3%A9//x;y',
    status: 200,
    bytes: 5,
    content_type: 'text/html; charset=utf-8',
    conditional: 1,
    ip: '198.51.100.9',
    query: 'utm_source=a&b',
    referrer: 'https://other.example/p?q',
    headers: { 'accept-language': 'de', dnt: '1', 'sec-fetch-dest': 'document' },
    opted_out: true,
  })
  records.length = 0
  time += 3_600_000
  for (const [sent, expected, why] of [
    ['HEAD / HTTP/1.1\r\nHost: [2001:DB8::1]:80\r\n', { method: 'HEAD', bytes: 0, hostname: '[2001:db8::1]' }, 'HEAD'],
    [
      'GET /304 HTTP/1.1\r\nHost: s\r\n',
      { status: 304, bytes: 0, user_agent: '', conditional: 0 },
      '304, no user agent',
    ],
    ['GET / HTTP/1.0\r\n', { hostname: '', bytes: 5 }, 'no host'],
    ['GET /x? HTTP/1.1\r\nHost: s\r\n', { pathname: '/x', query: '' }, 'an empty query is a query'],
    ['TRACE /x HTTP/1.1\r\nHost: s\r\n', { status: 405, method: 'TRACE' }, 'a refused request is recorded too'],
    ['GET / HTTP/1.1\r\nHost: s\r\nHost: t\r\n', { status: 400 }, 'two Hosts'],
  ] as const) {
    await exchangeBytes(port, [`${sent}Connection: close\r\n\r\n`])
    await waitUntil(() => records.length === 1)
    t.match(records[0], expected, why)
    t.equal(records[0]?.timestamp, '2026-11-21T09:00:00.005Z')
    records.length = 0
  }
  await proxy.close(100)
  origin.close()
})

t.test('serves the paths of the service itself', async (t) => {
  const asked: string[] = []
  const origin = await startRawServer((socket) => {
    socket.on('data', (part) => {
      asked.push(part.toString('latin1').split(' ')[1] ?? '')
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsite')
    })
  })
  const { proxy, port, records } = await startProxy(origin.port, {
    isServicePath: (path) => path === '/_readership' || path.startsWith('/_readership/'),
    serve: (_, res) => void res.end('service'),
  })
  for (const [path, body] of [
    ['/_readership/script.js', 'service'],
    ['/_readership', 'service'],
    ['/_readershipx', 'site'],
    ['/api/stats', 'site'],
  ] as const) {
    const { text } = await exchangeBytes(port, [`GET ${path} HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n`])
    t.ok(text.endsWith(body), path)
  }
  t.same(asked, ['/_readershipx', '/api/stats'])
  t.equal(records.length, 2, 'service paths are not recorded')
  await proxy.close(100)
  await origin.close()
})

t.test('reads a body sent to a service path', async (t) => {
  const origin = await startRawServer(() => {})
  const { proxy, port } = await startProxy(origin.port, {
    isServicePath: (path) => path === '/service' || path === '/early',
    clientTimeout: 300,
    serve(req, res) {
      req.resume()
      if (req.url === '/early') res.end('early')
      else req.once('end', () => res.end('whole'))
    },
  })
  const post = (path: string, lines: string) => `POST ${path} HTTP/1.1\r\nHost: s\r\n${lines}\r\n`
  const expecting = post('/service', 'Expect: 100-continue\r\nContent-Length: 5\r\nConnection: close\r\n')
  const { messages } = parseStrictly(
    (await exchangeBytes(port, [expecting, /100 Continue\r\n\r\n/, 'hello'])).text,
    'response',
  )
  t.same(
    messages.map(({ start }) => start),
    ['HTTP/1.1 100 Continue', 'HTTP/1.1 200 OK'],
    'a client that expects 100 Continue gets it',
  )
  const trickle = Array.from({ length: 30 }, (): [string, number] => ['x', 100]).flat()
  const slow = await exchangeBytes(port, [post('/early', 'Content-Length: 5000\r\n'), ...trickle])
  t.match(slow.text, /^HTTP\/1\.1 200 /)
  t.not(slow.end, 'open', 'a client that goes on sending after the response is cut')
  t.ok(slow.ms < 2_500, `after ${slow.ms} ms`)
  await proxy.close(100)
  await origin.close()
})

t.test('forwards HTTP/2 requests', async (t) => {
  const seen: Message[] = []
  const origin = await startRawServer((socket) => {
    let bytes = ''
    socket.on('data', (part) => {
      bytes += part.toString('latin1')
      const { messages, rest, fault } = parseStrictly(bytes, 'request')
      bytes = rest
      if (fault) t.fail(fault)
      for (const message of messages) {
        seen.push(message)
        const path = message.start.split(' ')[1]
        if (path === '/dies') socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf', () => socket.destroy())
        else if (path === '/bad') socket.write('HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n')
        else if (path !== '/silent')
          socket.write(
            'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 Fine\r\nSet-Cookie: a=1\r\nX-A: 1\r\nSet-Cookie: b=2\r\n' +
              'Connection: X-Private\r\nX-Private: 1\r\nKeep-Alive: timeout=5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 42\r\n\r\n',
          )
      }
    })
  })
  const { proxy, records } = await startProxy(origin.port)
  const server = createHttp2Server(proxy.handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const session = connectHttp2(`http://127.0.0.1:${portOf(server)}`)
  const ask = (headers: Record<string, string | string[]>, body?: string) =>
    new Promise<Record<string, unknown>>((resolve) => {
      const stream = session.request({ ':authority': 'site.example', ...headers }, { endStream: body === undefined })
      const answer: Record<string, unknown> = { body: '' }
      stream.on('headers', (fields) => {
        answer.hint = fields[':status']
      })
      stream.on('response', (fields) => Object.assign(answer, { ...fields }))
      stream.on('trailers', (fields) => {
        answer.trailer = fields['x-sum']
      })
      stream.on('data', (part) => {
        answer.body += part
      })
      stream.on('error', () => {})
      stream.on('close', () => resolve({ ...answer, rst: stream.rstCode }))
      if (body !== undefined) stream.end(body)
    })

  const cookies = ['a=1', 'b=2']
  const got = await ask({ ':method': 'POST', ':path': '/x?y', cookie: cookies, te: 'trailers' }, 'body')
  t.match(got, {
    ':status': 200,
    body: 'hello',
    hint: 103,
    trailer: '42',
    'set-cookie': ['a=1', 'b=2'],
    'x-a': '1',
    rst: 0,
  })
  t.notOk('x-private' in got || 'keep-alive' in got || 'transfer-encoding' in got || 'connection' in got)
  t.equal(seen[0]?.start, 'POST /x?y HTTP/1.1')
  t.equal(seen[0]?.body, 'body')
  t.equal(field(seen[0], 'host'), 'site.example')
  t.equal(field(seen[0], 'cookie'), 'a=1; b=2')
  t.notOk(seen[0]?.fields.some(([name]) => name.startsWith(':') || name === 'te'))
  t.match(records[0], { hostname: 'site.example', pathname: '/x', status: 200, bytes: 5, ip: '127.0.0.1' })

  t.match(await ask({ ':path': '/', host: 'other.example' }), { ':status': 400 }, 'Host and :authority that differ')
  t.not((await ask({ ':path': '/dies' })).rst, 0, 'a cut response is a reset stream')
  t.match(await ask({ ':path': '/bad' }), { ':status': 502 }, 'a status that Node’s HTTP/2 cannot carry')
  const left = session.request({ ':path': '/silent', ':authority': 'site.example' })
  left.on('error', () => {})
  await waitUntil(() => seen.at(-1)?.start === 'GET /silent HTTP/1.1')
  records.length = 0
  left.close(8)
  t.ok(await waitUntil(() => records.length === 1), 'a client that cancels')
  t.equal(records[0]?.status, 499)
  await sleep(50)
  t.equal(proxy.stats().active, 0)
  session.close()
  await proxy.close(100)
  await new Promise((resolve) => server.close(resolve))
  await origin.close()
})

t.test('pipelined requests reach the origin one after the other', async (t) => {
  const events: string[] = []
  const origin = createServer((req, res) => {
    events.push(`${req.method} asked`)
    setTimeout(() => {
      events.push(`${req.method} answered`)
      res.end()
    }, 50)
  })
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const { proxy, port, records } = await startProxy(portOf(origin))
  const one = (method: string, more = '') => `${method} / HTTP/1.1\r\nHost: s\r\n${more}\r\n`
  await exchangeBytes(port, [one('PUT') + one('DELETE') + one('GET', 'Connection: close\r\n')])
  t.same(events, ['PUT asked', 'PUT answered', 'DELETE asked', 'DELETE answered', 'GET asked', 'GET answered'])
  t.ok(await waitUntil(() => records.length === 3))
  t.ok((records[2]?.duration_ms ?? 0) >= 140, 'the wait for earlier responses is part of the duration')
  await proxy.close(100)
  origin.close()
})

t.test('an https origin must have a certificate for its configured name', async (t) => {
  const cert = readFileSync('test/site/proxy/fixtures/tls/first.cert.pem', 'utf8')
  const key = readFileSync('test/site/proxy/fixtures/tls/first.key.pem', 'utf8')
  const names: (string | false | null | undefined)[] = []
  const origin = createTlsServer({ cert, key }, (socket) => {
    names.push(socket.servername)
    socket.on('error', () => {})
    socket.on('data', (part) => {
      if (part.includes('GET /closed')) socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nsecret')
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret')
    })
  })
  origin.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const url = new URL(`https://localhost:${portOf(origin)}`)
  const known = await startProxy(0, { origin: url, originTls: { ca: cert } })
  for (const host of ['one.example', 'two.example']) {
    const { text } = await exchangeBytes(known.port, [`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`])
    t.ok(text.endsWith('secret'))
  }
  t.same(names, ['localhost'], 'one connection, whatever Host says')
  const closed = await exchangeBytes(known.port, ['GET /closed HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n'])
  t.ok(closed.text.endsWith('6\r\nsecret\r\n0\r\n\r\n'), 'a body that the close ends is whole')
  const unknown = await startProxy(0, { origin: url })
  t.match(
    (await exchangeBytes(unknown.port, ['GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'])).text,
    /^HTTP\/1\.1 502/,
  )
  await known.proxy.close(100)
  await unknown.proxy.close(100)
  origin.close()
})
