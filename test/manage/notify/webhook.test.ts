import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import t from 'tap'
import { createPoster, type Post } from '../../../src/base/outbound/guarded-outbound.js'
import { callWebhook } from '../../../src/manage/notify/webhook.js'
import { alertDeliveries, postAnywhere, resolveNothing, START } from '../../fixtures/alert-deliveries.js'
import { createInProcessEngine } from '../../fixtures/in-process-worker.js'
import { receiver } from '../../fixtures/receiver.js'

t.test('a webhook is signed, keyed and delivered once', async (t) => {
  const { received, url } = await receiver(t, (_, res) => res.writeHead(204).end())
  const { add, run, list, secret, records, notice } = await alertDeliveries(t, [{ type: 'webhook', target: url }])
  await add()
  await run()
  await run()
  t.equal(received.length, 1)
  const [{ headers, body } = { headers: {}, body: '' }] = received
  const signed = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-service-signature']))
  t.equal(signed?.[1], String(START / 1000), 'unix seconds')
  t.equal(
    signed?.[2],
    createHmac('sha256', secret)
      .update(`${START / 1000}.${body}`, 'utf8')
      .digest('hex'),
  )
  t.match(secret, /^svcw_[\w-]{43}$/)
  t.equal(headers['x-service-delivery'], 'alert:1:x:0')
  t.match(JSON.parse(body), { id: 'alert:1:x:0', event: 'fired', site: { name: 'Tides' }, value: 7 })
  t.notOk(body.includes(secret))
  t.match(await list(), [{ key: 'alert:1:x:0', state: 'done', attempts: 1, done_at: '2026-11-21T10:00:00.000Z' }])
  await records.write(...notice(0))
  await run()
  t.equal(received.length, 1, 'a notice whose key exists is not queued again')
})

t.test('each status and each broken connection gives its result, and Retry-After counts', async (t) => {
  const date = 'Sat, 21 Nov 2026 10:10:00 GMT'
  const cases: [why: string, answer: Parameters<typeof receiver>[1], outcome: object][] = [
    ['created', (_, res) => res.writeHead(201).end('x'.repeat(1 << 20)), { delivered: true }],
    [
      'a body that cannot be decoded',
      (_, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
      { delivered: true },
    ],
    ['a client error', (_, res) => res.writeHead(400).end(), { delivered: false, permanent: false }],
    ['a redirect', (_, res) => res.writeHead(302, { location: '/x' }).end(), { delivered: false, permanent: false }],
    ['gone', (_, res) => res.writeHead(410).end(), { delivered: false, permanent: true }],
    [
      'Retry-After in seconds',
      (_, res) => res.writeHead(503, { 'retry-after': '300' }).end(),
      { retry_after_ms: 300_000 },
    ],
    [
      'Retry-After as a date',
      (_, res) => res.writeHead(429, { 'retry-after': date }).end(),
      { retry_after_ms: 600_000 },
    ],
    [
      'an invalid Retry-After',
      (_, res) => res.writeHead(429, { 'retry-after': 'soon' }).end(),
      { retry_after_ms: undefined },
    ],
    ['a reset connection', (_, __, req) => req.socket.resetAndDestroy(), { delivered: false, permanent: false }],
    [
      'a response that is not HTTP',
      (_, __, req) => req.socket.end('what?\r\n\r\n'),
      { delivered: false, permanent: false },
    ],
    ['a closed connection', (_, __, req) => req.socket.end(), { delivered: false, permanent: false }],
  ]
  const now = () => new Date(START)
  for (const [why, answer, outcome] of cases) {
    const { received, url } = await receiver(t, answer)
    t.match(await callWebhook({ url, secret: 's', key: 'k', body: '{}' }, { post: postAnywhere, now }), outcome, why)
    t.equal(received.length, 1, why)
  }
  const { received, url } = await receiver(t, (n, res) =>
    res.writeHead(n === 0 ? 503 : 200, { 'retry-after': '300' }).end(),
  )
  const { add, next, list } = await alertDeliveries(t, [{ type: 'webhook', target: url }])
  await add()
  t.same([await next(), await next(), await next()], [0, 300, undefined])
  t.equal(received.length, 2)
  t.match(await list(), [{ state: 'done' }])
})

t.test('a receiver that hangs in any way is left after the timeout and retried', async (t) => {
  const sockets = new Set<Socket>()
  const drip = (socket: Socket, bytes: string) => {
    const timer = setInterval(() => socket.write(bytes), 20)
    socket.on('close', () => clearInterval(timer))
  }
  const head = 'HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n'
  const late = { delivered: false, permanent: false, error: /took too long$/ }
  const cases: [why: string, scheme: string, hang: (socket: Socket) => unknown, outcome: object][] = [
    ['the receiver never responds', 'http', (socket) => socket.resume(), late],
    // Ends at last, so that the other side notices.
    ['the receiver never reads', 'http', (socket) => setTimeout(() => socket.resume(), 2_000), late],
    ['TLS never begins', 'https', (socket) => socket.resume(), late],
    [
      'the headers arrive byte by byte',
      'http',
      (socket) => {
        socket.resume().write('HTTP/1.1 200 OK\r\nx: ')
        drip(socket, 'x')
      },
      late,
    ],
    [
      'informational responses never end',
      'http',
      (socket) => drip(socket.resume(), 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'),
      late,
    ],
    [
      'the receiver accepts and sends its body byte by byte',
      'http',
      (socket) => {
        socket.resume().write(head)
        drip(socket, 'x')
      },
      { delivered: true },
    ],
    [
      'the receiver refuses and sends its body byte by byte',
      'http',
      (socket) => {
        socket.resume().write(head.replace('200 OK', '500 No'))
        drip(socket, 'x')
      },
      { delivered: false, permanent: false, error: 'the receiver returned status 500' },
    ],
  ]
  const post: Post = (url, body, options) => postAnywhere(url, body, { ...options, timeout: 500 })
  const now = () => new Date(START)
  const hanging = async (hang: (socket: Socket) => unknown) => {
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
      hang(socket)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    const address = server.address()
    return `127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}/`
  }
  await Promise.all(
    cases.map(async ([why, scheme, hang, outcome]) => {
      const url = `${scheme}://${await hanging(hang)}`
      const began = performance.now()
      // More than the buffers of both ends hold.
      const body = why === 'the receiver never reads' ? 'x'.repeat(16 << 20) : '{}'
      t.match(await callWebhook({ url, secret: 's', key: 'k', body }, { post, now }), outcome, why)
      const took = performance.now() - began
      t.ok(took < 3_000, `${why}: ${took.toFixed(0)} ms`)
    }),
  )
  for (let i = 0; i < 300 && sockets.size > 0; i++) await new Promise((resolve) => setTimeout(resolve, 10))
  t.equal(sockets.size, 0, 'no connection is left')
  const url = `http://${await hanging((socket) => socket.resume())}`
  const { add, next, list } = await alertDeliveries(t, [{ type: 'webhook', target: url }], { post })
  await add()
  t.same([await next(), await next(), await next()], [0, 30, 120])
  t.match(await list(), [{ state: 'waiting', attempts: 3, last_error: /took too long$/ }])
})

// Attack: a member who may create alerts wants readership to send requests into the network that it runs in: to the
// cloud's metadata service, to a router, to a database on localhost. The URL of a webhook is the member's choice. The
// attacker writes a private address directly, in an unusual notation (octal, hexadecimal, IPv4 in IPv6), or as a hostname
// that resolves to one, and tries to learn from error messages which addresses and ports exist inside.
// Defence: the address is checked after the name is resolved, the connection goes to exactly that address, redirects are
// not followed, and every refused address gives the same error text.
t.test('no webhook reaches an address that is not public', async (t) => {
  const local = await receiver(t, (_, res) => res.end())
  const names = new Map([
    ['rebound.example', ['127.0.0.1']],
    ['half.example', ['93.184.216.34', '10.0.0.1']],
    ['six.example', ['::1']],
    ['rebound.example.', ['127.0.0.1']],
  ])
  const post = createPoster({
    resolve: async (name) => names.get(name) ?? resolveNothing(name),
    version: '1',
    anywhere: false,
  })
  const at = (host: string) => `http://${host}:${local.port}/`
  const refused = [
    ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0', '[::1]', '[::ffff:127.0.0.1]', '[::]'].map(
      at,
    ),
    ...['169.254.169.254', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '168.63.129.16', '[fd00::1]'].map(at),
    ...['rebound.example', 'half.example', 'six.example', 'rebound.example.'].map(at),
    'http://93.184.216.34:25/',
    'http://93.184.216.34:22/',
    'ftp://93.184.216.34/',
  ]
  const now = () => new Date(START)
  for (const url of refused) {
    const outcome = await callWebhook({ url, secret: 's', key: 'k', body: '{}' }, { post, now })
    t.same(outcome, { delivered: false, error: 'this address is not allowed', permanent: true }, url)
  }
  const { workerClient } = await createInProcessEngine(t)
  t.equal(local.received.length, 0, 'no request arrived')
  const { add, run } = await alertDeliveries(t, [{ type: 'webhook', target: local.url }], { workerClient })
  await add()
  await run()
  t.equal(local.received.length, 1, 'private_webhooks allows it')
})
