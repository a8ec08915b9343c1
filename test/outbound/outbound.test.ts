import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, createServer as createTcp, type Socket } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { isPublic, parseAddress } from '../../src/address.js'
import { createOutbound, type OutboundDeps } from '../../src/outbound/guarded-outbound.js'
import { createOriginOutbound } from '../../src/outbound/origin-outbound.js'
import { OutboundError } from '../../src/outbound/outbound.js'
import { createResolve } from '../../src/outbound/resolve.js'

const OPTIONS = { limit: 100_000, timeout: 5_000, redirects: 5 }
const anyPort = { port: () => true }
/** The whole machine: only by this argument can a test be answered by its own servers. */
const here = { ...anyPort, address: (address: string) => address === '127.0.0.1' }
const nowhere = async (name: string): Promise<string[]> => {
  throw new OutboundError('unreachable', `${name} has no address`)
}
const outboundOf = (deps: Partial<OutboundDeps>) =>
  createOutbound({ resolve: nowhere, offline: false, version: '1.2.3', ...deps })

/** A server of HTTP that counts who connects. */
async function serve(t: Test, answer: (req: IncomingMessage, res: ServerResponse) => void, host = '127.0.0.1') {
  const server = createServer(answer)
  const seen = { connections: 0, requests: [] as IncomingMessage[], port: 0 }
  server.on('connection', () => seen.connections++)
  server.on('request', (req) => seen.requests.push(req))
  server.listen(0, host)
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  seen.port = (server.address() as AddressInfo).port
  return seen
}

/** A server of bytes: what a server of HTTP would not send. */
async function raw(t: Test, talk: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createTcp((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.once('data', () => talk(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, sockets }
}

async function reasonOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'answered'
  } catch (error) {
    return error instanceof OutboundError ? error.reason : String(error)
  }
}

t.test('no spelling of an address that is not public is asked', async (t) => {
  const trap = await serve(t, (_req, res) => void res.end('trapped'), '::')
  const { port } = trap
  const spellings: readonly [string, string][] = [
    ['http://127.0.0.1', 'loopback'],
    ['http://127.0.0.2', 'all of 127/8'],
    ['http://127.255.255.254', 'the end of it'],
    ['http://127.1', 'two parts'],
    ['http://127.0.1', 'three parts'],
    ['http://2130706433', 'one decimal number'],
    ['http://0x7f000001', 'one hexadecimal number'],
    ['http://0x7F.0.0.1', 'hexadecimal parts'],
    ['http://0x7f.1', 'hexadecimal and short'],
    ['http://017700000001', 'one octal number'],
    ['http://0177.0.0.1', 'octal parts'],
    ['http://0177.0.0.01', 'octal parts twice'],
    ['http://00000177.0.0.1', 'octal with many zeros'],
    ['http://127.0.0.1.', 'a trailing dot'],
    ['http://%31%32%37.0.0.1', 'percent-encoded'],
    ['http://127。0。0。1', 'ideographic full stops'],
    ['http://１２７.0.0.1', 'full-width digits'],
    ['http://①②⑦.⓪.⓪.①', 'enclosed digits'],
    ['http://0', 'zero as a number'],
    ['http://0.0.0.0', 'unspecified'],
    ['http://0.1.2.3', 'this network'],
    ['http://[::]', 'unspecified, IPv6'],
    ['http://[::1]', 'loopback, IPv6'],
    ['http://[0:0:0:0:0:0:0:1]', 'the same in full'],
    ['http://[0000:0000:0000:0000:0000:0000:0000:0001]', 'the same with zeros'],
    ['http://[::ffff:127.0.0.1]', 'mapped'],
    ['http://[::ffff:7f00:1]', 'mapped, in hexadecimal'],
    ['http://[0:0:0:0:0:ffff:127.0.0.1]', 'mapped, in full'],
    ['http://[::127.0.0.1]', 'IPv4-compatible'],
    ['http://[::ffff:0:127.0.0.1]', 'IPv4-translated (RFC 2765)'],
    ['http://[64:ff9b::127.0.0.1]', 'NAT64 of loopback'],
    ['http://[64:ff9b::a9fe:a9fe]', 'NAT64 of the metadata address'],
    ['http://[64:ff9b::10.0.0.1]', 'NAT64 of a private one'],
    ['http://[64:ff9b:1::10.0.0.1]', 'local-use NAT64 (RFC 8215)'],
    ['http://[2002:7f00:1::]', '6to4 of loopback'],
    ['http://[2002:a00:1::1]', '6to4 of a private one'],
    ['http://[2001:0:7f00:1::]', 'Teredo with loopback as its server'],
    ['http://[2001::80ff:fffe]', 'Teredo with loopback as its client, inverted'],
    ['http://[fe80::1]', 'link-local'],
    ['http://[febf::1]', 'the end of link-local'],
    ['http://[fec0::1]', 'site-local'],
    ['http://[fc00::1]', 'unique local'],
    ['http://[fd00:ec2::254]', 'metadata at AWS'],
    ['http://[ff02::1]', 'multicast'],
    ['http://[2001:db8::1]', 'documentation'],
    ['http://[3fff::1]', 'documentation (RFC 9637)'],
    ['http://[100::1]', 'discard'],
    ['http://[5f00::1]', 'segment routing'],
    ['http://10.0.0.1', 'RFC 1918'],
    ['http://10.255.255.255', 'its end'],
    ['http://172.16.0.1', 'RFC 1918'],
    ['http://172.31.255.255', 'its end'],
    ['http://192.168.1.1', 'RFC 1918'],
    ['http://169.254.169.254', 'metadata'],
    ['http://2852039166', 'metadata as a number'],
    ['http://0xa9fea9fe', 'metadata in hexadecimal'],
    ['http://169.254.43518', 'metadata in three parts'],
    ['http://100.64.0.1', 'carrier-grade NAT'],
    ['http://100.100.100.200', 'metadata at Alibaba'],
    ['http://168.63.129.16', "Azure's platform"],
    ['http://192.0.0.192', "Oracle's old metadata"],
    ['http://192.0.2.1', 'documentation'],
    ['http://198.51.100.1', 'documentation'],
    ['http://203.0.113.1', 'documentation'],
    ['http://198.18.0.1', 'benchmarks'],
    ['http://192.88.99.1', '6to4 relays'],
    ['http://224.0.0.1', 'multicast'],
    ['http://240.0.0.1', 'reserved'],
    ['http://255.255.255.255', 'broadcast'],
  ]
  for (const [spelling, why] of spellings) {
    const outbound = outboundOf({ allow: anyPort })
    t.equal(await reasonOf(outbound(`${spelling}:${port}/`, OPTIONS)), 'refused', `${spelling}: ${why}`)
  }
  t.ok(spellings.length >= 60)

  const schemes = [
    'file:///etc/passwd',
    'ftp://a.test/',
    'gopher://a.test/',
    'data:text/plain,x',
    'ws://a.test/',
    'blob:x',
  ]
  for (const url of schemes)
    t.equal(await reasonOf(outboundOf({ allow: here })(url, OPTIONS)), 'refused', `${url}: not http`)
  for (const url of ['', '//x', 'http://', 'http://[::1', 'http://1.2.3.256/', 'http://a b/', 'nonsense'])
    t.equal(await reasonOf(outboundOf({ allow: here })(url, OPTIONS)), 'malformed', `${url}: no URL`)
  for (const userinfo of ['user@', 'user:pw@', ':pw@', 'example.com%40@'])
    t.equal(
      await reasonOf(outboundOf({ allow: here })(`http://${userinfo}127.0.0.1:${port}/`, OPTIONS)),
      'refused',
      `userinfo ${userinfo}`,
    )
  t.equal(await reasonOf(outboundOf({})('https://agents.test:8443/', OPTIONS)), 'refused', 'another port')
  t.equal(await reasonOf(outboundOf({ allow: here, offline: true })(`http://127.0.0.1:${port}/`, OPTIONS)), 'offline')

  const names: readonly [readonly string[], string][] = [
    [['127.0.0.1'], 'loopback'],
    [['8.8.8.8', '127.0.0.1'], 'one of several'],
    [['2606:4700::1111', '::1'], 'one of several, IPv6'],
    [['::ffff:127.0.0.1'], 'mapped'],
    [['127.1'], 'what is no address to us might be one to another'],
    [['localhost'], 'a name in an answer'],
    [[''], 'nothing in an answer'],
    [[], 'no answer'],
  ]
  for (const [addresses, why] of names)
    t.equal(
      await reasonOf(
        outboundOf({ allow: anyPort, resolve: async () => addresses })(`http://agents.test:${port}/`, OPTIONS),
      ),
      'refused',
      `a name: ${why}`,
    )
  t.equal(trap.connections, 0, 'nothing was sent')
})

t.test('the same table of addresses, by number', async (t) => {
  const table: readonly [string, boolean][] = [
    ['8.8.8.8', true],
    ['100.63.255.255', true],
    ['100.128.0.0', true],
    ['172.15.255.255', true],
    ['172.32.0.0', true],
    ['168.63.129.15', true],
    ['192.88.98.255', true],
    ['192.88.99.0', false],
    ['2606:4700:4700::1111', true],
    ['2001:200::1', true],
    ['2001:1ff:ffff::1', false],
    ['2003::1', true],
    ['3ffe:ffff::1', true],
    ['64:ff9b::8.8.8.8', true],
    ['64:ff9b::1:808:808', false],
    ['4000::1', false],
  ]
  for (const [text, expected] of table) {
    const address = parseAddress(text)
    t.equal(address && isPublic(address), expected, text)
  }
})

t.test('what was checked is what is connected to', async (t) => {
  const trap = await serve(t, (_req, res) => void res.end('trapped'))
  let asked = 0
  // First a public answer, then, as an attacker's server with a lifetime of 0 would, this machine.
  const resolve = async () => {
    asked++
    return [asked === 1 ? '198.51.100.7' : '127.0.0.1']
  }
  const allow = { ...anyPort, address: (address: string) => address === '198.51.100.7' }
  const reason = await reasonOf(
    outboundOf({ resolve, allow })(`http://agents.test:${trap.port}/`, { ...OPTIONS, timeout: 500 }),
  )
  t.match(reason, /^(timeout|unreachable)$/)
  t.equal(asked, 1, 'resolved once')
  t.equal(trap.connections, 0)
})

t.test('an answer', async (t) => {
  const { port, requests } = await serve(t, (req, res) => {
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
  const outbound = outboundOf({ allow: here, resolve: async () => ['127.0.0.1'] })
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
  t.same([unchanged.status, unchanged.truncated, unchanged.body.length], [304, false, 0], 'nothing is no broken gzip')
  const cut = await outbound(`http://agents.test:${port}/`, { ...OPTIONS, limit: 10 })
  t.same([cut.truncated, cut.body.length], [true, 10])
  const whole = await outbound(`http://agents.test:${port}/`, { ...OPTIONS, limit: 1400 })
  t.same([whole.truncated, whole.body.length], [false, 1400], 'exactly the limit is not too much')
})

t.test('redirects', async (t) => {
  const server = await serve(t, (req, res) => {
    const to = new URL(req.url ?? '', 'http://x').searchParams.get('to')
    const step = Number(/^\/step(\d+)$/.exec(req.url ?? '')?.[1] ?? Number.NaN)
    if (to !== null) res.writeHead(302, { location: to }).end()
    else if (req.url === '/loop') res.writeHead(301, { location: '/loop' }).end('again')
    else if (step > 0) res.writeHead(307, { location: `step${step - 1}` }).end()
    else if (req.url === '/nowhere') res.writeHead(302).end('no location')
    else res.end('arrived')
  })
  const trap = await serve(t, (_req, res) => void res.end('trapped'), '::1').catch(() => undefined)
  const resolve = async (name: string) => (name === 'inside.test' ? ['10.0.0.1'] : ['127.0.0.1'])
  const outbound = outboundOf({ allow: here, resolve })
  const base = `http://agents.test:${server.port}`
  const five = await outbound(`${base}/step5`, OPTIONS)
  t.match(five, { status: 200, url: `${base}/step0` }, 'five are followed')
  const six = await outbound(`${base}/step6`, OPTIONS)
  t.match(six, { status: 307, url: `${base}/step1` }, 'the sixth is the answer')
  const before = server.requests.length
  t.match(await outbound(`${base}/loop`, OPTIONS), { status: 301 })
  t.equal(server.requests.length - before, 6, 'a loop ends')
  t.match(await outbound(`${base}/nowhere`, OPTIONS), { status: 302 }, 'without a Location it is the answer')
  t.match(await outbound(`${base}/step1`, { ...OPTIONS, redirects: 0 }), { status: 307 })
  for (const [to, reason] of [
    [`http://[::1]:${trap?.port ?? 80}/`, 'refused'],
    ['http://inside.test/', 'refused'],
    ['http://169.254.169.254/latest/meta-data/', 'refused'],
    ['http://0xa9fea9fe/', 'refused'],
    ['file:///etc/passwd', 'refused'],
    [`http://user@agents.test:${server.port}/`, 'refused'],
    ['http://[', 'malformed'],
  ])
    t.equal(await reasonOf(outbound(`${base}/?to=${encodeURIComponent(to ?? '')}`, OPTIONS)), reason, `to ${to}`)
  t.equal(trap?.connections ?? 0, 0)
})

t.test('https: the certificate is the name that was asked for', async (t) => {
  const plain = await serve(t, (_req, res) => void res.end('plain'))
  const pem = (name: string) => readFileSync(`test/proxy/fixtures/tls/first.${name}.pem`, 'utf8')
  const server = createHttps({ cert: pem('cert'), key: pem('key') }, (req, res) => {
    if (req.url === '/down') res.writeHead(302, { location: `http://first.example:${plain.port}/` }).end()
    else res.end(`secure ${req.headers.host}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const deps = { resolve: async () => ['127.0.0.1'], allow: { ...here, ca: pem('cert') } }
  const { body } = await outboundOf(deps)(`https://first.example:${port}/`, OPTIONS)
  t.equal(Buffer.from(body).toString(), `secure first.example:${port}`)
  t.equal(await reasonOf(outboundOf(deps)(`https://second.example:${port}/`, OPTIONS)), 'unreachable', 'another name')
  t.equal(
    await reasonOf(outboundOf({ ...deps, allow: here })(`https://first.example:${port}/`, OPTIONS)),
    'unreachable',
    'a certificate that no one vouches for',
  )
  t.equal(await reasonOf(outboundOf(deps)(`https://first.example:${port}/down`, OPTIONS)), 'refused', 'down to http')
  t.equal(plain.connections, 0)
  const outbound = outboundOf({})
  const origin = new URL(`https://localhost:${port}`)
  const site = createOriginOutbound({ origin, tls: { ca: pem('cert') }, version: '1', outbound })
  const ours = await site(`http://site.test/robots.txt`, OPTIONS)
  t.equal(Buffer.from(ours.body).toString(), 'secure site.test', "the origin's certificate is the configured name's")
})

t.test('hostile servers: bounded in time and in bytes', async (t) => {
  const outbound = outboundOf({ allow: here })
  const ask = async (talk: (socket: Socket) => void, options: Partial<typeof OPTIONS> = {}) => {
    const server = await raw(t, talk)
    const begun = performance.now()
    let sockets = -1
    const asked = outbound(server.url, { ...OPTIONS, ...options })
    const reason = await reasonOf(asked)
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
    ['no HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'), {}, 'malformed'],
    ['nothing', (socket) => socket.end(), {}, 'unreachable'],
    ['a reset', (socket) => socket.resetAndDestroy(), {}, 'unreachable'],
    ['a body cut short', (socket) => socket.end(`${head}content-length: 10\r\n\r\nabc`), {}, 'unreachable'],
    ['gzip that is none', (socket) => socket.end(`${head}content-encoding: gzip\r\n\r\nplain`), {}, 'malformed'],
    ['br that is none', (socket) => socket.end(`${head}content-encoding: br\r\n\r\nplain text here`), {}, 'malformed'],
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
      'answered',
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
    ['an endless body', (socket) => drip(socket, 'x'.repeat(50_000), 1, `${head}\r\n`), {}, 'answered'],
  ]
  for (const [name, talk, options, expected] of cases) {
    const { reason, ms, sockets } = await ask(talk, options)
    t.equal(reason, expected, name)
    t.ok(ms < 2_000, `${name}: ${Math.round(ms)} ms`)
    t.equal(sockets, 0, `${name}: no connection is left`)
  }
  const server = await raw(t, (socket) => {
    socket.write(`${head}content-encoding: gzip\r\n\r\n`)
    socket.end(bomb)
  })
  const before = process.memoryUsage().arrayBuffers
  const { truncated, body } = await outbound(server.url, OPTIONS)
  t.same([truncated, body.length], [true, OPTIONS.limit])
  t.ok(process.memoryUsage().arrayBuffers - before < 20_000_000, 'a bomb of 200 MB is not unpacked')
  const refused = createTcp().listen(0, '127.0.0.1')
  await once(refused, 'listening')
  const { port } = refused.address() as AddressInfo
  refused.close()
  t.equal(await reasonOf(outbound(`http://127.0.0.1:${port}/`, OPTIONS)), 'unreachable', 'nobody listens')
})

t.test('DNS', async (t) => {
  const never = outboundOf({ allow: anyPort, resolve: () => new Promise(() => {}) })
  t.equal(await reasonOf(never('http://agents.test/', { ...OPTIONS, timeout: 200 })), 'timeout', 'that never answers')
  t.equal(await reasonOf(outboundOf({})('http://agents.test/', OPTIONS)), 'unreachable', 'that knows no such name')
  const fails = async () => {
    throw new Error('ENOTFOUND')
  }
  const one = createResolve({ resolve4: async () => ['192.0.2.1'], resolve6: fails })
  t.same(await one('agents.test'), ['192.0.2.1'], 'one family is enough')
  t.equal(await reasonOf(createResolve({ resolve4: fails, resolve6: fails })('agents.test')), 'unreachable')
})

t.test("the site's own files come from its origin, whatever the hostname", async (t) => {
  const origin = await serve(t, (req, res) => {
    const to = new URL(req.url ?? '', 'http://x').searchParams.get('to')
    if (to !== null) res.writeHead(302, { location: to }).end()
    else
      res.end(`${req.headers.host} ${req.headers['x-forwarded-host']} ${req.headers['x-forwarded-proto']} ${req.url}`)
  })
  const elsewhere = await serve(t, (req, res) => {
    const step = Number(/^\/step(\d+)$/.exec(req.url ?? '')?.[1] ?? 0)
    if (step > 0) res.writeHead(302, { location: `/step${step - 1}` }).end()
    else res.end(`elsewhere ${req.headers.host}`)
  })
  const asked: string[] = []
  const outbound = outboundOf({
    allow: here,
    resolve: async (name) => {
      asked.push(name)
      return name === 'inside.test' ? ['10.0.0.1'] : ['127.0.0.1']
    },
  })
  const ours = createOriginOutbound({
    origin: new URL(`http://127.0.0.1:${origin.port}`),
    version: '1.2.3',
    outbound,
    isOriginHostname: (name) => name === 'www.site.test',
  })
  const text = async (url: string, redirects = 5) => {
    const { status, body } = await ours(url, { ...OPTIONS, redirects })
    return `${status} ${Buffer.from(body).toString()}`
  }
  const via = (to: string) => `https://site.test/?to=${encodeURIComponent(to)}`
  t.equal(await text('https://site.test/robots.txt'), '200 site.test site.test https /robots.txt')
  t.equal(await text('http://site.test:8080/a?b'), '200 site.test:8080 site.test:8080 http /a?b')
  t.equal(await text(via('/robots.txt')), '200 site.test site.test https /robots.txt', 'a redirect to itself')
  t.equal(await text(via('https://www.site.test/r')), '200 www.site.test www.site.test https /r', "to the site's other")
  t.same(asked, [], 'no DNS')
  const out = `http://other.test:${elsewhere.port}`
  t.equal(await text(`http://site.test/?to=${out}/`), `200 elsewhere other.test:${elsewhere.port}`, 'to elsewhere')
  t.match(await text(`http://site.test/?to=${out}/step4`), /^200 elsewhere/, 'five in all')
  t.match(await text(`http://site.test/?to=${out}/step5`), /^302/, 'not six')
  t.match(await text(`http://site.test/?to=${out}/step1`, 1), /^302/)
  t.equal(await reasonOf(ours(via(`http://127.0.0.1:${origin.port}/`), OPTIONS)), 'answered', 'allowed in this test')
  t.equal(await reasonOf(ours(via('http://inside.test/'), OPTIONS)), 'refused', 'to a private name')
  t.equal(await reasonOf(ours(via('http://169.254.169.254/'), OPTIONS)), 'refused', 'to a private address')
  t.equal(await reasonOf(ours(via('file:///etc/passwd'), OPTIONS)), 'refused', 'to another scheme')
  const offline = createOriginOutbound({
    origin: new URL(`http://127.0.0.1:${origin.port}`),
    version: '1',
    outbound: outboundOf({ offline: true }),
  })
  t.match(await offline('https://site.test/', OPTIONS), { status: 200 }, 'offline, the origin is still asked')
  t.equal(await reasonOf(offline(via('https://other.test/'), OPTIONS)), 'offline')
})
