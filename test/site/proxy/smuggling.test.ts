// The attack: request smuggling. A client frames its request so that the proxy and the origin disagree about its end:
// Content-Length with Transfer-Encoding, two lengths, a chunk size with a sign or spaces, names like `transfer_encoding`, folded
// lines, bare line feeds. The rest of the body is then read as the next request on a connection that other clients share: the
// attacker sends requests under another client's name, reads its response, or passes a path that the proxy would refuse.
// Each row sends such bytes to the proxy. Its origin parses strictly (RFC 9112, narrowest reading): it must see exactly one
// request or none, and the next request of another client must get its own response.
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ROWS, type Verdict } from './fixtures/smuggling-rows.js'
import { exchangeBytes, startProxy, startRawServer, waitUntil } from './fixtures/sockets.js'
import { field, type Message, parseStrictly } from './fixtures/strict-parser.js'

const AFTER = 'GET /after HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n'
const pathOf = (message: Message | undefined) => message?.start.split(' ')[1]

t.test('a request reaches the origin as exactly one request, or not at all', async (t) => {
  const seen: Message[] = []
  const faults: string[] = []
  const origin = await startRawServer((socket) => {
    let bytes = ''
    socket.on('data', (part) => {
      bytes += part.toString('latin1')
      const { messages, rest, fault } = parseStrictly(bytes, 'request')
      bytes = rest
      for (const message of messages) {
        seen.push(message)
        const body = message.start
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      }
      if (fault === undefined) return
      faults.push(fault)
      socket.destroy()
    })
  })
  const { proxy, port } = await startProxy(origin.port)

  const failures: string[] = []
  t.ok(ROWS.length > 300, `${ROWS.length} rows`)
  for (const [sent, verdict, why] of ROWS) {
    seen.length = 0
    faults.length = 0
    const answered = (text: string) => text.includes('GET /after HTTP/1.1')
    const { text } = await exchangeBytes(port, [sent, 10, AFTER], { done: answered })
    const problem = judge(text, verdict, seen, faults)
    if (problem) failures.push(`${JSON.stringify(sent.slice(0, 200))} (${why}): ${problem}`)
    // The next request of another client over the pool must get its own response.
    const other = await exchangeBytes(port, ['GET /other HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n'])
    if (!other.text.endsWith('GET /other HTTP/1.1')) failures.push(`${JSON.stringify(sent.slice(0, 200))}: poisoned`)
  }
  t.same(failures, [])
  const { active } = proxy.stats()
  t.equal(active, 0, 'no exchange is left over')
  await proxy.close(100)
  await origin.close()
})

/** Returns why the row failed; undefined if it did not. */
function judge(text: string, verdict: Verdict, seen: Message[], faults: string[]): string | undefined {
  if (faults.length > 0) return `the origin read ${faults.join()}`
  const odd = seen.filter((one) => pathOf(one) === '/smuggled')
  if (odd.length > 0) return 'the hidden request arrived'
  const answers = parseStrictly(text, 'response')
  if (answers.fault !== undefined) return `the client read ${answers.fault}`
  const finals = answers.messages.filter(({ start }) => !start.startsWith('HTTP/1.1 1'))
  const status = Number(finals[0]?.start.split(' ')[1] ?? 0)
  const targets = seen.filter((one) => pathOf(one) !== '/after')
  if (verdict === 'either') {
    if (targets.length > 1) return 'more than one request'
    return targets.length === 0 && (status < 400 || status > 501) ? `answered ${status}` : undefined
  }
  if (verdict === 'refuse') {
    if (seen.length > 0) return `the origin read ${seen.map(({ start }) => start).join()}`
    if (status < 400 || status > 505 || status === 502 || status === 504) return `answered ${text.slice(0, 80)}`
    return finals.length > 1 ? 'the connection went on' : undefined
  }
  const [target, ...more] = seen
  if (target?.start !== `${verdict.method} ${verdict.path} HTTP/1.1`)
    return `forwarded as ${target?.start}, answered ${status}`
  if (target.body !== verdict.body) return `with the body ${target.body}`
  for (const name of [
    'upgrade',
    'http2-settings',
    'transfer_encoding',
    'content_length',
    'x_forwarded_for',
    'x-a',
    'te',
  ])
    if (field(target, name) !== undefined) return `with ${name}`
  if (more.length > 1) return 'and a request that no client sent'
  // HTTP/1.0 ends the connection after its response.
  if (finals.length === 1) return undefined
  return finals[1]?.body === 'GET /after HTTP/1.1' ? undefined : `the next answer was ${finals[1]?.body}`
}

t.test('no request is read after a response that closes the connection', async (t) => {
  const seen: string[] = []
  const origin = await startRawServer((socket) => {
    socket.on('data', (part) => seen.push(part.toString('latin1')))
  })
  const { proxy, port } = await startProxy(origin.port)
  // Node closes a socket once its bytes are sent; a busy machine or a slow client leaves time in which more arrives.
  proxy.server.on('connection', (socket) => {
    const close = socket.destroySoon.bind(socket)
    socket.destroySoon = () => socket.end(() => setTimeout(close, 200))
  })
  for (const refused of ['Content-Length: 0\r\nExpect: 200-ok', 'Transfer-Encoding: x']) {
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    client.resume().write(`POST / HTTP/1.1\r\nHost: s\r\n${refused}\r\n\r\n`)
    await once(client, 'end')
    client.write(AFTER)
    await sleep(100)
    client.destroy()
  }
  t.same(seen, [])
  await proxy.close(100)
  await origin.close()
})

t.test('cuts a flood of pipelined requests, and the server goes on', async (t) => {
  const origin = await startRawServer(() => {})
  const { proxy, port } = await startProxy(origin.port)
  const flood = 'GET / HTTP/1.1\r\nHost: s\r\n\r\n'.repeat(3_000)
  const { end } = await exchangeBytes(port, [flood])
  t.not(end, 'open')
  t.ok(await waitUntil(() => proxy.stats().active === 0))
  await proxy.close(100)
  await origin.close()
})
