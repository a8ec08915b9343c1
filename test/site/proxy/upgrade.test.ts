import { once } from 'node:events'
import t from 'tap'
import { WebSocket } from 'ws'
import { waitFor } from './fixtures/sockets.js'
import {
  openRawClient,
  SWITCHING,
  startFront,
  startRawOrigin,
  startWebSocketOrigin,
  UPGRADE_REQUEST,
} from './fixtures/upgrades.js'

t.test('relays WebSockets', async (t) => {
  const origin = await startWebSocketOrigin(t)
  const { port, records, upgrader } = await startFront(t, origin.port)
  const open = (path: string) => new WebSocket(`ws://127.0.0.1:${port}${path}`, { maxPayload: 32 << 20 })
  const echo = async (message: string | Buffer) => {
    const socket = open('/')
    await once(socket, 'open')
    socket.send(message)
    const [data, binary] = await once(socket, 'message')
    socket.close()
    await once(socket, 'close')
    return { data: Buffer.from(data), binary }
  }
  const big = Buffer.alloc(8 << 20, 'abcdefg')
  t.same(await echo('hällo'), { data: Buffer.from('hällo'), binary: false }, 'text')
  t.same(await echo(Buffer.from([0, 255, 13, 10])), { data: Buffer.from([0, 255, 13, 10]), binary: true }, 'binary')
  t.ok((await echo(big)).data.equals(big), '8 MB in a frame')
  const many = await Promise.all(Array.from({ length: 10 }, (_, i) => echo(`message ${i}`)))
  t.same(
    many.map(({ data }) => data.toString()),
    Array.from({ length: 10 }, (_, i) => `message ${i}`),
    '10 at once',
  )

  const closing = open('/bye')
  const [code, reason] = await once(closing, 'close')
  t.same([code, String(reason)], [4001, 'bye'], "the origin's close code and reason")

  const socket = open('/headers')
  const [headers] = await once(socket, 'message')
  t.match(JSON.parse(String(headers)), {
    host: `127.0.0.1:${port}`,
    'x-forwarded-for': '127.0.0.1',
    connection: 'Upgrade',
    upgrade: 'websocket',
  })
  socket.close()
  await once(socket, 'close')

  const refused = open('/no')
  refused.on('error', () => {})
  const [, response] = await once(refused, 'unexpected-response')
  t.equal(response.statusCode, 401, 'the client sees the refusal')
  let body = ''
  for await (const chunk of response) body += chunk
  t.equal(body, 'go away')

  await waitFor('all observations', () => records.length === 16)
  t.equal(records.filter(({ status }) => status === 101).length, 15)
  // RFC 6455 5.2: a text frame of 6 bytes has a head of 2, a close frame without a code is 2.
  t.match(records[0], {
    status: 101,
    bytes: 2 + 6 + 2,
    pathname: '/',
    hostname: '127.0.0.1',
    method: 'GET',
    ip: '127.0.0.1',
    content_type: '',
  })
  t.match(
    records.find(({ pathname }) => pathname === '/no'),
    { status: 401, bytes: 7, content_type: 'text/html' },
  )
  t.match(upgrader.stats(), { open: 0, waiting: 0, switched: 15, refused: 1, failed: 0 })
  await waitFor("the origin's sockets to be gone", () => origin.sockets.clients.size === 0)
})

t.test('keeps case, order and duplicates of headers, and removes those of a connection', async (t) => {
  const origin = await startRawOrigin(t, (socket) =>
    socket.end(
      'HTTP/1.1 401 No\r\nX-One: 1\r\nset-cookie: a=1\r\nSET-COOKIE: b=2\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n',
    ),
  )
  const { port } = await startFront(t, origin.port)
  const client = openRawClient(
    t,
    port,
    'GET //a/../b;x=%2F?q=1?2 HTTP/1.1\r\nhOsT: a\r\nX-Two: 1\r\nx-two: 2\r\nConnection: Upgrade, X-Mine\r\nX-Mine: secret\r\nTE: trailers\r\nProxy-Authorization: x\r\nUpgrade: WebSocket\r\nCookie: \xe4\r\n\r\n',
  )
  await client.over()
  t.equal(
    origin.heads[0],
    'GET //a/../b;x=%2F?q=1?2 HTTP/1.1\r\nHost: a\r\nX-Two: 1\r\nx-two: 2\r\nCookie: \xc3\xa4\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\nConnection: Upgrade\r\nUpgrade: WebSocket',
  )
  t.equal(
    client.text(),
    'HTTP/1.1 401 No\r\nX-One: 1\r\nset-cookie: a=1\r\nSET-COOKIE: b=2\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
  )
})

t.test('loses no first bytes', async (t) => {
  const origin = await startRawOrigin(t, (socket, rest) => {
    socket.write(`${SWITCHING}first words`)
    if (rest.length > 0) socket.write(rest)
    socket.on('data', (chunk) => socket.write(chunk))
  })
  const { port } = await startFront(t, origin.port)
  const client = openRawClient(t, port, `${UPGRADE_REQUEST}early bytes`)
  await waitFor('both', () => client.text().includes('first words') && client.text().includes('early bytes'))
  t.ok(
    client.text().endsWith('\r\n\r\nfirst wordsearly bytes'),
    "the origin's bytes after its 101, the client's bytes after its request",
  )
  client.socket.write(' and later')
  await waitFor('later', () => client.text().endsWith(' and later'))

  const late = await startRawOrigin(t, (socket, rest) => {
    let got = rest.length
    socket.on('data', (chunk) => {
      got += chunk.length
      if (got === 300_000) socket.write(`all ${got}`)
    })
    setTimeout(() => socket.write(SWITCHING), 100)
  })
  const second = await startFront(t, late.port)
  const eager = openRawClient(t, second.port, UPGRADE_REQUEST, Buffer.alloc(300_000, 'x'))
  await waitFor('all early bytes', () => eager.text().endsWith('all 300000'))
  t.pass('300 KB sent before the 101 arrive after it')
})

t.test('relays an origin that sends and closes in one packet', async (t) => {
  const origin = await startRawOrigin(t, (socket) => socket.end(`${SWITCHING}goodbye`))
  const { port, records } = await startFront(t, origin.port)
  const client = openRawClient(t, port, UPGRADE_REQUEST)
  await client.over()
  t.equal(client.text(), `${SWITCHING}goodbye`)
  client.socket.end()
  await waitFor('closed', () => client.state.closed)
  t.notOk(client.state.failed, 'a clean end')
  await waitFor('observed', () => records.length === 1)
  t.match(records[0], { status: 101, bytes: 7, pathname: '/chat', query: 'room=1', hostname: 'site.example' })
})

t.test('passes a half-close in both directions', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    let got = ''
    socket.write(SWITCHING)
    socket.on('data', (chunk) => {
      got += chunk
    })
    socket.on('end', () => socket.end(`you said ${got}`))
  })
  const { port } = await startFront(t, origin.port)
  const client = openRawClient(t, port, UPGRADE_REQUEST)
  await waitFor('101', () => client.text() === SWITCHING)
  client.socket.end('question')
  await client.over()
  t.equal(client.text(), `${SWITCHING}you said question`, 'client first')

  let received = ''
  const other = await startRawOrigin(t, (socket) => {
    socket.end(`${SWITCHING}done`)
    socket.on('data', (chunk) => {
      received += chunk
    })
  })
  const second = await startFront(t, other.port)
  const slow = openRawClient(t, second.port, UPGRADE_REQUEST)
  await slow.over()
  slow.socket.end('still here')
  await waitFor('the rest', () => received === 'still here')
  await waitFor('all closed', () => slow.state.closed && other.sockets.every((socket) => socket.destroyed))
  t.equal(second.upgrader.stats().open, 0, 'origin first')
})

t.test('relays protocols other than WebSocket', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.write('HTTP/1.1 101 Fine\r\nConnection: Upgrade\r\nUpgrade: Chat/2\r\nX-A: 1\r\nX-A: 2\r\n\r\nhi')
    socket.pipe(socket)
  })
  const { port } = await startFront(t, origin.port)
  const client = openRawClient(t, port, UPGRADE_REQUEST.replace('websocket', 'chat/2, chat/1'))
  await waitFor('the tunnel', () => client.text().endsWith('hi'))
  t.equal(client.text(), 'HTTP/1.1 101 Fine\r\nX-A: 1\r\nX-A: 2\r\nConnection: Upgrade\r\nUpgrade: Chat/2\r\n\r\nhi')
  client.socket.write(Buffer.from([0, 1, 2, 255]))
  await waitFor('the echo', () => client.text().endsWith('\x00\x01\x02\xff'))
})

t.test('close ends what is open and records it', async (t) => {
  const origin = await startRawOrigin(t, (socket, _rest, head) => {
    if (head.startsWith('GET /chat')) socket.write(SWITCHING)
    socket.resume()
  })
  const { port, records, upgrader } = await startFront(t, origin.port)
  const open = openRawClient(t, port, UPGRADE_REQUEST)
  const waiting = openRawClient(t, port, UPGRADE_REQUEST.replace('/chat', '/wait'))
  await waitFor('both', () => open.text() === SWITCHING && upgrader.stats().waiting === 1)
  t.match(upgrader.stats(), { open: 1, waiting: 1 })
  await upgrader.close()
  t.same(records.map(({ status }) => status).sort(), [101, 499])
  await waitFor('closed', () => open.state.closed || open.state.ended)
  await waitFor('closed', () => waiting.state.closed || waiting.state.ended)
  t.match(upgrader.stats(), { open: 0, waiting: 0 })
})

t.test('close gives a tunnel its grace period', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.write(SWITCHING)
    setTimeout(() => socket.end('last words'), 150)
  })
  const { port, records, upgrader } = await startFront(t, origin.port)
  const client = openRawClient(t, port, UPGRADE_REQUEST)
  client.socket.once('end', () => client.socket.end())
  await waitFor('the tunnel', () => client.text() === SWITCHING)
  const started = Date.now()
  await upgrader.close(3000)
  t.ok(Date.now() - started < 2000, 'and no longer than needed')
  t.equal(client.text(), `${SWITCHING}last words`)
  t.match(records, [{ status: 101, bytes: 10 }])
})

t.test('a recorder that throws does not break the site', async (t) => {
  const origin = await startWebSocketOrigin(t)
  const { port, errors } = await startFront(t, origin.port, {
    record: () => {
      throw new Error('recorder')
    },
  })
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`)
  await once(socket, 'open')
  socket.close()
  await once(socket, 'close')
  await waitFor('the fault', () => errors.length === 1)
  t.same(errors, ['fault'])
})
