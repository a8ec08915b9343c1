// The attack: an origin that is broken or compromised sends bytes that are not HTTP, or that two readers frame differently
// (two lengths, a length and chunks, a body after HEAD, a second response that was not requested), resets in the middle, or
// never ends. The danger is response splitting: bytes of one response that the proxy sends to the next client on a pooled
// connection. Each row sends one such response, followed by a control request of another client. The client must see the
// response, a 502, or a visible cut; the control must get its own response; the error page must not reveal the cause.
import { createServer } from 'node:http'
import t from 'tap'
import { HOSTILE, type Outcome } from './fixtures/hostile-rows.js'
import { type ByteExchange, exchangeBytes, portOf, startProxy, startRawServer, waitUntil } from './fixtures/sockets.js'
import { parseStrictly } from './fixtures/strict-parser.js'

const get = (path: string, method = 'GET') => `${method} ${path} HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n`
const CONTROL = 'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ncontrol'

t.test('whatever the origin sends, the client sees its response, a 502 or a visible cut', async (t) => {
  t.ok(HOSTILE.length >= 60, `${HOSTILE.length} origins`)
  let serve = HOSTILE[0]?.[1]
  let asked = 0
  const origin = await startRawServer((socket) => {
    socket.on('data', (part) => {
      if (part.toString('latin1').includes(' /control ')) return void socket.write(CONTROL)
      asked += 1
      serve?.(socket)
    })
  })
  const { proxy, port, records } = await startProxy(origin.port, { headersTimeout: 1_000, bodyIdleTimeout: 1_000 })
  for (const [name, hostile, outcome, why] of HOSTILE) {
    serve = hostile
    asked = 0
    records.length = 0
    const answer = await exchangeBytes(port, [get('/x')])
    t.equal(judge(answer, outcome), undefined, why ? `${name}: ${why}` : name)
    t.equal(asked, 1, 'asked once: the connection had not answered before')
    t.ok(await waitUntil(() => records.length === 1), 'one record')
    if (outcome === 502 || outcome === 504) t.equal(records[0]?.status, outcome)
    const control = await exchangeBytes(port, [40, get('/control')])
    t.ok(control.text.endsWith('\r\n\r\ncontrol'), `${name}: the next request is well`)
    // Each row uses a connection of its own, so that the control request leaves nothing in the pool for it.
    for (const socket of origin.sockets) socket.destroy()
    await waitUntil(() => origin.sockets.size === 0)
  }
  t.equal(proxy.stats().active, 0)
  await proxy.close(100)
  t.ok(await waitUntil(() => origin.sockets.size === 0), 'no connection to the origin is left')
  await origin.close()
})

/** Returns why the result differs from the expected outcome; undefined if it does not. */
function judge({ text, end, ms }: ByteExchange, outcome: Outcome): string | undefined {
  if (end === 'open') return `hangs after ${text.slice(0, 100)}`
  if (ms > 4_000) return `took ${ms} ms`
  const { messages, fault, rest } = parseStrictly(text, 'response')
  if (fault !== undefined) return `the client read ${fault}`
  const final = messages.filter(({ start }) => !start.startsWith('HTTP/1.1 1')).at(-1)
  const status = Number(final?.start.split(' ')[1] ?? 0)
  const cut = final === undefined || end === 'reset'
  if (typeof outcome === 'object' && 'cut' in outcome)
    return cut && rest.startsWith(`HTTP/1.1 ${outcome.cut} `) ? undefined : `${status}, cut after ${rest.slice(0, 100)}`
  if (outcome === 'cut') return cut ? undefined : `a whole ${status}`
  if (outcome === 'broken') return cut || status === 502 || status === 504 ? undefined : `a whole ${status}`
  if (typeof outcome === 'number') {
    if (/error|socket|hpe|at /i.test(final?.body ?? '')) return `the error page reveals ${final?.body}`
    return status === outcome ? undefined : `${status || 'no answer'}, ${end}`
  }
  if (cut) return `cut after ${text.slice(0, 100)}`
  return status === outcome.status && final.body === outcome.body ? undefined : `${status} ${final.body}`
}

t.test('ignores a body after HEAD', async (t) => {
  const origin = await startRawServer((socket) => {
    socket.on('data', (part) => {
      if (part.includes('/control')) socket.write(CONTROL)
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison')
    })
  })
  const { proxy, port } = await startProxy(origin.port)
  const head = await exchangeBytes(port, [get('/x', 'HEAD')])
  t.match(head.text, /^HTTP\/1\.1 200 OK\r\n/)
  t.ok(head.text.endsWith('\r\n\r\n'))
  t.ok((await exchangeBytes(port, [get('/control')])).text.endsWith('control'))
  await proxy.close(100)
  await origin.close()
})

t.test('responds 502 or 504 for an origin that cannot be reached', async (t) => {
  const gone = await startRawServer(() => {})
  await gone.close()
  const { proxy, port, records } = await startProxy(gone.port)
  const { text, ms } = await exchangeBytes(port, [get('/x')])
  t.match(text, /^HTTP\/1\.1 502 Bad Gateway\r\n/)
  t.ok(text.endsWith('\r\n\r\n502 Bad Gateway\n'), 'a page without the cause')
  t.ok(ms < 5_000, `at once, not after a timeout: ${ms} ms`)
  t.ok(await waitUntil(() => records.length === 1))
  t.match(records[0], { status: 502, bytes: '502 Bad Gateway\n'.length, pathname: '/x', hostname: 's' })
  t.same(proxy.stats().failures, { refused: 1 })
  await proxy.close(100)
  const nameless = await startProxy(1, { origin: new URL('http://no-such-host.invalid:80') })
  t.match((await exchangeBytes(nameless.port, [get('/x')])).text, /^HTTP\/1\.1 502/)
  await nameless.proxy.close(100)
})

t.test('retries on a stale keep-alive connection', async (t) => {
  // Each connection serves one request and closes at the second, like an origin that restarts or times out.
  for (const [how, method, body, expected, why] of [
    ['end', 'GET', '', 200, 'asked again on a new connection'],
    ['reset', 'GET', '', 200, 'the same for a reset'],
    ['end', 'DELETE', '', 200, 'idempotent'],
    ['end', 'POST', '', 502, 'never for POST'],
    ['end', 'PUT', 'hello', 502, 'nor once a body was read'],
    ['partial', 'GET', '', 502, 'nor once an answer began'],
  ] as const) {
    const asked: string[] = []
    const origin = await startRawServer((socket) => {
      let served = 0
      socket.on('data', (part) => {
        const line = part.toString('latin1').split(' HTTP/')[0] ?? ''
        asked.push(line)
        served += 1
        if (served === 1) socket.write(CONTROL)
        else if (how === 'end') socket.end()
        else if (how === 'reset') socket.resetAndDestroy()
        else socket.end('HTTP/1.1 200 O')
      })
    })
    const { proxy, port } = await startProxy(origin.port)
    await exchangeBytes(port, [get('/first')])
    const sent = `${method} /second HTTP/1.1\r\nHost: s\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const { text } = await exchangeBytes(port, [sent])
    t.match(text, new RegExp(`^HTTP/1.1 ${expected} `), `${method}, ${how}: ${why}`)
    t.equal(proxy.stats().retries, expected === 200 ? 1 : 0)
    t.equal(asked.filter((line) => line.endsWith('/second')).length, expected === 200 ? 2 : 1)
    await proxy.close(100)
    await origin.close()
  }
})

t.test('retries once, not twice', async (t) => {
  let asked = 0
  const origin = await startRawServer((socket) => {
    let served = 0
    socket.on('data', () => {
      served += 1
      asked += 1
      if (served === 1 && asked === 1) socket.write(CONTROL)
      else socket.end()
    })
  })
  const { proxy, port } = await startProxy(origin.port)
  await exchangeBytes(port, [get('/first')])
  t.match((await exchangeBytes(port, [get('/second')])).text, /^HTTP\/1\.1 502/)
  t.equal(asked, 3, 'the first, the stale one, the retry')
  await proxy.close(100)
  await origin.close()
})

t.test('relays an early response to an upload', async (t) => {
  const origin = createServer((req, res) => {
    if (req.url === '/control') return void res.end('control')
    res.writeHead(413, { 'content-length': '4' }).end('long')
  })
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const { proxy, port, records } = await startProxy(portOf(origin))
  const upload = `POST /up HTTP/1.1\r\nHost: s\r\nContent-Length: 3000000\r\n\r\n`
  const parts = [upload, ...Array<string>(30).fill('x'.repeat(100_000)), get('/control')]
  const { text } = await exchangeBytes(port, parts)
  const { messages } = parseStrictly(text, 'response')
  t.equal(messages[0]?.body, 'long')
  t.equal(messages[1]?.body, 'control', 'the rest of the upload is read away, the connection goes on')
  t.equal(records[0]?.status, 413)
  await proxy.close(100)
  origin.closeAllConnections()
  origin.close()
})
