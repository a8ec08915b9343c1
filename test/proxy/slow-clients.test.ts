import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { connect, createServer as createRawServer, type Socket } from 'node:net'
import t from 'tap'
import { exchangeBytes, portOf, sleep, startProxy, startRawServer, waitUntil } from './fixtures/sockets.js'
import { parseStrictly } from './fixtures/strict-parser.js'

const request = (path: string, lines = '', method = 'GET') => `${method} ${path} HTTP/1.1\r\nHost: s\r\n${lines}\r\n`

async function httpOrigin(serve: (req: IncomingMessage, res: ServerResponse) => void) {
  const server = createServer(serve)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { port: portOf(server), close }
}

/** A client that never reads unless told; errors are part of the game. */
function client(port: number, first = ''): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  if (first !== '') socket.write(first, 'latin1')
  return socket
}

t.test('a client that leaves is told to the origin', async (t) => {
  for (const [when, path, method, status] of [
    ['before the head', '/silent', 'GET', 499],
    ['in the body', '/stream', 'GET', 200],
    ['in its own upload', '/upload', 'POST', 499],
  ] as const) {
    let told = 0
    let asked = false
    const origin = await httpOrigin((req, res) => {
      asked = true
      req.resume()
      req.on('error', () => {})
      res.once('close', () => {
        if (!res.writableFinished) told = performance.now()
      })
      if (req.url !== '/stream') return
      const more = setInterval(() => res.write('x'.repeat(1_000)), 10)
      res.once('close', () => clearInterval(more))
    })
    const { proxy, port, records } = await startProxy(origin.port)
    const lines = method === 'POST' ? 'Content-Length: 1000\r\n' : ''
    const socket = client(port, request(path, lines, method))
    if (method === 'POST') socket.write('half')
    await waitUntil(() => asked)
    await sleep(50)
    const left = performance.now()
    socket.destroy()
    t.ok(await waitUntil(() => told > 0, 5_000), `${when}: told`)
    t.ok(told - left < 5_000, `${when}: after ${Math.round(told - left)} ms`)
    t.ok(await waitUntil(() => records.length === 1), 'recorded once')
    t.equal(records[0]?.status, status, 'as what the client saw')
    t.equal(proxy.stats().active, 0)
    await proxy.close(100)
    origin.close()
  }
})

t.test('so is one that leaves a stream of HTTP/2, or the session', async (t) => {
  for (const path of ['/silent', '/stream']) {
    for (const whole of [false, true]) {
      let told = false
      let asked = false
      const origin = await httpOrigin((req, res) => {
        asked = true
        res.once('close', () => {
          told = !res.writableFinished
        })
        if (req.url !== '/stream') return
        const more = setInterval(() => res.write('x'.repeat(1_000)), 10)
        res.once('close', () => clearInterval(more))
      })
      const { proxy, records } = await startProxy(origin.port)
      const server = createHttp2Server(proxy.handler)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const session = connectHttp2(`http://127.0.0.1:${portOf(server)}`)
      const stream = session.request({ ':authority': 'site.example', ':path': path }).resume()
      stream.on('error', () => {})
      await waitUntil(() => asked)
      await sleep(50)
      if (whole) session.destroy()
      else stream.close(8)
      t.ok(await waitUntil(() => told, 1_000), `${path}: told`)
      t.ok(await waitUntil(() => records.length === 1), 'recorded once')
      t.equal(records[0]?.status, path === '/silent' ? 499 : 200, 'as what the client saw')
      session.close()
      await proxy.close(100)
      await new Promise((resolve) => server.close(resolve))
      origin.close()
    }
  }
})

t.test('a client that does not read holds the origin back, and is cut in the end', async (t) => {
  let sent = 0
  const origin = await startRawServer((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n')
      const part = Buffer.alloc(100_000)
      const push = () => {
        while (sent < 1e9 && socket.writable) {
          sent += part.length
          if (!socket.write(part)) break
        }
      }
      socket.on('drain', push)
      push()
    })
  })
  const { proxy, port, records } = await startProxy(origin.port, { clientTimeout: 1_500 })
  const before = process.memoryUsage().rss
  const socket = client(port)
  socket.pause()
  socket.write(request('/big'))
  await sleep(1_000)
  const grown = (process.memoryUsage().rss - before) / 1e6
  t.ok(sent < 50e6, `${sent / 1e6} MB taken of 1,000: what the kernel holds`)
  t.ok(grown < 60, `${Math.round(grown)} MB of memory`)
  t.equal(
    (await exchangeBytes(port, [request('/', 'Connection: close\r\n')], { done: (text) => text.length > 100 })).end,
    'open',
  )
  t.ok(await waitUntil(() => records.length >= 2, 6_000), 'cut')
  t.ok(await waitUntil(() => proxy.stats().active === 0))
  socket.destroy()
  await proxy.close(100)
  await origin.close()
})

t.test('a reset of the origin while its client is behind does not end the process, and is no success', async (t) => {
  // The answer is said to close and has no length, its client does not read, and still uploads: the reset meets a
  // write. undici takes it for the end of the body, and asserts that nobody had paused it.
  const origin = createRawServer({ pauseOnConnect: true }, (socket) => {
    socket.on('error', () => {})
    setTimeout(() => {
      socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n')
      for (let i = 0; i < 20; i++) socket.write(Buffer.alloc(1_000_000))
      // With the request unread, closing is a reset.
      setTimeout(() => socket.destroy(), 300)
    }, 50)
  })
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const { proxy, port, records } = await startProxy(portOf(origin))
  const socket = client(port, request('/', 'Content-Length: 1000000\r\n', 'POST'))
  const upload = setInterval(() => socket.writable && socket.write('x'.repeat(1_000)), 20)
  let last = ''
  let over = false
  socket.on('data', (part) => {
    last = part.subarray(-5).toString('latin1')
  })
  socket.on('close', () => {
    over = true
  })
  socket.pause()
  t.ok(await waitUntil(() => proxy.stats().failures.closed === 1, 3_000), 'seen as a failure')
  socket.resume()
  t.ok(await waitUntil(() => over), 'the client is cut')
  clearInterval(upload)
  t.not(last, '0\r\n\r\n', 'before the end of its body')
  t.equal(records[0]?.status, 200, 'the status that it got')
  await proxy.close(100)
  origin.close()
})

t.test('a reset with bytes still unread is not the end of a body without a length', async (t) => {
  const origin = createRawServer({ pauseOnConnect: true }, (socket) => {
    socket.on('error', () => {})
    setTimeout(() => {
      socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n')
      for (let i = 0; i < 20; i++) socket.write(Buffer.alloc(1_000_000))
      setTimeout(() => socket.destroy(), 200)
    }, 50)
  })
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const { proxy, port } = await startProxy(portOf(origin))
  for (const version of ['1.0', '1.1']) {
    const socket = client(port)
    let last = ''
    let end = ''
    socket.on('data', (part) => {
      last = part.subarray(-5).toString('latin1')
    })
    let reset = false
    socket.on('end', () => {
      // This client, too, may be told of an end.
      reset = socket.remoteAddress === undefined
    })
    socket.on('close', (failed) => {
      end = failed || reset ? 'reset' : 'closed'
    })
    socket.pause()
    socket.write(`GET / HTTP/${version}\r\nHost: s\r\n\r\n`)
    await sleep(500)
    socket.resume()
    t.ok(await waitUntil(() => end !== ''))
    if (version === '1.0') t.equal(end, 'reset', 'the only sign that HTTP/1.0 leaves')
    else t.not(last, '0\r\n\r\n', 'no last chunk')
  }
  t.equal(proxy.stats().failures.closed, 2)
  await proxy.close(100)
  origin.close()
})

t.test('an upload: held back by the origin, cut when the client stalls', async (t) => {
  let taken = 0
  const origin = await startRawServer((socket) => {
    socket.once('data', () => {
      socket.pause()
      setTimeout(() => socket.resume(), 400)
    })
    socket.on('data', (part) => {
      taken += part.length
      if (taken >= 20e6) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  })
  const { proxy, port, records } = await startProxy(origin.port, { clientTimeout: 700 })
  const socket = client(port, request('/up', 'Content-Length: 20000000\r\nConnection: close\r\n', 'POST'))
  let text = ''
  socket.on('data', (part) => {
    text += part
  })
  for (let i = 0; i < 200; i++) socket.write(Buffer.alloc(100_000))
  await sleep(200)
  t.ok(taken < 1e6 && socket.writableLength > 5e6, `the client waits with ${socket.writableLength / 1e6} MB`)
  t.ok(await waitUntil(() => text.endsWith('ok'), 5_000), 'and is answered when all is there')
  records.length = 0
  taken = 0
  const { end, ms } = await exchangeBytes(port, [request('/up', 'Content-Length: 100\r\n', 'POST'), 'half'], {
    ms: 4_000,
  })
  t.not(end, 'open', `cut after ${Math.round(ms)} ms`)
  t.ok(await waitUntil(() => records[0]?.status === 499))
  await proxy.close(100)
  await origin.close()
})

t.test('Expect: 100-continue', async (t) => {
  const origin = await httpOrigin((req, res) => {
    req.resume()
    req.on('end', () => res.end('ok'))
  })
  const { proxy, port } = await startProxy(origin.port)
  const lines = 'Content-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n'
  const parts = [request('/', lines, 'POST'), 100, 'hello']
  const { messages } = parseStrictly((await exchangeBytes(port, parts)).text, 'response')
  t.same(
    messages.map(({ start }) => start),
    ['HTTP/1.1 100 Continue', 'HTTP/1.1 200 OK'],
  )
  origin.close()
  const down = await exchangeBytes(port, [request('/', lines, 'POST')])
  t.match(down.text, /^HTTP\/1\.1 502/, 'nothing is asked for that would go nowhere')
  await proxy.close(100)
})

t.test('an origin that closes behind its answer while the client is behind', async (t) => {
  const body = 'z'.repeat(200_000)
  const origin = await startRawServer((socket) => {
    socket.on('data', (part) => {
      const [, path] = String(part).split(' ')
      const length = path === '/close' ? '' : `Content-Length: ${path === '/short' ? 300_000 : body.length}\r\n`
      const close = path === '/length' ? '' : 'Connection: close\r\n'
      socket.end(`HTTP/1.1 200 OK\r\n${length}${close}\r\n${body}`)
    })
  })
  const { proxy } = await startProxy(origin.port)
  const server = createHttp2Server(proxy.handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const session = connectHttp2(`http://127.0.0.1:${portOf(server)}`)
  for (const [path, whole] of [
    ['/close', true],
    ['/length', true],
    ['/both', true],
    ['/short', false],
  ] as const) {
    const got = await new Promise<{ bytes: number; rst: number | undefined }>((resolve) => {
      const stream = session.request({ ':authority': 'site.example', ':path': path })
      let bytes = 0
      stream.setTimeout(2_000, () => stream.close(8))
      stream.on('data', (part: Buffer) => {
        bytes += part.length
      })
      stream.on('error', () => {})
      stream.on('close', () => resolve({ bytes, rst: stream.rstCode }))
    })
    if (whole) t.same(got, { bytes: body.length, rst: 0 }, path)
    else t.equal(got.rst, 2, 'what is not whole is reset at once')
  }
  t.equal(proxy.stats().active, 0)
  session.close()
  await proxy.close(100)
  await new Promise((resolve) => server.close(resolve))
  await origin.close()
})

t.test('a head is there while the origin pauses behind it', async (t) => {
  let release = () => {}
  const page = '<!doctype html><head></head>'
  const origin = await startRawServer((socket) => {
    socket.on('data', (part) => {
      const [, path = ''] = String(part).split(' ')
      const type = path === '/events' ? 'text/event-stream' : path === '/page' ? 'text/html' : 'image/png'
      const length = path === '/events' ? '' : `Content-Length: ${page.length}\r\n`
      socket.write(`HTTP/1.1 200 OK\r\nX-Name: Zo\xeb\r\nContent-Type: ${type}\r\n${length}\r\n`, 'latin1')
      release = () => socket.end(page)
    })
  })
  const { proxy, port } = await startProxy(origin.port, { scriptFor: () => '/script.js?site=1' })
  for (const version of ['1.1', '1.0']) {
    for (const path of ['/events', '/image', '/page']) {
      let early = ''
      const { text } = await exchangeBytes(
        port,
        [`GET ${path} HTTP/${version}\r\nHost: a\r\nConnection: close\r\n\r\n`],
        {
          done(sofar) {
            if (early === '' && sofar.endsWith('\r\n\r\n')) {
              early = sofar
              release()
            }
            return false
          },
        },
      )
      t.match(early, /^HTTP\/1.1 200 OK\r\nX-Name: Zo\xeb\r\n/, `${path} to HTTP/${version}: there before the body is`)
      t.match(text, path === '/page' ? '<head><script defer src="/script.js?site=1"></script></head>' : page, path)
    }
  }
  await proxy.close(100)
  await origin.close()
})

t.test('server-sent events arrive one by one', async (t) => {
  const origin = await httpOrigin((_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    let n = 0
    const more = setInterval(() => res.write(`data: ${n++} ${performance.now()}\n\n`), 50)
    res.once('close', () => clearInterval(more))
  })
  const { proxy, port, records } = await startProxy(origin.port)
  const delays: number[] = []
  const req = get({ port, path: '/events' }, (res) => {
    res.on('data', (part: Buffer) => delays.push(performance.now() - Number(part.toString().split(' ')[2])))
    res.on('error', () => {})
  })
  req.on('error', () => {})
  t.ok(await waitUntil(() => delays.length >= 10))
  t.ok(Math.max(...delays.slice(1)) < 50, `at most ${Math.round(Math.max(...delays))} ms late`)
  req.destroy()
  t.ok(await waitUntil(() => records.length === 1))
  t.match(records[0], { status: 200, content_type: 'text/event-stream' })
  await proxy.close(100)
  origin.close()
})

t.test('2,000 idle connections and 500 slow heads; the others are answered', async (t) => {
  const origin = await httpOrigin((_, res) => void res.end('ok'))
  const { proxy, port } = await startProxy(origin.port, { requestHeadTimeout: 1_000 })
  const sockets: Socket[] = []
  let open = 0
  let closed = 0
  for (let i = 0; i < 2_500; i++) {
    const socket = client(port)
    socket.once('connect', () => {
      open += 1
      socket.write(i < 2_000 ? request('/') : 'GET / HTTP/1.1\r\nHost: s\r\nX: ')
    })
    socket.once('close', () => {
      closed += 1
    })
    socket.resume()
    sockets.push(socket)
    if (i % 250 === 249) await waitUntil(() => open === i + 1, 5_000)
  }
  t.equal(open, 2_500)
  const slow: number[] = []
  for (let i = 0; i < 50; i++) {
    const { text, ms } = await exchangeBytes(port, [request('/', 'Connection: close\r\n')])
    if (!text.endsWith('ok')) t.fail(`answered ${text}`)
    slow.push(ms)
  }
  slow.sort((a, b) => a - b)
  t.ok((slow[44] ?? 0) < 100, `nine of ten within ${Math.round(slow[44] ?? 0)} ms`)
  t.ok(await waitUntil(() => closed === 500, 5_000), `${closed} slow heads are cut`)
  for (const socket of sockets) socket.destroy()
  await proxy.close(500)
  origin.close()
})

t.test('closing: what runs is finished, then it is over', async (t) => {
  const origin = await httpOrigin((req, res) => {
    if (req.url !== '/forever') setTimeout(() => res.end('done'), 300)
  })
  const first = await startProxy(origin.port)
  const idle = client(first.port, request('/idle'))
  await sleep(400)
  const running = exchangeBytes(first.port, [request('/slow')])
  await sleep(50)
  const started = performance.now()
  await first.proxy.close(5_000)
  const took = performance.now() - started
  t.ok(took > 100 && took < 2_000, `as long as the last exchange: ${Math.round(took)} ms`)
  const { text, end } = await running
  t.ok(text.includes('done') && end === 'closed')
  t.match(text, /\r\nConnection: close\r\n/i, 'and the client is told')
  t.equal((await exchangeBytes(first.port, [request('/')])).text, '', 'nothing new is taken')
  idle.destroy()

  const second = await startProxy(origin.port)
  const stuck = exchangeBytes(second.port, [request('/forever')])
  await sleep(50)
  const again = performance.now()
  await second.proxy.close(300)
  t.ok(performance.now() - again < 10_000, 'not for ever')
  t.not((await stuck).end, 'open')
  origin.close()
})

t.test('a recorder that throws does not touch the site', async (t) => {
  const origin = await httpOrigin((_, res) => void res.end('ok'))
  const { proxy, port } = await startProxy(origin.port, {
    record: () => {
      throw new Error('recorder')
    },
  })
  for (let i = 0; i < 3; i++)
    t.ok((await exchangeBytes(port, [request('/', 'Connection: close\r\n')])).text.endsWith('ok'))
  await proxy.close(100)
  origin.close()
})

t.test('a listener that is full of idle connections has a place for who asks', async (t) => {
  const origin = await httpOrigin((_, res) => res.end('page'))
  const { proxy, port } = await startProxy(origin.port, { maxConnections: 20 })
  const idle = Array.from({ length: 30 }, () => client(port, request('/')))
  await waitUntil(() => proxy.stats().requests >= 18)
  await sleep(200)
  let answered = 0
  for (let n = 0; n < 3; n++) {
    const asking = client(port, request('/', 'Connection: close\r\n'))
    const gone = new Promise((resolve) => asking.once('close', resolve))
    asking.on('data', (data) => {
      if (String(data).startsWith('HTTP/1.1 200')) answered++
    })
    await gone
  }
  t.equal(answered, 3)
  for (const socket of idle) socket.destroy()
  await proxy.close(100)
  origin.close()
})
