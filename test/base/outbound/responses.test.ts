// The attack: a server that readership asks tries to exhaust it. It never responds, or sends a byte at a time; it sends
// endless heads, fields or bodies; it sends a small body that decodes to 200 MB, or a large one that decodes to nothing; it
// breaks off in the middle of its coding. Each request must end within its timeout and its byte limit, and leave no
// open connection.
import { once } from 'node:events'
import { type AddressInfo, createServer as createTcp, type Socket } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { createOriginOutbound } from '../../../src/base/outbound/origin-outbound.js'
import { createTestOutbound, LOCALHOST, OPTIONS, reasonOf, startRawServer, startServer } from './servers.js'

t.test('decodes a response and cuts it at its limit', async (t) => {
  const { port, requests } = await startServer(t, (req, res) => {
    const encoding = new URL(req.url ?? '', 'http://x').searchParams.get('encoding')
    const text = 'user-agent: *\n'.repeat(100)
    res.setHeader('etag', '"1"')
    res.appendHeader('x-many', ['a', 'b'])
    if (req.headers['if-none-match'] === '"1"') res.writeHead(304, { 'content-encoding': 'gzip' }).end()
    else if (encoding === 'gzip') res.writeHead(200, { 'content-encoding': 'GZIP' }).end(gzipSync(text))
    else if (encoding === 'br') res.writeHead(200, { 'content-encoding': 'br' }).end(brotliCompressSync(text))
    else if (encoding === 'deflate') res.writeHead(200, { 'content-encoding': 'deflate' }).end(deflateSync(text))
    else if (encoding) res.writeHead(200, { 'content-encoding': encoding }).end('what')
    else res.end(text)
  })
  const outbound = createTestOutbound({ allow: LOCALHOST, resolve: async () => ['127.0.0.1'] })
  for (const query of ['', '?encoding=gzip', '?encoding=br', '?encoding=deflate']) {
    const { url, status, headers, body, truncated } = await outbound(`http://Agents.test:${port}/a${query}`, OPTIONS)
    t.equal(Buffer.from(body).toString(), 'user-agent: *\n'.repeat(100), `${query}: decoded`)
    t.match(
      { url, status, headers, truncated },
      {
        url: `http://agents.test:${port}/a${query}`,
        status: 200,
        truncated: false,
        headers: { etag: '"1"', 'x-many': 'a, b' },
      },
    )
  }
  t.match(requests[0]?.headers, {
    host: `agents.test:${port}`,
    'user-agent': /^readership\/1\.2\.3/,
    cookie: undefined,
  })
  for (const coding of ['compress', 'gzip, gzip', 'zstd'])
    t.equal(await reasonOf(outbound(`http://agents.test:${port}/?encoding=${coding}`, OPTIONS)), 'malformed', coding)
  const unchanged = await outbound(`http://agents.test:${port}/`, { ...OPTIONS, headers: { 'if-none-match': '"1"' } })
  t.same(
    [unchanged.status, unchanged.truncated, unchanged.body.length],
    [304, false, 0],
    'an empty body is not broken gzip',
  )
  const cut = await outbound(`http://agents.test:${port}/`, { ...OPTIONS, limit: 10 })
  t.same([cut.truncated, cut.body.length], [true, 10])
  const whole = await outbound(`http://agents.test:${port}/`, { ...OPTIONS, limit: 1400 })
  t.same([whole.truncated, whole.body.length], [false, 1400], 'a body of exactly the limit is complete')
})

t.test('hostile servers cost bounded time and bytes', async (t) => {
  const outbound = createTestOutbound({ allow: LOCALHOST })
  const ask = async (talk: (socket: Socket) => void, options: Partial<typeof OPTIONS> = {}) => {
    const server = await startRawServer(t, talk)
    const begun = performance.now()
    let sockets = -1
    const work = outbound(server.url, { ...OPTIONS, ...options })
    const reason = await reasonOf(work)
    const ms = performance.now() - begun
    for (let wait = 0; wait < 50 && server.sockets.size > 0; wait++) await new Promise((done) => setTimeout(done, 10))
    sockets = server.sockets.size
    return { reason, ms, sockets }
  }
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n'
  const drip = (socket: Socket, part: string | Buffer, ms: number, first = '') => {
    if (first !== '') socket.write(first)
    const timer = setInterval(() => (socket.destroyed ? clearInterval(timer) : socket.write(part)), ms)
    socket.on('close', () => clearInterval(timer))
  }
  const quick = { timeout: 300 }
  const bomb = gzipSync(Buffer.alloc(200_000_000))
  const flood = gzipSync('').subarray(0, 10)
  const cases: readonly [string, (socket: Socket) => void, Partial<typeof OPTIONS>, string][] = [
    ['silence', () => {}, quick, 'timeout'],
    ['a head that drips', (socket) => drip(socket, 'H', 20), quick, 'malformed'],
    ['fields that drip', (socket) => drip(socket, 'x: y\r\n', 20, head), quick, 'timeout'],
    ['a body that drips', (socket) => drip(socket, 'x', 20, `${head}\r\n`), quick, 'timeout'],
    ['informational for ever', (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n', 5), quick, 'timeout'],
    ['a head of 1 MB', (socket) => socket.write(`${head}x: ${'y'.repeat(1_000_000)}\r\n\r\n`), {}, 'malformed'],
    ['100,000 fields', (socket) => socket.write(`${head}${'x: y\r\n'.repeat(100_000)}\r\n`), {}, 'malformed'],
    ['not HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'), {}, 'malformed'],
    ['nothing', (socket) => socket.end(), {}, 'unreachable'],
    ['a reset', (socket) => socket.resetAndDestroy(), {}, 'unreachable'],
    ['a body cut short', (socket) => socket.end(`${head}content-length: 10\r\n\r\nabc`), {}, 'unreachable'],
    ['invalid gzip', (socket) => socket.end(`${head}content-encoding: gzip\r\n\r\nplain`), {}, 'malformed'],
    ['invalid br', (socket) => socket.end(`${head}content-encoding: br\r\n\r\nplain text here`), {}, 'malformed'],
    [
      'gzip cut short',
      (socket) => {
        const whole = gzipSync('a'.repeat(1000))
        socket.write(`${head}content-encoding: gzip\r\n\r\n`)
        socket.end(whole.subarray(0, whole.length - 12))
      },
      {},
      'malformed',
    ],
    [
      'a bomb',
      (socket) => {
        socket.write(`${head}content-encoding: gzip\r\n\r\n`)
        socket.end(bomb)
      },
      {},
      'response',
    ],
    [
      'a flood that decodes to nothing',
      (socket) => {
        socket.write(`${head}content-encoding: gzip\r\n\r\n`)
        socket.write(flood)
        // Empty stored blocks.
        drip(socket, Buffer.from('000000ffff'.repeat(13_000), 'hex'), 1)
      },
      {},
      'malformed',
    ],
    ['an endless body', (socket) => drip(socket, 'x'.repeat(50_000), 1, `${head}\r\n`), {}, 'response'],
  ]
  for (const [name, talk, options, expected] of cases) {
    const { reason, ms, sockets } = await ask(talk, options)
    t.equal(reason, expected, name)
    t.ok(ms < 2_000, `${name}: ${Math.round(ms)} ms`)
    t.equal(sockets, 0, `${name}: leaves no connection`)
  }
  const server = await startRawServer(t, (socket) => {
    socket.write(`${head}content-encoding: gzip\r\n\r\n`)
    socket.end(bomb)
  })
  const before = process.memoryUsage().arrayBuffers
  const { truncated, body } = await outbound(server.url, OPTIONS)
  t.same([truncated, body.length], [true, OPTIONS.limit])
  t.ok(process.memoryUsage().arrayBuffers - before < 20_000_000, '200 MB are not decoded')
  const refused = createTcp().listen(0, '127.0.0.1')
  await once(refused, 'listening')
  const { port } = refused.address() as AddressInfo
  refused.close()
  t.equal(await reasonOf(outbound(`http://127.0.0.1:${port}/`, OPTIONS)), 'unreachable', 'a closed port')
})

t.test("fetches the site's own files from its origin, whatever the hostname", async (t) => {
  const origin = await startServer(t, (req, res) => {
    const to = new URL(req.url ?? '', 'http://x').searchParams.get('to')
    if (to !== null) res.writeHead(302, { location: to }).end()
    else
      res.end(`${req.headers.host} ${req.headers['x-forwarded-host']} ${req.headers['x-forwarded-proto']} ${req.url}`)
  })
  const elsewhere = await startServer(t, (req, res) => {
    const step = Number(/^\/step(\d+)$/.exec(req.url ?? '')?.[1] ?? 0)
    if (step > 0) res.writeHead(302, { location: `/step${step - 1}` }).end()
    else res.end(`elsewhere ${req.headers.host}`)
  })
  const queried: string[] = []
  const outbound = createTestOutbound({
    allow: LOCALHOST,
    resolve: async (name) => {
      queried.push(name)
      return name === 'inside.test' ? ['10.0.0.1'] : ['127.0.0.1']
    },
  })
  const site = createOriginOutbound({
    origin: new URL(`http://127.0.0.1:${origin.port}`),
    version: '1.2.3',
    outbound,
    isOriginHostname: (name) => name === 'www.site.test',
  })
  const text = async (url: string, redirects = 5) => {
    const { status, body } = await site(url, { ...OPTIONS, redirects })
    return `${status} ${Buffer.from(body).toString()}`
  }
  const via = (to: string) => `https://site.test/?to=${encodeURIComponent(to)}`
  t.equal(await text('https://site.test/robots.txt'), '200 site.test site.test https /robots.txt')
  t.equal(await text('http://site.test:8080/a?b'), '200 site.test:8080 site.test:8080 http /a?b')
  t.equal(
    await text(via('/robots.txt')),
    '200 site.test site.test https /robots.txt',
    'a redirect to the same hostname',
  )
  t.equal(
    await text(via('https://www.site.test/r')),
    '200 www.site.test www.site.test https /r',
    'to another hostname of the site',
  )
  t.same(queried, [], 'no DNS')
  const out = `http://other.test:${elsewhere.port}`
  t.equal(
    await text(`http://site.test/?to=${out}/`),
    `200 elsewhere other.test:${elsewhere.port}`,
    'a redirect elsewhere',
  )
  t.match(await text(`http://site.test/?to=${out}/step4`), /^200 elsewhere/, 'five redirects in total')
  t.match(await text(`http://site.test/?to=${out}/step5`), /^302/, 'a sixth is returned')
  t.match(await text(`http://site.test/?to=${out}/step1`, 1), /^302/)
  t.equal(
    await reasonOf(site(via(`http://127.0.0.1:${origin.port}/`), OPTIONS)),
    'response',
    'to an address that this test allows',
  )
  t.equal(await reasonOf(site(via('http://inside.test/'), OPTIONS)), 'refused', 'to a private name')
  t.equal(await reasonOf(site(via('http://169.254.169.254/'), OPTIONS)), 'refused', 'to a private address')
  t.equal(await reasonOf(site(via('file:///etc/passwd'), OPTIONS)), 'refused', 'to another scheme')
  const offline = createOriginOutbound({
    origin: new URL(`http://127.0.0.1:${origin.port}`),
    version: '1',
    outbound: createTestOutbound({ offline: true }),
  })
  t.match(await offline('https://site.test/', OPTIONS), { status: 200 }, 'offline, the origin is still used')
  t.equal(await reasonOf(offline(via('https://other.test/'), OPTIONS)), 'offline')
})
