import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { type Alert, createAlerts } from '../../src/manage/alerts.js'
import { createReports } from '../../src/manage/reports.js'
import { createDeliverer } from '../../src/notify/deliverer.js'
import { createOutbox, noticeStatements, retryDelayMs } from '../../src/notify/outbox.js'
import { sendNotice } from '../../src/notify/send-notice.js'
import { createMailer } from '../../src/notify/smtp-mailer.js'
import { callWebhook } from '../../src/notify/webhook.js'
import { createPoster, type Post } from '../../src/outbound/guarded-outbound.js'
import { OutboundError } from '../../src/outbound/outbound.js'
import type { Records } from '../../src/store.js'
import { deed } from '../fixtures/audit-context.js'
import { createInProcessEngine } from '../fixtures/in-process-engine.js'
import { mailServer, receiver } from '../fixtures/receiver.js'

const START = Date.UTC(2026, 10, 21, 10)
const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const noNames = async (name: string): Promise<string[]> => {
  throw new OutboundError('unreachable', `${name} has no address`)
}
const anywhere = createPoster({ resolve: noNames, version: '1', anywhere: true })
const event = (id: number) => ({
  ...{ event: 'fired', at: '2026-11-21T10:00:00.000Z', site: { id: 1, name: 'Tides' } },
  alert: {
    ...{ id, name: 'A', kind: 'threshold', metric: 'visitors', audience: 'human', filters: [] },
    ...{ op: 'gte', value: 1, window_minutes: 60 },
  },
  window: { start: '2026-11-21T09:00:00.000Z', end: '2026-11-21T10:00:00.000Z' },
  value: 7,
  details: [],
})

/** Opens an alert with these channels, whose first notices are due at `START`; the test moves the clock. */
async function open(
  t: Test,
  channels: Alert['channels'],
  {
    post = anywhere,
    smtp,
    engine,
    alert,
  }: { post?: Post; smtp?: string; engine?: { records: Records }; alert?: number } = {},
) {
  const { records } = engine ?? (await createInProcessEngine(t)).engine
  let at = START
  const now = () => new Date(at)
  const alerts = createAlerts({ records, random: randomBytes })
  const name = `A${(await alerts.list(1)).length}`
  const made: Alert = {
    ...{ site: 1, name, kind: 'threshold', metric: 'visitors', audience: 'human', filters: [], op: 'gte' },
    ...{ value: 1, window_minutes: 60, channels, enabled: true },
  }
  const id = alert ?? (await alerts.create(made, deed)).id
  const mailer = smtp === undefined ? undefined : createMailer({ smtp, from: 'Tides <tides@example.com>' })
  t.teardown(() => mailer?.close())
  const outbox = createOutbox({ records, random: () => 0.5 })
  const deps = {
    alerts,
    reports: createReports(records),
    mail: mailer?.send,
    post,
    draw: async () => new Uint8Array(),
    now,
  }
  const logged: unknown[] = []
  const deliverer = createDeliverer({
    outbox,
    send: (notice) => sendNotice(notice, deps),
    now,
    log: (error) => logged.push(error),
    onFinish: () => {},
  })
  const notice = (i: number, site = 1) =>
    noticeStatements(
      {
        key: `alert:${id}:x:${i}`,
        site,
        source: { alert: id },
        channel: channels[i] ?? { type: 'email', target: '' },
        payload: event(id),
      },
      now(),
    )
  const run = async () => {
    await deliverer.pass()
    await deliverer.idle()
  }
  return {
    ...{ records, alerts, outbox, deliverer, logged, id, run, notice },
    secret: await alerts.secret(id),
    add: () => records.write(...channels.flatMap((_, i) => notice(i))),
    /** Moves the clock to the next attempt and makes it; returns the seconds that passed. */
    async next() {
      const due = await outbox.nextDue()
      const before = at
      if (due) at = due.getTime()
      await run()
      return due === undefined ? undefined : Math.round((at - before) / SECOND)
    },
    list: () => outbox.list({ alert: id }),
  }
}

t.test('a webhook is signed, keyed and delivered once', async (t) => {
  const { received, url } = await receiver(t, (_, res) => res.writeHead(204).end())
  const { add, run, list, secret, records, notice } = await open(t, [{ type: 'webhook', target: url }])
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
  t.equal(received.length, 1, 'what has its key already is not written')
})

t.test('a failing receiver is retried at growing intervals and then given up', async (t) => {
  const { received, url } = await receiver(t, (_, res) => res.writeHead(500).end())
  const { add, next, list, logged } = await open(t, [{ type: 'webhook', target: url }])
  await add()
  const waits = [await next(), await next(), await next(), await next(), await next(), await next(), await next()]
  t.same(waits, [0, 30, 120, 600, 3_600, 21_600, undefined])
  t.equal(received.length, 6)
  t.equal(new Set(received.map(({ headers }) => headers['x-service-delivery'])).size, 1, 'under one name')
  t.equal(new Set(received.map(({ headers }) => headers['x-service-signature'])).size, 6, 'signed afresh')
  t.match(await list(), [{ state: 'failed', attempts: 6, last_error: 'the receiver returned status 500' }])
  t.same(logged, [])
})

t.test('each status and each broken connection gives its result, and Retry-After counts', async (t) => {
  const date = 'Sat, 21 Nov 2026 10:10:00 GMT'
  const cases: [why: string, answer: Parameters<typeof receiver>[1], outcome: object][] = [
    ['created', (_, res) => res.writeHead(201).end('x'.repeat(1 << 20)), { delivered: true }],
    [
      'a body that breaks',
      (_, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
      { delivered: true },
    ],
    ['an error', (_, res) => res.writeHead(400).end(), { delivered: false, permanent: false }],
    ['a redirect', (_, res) => res.writeHead(302, { location: '/x' }).end(), { delivered: false, permanent: false }],
    ['gone', (_, res) => res.writeHead(410).end(), { delivered: false, permanent: true }],
    ['in a while', (_, res) => res.writeHead(503, { 'retry-after': '300' }).end(), { retry_after_ms: 300_000 }],
    ['at a date', (_, res) => res.writeHead(429, { 'retry-after': date }).end(), { retry_after_ms: 600_000 }],
    ['at no date', (_, res) => res.writeHead(429, { 'retry-after': 'soon' }).end(), { retry_after_ms: undefined }],
    ['a reset', (_, __, req) => req.socket.resetAndDestroy(), { delivered: false, permanent: false }],
    ['no HTTP', (_, __, req) => req.socket.end('what?\r\n\r\n'), { delivered: false, permanent: false }],
    ['hung up', (_, __, req) => req.socket.end(), { delivered: false, permanent: false }],
  ]
  const now = () => new Date(START)
  for (const [why, answer, outcome] of cases) {
    const { received, url } = await receiver(t, answer)
    t.match(await callWebhook({ url, secret: 's', key: 'k', body: '{}' }, { post: anywhere, now }), outcome, why)
    t.equal(received.length, 1, why)
  }
  const { received, url } = await receiver(t, (n, res) =>
    res.writeHead(n === 0 ? 503 : 200, { 'retry-after': '300' }).end(),
  )
  const { add, next, list } = await open(t, [{ type: 'webhook', target: url }])
  await add()
  t.same([await next(), await next(), await next()], [0, 300, undefined])
  t.equal(received.length, 2)
  t.match(await list(), [{ state: 'done' }])
})

t.test('delays vary by a tenth; Retry-After is respected up to a day', (t) => {
  t.equal(
    retryDelayMs(1, () => 0.5, 1_000),
    30_000,
  )
  t.equal(
    retryDelayMs(1, () => 0.5, 365 * 24 * HOUR),
    24 * HOUR,
  )
  t.equal(
    retryDelayMs(1, () => 0),
    27_000,
  )
  t.equal(
    retryDelayMs(1, () => 1),
    33_000,
  )
  t.equal(
    retryDelayMs(2, () => 0.5),
    2 * MINUTE,
  )
  t.equal(
    retryDelayMs(5, () => 0.5),
    6 * HOUR,
  )
  t.end()
})

t.test('one site, one channel or one fault does not hold up the others', async (t) => {
  let hung = 0
  const slow = await receiver(t, () => hung++)
  const { received, url } = await receiver(t, (_, res) => res.end())
  const channels = Array.from({ length: 8 }, (_, i) => ({ type: 'webhook' as const, target: `${slow.url}?${i}` }))
  const { records, alerts, deliverer, notice, id, outbox } = await open(t, [
    ...channels,
    { type: 'webhook', target: url },
    { type: 'webhook', target: `${url}?of-another-site` },
  ])
  const both = async (of: number, taken: number) => {
    for (let i = 0; i < 200 && (hung < of || received.length < taken); i++)
      await new Promise((resolve) => setTimeout(resolve, 10))
    await deliverer.pass()
    await new Promise((resolve) => setTimeout(resolve, 30))
    return [hung, received.length]
  }
  await records.write(...[0, 1, 2, 3].flatMap((i) => notice(i)), ...notice(8), ...notice(9, 2))
  await deliverer.pass()
  t.same(await both(2, 2), [2, 2], 'two of a site to one receiver at once; others have their own')
  await records.write(...[4, 5, 6, 7].flatMap((i) => notice(i, 10 + i)))
  await deliverer.pass()
  t.same(await both(4, 2), [4, 2], 'and of all sites four, which are not begun again while they are under way')
  await alerts.delete(id, deed)
  t.equal((await outbox.list({ alert: id })).length, 10)
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
    ['it never answers', 'http', (socket) => socket.resume(), late],
    // Ends at last, so that the other side notices.
    ['it never reads', 'http', (socket) => setTimeout(() => socket.resume(), 2_000), late],
    ['its TLS never begins', 'https', (socket) => socket.resume(), late],
    [
      'its head drips',
      'http',
      (socket) => {
        socket.resume().write('HTTP/1.1 200 OK\r\nx: ')
        drip(socket, 'x')
      },
      late,
    ],
    [
      'it goes on informing',
      'http',
      (socket) => drip(socket.resume(), 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'),
      late,
    ],
    [
      'it took it and drips a body',
      'http',
      (socket) => {
        socket.resume().write(head)
        drip(socket, 'x')
      },
      { delivered: true },
    ],
    [
      'it refused it and drips a body',
      'http',
      (socket) => {
        socket.resume().write(head.replace('200 OK', '500 No'))
        drip(socket, 'x')
      },
      { delivered: false, permanent: false, error: 'the receiver returned status 500' },
    ],
  ]
  const post: Post = (url, body, options) => anywhere(url, body, { ...options, timeout: 500 })
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
      const body = why === 'it never reads' ? 'x'.repeat(16 << 20) : '{}'
      t.match(await callWebhook({ url, secret: 's', key: 'k', body }, { post, now }), outcome, why)
      const took = performance.now() - began
      t.ok(took < 3_000, `${why}: ${took.toFixed(0)} ms`)
    }),
  )
  for (let i = 0; i < 300 && sockets.size > 0; i++) await new Promise((resolve) => setTimeout(resolve, 10))
  t.equal(sockets.size, 0, 'no connection is left')
  const url = `http://${await hanging((socket) => socket.resume())}`
  const { add, next, list } = await open(t, [{ type: 'webhook', target: url }], { post })
  await add()
  t.same([await next(), await next(), await next()], [0, 30, 120])
  t.match(await list(), [{ state: 'waiting', attempts: 3, last_error: /took too long$/ }])
})

t.test('a result that cannot be written does not cause a second delivery', async (t) => {
  const { engine } = await createInProcessEngine(t)
  let broken = false
  const records: Records = {
    query: (query) => engine.records.query(query),
    write: (...statements) => (broken ? Promise.reject(new Error('full')) : engine.records.write(...statements)),
  }
  const { received, url } = await receiver(t, (_, res) => {
    broken = true
    res.end()
  })
  const { add, run, list, logged } = await open(t, [{ type: 'webhook', target: url }], { engine: { records } })
  await add()
  await run()
  await run()
  await run()
  t.equal(received.length, 1)
  t.match(await list(), [{ state: 'sending' }])
  t.not(logged.length, 0)
  broken = false
  await run()
  t.match(await list(), [{ state: 'done', attempts: 1 }], 'what became of it is written when it can be')
  t.equal(received.length, 1)
})

t.test('after a crash a delivery in doubt is sent again with the same key', async (t) => {
  const { engine } = await createInProcessEngine(t)
  const { received, url } = await receiver(t, (n, res) => n > 0 && res.end())
  const first = await open(t, [{ type: 'webhook', target: url }], { engine })
  await first.add()
  await first.deliverer.pass()
  for (let i = 0; i < 100 && received.length < 1; i++) await new Promise((resolve) => setTimeout(resolve, 10))
  const second = await open(t, [{ type: 'webhook', target: url }], { engine, alert: first.id })
  await second.run()
  t.same(
    received.map(({ headers }) => headers['x-service-delivery']),
    ['alert:1:x:0', 'alert:1:x:0'],
  )
  t.match(await second.list(), [{ state: 'done', attempts: 2 }])
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
    resolve: async (name) => names.get(name) ?? noNames(name),
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
  const { engine } = await createInProcessEngine(t)
  t.equal(local.received.length, 0, 'nothing came')
  const { add, run } = await open(t, [{ type: 'webhook', target: local.url }], { engine })
  await add()
  await run()
  t.equal(local.received.length, 1, 'unless private_webhooks says so')
})

t.test('an alert is mailed, and the result of each attempt is saved', async (t) => {
  const mail = { type: 'email' as const, target: 'a@example.com' }
  const cases: [
    why: string,
    status: (n: number) => number | undefined,
    waits: (number | undefined)[],
    state: string,
  ][] = [
    ['taken', () => undefined, [undefined], 'done'],
    ['greylisted', (n) => (n < 2 ? 451 : undefined), [30, 120, undefined], 'done'],
    ['no such reader', () => 550, [undefined], 'failed'],
  ]
  const { engine } = await createInProcessEngine(t)
  for (const [why, refuse, waits, state] of cases) {
    const { mails, url } = await mailServer(t, refuse)
    const { add, next, list } = await open(t, [mail], { smtp: url, engine })
    await add()
    await next()
    const seen: (number | undefined)[] = []
    for (const _ of waits) seen.push(await next())
    t.same(seen, waits, why)
    t.match(await list(), [{ state }], why)
    t.equal(mails.length, state === 'done' ? 1 : 0, why)
    if (state !== 'done') continue
    t.same(mails[0]?.to, ['a@example.com'])
    t.match(mails[0]?.text, /^Subject: Alert: A \(Tides\)\r?$/m)
    t.match(mails[0]?.text, /^X-Service-Delivery: alert:\d+:x:0\r?$/m)
    t.match(mails[0]?.text, /Value: 7\./)
  }
  const none = await open(t, [mail], { engine })
  await none.add()
  await none.run()
  t.match(await none.list(), [{ state: 'failed', last_error: 'no mail server is configured (smtp)' }])

  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  t.teardown(() => silent.close())
  const address = silent.address()
  const smtp = `smtp://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`
  const mailer = createMailer({ smtp, from: 'a@example.com', mail_timeout_ms: 200 })
  const one = { to: 'b@example.com', subject: 'x', text: 'x' }
  await t.rejects(mailer.send(one), { permanent: false, message: 'the mail server took too long' })
  const hostile: [object, string][] = [
    [{ subject: 'x\r\nBcc: c@example.com' }, 'a second header'],
    [{ subject: 'x\nBcc: c@example.com' }, 'by a bare line feed too'],
    [{ key: 'x\r\nBcc: c@example.com' }, 'in the key'],
    [{ to: 'b@example.com, c@example.com' }, 'two readers'],
    [{ to: 'b@example.com\r\nBcc: c@example.com' }, 'a reader and a header'],
    [{ to: 'B <b@example.com>' }, 'a name'],
  ]
  for (const [part, why] of hostile)
    await t.rejects(mailer.send({ ...one, ...part }), { name: 'MailError', permanent: true }, why)
})

t.test('a removed channel receives nothing', async (t) => {
  const { received, url } = await receiver(t, (_, res) => res.end())
  const { add, run, list, alerts, id } = await open(t, [{ type: 'webhook', target: url }])
  await add()
  await alerts.change(id, async (now) => ({ ...now, channels: [{ type: 'email', target: 'a@example.com' }] }), deed)
  await run()
  t.match(await list(), [{ state: 'failed', last_error: /no longer a channel/ }])
  await alerts.delete(id, deed)
  t.equal(received.length, 0)
})

t.test('finished deliveries are kept for 30 days, at most a thousand a site', async (t) => {
  const { records, outbox, run, notice, list } = await open(t, [{ type: 'email', target: 'a@example.com' }])
  await records.write(...notice(0))
  await run()
  await outbox.prune(new Date(START + 30 * 24 * HOUR - 1))
  t.equal((await list()).length, 1)
  await outbox.prune(new Date(START + 30 * 24 * HOUR + 1))
  t.equal((await list()).length, 0)
})
