import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import type { Observation } from '../../src/capture/observation.js'
import { createUpgrader, type UpgradeOptions } from '../../src/proxy/upgrade.js'

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

const told = (socket: Socket): boolean => socket.readableEnded || socket.destroyed

interface World {
  port: number
  seen: Observation[]
  errors: string[]
  front: Server
  upgrader: ReturnType<typeof createUpgrader>
}

/** Our side: an http server whose ordinary requests say what they were, and the upgrader in front of `origin`. */
async function before(t: Test, originPort: number, options: Partial<UpgradeOptions> = {}): Promise<World> {
  const seen: Observation[] = []
  const errors: string[] = []
  const front = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const text = JSON.stringify({
        method: req.method,
        url: req.url,
        headers: req.rawHeaders,
        body: Buffer.concat(chunks).toString(),
      })
      setTimeout(() => res.end(text), Number(new URL(req.url ?? '/', 'http://x').searchParams.get('wait') ?? 0))
    })
  })
  const upgrader = createUpgrader({
    origin: new URL(`http://127.0.0.1:${originPort}`),
    clientAddress: (req) => req.socket.remoteAddress ?? '',
    handleAsOrdinary: (socket) => {
      front.emit('connection', socket)
    },
    record: (observation) => seen.push(observation),
    onError: (kind) => errors.push(kind),
    ...options,
  })
  front.on('upgrade', upgrader.upgrade)
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  t.teardown(async () => {
    front.close()
    front.closeAllConnections()
    await upgrader.close()
  })
  return { port: portOf(front), seen, errors, front, upgrader }
}

interface Origin {
  port: number
  sockets: Socket[]
  heads: string[]
  server: TcpServer
}

/** An origin of raw bytes: `script` runs once the request's head has been read, with whatever came after it. */
async function rawOrigin(t: Test, script: (socket: Socket, rest: Buffer, head: string) => void): Promise<Origin> {
  const sockets: Socket[] = []
  const heads: string[] = []
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    let read = Buffer.alloc(0)
    const onData = (chunk: Buffer) => {
      read = Buffer.concat([read, chunk])
      const end = read.indexOf('\r\n\r\n')
      if (end < 0) return
      socket.off('data', onData)
      const head = read.subarray(0, end).toString('latin1')
      heads.push(head)
      script(socket, read.subarray(end + 4), head)
    }
    socket.on('data', onData)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { port: portOf(server), sockets, heads, server }
}

/** A client of raw bytes. */
function rawClient(t: Test, port: number, ...writes: (string | Buffer)[]) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const chunks: Buffer[] = []
  const state = { ended: false, closed: false, failed: false }
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.on('end', () => {
    state.ended = true
  })
  socket.on('error', () => {
    state.failed = true
  })
  socket.on('close', () => {
    state.closed = true
  })
  for (const bytes of writes) socket.write(bytes)
  t.teardown(() => socket.destroy())
  const text = () => Buffer.concat(chunks).toString('latin1')
  return { socket, state, text, over: () => until('the connection to end', () => state.ended || state.closed) }
}

/** The body of one whole answer, by its own framing; throws where that is ambiguous, cut or followed by more. */
function bodyOf(answer: string): string {
  const end = answer.indexOf('\r\n\r\n') + 4
  const head = answer.slice(0, end).toLowerCase()
  let rest = answer.slice(end)
  const lengths = [...head.matchAll(/\r\ncontent-length: (\d+)\r\n/g)]
  const chunked = head.includes('\r\ntransfer-encoding: chunked\r\n')
  if (!chunked) {
    if (lengths.length > 1 || rest.length !== Number(lengths[0]?.[1] ?? 0)) throw new Error(`framing: ${answer}`)
    return rest
  }
  if (lengths.length > 0) throw new Error(`two framings: ${answer}`)
  let body = ''
  for (;;) {
    const line = /^([0-9a-f]+)\r\n/.exec(rest)
    if (!line) throw new Error(`no chunk: ${answer}`)
    const size = Number.parseInt(line[1] ?? '', 16)
    const from = line[0].length
    if (rest.slice(from + size, from + size + 2) !== '\r\n') throw new Error(`chunk: ${answer}`)
    if (size === 0 && rest.length !== from + 2) throw new Error(`more: ${answer}`)
    if (size === 0) return body
    body += rest.slice(from, from + size)
    rest = rest.slice(from + size + 2)
  }
}

const WISH =
  'GET /chat?room=1 HTTP/1.1\r\nHost: Site.example:8080\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n'
const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

async function webSocketOrigin(t: Test) {
  const server = createServer()
  const sockets = new WebSocketServer({
    server,
    maxPayload: 32 << 20,
    verifyClient: ({ req }: { req: IncomingMessage }, answer: (ok: boolean, code?: number, text?: string) => void) =>
      req.url === '/no' ? answer(false, 401, 'go away') : answer(true),
  })
  sockets.on('connection', (socket, req) => {
    if (req.url === '/bye') return socket.close(4001, 'bye')
    if (req.url === '/headers') return socket.send(JSON.stringify(req.headers))
    socket.on('message', (data, binary) => socket.send(data, { binary }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.close()
  })
  return { port: portOf(server), sockets }
}

t.test('WebSockets', async (t) => {
  const origin = await webSocketOrigin(t)
  const { port, seen, upgrader } = await before(t, origin.port, {
    // A rewrite that leaves Host out: the client's is kept.
    requestHeaders: (req) => [
      ...req.rawHeaders.filter((_, i, all) => all[i - (i % 2)]?.toLowerCase() !== 'host'),
      'X-Forwarded-For',
      '192.0.2.1',
    ],
  })
  const dial = (path: string) => new WebSocket(`ws://127.0.0.1:${port}${path}`, { maxPayload: 32 << 20 })
  const talk = async (message: string | Buffer) => {
    const socket = dial('/')
    await once(socket, 'open')
    socket.send(message)
    const [data, binary] = await once(socket, 'message')
    socket.close()
    await once(socket, 'close')
    return { data: Buffer.from(data), binary }
  }
  const big = Buffer.alloc(8 << 20, 'abcdefg')
  t.same(await talk('hällo'), { data: Buffer.from('hällo'), binary: false }, 'text')
  t.same(await talk(Buffer.from([0, 255, 13, 10])), { data: Buffer.from([0, 255, 13, 10]), binary: true }, 'binary')
  t.ok((await talk(big)).data.equals(big), '8 MB in a frame')
  const many = await Promise.all(Array.from({ length: 10 }, (_, i) => talk(`message ${i}`)))
  t.same(
    many.map(({ data }) => data.toString()),
    Array.from({ length: 10 }, (_, i) => `message ${i}`),
    '10 at once',
  )

  const bye = dial('/bye')
  const [code, reason] = await once(bye, 'close')
  t.same([code, String(reason)], [4001, 'bye'], "the origin's close code and reason")

  const asked = dial('/headers')
  const [headers] = await once(asked, 'message')
  t.match(JSON.parse(String(headers)), {
    host: `127.0.0.1:${port}`,
    'x-forwarded-for': '192.0.2.1',
    connection: 'Upgrade',
    upgrade: 'websocket',
  })
  asked.close()
  await once(asked, 'close')

  const refused = dial('/no')
  refused.on('error', () => {})
  const [, response] = await once(refused, 'unexpected-response')
  t.equal(response.statusCode, 401, 'a refusal arrives as one')
  let body = ''
  for await (const chunk of response) body += chunk
  t.equal(body, 'go away')

  await until('all observations', () => seen.length === 16)
  t.equal(seen.filter(({ status }) => status === 101).length, 15)
  // RFC 6455 5.2: a text frame of 6 bytes has a head of 2, a close frame without a code is 2.
  t.match(seen[0], {
    status: 101,
    bytes: 2 + 6 + 2,
    pathname: '/',
    hostname: '127.0.0.1',
    method: 'GET',
    ip: '127.0.0.1',
    content_type: '',
  })
  t.match(
    seen.find(({ pathname }) => pathname === '/no'),
    { status: 401, bytes: 7, content_type: 'text/html' },
  )
  t.match(upgrader.stats(), { open: 0, waiting: 0, switched: 15, refused: 1, failed: 0 })
  await until("the origin's sockets to be gone", () => origin.sockets.clients.size === 0)
})

t.test('refusals are relayed whole, with framing of their own', async (t) => {
  const rows: [origin: string, status: string, body: string, why: string][] = [
    ['HTTP/1.1 401 Nope\r\nWWW-Authenticate: Basic\r\nContent-Length: 4\r\n\r\nauth', '401 Nope', 'auth', 'a length'],
    [
      'HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n',
      '403 Forbidden',
      'abcde',
      'chunks: decoded and framed again',
    ],
    ['HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n', '404 Not Found', '', 'empty'],
    [
      'HTTP/1.1 426 Upgrade Required\r\nUpgrade: foo\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n',
      '426 Upgrade Required',
      '',
      '426',
    ],
    ['HTTP/1.0 400 Bad\r\n\r\nuntil close', '400 Bad', 'until close', 'a body until close'],
    ['HTTP/1.1 204 No Content\r\n\r\n', '204 No Content', '', 'no body at all'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', '200 OK', 'ok', 'an origin that ignores the wish'],
    ['HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n', '302 Found', '', 'a redirect'],
    [
      'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 401 Late\r\nContent-Length: 1\r\n\r\nx',
      '103 Early Hints',
      'x',
      '1xx before it',
    ],
  ]
  for (const [bytes, status, expected, why] of rows) {
    const origin = await rawOrigin(t, (socket) => socket.end(bytes))
    const { port, seen } = await before(t, origin.port)
    const client = rawClient(t, port, WISH)
    await client.over()
    const text = client.text()
    t.ok(text.startsWith(`HTTP/1.1 ${status}\r\n`), `${why}: status`)
    t.equal(bodyOf(text.replace(/^HTTP\/1\.1 103 .*?\r\n\r\n/s, '')), expected, `${why}: body`)
    t.notMatch(text, /transfer-encoding: chunked[\s\S]*transfer-encoding/i, `${why}: framed once`)
    client.socket.end()
    await until('observed', () => seen.length === 1)
    await until("the origin's socket to close", () => origin.sockets.every((socket) => socket.destroyed))
  }
})

t.test("header fields: case, order and duplicates stay, a connection's own go", async (t) => {
  const origin = await rawOrigin(t, (socket) =>
    socket.end(
      'HTTP/1.1 401 No\r\nX-One: 1\r\nset-cookie: a=1\r\nSET-COOKIE: b=2\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n',
    ),
  )
  const { port } = await before(t, origin.port)
  const client = rawClient(
    t,
    port,
    'GET //a/../b;x=%2F?q=1?2 HTTP/1.1\r\nhOsT: a\r\nX-Two: 1\r\nx-two: 2\r\nConnection: Upgrade, X-Mine\r\nX-Mine: secret\r\nTE: trailers\r\nProxy-Authorization: x\r\nUpgrade: WebSocket\r\nCookie: \xe4\r\n\r\n',
  )
  await client.over()
  t.equal(
    origin.heads[0],
    'GET //a/../b;x=%2F?q=1?2 HTTP/1.1\r\nhOsT: a\r\nX-Two: 1\r\nx-two: 2\r\nCookie: \xc3\xa4\r\nConnection: Upgrade\r\nUpgrade: WebSocket',
  )
  t.equal(
    client.text(),
    'HTTP/1.1 401 No\r\nX-One: 1\r\nset-cookie: a=1\r\nSET-COOKIE: b=2\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
  )
})

t.test('426 keeps its Upgrade field', async (t) => {
  const origin = await rawOrigin(t, (socket) =>
    socket.end('HTTP/1.1 426 Upgrade Required\r\nUpgrade: foo/2\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n'),
  )
  const { port } = await before(t, origin.port)
  const client = rawClient(t, port, WISH)
  await client.over()
  t.match(client.text(), /Upgrade: foo\/2\r\nConnection: Upgrade, close\r\n/)
})

t.test('first bytes are not lost', async (t) => {
  const origin = await rawOrigin(t, (socket, rest) => {
    socket.write(`${SWITCH}first words`)
    if (rest.length > 0) socket.write(rest)
    socket.on('data', (chunk) => socket.write(chunk))
  })
  const { port } = await before(t, origin.port)
  const client = rawClient(t, port, `${WISH}early bytes`)
  await until('both', () => client.text().includes('first words') && client.text().includes('early bytes'))
  t.ok(
    client.text().endsWith('\r\n\r\nfirst wordsearly bytes'),
    "the origin's with its 101, the client's with its wish",
  )
  client.socket.write(' and later')
  await until('later', () => client.text().endsWith(' and later'))

  const late = await rawOrigin(t, (socket, rest) => {
    let got = rest.length
    socket.on('data', (chunk) => {
      got += chunk.length
      if (got === 300_000) socket.write(`all ${got}`)
    })
    setTimeout(() => socket.write(SWITCH), 100)
  })
  const second = await before(t, late.port)
  const eager = rawClient(t, second.port, WISH, Buffer.alloc(300_000, 'x'))
  await until('all early bytes', () => eager.text().endsWith('all 300000'))
  t.pass('300 KB sent before the 101 arrive after it')
})

t.test('an origin that speaks and leaves in one packet', async (t) => {
  const origin = await rawOrigin(t, (socket) => socket.end(`${SWITCH}goodbye`))
  const { port, seen } = await before(t, origin.port)
  const client = rawClient(t, port, WISH)
  await client.over()
  t.equal(client.text(), `${SWITCH}goodbye`)
  client.socket.end()
  await until('closed', () => client.state.closed)
  t.notOk(client.state.failed, 'a clean end')
  await until('observed', () => seen.length === 1)
  t.match(seen[0], { status: 101, bytes: 7, pathname: '/chat', query: 'room=1', hostname: 'site.example' })
})

t.test('half-close passes either way', async (t) => {
  const origin = await rawOrigin(t, (socket) => {
    let got = ''
    socket.write(SWITCH)
    socket.on('data', (chunk) => {
      got += chunk
    })
    socket.on('end', () => socket.end(`you said ${got}`))
  })
  const { port } = await before(t, origin.port)
  const client = rawClient(t, port, WISH)
  await until('101', () => client.text() === SWITCH)
  client.socket.end('question')
  await client.over()
  t.equal(client.text(), `${SWITCH}you said question`, 'client first')

  let answered = ''
  const other = await rawOrigin(t, (socket) => {
    socket.end(`${SWITCH}done`)
    socket.on('data', (chunk) => {
      answered += chunk
    })
  })
  const second = await before(t, other.port)
  const quiet = rawClient(t, second.port, WISH)
  await quiet.over()
  quiet.socket.end('still here')
  await until('the rest', () => answered === 'still here')
  await until('all closed', () => quiet.state.closed && other.sockets.every((socket) => socket.destroyed))
  t.equal(second.upgrader.stats().open, 0, 'origin first')
})

t.test('resets, before and after the 101, from either side', async (t) => {
  const rows: [who: 'client' | 'origin', when: 'before' | 'after', status: number][] = [
    ['client', 'before', 499],
    ['origin', 'before', 502],
    ['client', 'after', 101],
    ['origin', 'after', 101],
  ]
  for (const [who, when, status] of rows) {
    const name = `${who} resets ${when} the 101`
    const origin = await rawOrigin(t, (socket) => {
      if (when === 'after') socket.write(SWITCH)
      socket.resume()
      if (who === 'origin') setTimeout(() => socket.resetAndDestroy(), 30)
    })
    const { port, seen, upgrader } = await before(t, origin.port)
    const client = rawClient(t, port, WISH)
    await until('the request', () => origin.heads.length === 1)
    if (when === 'after') await until('101', () => client.text() === SWITCH)
    if (who === 'client') client.socket.resetAndDestroy()
    await until(`${name}: observed`, () => seen.length === 1, 1000)
    t.equal(seen[0]?.status, status, name)
    if (who === 'origin' && when === 'before') await client.over()
    if (who === 'origin' && when === 'before')
      t.match(client.text(), /^HTTP\/1\.1 502 Bad Gateway\r\n[\s\S]*\r\n\r\n502 Bad Gateway\n$/)
    if (who === 'origin' && when === 'after') {
      await until('the cut', () => client.state.closed)
      t.ok(client.state.failed, 'a reset stays a reset')
    }
    await until(`${name}: the origin is told`, () => origin.sockets.every(told), 1000)
    t.match(upgrader.stats(), { open: 0, waiting: 0 })
  }
})

t.test('a client that leaves with a FIN before the 101', async (t) => {
  for (const early of ['', 'early bytes']) {
    const origin = await rawOrigin(t, (socket) => socket.resume())
    const { port, seen } = await before(t, origin.port)
    const client = rawClient(t, port, WISH)
    await until('the request', () => origin.heads.length === 1)
    client.socket.end(early)
    await until('observed', () => seen.length === 1, 1000)
    t.equal(seen[0]?.status, 499)
    await until('the origin is told', () => origin.sockets.every(told), 1000)
  }
})

t.test('an origin that is down, silent, broken, or agrees to what nobody asked', async (t) => {
  const closed = createTcpServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const downPort = portOf(closed)
  closed.close()
  const down = await before(t, downPort)
  const client = rawClient(t, down.port, WISH)
  await client.over()
  t.match(client.text(), /^HTTP\/1\.1 502 Bad Gateway\r\n/)
  client.socket.end()
  await until('observed', () => down.seen.length === 1)
  t.match(down.seen[0], { status: 502, bytes: 16, content_type: 'text/plain; charset=utf-8' })
  t.same(down.errors, ['unreachable'])

  const rows: [bytes: string, status: number, error: string, why: string][] = [
    ['', 504, 'timeout', 'says nothing'],
    ['HTTP/1.1 1', 504, 'timeout', 'stops in the status line'],
    ['SSH-2.0-OpenSSH\r\n', 502, 'invalid', 'is no HTTP server'],
    ['HTTP/1.1 101 Switching\r\n\r\n', 502, 'invalid', '101 without an Upgrade'],
    [SWITCH.replace('websocket', 'h2c'), 502, 'invalid', '101 to another protocol'],
    ['HTTP/1.1 403 a\x01b\r\nContent-Length: 0\r\n\r\n', 502, 'invalid', 'a control character in the reason'],
    [`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`, 502, 'invalid', 'a head beyond 64 KB'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 502, 'invalid', 'two framings'],
  ]
  for (const [bytes, status, error, why] of rows) {
    const origin = await rawOrigin(t, (socket) => {
      socket.write(bytes, 'latin1')
      socket.resume()
    })
    const { port, seen, errors, upgrader } = await before(t, origin.port, { headersTimeout: 150 })
    const client = rawClient(t, port, WISH)
    await client.over()
    t.match(client.text(), new RegExp(`^HTTP/1.1 ${status} `), why)
    client.socket.end()
    await until('observed', () => seen.length === 1)
    t.equal(seen[0]?.status, status, `${why}: observed`)
    t.same(errors, [error], `${why}: ${error}`)
    await until(`${why}: the origin is told`, () => origin.sockets.every(told))
    t.match(upgrader.stats(), { waiting: 0, open: 0, failed: 1 })
  }
})

t.test('a refusal that breaks off is a visible cut', async (t) => {
  const origin = await rawOrigin(t, (socket) => {
    socket.write('HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
    setTimeout(() => socket.destroy(), 50)
  })
  const { port, errors, seen } = await before(t, origin.port)
  const client = rawClient(t, port, WISH)
  await client.over()
  t.match(client.text(), /\r\n5\r\nhello\r\n$/, 'no last chunk')
  t.same(errors, ['cut'])
  await until('observed', () => seen.length === 1)
  t.match(seen, [{ status: 403, bytes: 5 }])

  const stalled = await rawOrigin(t, (socket) =>
    socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nhell'),
  )
  const second = await before(t, stalled.port, { idleTimeout: 100 })
  const waiting = rawClient(t, second.port, WISH)
  await waiting.over()
  t.match(waiting.text(), /\r\n\r\nhell$/, 'nor does it wait for ever')
  t.same(second.errors, ['cut'])
})

t.test('a big refusal to a slow reader is whole', async (t) => {
  const size = 20 << 20
  const origin = await rawOrigin(t, (socket) => {
    socket.write(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${size}\r\n\r\n`)
    socket.end(Buffer.alloc(size, 'y'))
  })
  const { port } = await before(t, origin.port)
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write(WISH)
  let got = 0
  for await (const chunk of socket) {
    got += chunk.length
    if (got < 1 << 20) await sleep(5)
  }
  t.ok(got > size && got < size + 200, 'backpressure, and no byte lost')
})

t.test('requests that are not upgraded are ordinary requests', async (t) => {
  const origin = await rawOrigin(t, (socket) => socket.end('HTTP/1.1 500 Never\r\n\r\n'))
  const rows: [bytes: string, expected: RegExp, why: string][] = [
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nX-A: 1\r\n\r\n',
      /200 OK[\s\S]*"url":"\/a","headers":\["Host","a","X-A","1"\]/,
      'h2c',
    ],
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n',
      /200 OK[\s\S]*"headers":\["Host","a"\]/,
      'h2c behind another',
    ],
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nUpgrade: H2C\r\n\r\n',
      /200 OK[\s\S]*"headers":\["Host","a","Connection","keep-alive"\]/,
      'h2c in a second field',
    ],
    ['GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: TLS/1.0, HTTP/1.1\r\n\r\n', /200 OK/, 'RFC 2817'],
    [
      'POST /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\nhello',
      /200 OK[\s\S]*"method":"POST"[\s\S]*"body":"hello"/,
      'a POST with a length',
    ],
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\nhello',
      /200 OK[\s\S]*"body":"hello"/,
      'a GET with a body',
    ],
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
      /200 OK[\s\S]*"body":"hello"/,
      'chunks',
    ],
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      /^HTTP\/1\.1 400 /,
      'two framings',
    ],
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nTransfer_Encoding: chunked\r\n\r\n',
      /200 OK/,
      'a look-alike goes to the rules for requests',
    ],
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      /200 OK/,
      'two Hosts: the rules for requests decide',
    ],
    ['GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', /^HTTP\/1\.1 400 /, 'no Host'],
    [
      'GET http://b/a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      /200 OK[\s\S]*"url":"http:\/\/b\/a"/,
      'the absolute form',
    ],
    ['GET /a HTTP/1.0\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', /200 OK/, 'HTTP/1.0'],
    ['GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: \r\n\r\n', /200 OK/, 'an empty wish'],
    ['GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: a b\r\n\r\n', /200 OK/, 'no token'],
    [
      'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      /200 OK[\s\S]*"method":"OPTIONS"/,
      'not a GET',
    ],
  ]
  const { port, seen } = await before(t, origin.port)
  for (const [bytes, expected, why] of rows) {
    const client = rawClient(t, port, bytes)
    await until(why, () => /\r\n\r\n[\s\S]*[}\n]|400 Bad/.test(client.text()))
    t.match(client.text(), expected, why)
    client.socket.destroy()
  }
  t.same(origin.heads, [], 'none of them reached the origin through the upgrade')
  t.same(seen, [], 'and none was recorded by it')
})

t.test('a connection may carry many of them', async (t) => {
  const warnings: Error[] = []
  const warn = (warning: Error) => warnings.push(warning)
  process.on('warning', warn)
  t.teardown(() => process.off('warning', warn))
  const origin = await rawOrigin(t, (socket) => socket.write(SWITCH))
  const { port } = await before(t, origin.port)
  const client = rawClient(t, port)
  for (let i = 1; i <= 40; i++) {
    client.socket.write(
      `POST /${i} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nhi`,
    )
    await until(`answer ${i}`, () => client.text().includes(`"url":"/${i}"`))
  }
  t.equal(client.text().match(/HTTP\/1\.1 200 OK/g)?.length, 40)
  client.socket.write(WISH)
  await until('the upgrade', () => client.text().endsWith(SWITCH))
  await sleep(20)
  t.same(warnings, [], 'no listeners pile up')
})

t.test('an upgrade pipelined behind other requests waits for their answers', async (t) => {
  const origin = await rawOrigin(t, (socket) => socket.write(`${SWITCH}tunnel`))
  const { port } = await before(t, origin.port)
  const client = rawClient(
    t,
    port,
    `GET /1?wait=100 HTTP/1.1\r\nHost: a\r\n\r\nGET /2?wait=20 HTTP/1.1\r\nHost: a\r\n\r\n${WISH}`,
  )
  await until('the tunnel', () => client.text().endsWith('tunnel'))
  const order = [...client.text().matchAll(/"url":"(\/\d)|(101) S/g)].map((match) => match[1] ?? match[2])
  t.same(order, ['/1', '/2', '101'])
})

t.test('other protocols than WebSocket', async (t) => {
  const origin = await rawOrigin(t, (socket) => {
    socket.write('HTTP/1.1 101 Fine\r\nConnection: Upgrade\r\nUpgrade: Chat/2\r\nX-A: 1\r\nX-A: 2\r\n\r\nhi')
    socket.pipe(socket)
  })
  const { port } = await before(t, origin.port)
  const client = rawClient(t, port, WISH.replace('websocket', 'chat/2, chat/1'))
  await until('the tunnel', () => client.text().endsWith('hi'))
  t.equal(client.text(), 'HTTP/1.1 101 Fine\r\nX-A: 1\r\nX-A: 2\r\nConnection: Upgrade\r\nUpgrade: Chat/2\r\n\r\nhi')
  client.socket.write(Buffer.from([0, 1, 2, 255]))
  await until('the echo', () => client.text().endsWith('\x00\x01\x02\xff'))
})

t.test('close cuts what is open, and says so', async (t) => {
  const origin = await rawOrigin(t, (socket, _rest, head) => {
    if (head.startsWith('GET /chat')) socket.write(SWITCH)
    socket.resume()
  })
  const { port, seen, upgrader } = await before(t, origin.port)
  const open = rawClient(t, port, WISH)
  const waiting = rawClient(t, port, WISH.replace('/chat', '/wait'))
  await until('both', () => open.text() === SWITCH && upgrader.stats().waiting === 1)
  t.match(upgrader.stats(), { open: 1, waiting: 1 })
  await upgrader.close()
  t.same(seen.map(({ status }) => status).sort(), [101, 499])
  await until('closed', () => open.state.closed || open.state.ended)
  await until('closed', () => waiting.state.closed || waiting.state.ended)
  t.match(upgrader.stats(), { open: 0, waiting: 0 })
})

t.test('close gives a tunnel its grace', async (t) => {
  const origin = await rawOrigin(t, (socket) => {
    socket.write(SWITCH)
    setTimeout(() => socket.end('last words'), 150)
  })
  const { port, seen, upgrader } = await before(t, origin.port)
  const client = rawClient(t, port, WISH)
  client.socket.once('end', () => client.socket.end())
  await until('the tunnel', () => client.text() === SWITCH)
  const started = Date.now()
  await upgrader.close(3000)
  t.ok(Date.now() - started < 2000, 'and no longer than it needs')
  t.equal(client.text(), `${SWITCH}last words`)
  t.match(seen, [{ status: 101, bytes: 10 }])
})

t.test('a recorder that throws does not break the site', async (t) => {
  const origin = await webSocketOrigin(t)
  const { port, errors } = await before(t, origin.port, {
    record: () => {
      throw new Error('recorder')
    },
  })
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`)
  await once(socket, 'open')
  socket.close()
  await once(socket, 'close')
  await until('the fault', () => errors.length === 1)
  t.same(errors, ['fault'])
})

t.test('300 exchanges of every ill kind leave nothing behind', async (t) => {
  // Seeded: the same mix in each run.
  let seed = 42
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const acts: ((socket: Socket) => void)[] = [
    (socket) => socket.destroy(),
    (socket) => socket.resetAndDestroy(),
    (socket) => socket.end(),
    (socket) => socket.write(SWITCH),
    (socket) => socket.end(`${SWITCH}bye`),
    (socket) => socket.write('HTTP/1.1 403 No\r\nContent-Length: 4\r\n\r\nno'),
    (socket) => socket.write('HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n'),
    (socket) => socket.write('rubbish\r\n\r\n'),
    (socket) => socket.write(Buffer.alloc(100_000)),
    () => {},
  ]
  const act = (socket: Socket) => {
    if (!socket.destroyed && !socket.writableEnded) acts[random(acts.length)]?.(socket)
  }
  const origin = await rawOrigin(t, (socket) => {
    socket.resume()
    act(socket)
    for (const wait of [10, 30]) setTimeout(() => act(socket), random(wait))
  })
  const { port, seen, upgrader } = await before(t, origin.port, { headersTimeout: 200, idleTimeout: 200 })
  const total = 300
  const one = async () => {
    const { socket } = rawClient(t, port, WISH)
    for (let i = 0; i < 3; i++) {
      await sleep(random(20))
      if (!socket.destroyed && !socket.writableEnded) acts[random(4) === 3 ? 8 : random(3)]?.(socket)
    }
    await sleep(random(300))
    socket.destroy()
  }
  const lane = async () => {
    for (let i = 0; i < total / 20; i++) await one()
  }
  await Promise.all(Array.from({ length: 20 }, lane))
  await until('all to be over', () => upgrader.stats().waiting + upgrader.stats().open === 0)
  await until('the origin to be told', () => origin.sockets.every(told))
  const { switched, refused, failed } = upgrader.stats()
  t.ok(switched > 10 && refused > 10 && failed > 10, `${switched} switched, ${refused} refused, ${failed} failed`)
  t.ok(
    seen.length <= total && seen.length >= origin.heads.length,
    `${seen.length} observations of ${origin.heads.length} requests that arrived`,
  )
  t.ok(
    seen.every(
      ({ status, bytes, duration_ms }) => [101, 403, 499, 502, 504].includes(status) && bytes >= 0 && duration_ms >= 0,
    ),
  )
})
