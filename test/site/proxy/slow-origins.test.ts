import { get } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { createServer as createRawServer } from 'node:net'
import t from 'tap'
import { openClient, request, startHttpOrigin } from './fixtures/slow-peers.js'
import { exchangeBytes, portOf, sleep, startProxy, startRawServer, waitFor, waitUntil } from './fixtures/sockets.js'

t.test('a reset of the origin during backpressure is a failure, and the process goes on', async (t) => {
  // The response has no length and ends by close; its client does not read but still uploads, so the reset meets a write.
  let isGone = false
  const origin = createRawServer({ pauseOnConnect: true }, (socket) => {
    socket.on('error', () => {})
    setTimeout(() => {
      socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n')
      for (let i = 0; i < 20; i++) socket.write(Buffer.alloc(1_000_000))
      // Closing with an unread request is a reset.
      setTimeout(() => socket.destroy(), 300)
      socket.on('close', () => {
        isGone = true
      })
    }, 50)
  })
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const { proxy, port, records } = await startProxy(portOf(origin))
  const socket = openClient(port, request('/', 'Content-Length: 1000000\r\n', 'POST'))
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
  await waitFor('the origin has gone', () => isGone)
  socket.resume()
  t.ok(await waitUntil(() => over), 'the client gets what came, and is cut')
  t.equal(proxy.stats().failures.closed, 1, 'counted as a failure')
  clearInterval(upload)
  t.not(last, '0\r\n\r\n', 'before the end of its body')
  t.equal(records[0]?.status, 200, 'the status that it got')
  await proxy.close(100)
  origin.close()
})

t.test('a reset with unread bytes is not the end of a body without a length', async (t) => {
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
    const socket = openClient(port)
    let last = ''
    let end = ''
    socket.on('data', (part) => {
      last = part.subarray(-5).toString('latin1')
    })
    let reset = false
    socket.on('end', () => {
      // libuv may report the reset as an end to this client too.
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

t.test('many small chunks wait for a slow client as one pause', async (t) => {
  const count = 60_000
  const origin = await startRawServer((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      // The client's kernel and the proxy hold the first of them.
      for (let i = 0; i < 100; i++) socket.write(`10000\r\n${'z'.repeat(65_536)}\r\n`)
      socket.write(`${'1\r\nx\r\n'.repeat(count)}0\r\n\r\n`)
    })
  })
  const { proxy, port } = await startProxy(origin.port)
  const warnings: Error[] = []
  const onWarning = (warning: Error) => void warnings.push(warning)
  process.on('warning', onWarning)
  const socket = openClient(port, request('/'))
  let received = 0
  socket.on('data', (part: Buffer) => {
    for (const byte of part) if (byte === 120) received += 1
  })
  socket.pause()
  for (let i = 0; i < 20; i++) {
    await sleep(20)
    socket.resume()
    await sleep(2)
    socket.pause()
  }
  socket.resume()
  t.ok(await waitUntil(() => received >= count), `${received} chunks`)
  t.same(warnings, [])
  process.off('warning', onWarning)
  socket.destroy()
  await proxy.close(100)
  await origin.close()
})

t.test('relays the whole response of an origin that closes during backpressure', async (t) => {
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
    else t.equal(got.rst, 2, 'an incomplete response is reset at once')
  }
  t.equal(proxy.stats().active, 0)
  session.close()
  await proxy.close(100)
  await new Promise((resolve) => server.close(resolve))
  await origin.close()
})

t.test('sends the head while the origin pauses after it', async (t) => {
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

t.test('relays server-sent events one by one', async (t) => {
  const origin = await startHttpOrigin((_, res) => {
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
