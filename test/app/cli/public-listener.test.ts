import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { connect, type PeerCertificate } from 'node:tls'
import t from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { scriptName } from '../../../src/api/tracker-script.js'
import { CHROME, dataDir, eventually, GPTBOT, startInstance } from '../../fixtures/instance.js'

/** Tests the complete public listener: TLS, forwarding, upgrades, client addresses, recording. */

const CERTS = 'test/site/proxy/fixtures/tls'

const certificateOf = async (port: number): Promise<PeerCertificate> => {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const certificate = socket.getPeerCertificate()
  socket.destroy()
  return certificate
}

for (const workers of [1, 2])
  t.test(
    `--workers ${workers}: HTTPS, a WebSocket, the client address from a trusted proxy, and a new certificate`,
    async (t) => {
      const seen: { url: string; host: string | undefined; for: string | undefined; proto: string | undefined }[] = []
      const origin = createServer((req, res) => {
        const { host, 'x-forwarded-for': xff, 'x-forwarded-proto': proto } = req.headers
        seen.push({ url: req.url ?? '', host, for: String(xff), proto: String(proto) })
        res.setHeader('content-type', 'text/html')
        res.end(req.url === '/page' ? '<!doctype html><html><head></head><body>page</body></html>' : 'page')
      }).listen(0, '127.0.0.1')
      await once(origin, 'listening')
      const sockets = new WebSocketServer({ server: origin })
      let opened = 0
      sockets.on('connection', (socket) => {
        opened++
        socket.on('message', (data) => socket.send(`echo ${data}`))
      })
      t.teardown(() => {
        origin.closeAllConnections()
        origin.close()
      })
      const data = dataDir(t)
      const [cert, key] = [join(dirname(data), 'cert.pem'), join(dirname(data), 'key.pem')]
      copyFileSync(`${CERTS}/first.cert.pem`, cert)
      copyFileSync(`${CERTS}/first.key.pem`, key)
      const { port } = origin.address() as AddressInfo
      const app = await startInstance(
        `http://127.0.0.1:${port}`,
        data,
        '--tls-cert',
        cert,
        '--tls-key',
        key,
        '--inject',
        '--workers',
        `${workers}`,
      )
      t.teardown(() => app.stop())
      const at = Number(new URL(app.site).port)

      const ask = async (path: string, headers: Record<string, string>) => {
        const call = request({ port: at, host: '127.0.0.1', path, headers, rejectUnauthorized: false, agent: false })
        call.end()
        const [response] = await once(call, 'response')
        body = ''
        response.on('data', (part: Buffer) => {
          body += part
        })
        await once(response, 'end')
        return response.statusCode
      }
      let body = ''
      const from = { 'user-agent': GPTBOT, 'x-forwarded-for': '203.0.113.9' }
      t.equal(await ask('/a', { ...from, host: 'a.com' }), 200)
      const found = seen.filter(({ url }) => url === '/a')
      t.same(
        found,
        [{ url: '/a', host: 'a.com', for: '203.0.113.9, 127.0.0.1', proto: 'https' }],
        'beside robots.txt and llms.txt',
      )
      await ask('/page', { host: 'a.com' })
      t.equal(
        body,
        `<!doctype html><html><head><script defer src="/_readership/${scriptName()}?site=1"></script></head><body>page</body></html>`,
        'a page gets the script tag of its site',
      )
      t.equal(await ask(`/_readership/${scriptName()}`, { host: 'a.com' }), 200, 'the script is served')
      t.equal(await ask('/_readership/metrics', { host: 'a.com' }), 404, 'the service path')
      t.equal(await ask('/_readership/docs/', { host: 'a.com' }), 404, 'no documentation without --expose')
      t.same([await ask('/docs', { host: 'a.com' }), body], [200, 'page'], "the site's own /docs")
      t.equal(await ask('/_readershipx', { host: 'a.com' }), 200, "the site's path")
      t.notOk(
        seen.some(({ url }) => url.startsWith('/_readership/')),
        'the service path never reaches the origin',
      )

      const socket = new WebSocket(`wss://127.0.0.1:${at}/live`, {
        rejectUnauthorized: false,
        headers: { 'user-agent': CHROME },
      })
      await once(socket, 'open')
      socket.send('hello')
      const [message] = await once(socket, 'message')
      t.equal(String(message), 'echo hello')
      socket.close()
      await once(socket, 'close')
      const ours = new WebSocket(`wss://127.0.0.1:${at}/_readership/api/x`, { rejectUnauthorized: false })
      const [, refusal] = await once(ours, 'unexpected-response')
      t.equal(refusal.statusCode, 404, 'an upgrade on the service path does not reach the origin either')
      refusal.destroy()
      t.equal(opened, 1, 'the origin got no second upgrade')

      const before = await certificateOf(at)
      copyFileSync(`${CERTS}/second.cert.pem`, cert)
      copyFileSync(`${CERTS}/second.key.pem`, key)
      app.child.kill('SIGHUP')
      await eventually('the log says so', () => app.output().split('the certificate was read again').length > workers)
      const after = await certificateOf(at)
      t.not(after.fingerprint256, before.fingerprint256, 'the new certificate is served')
      copyFileSync(`${CERTS}/first.key.pem`, key)
      app.child.kill('SIGHUP')
      await eventually(
        'the log says why not',
        () => app.output().split('is not the key of the certificate').length > workers,
      )
      t.equal((await certificateOf(at)).fingerprint256, after.fingerprint256, 'the previous certificate stays in use')

      await eventually('the fetch is stored', async () => (await app.fetches()) >= 1)
      t.equal(await app.stop(), 0)
    },
  )
