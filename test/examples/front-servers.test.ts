import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer, json, text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { directory } from '../fixtures/files.js'
import { FRONT_SERVERS, isInstalled, makeCertificate, startFrontServer } from '../fixtures/front-servers.js'
import { CHROME, dataDir, eventually, startInstance } from '../fixtures/instance.js'

/**
 * The servers of examples/servers in front of a real readership and a small application, each as its example configures it.
 * The clients have addresses of their own on this machine, so that a server has to report them.
 */
const UPLOAD = randomBytes(20_000_000)
const PAGE = Buffer.from(`<!doctype html><title>Grüße</title><p>${'Ein Satz. '.repeat(20_000)}`)
const [FIRST, SECOND] = ['127.0.0.2', '127.0.0.3']

/** An application that redirects, reports what it was told, streams, takes uploads and echoes over WebSocket. */
async function startApplication(t: Test) {
  const streams: ServerResponse[] = []
  const server = createServer((req, res) => {
    const { pathname } = new URL(req.url ?? '/', 'http://origin')
    if (pathname === '/seen.php')
      return res.setHeader('content-type', 'application/json').end(JSON.stringify(req.headers))
    if (pathname.startsWith('/path')) return res.end(req.url)
    if (pathname === '/stream.php') {
      streams.push(res)
      return res.setHeader('content-type', 'text/plain').write('first')
    }
    if (pathname === '/upload.php') {
      const hash = createHash('sha256')
      return req.on('data', (chunk) => hash.update(chunk)).on('end', () => res.end(hash.digest('hex')))
    }
    res.setHeader('set-cookie', ['PHPSESSID=1; HttpOnly', 'theme=dark']).setHeader('x-powered-by', 'PHP/8.2')
    return res.setHeader('content-type', 'text/html; charset=utf-8').end(PAGE)
  })
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket) =>
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, endStreams: () => streams.splice(0).map((res) => res.end('last')) }
}

const folder = directory(t)
/** Only Linux gives every address of 127.0.0.0/8 to this machine. */
const canServe = isInstalled('openssl') && process.platform === 'linux'
const certificate = canServe ? makeCertificate(folder) : { key: '', cert: '', pem: '' }
const application = await startApplication(t)
const domains = FRONT_SERVERS.flatMap(({ program }) => ['--domain', `${program}.example`])
const readership = await startInstance(application.url, dataDir(t), '--trust-proxy', '127.0.0.1', ...domains)
t.teardown(() => readership.stop())

interface Ask {
  path?: string
  from?: string
  headers?: Record<string, string>
  body?: Buffer
}
const asker =
  (port: number, host: string) =>
  ({ path = '/', from = FIRST, headers, body }: Ask = {}) =>
    new Promise<IncomingMessage>((done, fail) => {
      const options = { port, path, localAddress: from, rejectUnauthorized: false, agent: false }
      const method = body ? 'POST' : 'GET'
      const fields = { host, 'user-agent': CHROME, accept: 'text/html', ...headers }
      request({ ...options, host: '127.0.0.1', method, headers: fields }, done)
        .on('error', fail)
        .end(body)
    })

async function echo(port: number, host: string, message: Buffer): Promise<Buffer> {
  const options = { rejectUnauthorized: false, servername: host, headers: { host } }
  const socket = new WebSocket(`wss://127.0.0.1:${port}/socket`, options)
  await once(socket, 'open')
  socket.send(message)
  const [data] = await once(socket, 'message')
  socket.terminate()
  return data
}

for (const server of FRONT_SERVERS) {
  const skip = isInstalled(server.program) && canServe ? false : `needs Linux, openssl and ${server.program}`
  t.test(`${server.program} in front of readership`, { skip, timeout: 120_000 }, async (t) => {
    const host = `${server.program}.example`
    const front = await startFrontServer(server, {
      ...{ folder, certificate, readership: readership.site, origin: application.url },
    })
    try {
      const ask = asker(front.port, host)
      const isUp = async () => (await text(await ask({ path: '/path' }))) === '/path'
      await eventually(server.program, () => front.hasEnded() || isUp())
      t.notOk(front.hasEnded(), 'it runs')

      const page = await ask()
      t.same(page.headers['set-cookie'], ['PHPSESSID=1; HttpOnly', 'theme=dark'])
      t.ok(PAGE.equals(await buffer(page)), 'the page, byte for byte')
      await ask({ from: SECOND }).then(buffer)
      for (const claimed of ['203.0.113.7', '203.0.113.8'])
        await ask({ headers: { 'x-forwarded-for': claimed, 'x-forwarded-proto': 'http' } }).then(buffer)
      const filters = encodeURIComponent(JSON.stringify([{ dimension: 'hostname', op: 'is', value: host }]))
      const overview = `/api/stats/overview?site=1&range=24h&filters=${filters}`
      await eventually('rows', async () => Number((await readership.ask(overview)).data.pageviews) === 4)
      const { data } = await readership.ask(overview)
      t.match(data, { visitors: 2 }, 'a visitor for each client, and none for an address that a client claims')

      const seen = await json(await ask({ path: '/seen.php' }))
      t.match(seen, { host, 'x-forwarded-proto': 'https', 'x-forwarded-for': /^127\.0\.0\.2, ?127\.0\.0\.1$/ })
      const path = '/path/a%2Fb/%7Ec//d?e=%C3%A9&f'
      t.equal(await text(await ask({ path })), path, 'the path, byte for byte')

      const stream = await ask({ path: '/stream.php' })
      t.equal(String((await once(stream, 'data'))[0]), 'first', 'a part arrives while the response goes on')
      application.endStreams()
      t.equal(await text(stream), 'last')

      const message = randomBytes(70_000)
      t.ok(message.equals(await echo(front.port, host, message)), 'an echo over WebSocket')
      const sum = await text(await ask({ path: '/upload.php', body: UPLOAD }))
      t.equal(sum, createHash('sha256').update(UPLOAD).digest('hex'), 'an upload of 20 MB')
    } finally {
      // Before tap removes the folder, so not by teardown.
      await front.close()
    }
  })
}

const installed = FRONT_SERVERS.filter(({ program }) => canServe && isInstalled(program))
const skipRestart = installed.length > 0 ? false : 'none of the servers is installed here'
t.test(
  'while readership restarts, each server uses the site itself',
  { skip: skipRestart, timeout: 120_000 },
  async (t) => {
    const places = { folder, certificate, readership: readership.site, origin: application.url }
    const fronts = await Promise.all(installed.map((server) => startFrontServer(server, places)))
    try {
      const asks = fronts.map(({ port }, n) => asker(port, `${installed[n]?.program}.example`))
      for (const [n, ask] of asks.entries())
        await eventually(`${installed[n]?.program}`, async () => (await text(await ask({ path: '/path' }))) === '/path')
      await readership.stop()
      for (const [n, ask] of asks.entries())
        t.ok(PAGE.equals(await buffer(await ask())), `${installed[n]?.program}: the first page after the stop`)
    } finally {
      await Promise.all(fronts.map(({ close }) => close()))
    }
  },
)
