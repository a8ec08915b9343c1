import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  constants,
  Http2ServerResponse,
  type IncomingHttpHeaders,
} from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { readCertificate } from '../../../src/site/proxy/certificate.js'
import { createTlsListener, type TlsOptions } from '../../../src/site/proxy/tls-listener.js'
import { createUpgrader } from '../../../src/site/proxy/upgrade.js'
import { portOf, waitFor } from './fixtures/sockets.js'

const file = (name: string) => join('test/site/proxy/fixtures/tls', name)
const first = () => readCertificate(file('first.cert.pem'), file('first.key.pem'))
const second = () => readCertificate(file('second.cert.pem'), file('second.key.pem'))
const ca = [readFileSync(file('first.cert.pem')), readFileSync(file('second.cert.pem'))]

async function listener(t: Test, handler: TlsOptions['handler'], http1: Server = createServer(), idleTimeout = 75_000) {
  http1.on('request', handler)
  const tls = createTlsListener({ certificate: await first(), http1, handler, idleTimeout })
  tls.server.listen(0, '127.0.0.1')
  await once(tls.server, 'listening')
  t.teardown(async () => {
    await tls.close(0)
    http1.closeAllConnections()
  })
  return { tls, http1, port: portOf(tls.server) }
}

const session = (t: Test, port: number): ClientHttp2Session => {
  const client = connectHttp2(`https://localhost:${port}`, { ca })
  client.on('error', () => {})
  t.teardown(() => client.destroy())
  return client
}
async function get(client: ClientHttp2Session, headers: Record<string, string>, body?: string) {
  const stream = client.request(headers, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  const [answer]: IncomingHttpHeaders[] = await once(stream, 'response')
  let text = ''
  for await (const chunk of stream) text += chunk
  return { status: answer?.[':status'], text, headers: answer }
}
const get1 = (port: number, options: Record<string, unknown> = {}) =>
  new Promise<{ status: number | undefined; text: string; protocol: string | false | null }>((resolve, reject) => {
    const req = httpsRequest({ host: 'localhost', port, ca, agent: false, ...options }, async (res) => {
      const protocol =
        res.socket instanceof Object && 'alpnProtocol' in res.socket ? String(res.socket.alpnProtocol) : null
      let text = ''
      for await (const chunk of res) text += chunk
      resolve({ status: res.statusCode, text, protocol })
    })
    req.on('error', reject)
    req.end()
  })
const describe: TlsOptions['handler'] = (req, res) => {
  let body = ''
  req.on('data', (chunk) => {
    body += chunk
  })
  req.on('end', () => {
    res.setHeader('set-cookie', ['a=1', 'b=2'])
    res.end(
      JSON.stringify({
        version: req.httpVersion,
        url: req.url,
        method: req.method,
        body,
        tls: 'encrypted' in req.socket,
        ip: req.socket.remoteAddress,
      }),
    )
  })
}
const subjectOf = async (port: number): Promise<string> => {
  const socket = connectTls({ host: 'localhost', port, ca, ALPNProtocols: ['h2'] })
  await once(socket, 'secureConnect')
  const { subject } = socket.getPeerCertificate()
  const { alpnProtocol } = socket
  socket.destroy()
  return `${subject.CN} ${alpnProtocol}`
}

t.test('serves HTTP/2 and HTTP/1.1 on one port', async (t) => {
  const { port, tls } = await listener(t, describe)
  const client = session(t, port)
  const answer = await get(client, { ':path': '//a?b=1', ':method': 'POST' }, 'hello')
  t.equal(answer.status, 200)
  t.same(JSON.parse(answer.text), {
    version: '2.0',
    url: '//a?b=1',
    method: 'POST',
    body: 'hello',
    tls: true,
    ip: '127.0.0.1',
  })
  t.same(answer.headers?.['set-cookie'], ['a=1', 'b=2'])
  t.equal(tls.stats().sessions, 1)

  const h1 = await get1(port, { path: '/x' })
  t.match(
    JSON.parse(h1.text),
    { version: '1.1', url: '/x', tls: true, ip: '127.0.0.1' },
    'a client that names only http/1.1',
  )
  const mute = connectTls({ host: 'localhost', port, ca })
  mute.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  let text = ''
  for await (const chunk of mute) text += chunk
  t.match(text, /^HTTP\/1\.1 200 OK/, 'a client that names none')
  await t.rejects(
    once(connectTls({ host: 'localhost', port, ca, ALPNProtocols: ['spdy/3'] }), 'secureConnect'),
    'nothing in common',
  )
  await t.rejects(
    once(
      connectTls({
        host: 'localhost',
        port,
        ca,
        maxVersion: 'TLSv1.1',
        minVersion: 'TLSv1',
        ciphers: 'ALL@SECLEVEL=0',
      }),
      'secureConnect',
    ),
    'TLS 1.1',
  )
  const plain = connectTcp(port, '127.0.0.1')
  plain.on('error', () => {})
  plain.write('GET / HTTP/1.1\r\n\r\n')
  await once(plain, 'close')
  t.ok(tls.stats().handshake_errors >= 3, 'counted')
})

t.test('sends a big body on each of many streams at once', async (t) => {
  const big = Buffer.alloc(1 << 20, 'z')
  const { port } = await listener(t, (_req, res) => {
    res.end(big)
  })
  const client = session(t, port)
  await once(client, 'remoteSettings')
  const bodies = await Promise.all(Array.from({ length: 20 }, (_, i) => get(client, { ':path': `/${i}` })))
  t.ok(bodies.every(({ text }) => text.length === big.length))
})

t.test('reload changes the certificate of new connections', async (t) => {
  const { port, tls } = await listener(t, describe)
  const client = session(t, port)
  await get(client, { ':path': '/' })
  t.equal(await subjectOf(port), 'first.example h2')
  const bad = await tls.reload(() => readCertificate(file('second.cert.pem'), file('first.key.pem')))
  t.match(bad, {
    ok: false,
    reason:
      /^tls-key: .*first\.key\.pem is not the key of the certificate in .*second\.cert\.pem; the current certificate remains in use$/,
  })
  t.equal(await subjectOf(port), 'first.example h2', 'a bad certificate changes nothing')
  const good = await tls.reload(second)
  t.match(good, { ok: true, certificate: { names: /second\.example/ } })
  t.equal(await subjectOf(port), 'second.example h2', 'new connections, HTTP/2 as before')
  t.equal((await get(client, { ':path': '/still' })).status, 200, 'running sessions go on')
})

t.test('readCertificate names the setting, the file and the problem', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'readership-tls-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'not.pem'), 'hello')
  writeFileSync(join(dir, 'empty.pem'), '')
  const rows: [cert: string, key: string, expected: RegExp][] = [
    [join(dir, 'none'), file('first.key.pem'), /^tls-cert: cannot read .*none: ENOENT[^\n]*$/],
    [file('first.cert.pem'), join(dir, 'none'), /^tls-key: cannot read .*none: ENOENT[^\n]*$/],
    [join(dir, 'not.pem'), file('first.key.pem'), /^tls-cert: .*not\.pem is not a usable PEM file: [^\n]*$/],
    [join(dir, 'empty.pem'), file('first.key.pem'), /^tls-cert: .*empty\.pem is not a usable PEM file/],
    [file('first.key.pem'), file('first.key.pem'), /^tls-cert: .*first\.key\.pem is not a usable PEM file/],
    [file('first.cert.pem'), file('first.cert.pem'), /^tls-key: .*first\.cert\.pem is not a usable PEM file/],
    [file('first.cert.pem'), file('second.key.pem'), /^tls-key: .*second\.key\.pem is not the key of the certificate/],
    [dir, file('first.key.pem'), /^tls-cert: cannot read .*EISDIR/],
  ]
  for (const [cert, key, message] of rows) await t.rejects(readCertificate(cert, key), { message }, String(message))
  const pair = await first()
  t.match(pair.names, /DNS:localhost.*DNS:first\.example/)
  t.ok(pair.expires.getTime() > Date.UTC(2100, 0))
})

t.test('the HTTP/1.1 server cuts a slow head over TLS', async (t) => {
  const http1 = createServer({ headersTimeout: 200, requestTimeout: 400, connectionsCheckingInterval: 50 })
  const { port } = await listener(t, describe, http1)
  const slow = connectTls({ host: 'localhost', port, ca })
  slow.on('error', () => {})
  slow.write('GET / HTTP/1.1\r\nHost: ')
  let text = ''
  slow.on('data', (chunk) => {
    text += chunk
  })
  const started = Date.now()
  await once(slow, 'close')
  t.match(text, /^HTTP\/1\.1 408 /)
  t.ok(Date.now() - started < 10_000)
})

t.test('relays WebSockets over TLS to a TLS origin', async (t) => {
  const pair = await second()
  const http = createServer()
  const sockets = new WebSocketServer({ server: http })
  sockets.on('connection', (socket) => {
    socket.on('message', (data) => socket.send(`echo ${data}`))
  })
  const origin = createTlsServer({ cert: pair.cert, key: pair.key }, (socket) => {
    http.emit('connection', socket)
  })
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const http1 = createServer()
  const seen: number[] = []
  const errors: string[] = []
  const upgrader = createUpgrader({
    origin: new URL(`https://localhost:${portOf(origin)}`),
    clientAddress: () => '192.0.2.1',
    isTrustedPeer: () => false,
    handleAsOrdinary: (socket) => {
      http1.emit('connection', socket)
    },
    record: ({ status, bytes }) => seen.push(status, bytes),
    onError: (kind) => errors.push(kind),
    tls: { ca },
  })
  http1.on('upgrade', upgrader.upgrade)
  const { port } = await listener(t, describe, http1)
  t.teardown(async () => {
    await upgrader.close()
    for (const socket of sockets.clients) socket.terminate()
    origin.close()
  })
  const socket = new WebSocket(`wss://localhost:${port}/`, { ca })
  await once(socket, 'open')
  socket.send('hi')
  const [data] = await once(socket, 'message')
  t.equal(String(data), 'echo hi')
  socket.close()
  await once(socket, 'close')
  await waitFor('observed', () => seen.length > 0)
  // RFC 6455 5.2: a text frame of 7 bytes has a head of 2, a close frame without a code is 2.
  t.same(seen, [101, 2 + 7 + 2])
  const h2c = await get1(port, { path: '/h2c', headers: { connection: 'Upgrade', upgrade: 'h2c' } })
  t.match(JSON.parse(h2c.text), { version: '1.1', url: '/h2c' }, 'h2c is read again as an ordinary request')

  const strict = createUpgrader({
    origin: new URL(`https://localhost:${portOf(origin)}`),
    clientAddress: () => '192.0.2.1',
    isTrustedPeer: () => false,
    handleAsOrdinary: () => {},
    onError: (kind) => errors.push(kind),
  })
  http1.removeAllListeners('upgrade')
  http1.on('upgrade', strict.upgrade)
  const refused = new WebSocket(`wss://localhost:${port}/`, { ca })
  refused.on('error', () => {})
  const [, response] = await once(refused, 'unexpected-response')
  t.equal(response.statusCode, 502, 'an origin with an unknown certificate')
  t.same(errors, ['unreachable'])
  refused.terminate()
  await strict.close()
})

t.test('limits what one HTTP/2 client can take', async (t) => {
  let opened = 0
  const { port, tls } = await listener(t, (req, res) => {
    opened++
    if ('stream' in req) req.stream.on('error', () => {})
    if (req.url !== '/hold') res.end('ok')
  })
  const polite = session(t, port)
  t.equal((await get(polite, { ':path': '/' })).status, 200)
  t.match(polite.remoteSettings, { maxConcurrentStreams: 128, maxHeaderListSize: 65_536, enableConnectProtocol: false })

  const rude = session(t, port)
  await once(rude, 'remoteSettings')
  let away = 0
  rude.on('goaway', (code) => {
    away = code
  })
  for (let i = 0; i < 5_000 && !rude.destroyed && !rude.closed; i++) {
    const stream = rude.request({ ':path': '/hold' })
    stream.on('error', () => {})
    stream.close(constants.NGHTTP2_CANCEL)
    if (i % 100 === 0) await sleep(1)
  }
  await waitFor('the flood to be cut', () => rude.destroyed || rude.closed)
  t.not(away, 0, 'rapid reset ends the session with an error')
  t.ok(opened < 3_000, `${opened} of 5,000 were opened`)
  t.equal((await get(polite, { ':path': '/' })).status, 200, 'others go on')

  const crumbs = await get(polite, {
    ':path': '/',
    ...Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x-${i}`, '1'])),
  })
  t.equal(crumbs.status, 200, '300 fields are not an attack')
  const huge = polite.request({ ':path': '/', 'x-huge': 'x'.repeat(60_000), 'x-more': 'y'.repeat(60_000) })
  const [error] = await once(huge, 'error')
  t.match(error, { code: 'ERR_HTTP2_STREAM_ERROR' }, 'more than 64 KB of fields')
  await waitFor('the sessions', () => tls.stats().sessions <= 1)
})

t.test('closes an idle session, but not a busy one', async (t) => {
  const { port, tls } = await listener(
    t,
    (req, res) => {
      if (req.url === '/slow') setTimeout(() => res.end('late'), 1_400)
      else res.end('ok')
    },
    createServer(),
    150,
  )
  const client = session(t, port)
  t.equal((await get(client, { ':path': '/slow' })).text, 'late')
  await waitFor('the goodbye', () => client.closed && tls.stats().sessions === 0)
  t.pass('closed when idle')
})

t.test('close lets streams finish, then cuts them', async (t) => {
  const { port, tls } = await listener(t, (req, res) => {
    if (req.url === '/slow') setTimeout(() => res.end('late'), 200)
    else if (res instanceof Http2ServerResponse) res.write('begun')
  })
  const client = session(t, port)
  const slow = get(client, { ':path': '/slow' })
  const endless = session(t, port).request({ ':path': '/endless' })
  endless.on('error', () => {})
  await once(endless, 'data')
  const started = Date.now()
  await tls.close(600)
  const took = Date.now() - started
  t.equal((await slow).text, 'late')
  t.ok(took >= 500 && took < 10_000, `${took} ms`)
  t.equal(tls.stats().sessions, 0)
  const late = connectTls({ host: 'localhost', port, ca })
  await t.rejects(once(late, 'secureConnect'), { code: 'ECONNREFUSED' })
})
