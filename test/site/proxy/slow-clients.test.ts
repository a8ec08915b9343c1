// The attack: a client costs the proxy more than itself. It leaves in the middle of a download and lets the origin go on; it
import { once } from 'node:events'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { openClient, request, startHttpOrigin } from './fixtures/slow-peers.js'
import { exchangeBytes, portOf, sleep, startProxy, startRawServer, waitUntil } from './fixtures/sockets.js'
import { parseStrictly } from './fixtures/strict-parser.js'

t.test('the origin learns that a client left', async (t) => {
  for (const [when, path, method, status] of [
    ['before the head', '/silent', 'GET', 499],
    ['in the body', '/stream', 'GET', 200],
    ['in its own upload', '/upload', 'POST', 499],
  ] as const) {
    let originLearned = false
    let asked = false
    const origin = await startHttpOrigin((req, res) => {
      asked = true
      req.resume()
      req.on('error', () => {})
      res.once('close', () => {
        originLearned = !res.writableFinished
      })
      if (req.url !== '/stream') return
      const more = setInterval(() => res.write('x'.repeat(1_000)), 10)
      res.once('close', () => clearInterval(more))
    })
    const { proxy, port, records } = await startProxy(origin.port)
    const lines = method === 'POST' ? 'Content-Length: 1000\r\n' : ''
    const socket = openClient(port, request(path, lines, method))
    if (method === 'POST') socket.write('half')
    await waitUntil(() => asked)
    if (path === '/stream') await once(socket, 'data')
    socket.destroy()
    t.ok(await waitUntil(() => originLearned), `${when}: the origin learns it`)
    t.ok(await waitUntil(() => records.length === 1), 'recorded once')
    t.equal(records[0]?.status, status, 'as what the client saw')
    t.equal(proxy.stats().active, 0)
    await proxy.close(100)
    origin.close()
  }
})

t.test('the origin learns that a client left an HTTP/2 stream or session', async (t) => {
  for (const path of ['/silent', '/stream']) {
    for (const whole of [false, true]) {
      let originLearned = false
      let asked = false
      const origin = await startHttpOrigin((req, res) => {
        asked = true
        res.once('close', () => {
          originLearned = !res.writableFinished
        })
        if (req.url !== '/stream') return
        const more = setInterval(() => res.write('x'.repeat(1_000)), 10)
        res.once('close', () => clearInterval(more))
      })
      const { proxy, records } = await startProxy(origin.port)
      const server = createHttp2Server(proxy.handler)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const session = connectHttp2(`http://127.0.0.1:${portOf(server)}`)
      const stream = session.request({ ':authority': 'site.example', ':path': path })
      stream.on('error', () => {})
      await waitUntil(() => asked)
      if (path === '/stream') await once(stream, 'data')
      if (whole) session.destroy()
      else stream.close(8)
      t.ok(await waitUntil(() => originLearned), `${path}: the origin learns it`)
      t.ok(await waitUntil(() => records.length === 1), 'recorded once')
      t.equal(records[0]?.status, path === '/silent' ? 499 : 200, 'as what the client saw')
      session.close()
      await proxy.close(100)
      await new Promise((resolve) => server.close(resolve))
      origin.close()
    }
  }
})

t.test('a client that does not read slows the origin down, and is cut in the end', async (t) => {
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
  const socket = openClient(port)
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
  t.ok(await waitUntil(() => records.length >= 2), 'cut')
  t.ok(await waitUntil(() => proxy.stats().active === 0))
  socket.destroy()
  await proxy.close(100)
  await origin.close()
})

t.test('an upload waits for a slow origin, and is cut when the client stalls', async (t) => {
  let taken = 0
  let goOn = () => {}
  const origin = await startRawServer((socket) => {
    socket.once('data', () => {
      socket.pause()
      goOn = () => void socket.resume()
    })
    socket.on('data', (part) => {
      taken += part.length
      if (taken >= 20e6) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  })
  const { proxy, port, records } = await startProxy(origin.port, { clientTimeout: 700 })
  const socket = openClient(port, request('/up', 'Content-Length: 20000000\r\nConnection: close\r\n', 'POST'))
  let text = ''
  socket.on('data', (part) => {
    text += part
  })
  for (let i = 0; i < 200; i++) socket.write(Buffer.alloc(100_000))
  await waitUntil(() => taken > 0)
  // Longer than a client may stall: here the origin does.
  await sleep(1_000)
  t.ok(taken < 1e6 && socket.writableLength > 5e6, `the client waits with ${socket.writableLength / 1e6} MB`)
  goOn()
  t.ok(await waitUntil(() => text.endsWith('ok')), 'and gets the response when all has arrived')
  await waitUntil(() => records.length === 1)
  records.length = 0
  taken = 0
  const { end, ms } = await exchangeBytes(port, [request('/up', 'Content-Length: 100\r\n', 'POST'), 'half'])
  t.not(end, 'open', `cut after ${Math.round(ms)} ms`)
  t.ok(await waitUntil(() => records[0]?.status === 499))
  await proxy.close(100)
  await origin.close()
})

t.test('responds to Expect: 100-continue once the origin reads the body', async (t) => {
  const origin = await startHttpOrigin((req, res) => {
    req.resume()
    req.on('end', () => res.end('ok'))
  })
  const { proxy, port } = await startProxy(origin.port)
  const lines = 'Content-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n'
  const parts = [request('/', lines, 'POST'), /100 Continue\r\n\r\n/, 'hello']
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

/** Asks 50 times, and returns the median of the milliseconds. */
async function medianOf50(t: Test, port: number): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 50; i++) {
    const { text, ms } = await exchangeBytes(port, [request('/', 'Connection: close\r\n')])
    if (!text.endsWith('ok')) t.fail(`answered ${text}`)
    times.push(ms)
  }
  return times.sort((a, b) => a - b)[25] ?? 0
}

t.test('serves other clients beside 2,000 idle connections and 500 slow heads', async (t) => {
  const origin = await startHttpOrigin((_, res) => void res.end('ok'))
  const { proxy, port } = await startProxy(origin.port, { requestHeadTimeout: 1_000 })
  const alone = await medianOf50(t, port)
  const sockets: Socket[] = []
  let open = 0
  let closed = 0
  for (let i = 0; i < 2_500; i++) {
    const socket = openClient(port)
    socket.once('connect', () => {
      open += 1
      socket.write(i < 2_000 ? request('/') : 'GET / HTTP/1.1\r\nHost: s\r\nX: ')
    })
    socket.once('close', () => {
      closed += 1
    })
    socket.resume()
    sockets.push(socket)
    if (i % 250 === 249) await waitUntil(() => open === i + 1)
  }
  t.equal(open, 2_500)
  const beside = await medianOf50(t, port)
  t.ok(beside < 10 * alone + 100, `${Math.round(beside)} ms, and ${Math.round(alone)} ms without them`)
  t.ok(await waitUntil(() => closed === 500), `${closed} slow heads are cut`)
  for (const socket of sockets) socket.destroy()
  await proxy.close(500)
  origin.close()
})

t.test('a listener full of idle connections still takes a client that sends a request', async (t) => {
  const origin = await startHttpOrigin((_, res) => res.end('page'))
  const { proxy, port } = await startProxy(origin.port, { maxConnections: 20 })
  const idle = Array.from({ length: 30 }, () => openClient(port, request('/')))
  t.ok(await waitUntil(() => idle.every((socket) => socket.resume().closed)), 'idle ones are closed')
  let answered = 0
  for (let n = 0; n < 3; n++) {
    const asking = openClient(port, request('/', 'Connection: close\r\n'))
    const gone = new Promise((resolve) => asking.once('close', resolve))
    asking.on('data', (data) => {
      if (String(data).startsWith('HTTP/1.1 200')) answered++
    })
    await gone
  }
  t.equal(answered, 3)
  await proxy.close(100)
  origin.close()
})

t.test('close lets running exchanges finish', async (t) => {
  const asked: string[] = []
  let answerSlow = () => {}
  const origin = await startHttpOrigin((req, res) => {
    asked.push(req.url ?? '')
    if (req.url === '/slow') answerSlow = () => void res.end('done')
    else if (req.url !== '/forever') res.end('done')
  })
  const first = await startProxy(origin.port)
  const idle = openClient(first.port, request('/idle'))
  await once(idle, 'data')
  const running = exchangeBytes(first.port, [request('/slow')])
  await waitUntil(() => asked.includes('/slow'))
  let isClosed = false
  const closing = first.proxy.close(60_000).then(() => {
    isClosed = true
  })
  await once(idle, 'close')
  t.notOk(isClosed, 'an exchange runs')
  answerSlow()
  t.ok(await waitUntil(() => isClosed), 'as long as the last exchange, and no longer')
  await closing
  const { text, end } = await running
  t.ok(text.includes('done') && end === 'closed')
  t.match(text, /\r\nConnection: close\r\n/i, 'and the client sees Connection: close')
  t.equal((await exchangeBytes(first.port, [request('/')])).text, '', 'nothing new is taken')

  const second = await startProxy(origin.port)
  const stuck = exchangeBytes(second.port, [request('/forever')])
  await waitUntil(() => asked.includes('/forever'))
  const again = performance.now()
  await second.proxy.close(300)
  t.ok(performance.now() - again < 10_000, 'not for ever')
  t.not((await stuck).end, 'open')
  origin.close()
})

t.test('a recorder that throws does not break the site', async (t) => {
  const origin = await startHttpOrigin((_, res) => void res.end('ok'))
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
