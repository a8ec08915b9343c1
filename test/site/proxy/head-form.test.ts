import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { readCertificate } from '../../../src/site/proxy/certificate.js'
import { createTlsListener } from '../../../src/site/proxy/tls-listener.js'
import { CHROME, FIREFOX } from '../../fixtures/browser-headers.js'
import { exchangeBytes, portOf, startProxy, waitFor } from './fixtures/sockets.js'

const HTML = 'text/html; charset=utf-8'
/** The fields of a page as Chromium 147 sends them; those that only other tests need are left out. */
const CHROMIUM = [
  ['Host', 'a.example'],
  ['Connection', 'close'],
  ['sec-ch-ua-mobile', '?0'],
  ['Upgrade-Insecure-Requests', '1'],
  ['User-Agent', CHROME],
  ['Accept', 'text/html'],
  ['Sec-Fetch-Mode', 'navigate'],
  ['Accept-Encoding', 'gzip'],
  ['Accept-Language', 'en'],
] as const
type Fields = readonly (readonly [name: string, value: string])[]
const head = (fields: Fields, path = '/', method = 'GET') =>
  `${method} ${path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
const withField = (name: string, value: string): Fields => [...CHROMIUM, [name, value]]

async function startSite(trusted = false) {
  const origin = createServer((req, res) => {
    res.setHeader('content-type', req.url?.endsWith('.css') ? 'text/css' : HTML)
    res.end('<title>a</title>')
  })
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const { proxy, port, records } = await startProxy(portOf(origin), { isTrustedPeer: () => trusted })
  const certificate = await readCertificate(
    'test/site/proxy/fixtures/tls/first.cert.pem',
    'test/site/proxy/fixtures/tls/first.key.pem',
  )
  const tls = createTlsListener({ certificate, http1: proxy.server, handler: proxy.handler })
  tls.server.listen(0, '127.0.0.1')
  await once(tls.server, 'listening')
  const close = async () => {
    await Promise.all([tls.close(0), proxy.close(0)])
    await new Promise((resolve) => origin.close(resolve))
  }
  /** Returns the record of what `send` asks for. */
  const recordOf = async (send: () => Promise<unknown>) => {
    records.length = 0
    await send()
    await waitFor('the record', () => records.length === 1)
    return records[0]?.head_form
  }
  return { port, tlsPort: portOf(tls.server), recordOf, close }
}

t.test('notes how a Chromium’s request for a page was written, where the client itself is seen', async (t) => {
  const [direct, behind] = [await startSite(), await startSite(true)]
  const rows: [string, string | undefined, string, typeof direct?][] = [
    ['as Chromium writes it', '1HUAE', head(CHROMIUM)],
    ['in lower case', '1huae', head(CHROMIUM.map(([name, value]) => [name.toLowerCase(), value]))],
    ['in the order of Python’s requests', '1HUEA', head([0, 4, 7, 5, 1].map((n) => CHROMIUM[n] ?? ['', '']))],
    [
      'spelt as nothing writes it',
      '1HUE',
      head(CHROMIUM.map(([name, value]) => [name.replace(/^Accept$/, 'ACCEPT'), value])),
    ],
    ['as often as fits', `1${'HUAE'}${'A'.repeat(12)}`, head([...CHROMIUM, ...Array(40).fill(['Accept', '*/*'])])],
    ['a style: not a page', undefined, head(CHROMIUM, '/a.css')],
    ['not a GET', undefined, head(CHROMIUM, '/', 'HEAD')],
    [
      'Firefox, of which no form is known',
      undefined,
      head(CHROMIUM.map(([name, value]) => [name, value === CHROME ? FIREFOX : value])),
    ],
    ['through a proxy that says so in Via', undefined, head(withField('Via', '1.1 squid'))],
    ['in X-Forwarded-For', undefined, head(withField('X-Forwarded-For', '81.2.69.142'))],
    ['in Forwarded', undefined, head(withField('Forwarded', 'for=81.2.69.142'))],
    ['through a trusted proxy', undefined, head(CHROMIUM), behind],
  ]
  for (const [why, expected, bytes, site = direct] of rows)
    t.equal(await site.recordOf(() => exchangeBytes(site.port, [bytes])), expected, why)

  const http1 = async () => {
    const socket = connectTls({ port: direct.tlsPort, host: '127.0.0.1', rejectUnauthorized: false })
    socket.write(head(CHROMIUM))
    socket.resume()
    await once(socket, 'close')
  }
  t.equal(await direct.recordOf(http1), 'sHUAE', 'HTTP/1.1 over TLS')
  const http2 = (fields: OutgoingHttpHeaders) => async () => {
    const session = connectHttp2(`https://127.0.0.1:${direct.tlsPort}`, { rejectUnauthorized: false })
    const stream = session.request(fields).resume()
    await once(stream, 'close')
    session.close()
  }
  const names = { 'user-agent': CHROME, accept: 'text/html', 'accept-encoding': 'gzip' }
  const chromium = { ':method': 'GET', ':authority': 'a.example', ':scheme': 'https', ':path': '/', ...names }
  t.equal(await direct.recordOf(http2(chromium)), '2myzpuae', 'HTTP/2 as Chromium writes it')
  const { accept, ...rest } = names
  const go = { ':authority': 'a.example', ':method': 'GET', ':path': '/', ':scheme': 'https', accept, ...rest }
  t.equal(await direct.recordOf(http2(go)), '2ympzaue', 'HTTP/2 in the order of Go')
  await Promise.all([direct.close(), behind.close()])
})
