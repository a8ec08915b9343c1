import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { connect } from 'node:net'
import t from 'tap'
import { portOf, startProxy, startRawServer, waitUntil } from './fixtures/sockets.js'

const OK = 'HTTP/1.1 200 OK\r\n'
const HELLO = 'Content-Length: 5\r\n\r\nhello'
const chunked = (trailers: string) => `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n${trailers}\r\n`

/** [HTTP/1.1 response of the origin, what an HTTP/2 client must see of it, why] */
const ROWS: [answer: string, expected: Record<string, unknown>, why: string][] = [
  [
    `${OK}X-Content-Type-Options: nosniff\r\nX-Content-Type-Options: nosniff\r\n${HELLO}`,
    { ':status': 200, 'x-content-type-options': 'nosniff' },
    'said by the application and by the server before it',
  ],
  [
    `${OK}Expires: Thu, 19 Nov 1981 08:52:00 GMT\r\nexpires: 0\r\n${HELLO}`,
    { ':status': 200, expires: 'Thu, 19 Nov 1981 08:52:00 GMT' },
    'of two the first (RFC 9111 4.2)',
  ],
  [`${OK}ETag: "a"\r\nETag: "b"\r\nETag: "c"\r\n${HELLO}`, { ':status': 200, etag: '"a"' }, 'of three, too'],
  [
    `${OK}Content-Type: text/plain\r\nContent-Type: text/html\r\n${HELLO}`,
    { ':status': 200, 'content-type': 'text/html' },
    'the type that browsers take is the last',
  ],
  [
    `${OK}Content-Encoding: gzip\r\nContent-Language: de\r\nContent-Encoding: gzip\r\nContent-Language: en\r\n${HELLO}`,
    { ':status': 200, 'content-encoding': 'gzip, gzip', 'content-language': 'de, en' },
    'lists are joined: it was coded twice',
  ],
  [
    `${OK}Access-Control-Allow-Credentials: true\r\nAccess-Control-Allow-Credentials: true\r\n${HELLO}`,
    { ':status': 200, 'access-control-allow-credentials': 'true, true' },
    'not allowed over HTTP/1.1 either',
  ],
  [
    `${OK}Set-Cookie: a=1\r\nLink: </a>\r\nSet-Cookie: a=1\r\nLink: </b>\r\n${HELLO}`,
    { ':status': 200, 'set-cookie': ['a=1', 'a=1'], link: '</a>, </b>' },
    'those that may come twice do',
  ],
  [
    `${OK}Content-Security-Policy: default-src 'self'; \r\nContent-Type: text/html \t\r\nX-A: b \t c\t\r\n${HELLO}`,
    { ':status': 200, 'content-security-policy': "default-src 'self';", 'content-type': 'text/html', 'x-a': 'b \t c' },
    'a client drops a field whose value ends with a space',
  ],
  [
    `HTTP/1.1 426 Upgrade Required\r\nUpgrade: TLS/1.2\r\nConnection: Upgrade\r\n${HELLO}`,
    { ':status': 426, upgrade: undefined, 'content-length': '5' },
    'nothing to upgrade to, but an answer',
  ],
  [
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Type: a\r\nContent-Type: b \r\nUpgrade: x\r\n\r\n${OK}${HELLO}`,
    { ':status': 200, hint: { ':status': 103, link: '</a>', 'content-type': 'b' } },
    'before the answer as in it',
  ],
  [
    `HTTP/1.1 100 Continue\r\nX-A: 1\r\n\r\n${OK}${HELLO}`,
    { ':status': 200, hint: { ':status': 100, 'x-a': '1' } },
    'a 100 that the client did not ask for (RFC 9110 15.2)',
  ],
  [
    `HTTP/1.1 103 Early Hints\r\nContent-Length: 0\r\nLink: </a>\r\n\r\n${OK}${HELLO}`,
    { ':status': 200, hint: { ':status': 103, link: '</a>' } },
    'a 1xx response has no length; the client would reset the stream',
  ],
  [
    chunked('ETag: "a"\r\nX-Sum: 1 \r\nETag: "b"\r\nX-Sum: 2\r\nHTTP2-Settings: x\r\n'),
    { ':status': 200, trailers: { etag: '"a"', 'x-sum': '1, 2' } },
    'regression: the client waited for ever, and the twentieth such response ended the process',
  ],
]

/** A HEADERS frame that ends its request, with literal fields that no client library would send (RFC 7541 6.2.2). */
function headersFrame(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (part: string) => Buffer.concat([Buffer.from([part.length]), Buffer.from(part, 'latin1')])
  const block = Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))
  return Buffer.concat([Buffer.from([0, block.length >> 8, block.length & 255, 1, 5, 0, 0, 0, 1]), block])
}

t.test('no field of a request with CR, LF or NUL reaches the origin', async (t) => {
  const heads: string[] = []
  const origin = await startRawServer((socket) => {
    socket.on('data', (part) => {
      heads.push(part.toString('latin1'))
      socket.write(`${OK}${HELLO}`)
    })
  })
  const { proxy } = await startProxy(origin.port)
  const server = createHttp2Server(proxy.handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const rows: [name: string, value: string, asked: number, why: string][] = [
    ['x-a', 'good', 1, 'a field as any other'],
    ['x-a', 'a\r\nx-evil: 1', 1, 'a second line: Node leaves the field out'],
    ['x-a', 'a\nx-evil: 1', 1, 'a bare LF'],
    ['x-a', 'a\rx-evil: 1', 1, 'a bare CR'],
    ['x-a', 'a\0', 1, 'NUL'],
    [':path', '/\r\nx-evil: 1', 0, 'Node resets a request without a path'],
  ]
  for (const [name, value, asked, why] of rows) {
    heads.length = 0
    const fields = [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':authority', 's'],
      ...(name === ':path' ? [] : [[':path', '/'] as const]),
      [name, value],
    ] as const
    const socket = connect(portOf(server), '127.0.0.1')
    socket.on('error', () => {})
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    socket.write(Buffer.concat([Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]), headersFrame(fields)]))
    // The stream ends with DATA or RST_STREAM, of the types 0 and 3.
    let read = Buffer.alloc(0)
    const isOver = () => {
      for (let at = 0; at + 9 <= read.length; at += 9 + read.readUIntBE(at, 3))
        if (read.readUInt32BE(at + 5) === 1 && [0, 3].includes(read[at + 3] ?? -1)) return true
      return false
    }
    socket.on('data', (part) => {
      read = Buffer.concat([read, part])
    })
    t.ok(await waitUntil(isOver), `${why}: the stream ends`)
    t.equal(heads.length, asked, why)
    t.notMatch(heads.join(''), /evil|\0/, why)
    if (value === 'good') t.match(heads.join(''), /\r\nx-a: good\r\n/, why)
    socket.destroy()
  }
  await proxy.close(100)
  await new Promise((resolve) => server.close(resolve))
  await origin.close()
})

t.test('translates HTTP/1.1 responses to HTTP/2', async (t) => {
  const origin = await startRawServer((socket) => {
    socket.on('data', (part) => socket.write(ROWS[Number(/^GET \/(\d+)/.exec(String(part))?.[1])]?.[0] ?? '', 'latin1'))
  })
  const { proxy } = await startProxy(origin.port)
  const server = createHttp2Server(proxy.handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const session = connectHttp2(`http://127.0.0.1:${portOf(server)}`)
  for (const [row, [, expected, why]] of ROWS.entries()) {
    const got = await new Promise<Record<string, unknown>>((resolve) => {
      const stream = session.request({ ':authority': 'site.example', ':path': `/${row}` })
      const answer: Record<string, unknown> = {}
      let body = ''
      stream.setTimeout(2_000, () => stream.close(8))
      stream.on('headers', (fields) => {
        answer.hint = Object.fromEntries(Object.entries(fields))
      })
      stream.on('response', (fields) => Object.assign(answer, fields))
      stream.on('trailers', (fields) => {
        answer.trailers = Object.fromEntries(Object.entries(fields))
      })
      stream.on('data', (part) => {
        body += part
      })
      stream.on('error', () => {})
      stream.on('close', () => resolve({ ...answer, body, rst: stream.rstCode }))
    })
    const wanted = { ...expected, body: 'hello', rst: 0 }
    t.same(Object.fromEntries(Object.keys(wanted).map((name) => [name, got[name]])), wanted, why)
  }
  session.close()
  await proxy.close(100)
  await new Promise((resolve) => server.close(resolve))
  await origin.close()
})
