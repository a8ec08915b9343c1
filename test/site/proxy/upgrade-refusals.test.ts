// The attack: an Upgrade request whose bytes two servers read differently. If the proxy opened a tunnel where the origin sees
// an ordinary request (or the reverse), the client's next bytes would reach the origin without any check: request smuggling.
// - `Upgrade: h2c` or TLS would carry requests inside the tunnel;
// - a body (Content-Length, chunks, or a look-alike name) would be read as the first bytes of the tunnel;
// - a refusal with broken framing would make the next response on the connection ambiguous.
// Only the plain form is upgraded; every other request must come back as an ordinary one, without `Upgrade`.
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { waitFor } from './fixtures/sockets.js'
import { openRawClient, SWITCHING, startFront, startRawOrigin, UPGRADE_REQUEST } from './fixtures/upgrades.js'

/** Returns the body of one complete response by its framing. Throws if that is ambiguous, cut, or followed by more. */
function bodyOf(answer: string): string {
  const end = answer.indexOf('\r\n\r\n') + 4
  const head = answer.slice(0, end).toLowerCase()
  let rest = answer.slice(end)
  const lengths = [...head.matchAll(/\r\ncontent-length: (\d+)\r\n/g)]
  const chunked = head.includes('\r\ntransfer-encoding: chunked\r\n')
  if (!chunked) {
    if (lengths.length > 1 || rest.length !== Number(lengths[0]?.[1] ?? 0)) throw new Error(`framing: ${answer}`)
    return rest
  }
  if (lengths.length > 0) throw new Error(`two framings: ${answer}`)
  let body = ''
  for (;;) {
    const line = /^([0-9a-f]+)\r\n/.exec(rest)
    if (!line) throw new Error(`no chunk: ${answer}`)
    const size = Number.parseInt(line[1] ?? '', 16)
    const from = line[0].length
    if (rest.slice(from + size, from + size + 2) !== '\r\n') throw new Error(`chunk: ${answer}`)
    if (size === 0 && rest.length !== from + 2) throw new Error(`more: ${answer}`)
    if (size === 0) return body
    body += rest.slice(from, from + size)
    rest = rest.slice(from + size + 2)
  }
}

t.test('relays refusals completely, with framing of their own', async (t) => {
  const rows: [origin: string, status: string, body: string, why: string][] = [
    [
      'HTTP/1.1 401 Nope\r\nWWW-Authenticate: Basic\r\nContent-Length: 4\r\n\r\nauth',
      '401 Nope',
      'auth',
      'Content-Length',
    ],
    [
      'HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n',
      '403 Forbidden',
      'abcde',
      'chunks are decoded and framed again',
    ],
    ['HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n', '404 Not Found', '', 'empty'],
    [
      'HTTP/1.1 426 Upgrade Required\r\nUpgrade: foo\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n',
      '426 Upgrade Required',
      '',
      '426',
    ],
    ['HTTP/1.0 400 Bad\r\n\r\nuntil close', '400 Bad', 'until close', 'a body until close'],
    ['HTTP/1.1 204 No Content\r\n\r\n', '204 No Content', '', 'no body at all'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', '200 OK', 'ok', 'an origin that ignores the upgrade'],
    ['HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n', '302 Found', '', 'a redirect'],
    [
      'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 401 Late\r\nContent-Length: 1\r\n\r\nx',
      '103 Early Hints',
      'x',
      'a 1xx response before it',
    ],
  ]
  for (const [bytes, status, expected, why] of rows) {
    const origin = await startRawOrigin(t, (socket) => socket.end(bytes))
    const { port, records } = await startFront(t, origin.port)
    const client = openRawClient(t, port, UPGRADE_REQUEST)
    await client.over()
    const text = client.text()
    t.ok(text.startsWith(`HTTP/1.1 ${status}\r\n`), `${why}: status`)
    t.equal(bodyOf(text.replace(/^HTTP\/1\.1 103 .*?\r\n\r\n/s, '')), expected, `${why}: body`)
    t.notMatch(text, /transfer-encoding: chunked[\s\S]*transfer-encoding/i, `${why}: framed once`)
    client.socket.end()
    await waitFor('observed', () => records.length === 1)
    await waitFor("the origin's socket to close", () => origin.sockets.every((socket) => socket.destroyed))
  }
})

t.test('426 keeps its Upgrade field', async (t) => {
  const origin = await startRawOrigin(t, (socket) =>
    socket.end('HTTP/1.1 426 Upgrade Required\r\nUpgrade: foo/2\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n'),
  )
  const { port } = await startFront(t, origin.port)
  const client = openRawClient(t, port, UPGRADE_REQUEST)
  await client.over()
  t.match(client.text(), /Upgrade: foo\/2\r\n[\s\S]*Connection: Upgrade, close\r\n/)
})

t.test('a refusal that breaks off stays visibly incomplete', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.write('HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
    setTimeout(() => socket.destroy(), 50)
  })
  const { port, errors, records } = await startFront(t, origin.port)
  const client = openRawClient(t, port, UPGRADE_REQUEST)
  await client.over()
  t.match(client.text(), /\r\n5\r\nhello\r\n$/, 'no last chunk')
  t.same(errors, ['cut'])
  await waitFor('observed', () => records.length === 1)
  t.match(records, [{ status: 403, bytes: 5 }])

  const cuts: [framing: string, body: string, ms: number, why: string][] = [
    ['Content-Length: 9', '', 0, 'nothing follows the head'],
    ['Content-Length: 9', 'half', 0, 'half of a body in the same packet'],
    ['Transfer-Encoding: chunked', '', 0, 'no chunk'],
    // Later: Node reports a reset that arrives together with bytes as an end in good order.
    ['X-Until: the end', 'half', 20, 'a body that only the end would end'],
  ]
  for (const [framing, body, ms, why] of cuts) {
    const cutting = await startRawOrigin(t, (socket) => {
      socket.write(`HTTP/1.1 401 Nope\r\nWWW-Authenticate: Basic\r\n${framing}\r\n\r\n${body}`, () =>
        setTimeout(() => socket.resetAndDestroy(), ms),
      )
    })
    const front = await startFront(t, cutting.port)
    const refused = openRawClient(t, front.port, UPGRADE_REQUEST)
    await refused.over()
    t.match(refused.text(), /^HTTP\/1\.1 401 Nope\r\nWWW-Authenticate: Basic\r\n[\s\S]*\r\n\r\n/, `${framing}: ${why}`)
    t.notMatch(refused.text(), /\r\n0\r\n\r\n$/, 'and the body has no end')
  }

  const stalled = await startRawOrigin(t, (socket) =>
    socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nhell'),
  )
  const second = await startFront(t, stalled.port, { idleTimeout: 100 })
  const waiting = openRawClient(t, second.port, UPGRADE_REQUEST)
  await waiting.over()
  t.match(waiting.text(), /\r\n\r\nhell$/, 'and a stalled body ends')
  t.same(second.errors, ['cut'])
})

t.test('sends a big refusal to a slow reader completely', async (t) => {
  const size = 20 << 20
  const origin = await startRawOrigin(t, (socket) => {
    socket.write(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${size}\r\n\r\n`)
    socket.end(Buffer.alloc(size, 'y'))
  })
  const { port } = await startFront(t, origin.port)
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write(UPGRADE_REQUEST)
  let got = 0
  for await (const chunk of socket) {
    got += chunk.length
    if (got < 1 << 20) await sleep(5)
  }
  t.ok(got > size && got < size + 200, 'no byte is lost')
})

t.test('requests that are not upgraded are ordinary requests', async (t) => {
  const origin = await startRawOrigin(t, (socket) => socket.end('HTTP/1.1 500 Never\r\n\r\n'))
  const rows: [bytes: string, expected: RegExp, why: string][] = [
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nX-A: 1\r\n\r\n',
      /200 OK[\s\S]*"url":"\/a","headers":\["Host","a","X-A","1"\]/,
      'h2c',
    ],
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n',
      /200 OK[\s\S]*"headers":\["Host","a"\]/,
      'h2c after another protocol',
    ],
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nUpgrade: H2C\r\n\r\n',
      /200 OK[\s\S]*"headers":\["Host","a","Connection","keep-alive"\]/,
      'h2c in a second field',
    ],
    ['GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: TLS/1.0, HTTP/1.1\r\n\r\n', /200 OK/, 'RFC 2817'],
    [
      'POST /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\nhello',
      /200 OK[\s\S]*"method":"POST"[\s\S]*"body":"hello"/,
      'a POST with a length',
    ],
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\nhello',
      /200 OK[\s\S]*"body":"hello"/,
      'a GET with a body',
    ],
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
      /200 OK[\s\S]*"body":"hello"/,
      'chunks',
    ],
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      /^HTTP\/1\.1 400 /,
      'two framings',
    ],
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nTransfer_Encoding: chunked\r\n\r\n',
      /200 OK/,
      'a look-alike of Transfer-Encoding is an ordinary request',
    ],
    [
      'GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      /200 OK/,
      'two Hosts make an ordinary request',
    ],
    ['GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', /^HTTP\/1\.1 400 /, 'no Host'],
    [
      'GET http://b/a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      /200 OK[\s\S]*"url":"http:\/\/b\/a"/,
      'the absolute form',
    ],
    ['GET /a HTTP/1.0\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', /200 OK/, 'HTTP/1.0'],
    ['GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: \r\n\r\n', /200 OK/, 'an empty Upgrade'],
    ['GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: a b\r\n\r\n', /200 OK/, 'not a token'],
    [
      'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      /200 OK[\s\S]*"method":"OPTIONS"/,
      'not a GET',
    ],
  ]
  const { port, records } = await startFront(t, origin.port)
  for (const [bytes, expected, why] of rows) {
    const client = openRawClient(t, port, bytes)
    await waitFor(why, () => /\r\n\r\n[\s\S]*[}\n]|400 Bad/.test(client.text()))
    t.match(client.text(), expected, why)
    client.socket.destroy()
  }
  t.same(origin.heads, [], 'none reached the origin as an upgrade')
  t.same(records, [], 'and the upgrader recorded none')
})

t.test('a connection may carry many of them', async (t) => {
  const warnings: Error[] = []
  const warn = (warning: Error) => warnings.push(warning)
  process.on('warning', warn)
  t.teardown(() => process.off('warning', warn))
  const origin = await startRawOrigin(t, (socket) => socket.write(SWITCHING))
  const { port } = await startFront(t, origin.port)
  const client = openRawClient(t, port)
  for (let i = 1; i <= 40; i++) {
    client.socket.write(
      `POST /${i} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nhi`,
    )
    await waitFor(`response ${i}`, () => client.text().includes(`"url":"/${i}"`))
  }
  t.equal(client.text().match(/HTTP\/1\.1 200 OK/g)?.length, 40)
  client.socket.write(UPGRADE_REQUEST)
  await waitFor('the upgrade', () => client.text().endsWith(SWITCHING))
  await sleep(20)
  t.same(warnings, [], 'no listeners accumulate')
})

t.test('an upgrade that is pipelined after other requests waits for their responses', async (t) => {
  const origin = await startRawOrigin(t, (socket) => socket.write(`${SWITCHING}tunnel`))
  const { port } = await startFront(t, origin.port)
  const client = openRawClient(
    t,
    port,
    `GET /1?wait=100 HTTP/1.1\r\nHost: a\r\n\r\nGET /2?wait=20 HTTP/1.1\r\nHost: a\r\n\r\n${UPGRADE_REQUEST}`,
  )
  await waitFor('the tunnel', () => client.text().endsWith('tunnel'))
  const order = [...client.text().matchAll(/"url":"(\/\d)|(101) S/g)].map((match) => match[1] ?? match[2])
  t.same(order, ['/1', '/2', '101'])
})
