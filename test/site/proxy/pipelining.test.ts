import { createServer } from 'node:http'
import t from 'tap'
import { exchangeBytes, portOf, startProxy, waitUntil } from './fixtures/sockets.js'
import { parseStrictly } from './fixtures/strict-parser.js'

const get = (path = '/', lines = '') => `GET ${path} HTTP/1.1\r\nHost: s\r\n${lines}\r\n`
const post = (path: string, lines: string) => `POST ${path} HTTP/1.1\r\nHost: s\r\n${lines}\r\n`
const GARBAGE = 'GE\x01T / HTTP/1.1\r\n\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\n'

/** [bytes sent, statuses that the client sees before its connection is closed, requests that the origin gets, why] */
const ROWS: [sent: (string | number)[], statuses: string, asked: number, why: string][] = [
  [[get() + GARBAGE], '200 400', 1, 'the valid request is forwarded and answered first'],
  [[get().repeat(49) + GARBAGE + get().repeat(50)], `${'200 '.repeat(49)}400`, 49, 'of 100 the 50th is malformed'],
  [[get('/slow') + GARBAGE], '200 400', 1, 'also if the origin takes its time'],
  [[get('/slow') + GARBAGE, 20, GARBAGE, 20, 'x'.repeat(100_000)], '200 400', 1, 'once, whatever else is sent'],
  [[get('/slow'), 20, GARBAGE], '200 400', 1, 'also in a later packet'],
  [[get('/service') + GARBAGE], '200 400', 0, 'also after a request to the service'],
  [[get('/streamed') + GARBAGE], '200 400', 1, 'also if the response has begun'],
  [[get('/slow') + get('/', `X: ${'x'.repeat(70_000)}\r\n`)], '200 431', 1, 'also if the head is too large'],
  [[`${get('/slow')}GET / HTTP/1.1\r\nX: `], '200 408', 1, 'also if the head is too slow'],
  [[get('/slow', 'Connection: close\r\n') + GARBAGE], '200', 1, 'nothing follows a request that closes'],
  [[get('/slow') + get('/dies') + GARBAGE], '200 502 400', 3, 'also after a failure, which was tried twice'],
  [[`${get('/slow')}CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n`], '200 501', 1, 'CONNECT waits for its turn'],
  [[`${get('/slow') + post('/', CHUNKED)}zz\r\n`], '200 400', 1, 'a body that cannot be read is refused in its turn'],
  [[`${get('/service') + post('/service', CHUNKED)}zz\r\n`], '200 400', 0, 'the same at the service'],
  [[post('/silent', CHUNKED), 50, 'zz\r\n'], '400', 1, 'and at once if it is its turn'],
  [[post('/early', CHUNKED), 100, 'zz\r\n'], '413', 1, 'but a request gets one response only'],
]

t.test('pipelined requests before a malformed one get their responses', async (t) => {
  const asked: string[] = []
  const origin = createServer((req, res) => {
    asked.push(req.url ?? '')
    req.on('error', () => {})
    if (req.url === '/early') res.writeHead(413, { 'content-length': 0 }).end()
    else if (req.url === '/dies') req.socket.destroy()
    else if (req.url === '/slow') setTimeout(() => res.end('late'), 100)
    else if (req.url === '/streamed') {
      res.write('half')
      setTimeout(() => res.end('half'), 100)
    } else if (req.url !== '/silent') res.end('page')
  })
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const { proxy, port } = await startProxy(portOf(origin), {
    requestHeadTimeout: 60,
    isServicePath: (path) => path === '/service',
    serve: (_, res) => setTimeout(() => res.end('service'), 50),
  })
  for (const [sent, statuses, requests, why] of ROWS) {
    asked.length = 0
    const { text, end } = await exchangeBytes(port, sent)
    const { messages, fault } = parseStrictly(text, 'response')
    t.equal(fault, undefined, why)
    t.equal(messages.map(({ start }) => start.split(' ')[1]).join(' '), statuses, why)
    t.not(end, 'open', `${why}: the connection is closed`)
    t.equal(asked.length, requests, `${why}: requests at the origin`)
    t.ok(await waitUntil(() => proxy.stats().active === 0), `${why}: no exchange is left over`)
  }
  await proxy.close(100)
  origin.closeAllConnections()
  origin.close()
})
