import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { createServer as createTlsServer } from 'node:https'
import t from 'tap'
import { exchangeBytes, portOf, startProxy, startRawServer, waitUntil } from './fixtures/sockets.js'
import { parseStrictly } from './fixtures/strict-parser.js'

const post = (lines: string) => `POST /up HTTP/1.1\r\nHost: s\r\n${lines}\r\n`
const DENIED = 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno'

t.test('the origin gets the head of an upload before its first byte', async (t) => {
  const origin = await startRawServer((socket) => {
    let head = ''
    socket.on('data', (part) => {
      head += part.toString('latin1')
      if (head.endsWith('\r\n\r\n')) socket.write(DENIED)
    })
  })
  const { proxy, port } = await startProxy(origin.port)
  for (const [lines, why] of [
    ['Content-Length: 5\r\n', 'with a length'],
    ['Transfer-Encoding: chunked\r\n', 'in chunks'],
    ['Content-Length: 5\r\nExpect: 100-continue\r\n', 'with a length, after 100 Continue'],
    ['Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n', 'in chunks, after 100 Continue'],
  ] as const) {
    const { text } = await exchangeBytes(port, [post(lines)], { done: (text) => text.endsWith('no') })
    const { messages, fault } = parseStrictly(text, 'response')
    t.equal(fault, undefined, why)
    t.equal(messages.at(-1)?.start, 'HTTP/1.1 401 Unauthorized', why)
  }

  const server = createHttp2Server(proxy.handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const session = connectHttp2(`http://127.0.0.1:${portOf(server)}`)
  for (const fields of [{}, { 'content-length': '5' }]) {
    const stream = session.request({ ':method': 'POST', ':path': '/up', ':authority': 's', ...fields })
    stream.on('error', () => {})
    const status = await new Promise((resolve) => {
      stream.on('response', (head) => resolve(head[':status']))
      stream.setTimeout(2_000, () => resolve('none'))
    })
    t.equal(status, 401, `HTTP/2 ${JSON.stringify(fields)}`)
    stream.close()
  }
  session.close()
  await proxy.close(100)
  await new Promise((resolve) => server.close(resolve))
  await origin.close()
})

t.test('the origin gets each slow upload as one whole request', async (t) => {
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
  const rows: [sent: (string | number)[], body: string, why: string][] = [
    [[post('Content-Length: 5\r\n'), 50, 'hello'], 'hello', 'with a length'],
    [[post('Content-Length: 5\r\n'), 50, 'he', 50, 'llo'], 'hello', 'in two parts'],
    [
      [post('Transfer-Encoding: chunked\r\n'), 50, chunk('hello'), 50, `${chunk('more')}0\r\n\r\n`],
      'hellomore',
      'chunks',
    ],
    [[post('Transfer-Encoding: chunked\r\n'), 50, '0\r\n\r\n'], '', 'chunks that turn out to be none'],
    [[post('Transfer-Encoding: chunked\r\n'), 50, chunk('\r\n'), '0\r\n\r\n'], '\r\n', 'a body that is an empty line'],
    [[`${post('Content-Length: 5\r\n')}hello`], 'hello', 'in one packet'],
    [[`${post('Transfer-Encoding: chunked\r\n')}0\r\n\r\n`], '', 'none in one packet'],
    [
      [`${post('Content-Length: 5\r\n')}first${post('Content-Length: 6\r\n')}`, 50, 'second'],
      'first second',
      'two on one connection',
    ],
  ]
  const read: { bodies: string[]; sockets: Set<unknown> } = { bodies: [], sockets: new Set() }
  const tls = {
    cert: readFileSync('test/site/proxy/fixtures/tls/first.cert.pem', 'utf8'),
    key: readFileSync('test/site/proxy/fixtures/tls/first.key.pem', 'utf8'),
  }
  for (const secure of [false, true]) {
    const serve = createServer((req, res) => {
      let body = ''
      read.sockets.add(req.socket)
      req.on('data', (part) => {
        body += part
      })
      req.on('end', () => {
        read.bodies.push(body)
        res.end('done')
      })
    })
    const malformed: Error[] = []
    const origin = secure ? createTlsServer(tls, (req, res) => void serve.emit('request', req, res)) : serve
    origin.on('clientError', (error) => malformed.push(error))
    await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
    read.sockets.clear()
    const { proxy, port } = await startProxy(0, {
      origin: new URL(secure ? `https://localhost:${portOf(origin)}` : `http://127.0.0.1:${portOf(origin)}`),
      originTls: { ca: tls.cert },
    })
    for (const [sent, body, why] of rows) {
      read.bodies.length = 0
      const responses = body.split(' ').length
      await exchangeBytes(port, sent, { done: (text) => text.split('done').length > responses })
      await waitUntil(() => read.bodies.length === responses)
      t.equal(read.bodies.join(' '), body, `${secure ? 'https' : 'http'}: ${why}`)
    }
    t.same(malformed, [], 'the origin read nothing else')
    t.equal(read.sockets.size, 1, 'all on one connection, which stays in use')
    await proxy.close(100)
    origin.closeAllConnections()
    origin.close()
  }
})
