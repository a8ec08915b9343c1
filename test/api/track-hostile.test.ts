// The attack: the tracker's endpoints are open to every client on the internet, so a client sends what no browser would. It
// sends a body without end, in one piece, in chunks or one byte a minute, to fill memory or to hold connections. It
// compresses a small body that unpacks to gigabytes. It nests JSON so deep that a recursive parser overflows its stack. It
// declares one length and sends another, sends two payload formats at once, or leaves in the middle. It fills every field
// with the longest and strangest text. The endpoint has to bound memory and time for each request, respond or close the
// connection, count the drop by its reason, and go on serving the site's other visitors.
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { openTrackServer, raw, send } from '../fixtures/track-server.js'

const HIT = { s: 1, u: 'https://a.com/x' }
const HIT_TEXT = JSON.stringify(HIT)
/** A payload of exactly this many bytes. */
const sized = (bytes: number) => `{"s":1,"u":"https://a.com/x","x":"${'y'.repeat(bytes - 36)}"}`
const post = (path: string, fields: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nHost: a.com\r\nConnection: close\r\n${fields}\r\n${body}`
const chunked = (...parts: string[]) =>
  `${parts.map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`

t.test('a body may have 64 KB and not a byte more, however it is sent', async (t) => {
  const { clients, since } = await openTrackServer(t)
  t.equal(sized(65_536).length, 65_536)
  const KB = 'y'.repeat(16_384)
  for (const { name, port, base } of clients) {
    const path = `${base}/api/track`
    const lengthOf = (body: string) => `Content-Length: ${body.length}\r\n`
    const rows: [string, number, number, string][] = [
      [post(path, lengthOf(sized(65_536)), sized(65_536)), 204, 1, 'as much as there may be'],
      [post(path, lengthOf(sized(65_537)), sized(65_537)), 413, 0, 'one more'],
      [post(`${path}/batch`, 'Content-Length: 99999999\r\n', 'x'), 413, 0, 'a batch that says it is 100 MB'],
      [post(path, 'Transfer-Encoding: chunked\r\n', chunked(sized(65_536))), 204, 1, 'in chunks'],
      [post(path, 'Transfer-Encoding: chunked\r\n', chunked(sized(65_536), ' ')), 413, 0, 'one more in chunks'],
      [post(path, 'Transfer-Encoding: chunked\r\n', chunked(...Array(200).fill(KB))), 413, 0, '3 MB in chunks'],
      [post(path, 'Content-Length: 99999999\r\n', 'x'), 413, 0, 'that says it is 100 MB'],
      [post(path, 'Content-Length: 5\r\n', '{"s":1}'), 400, 0, 'with a shorter Content-Length: no HTTP follows'],
    ]
    for (const [bytes, status, hits, why] of rows) {
      // A body shorter than its Content-Length keeps the connection open: the answer comes before its end.
      const told = await (why.includes('100 MB') ? answered(port, bytes) : raw(port, bytes))
      t.equal(told.status, status, `${name}: ${why}`)
      const seen = since()
      t.equal(seen.hits.length, hits, `${name}: ${why}`)
      if (status === 413) t.same(seen.drops, { '- track too_large': 1 }, `${name}: ${why}`)
    }
  }
})

/** The status that arrives while the request is still being sent. */
async function answered(port: number, bytes: string): Promise<{ status: number }> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(bytes)
  let text = ''
  for await (const chunk of socket) {
    text += String(chunk)
    if (text.includes('\r\n\r\n')) break
  }
  socket.destroy()
  return { status: Number(text.split(' ')[1]) }
}

t.test('a body that never ends is cut off, and a disconnect leaves nothing behind', async (t) => {
  const { clients, since, logged } = await openTrackServer(t, 100)
  for (const { name, port, base } of clients.filter(({ name }) => name !== 'web')) {
    const from = performance.now()
    const told = await raw(port, post(`${base}/api/track`, 'Content-Length: 50\r\n', '{"s":1,'))
    t.ok(performance.now() - from < 5_000, `${name}: cut off`)
    t.notOk(told.status, `${name}: without an answer`)
    const socket = connect(port, '127.0.0.1')
    socket.write(post(`${base}/api/track`, 'Content-Length: 50\r\n', '{"s":1,'))
    await sleep(20)
    socket.destroy()
    await sleep(20)
    const more = await send({ port, base }, 'POST', '/api/track', { body: HIT_TEXT })
    t.equal(more.status, 204, `${name}: the next is served`)
    t.equal(since().hits.length, 1)
  }
  t.same(logged, [])
})

t.test('pipelined requests are answered in order', async (t) => {
  const { clients, since } = await openTrackServer(t)
  for (const { name, port, base } of clients) {
    const one = (n: number, more = '') => {
      const body = `{"s":1,"u":"https://a.com/${n}"}`
      return `POST ${base}/api/track HTTP/1.1\r\nHost: a.com\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`
    }
    const large = `POST ${base}/api/track HTTP/1.1\r\nHost: a.com\r\nContent-Length: 65537\r\n\r\n${sized(65_537)}`
    const told = await raw(port, `${one(1)}${one(2)}${large}${one(3, 'Connection: close\r\n')}`)
    const statuses = `${told.head}\r\n\r\n${told.body}`.match(/HTTP\/1\.1 \d+/g)?.map((line) => line.slice(9))
    t.same(statuses, ['204', '204', '413', '204'], `${name}: a refused body is read off`)
    t.same(
      since().hits.map(({ pathname }) => pathname),
      ['/1', '/2', '/3'],
      name,
    )
  }
})

t.test('compressed bodies are not decompressed', async (t) => {
  const { clients, since } = await openTrackServer(t)
  // 60 MB of blanks before a payload compress to 60 KB.
  const bomb = gzipSync(Buffer.concat([Buffer.alloc(60 << 20, 32), Buffer.from(HIT_TEXT)]))
  t.ok(bomb.length < 65_536)
  for (const client of clients)
    for (const [encoding, why] of [
      ['gzip', 'gzip'],
      ['GZIP', 'in capitals'],
      ['br', 'br'],
      ['gzip, gzip', 'twice'],
      ['', 'that does not say so'],
    ] as const) {
      const headers = encoding ? { 'Content-Encoding': encoding } : {}
      const told = await send(client, 'POST', '/api/track', { headers, body: bomb })
      t.equal(told.status, 204, `${client.name}: ${why}`)
      t.same(since(), { hits: [], drops: { '- track malformed': 1 } }, `${client.name}: ${why}`)
    }
})

t.test('malformed or deeply nested JSON is dropped', async (t) => {
  const { clients, since, logged } = await openTrackServer(t)
  const deep = (open: string, close: string, n: number) => open.repeat(n) + close.repeat(n)
  const around = (p: string) => `{"s":1,"u":"https://a.com/x","p":${p}}`
  const rows: [string | Buffer, number, string][] = [
    [deep('[', ']', 30_000), 0, 'lists 30,000 deep'],
    [deep('[', '', 65_000), 0, 'and never closed'],
    [deep('{"a":', '', 13_000), 0, 'objects'],
    [around(deep('[', ']', 30_000)), 1, 'a list is not properties'],
    [around(`{"a":${deep('[', ']', 30_000)}}`), 0, 'a property that deep'],
    [around(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`), 0, 'properties that deep'],
    [`{"s":1,"u":"https://a.com/x","x":${deep('[', ']', 30_000)}}`, 1, 'unknown keys'],
    ['{"__proto__":{"s":1,"u":"https://a.com/x"}}', 0, 'inherited'],
    ['{"s":1,"u":"https://a.com/x","__proto__":{"id":"x"},"p":{"__proto__":{"a":1},"b":2}}', 1, 'beside its own'],
    ['{"s":1,"u":"https://a.com/x","s":9}', 0, 'twice: the last counts'],
    ['{"s":1,"u":"https://a.com/\\ud800","n":"\\udfff","p":{"\\ud800":"\\udc00"}}', 1, 'half characters'],
    ['{"s":1,"u":"https://a.com/x","n":"\\u0000\\u001b[2J\\r\\n"}', 1, 'control characters'],
    ['{"s":1,"u":"https://a.com/x","n":"\u0000"}', 0, 'control characters as they are'],
    [Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), 0, 'no UTF-8'],
    [Buffer.from('{"s":1,"u":"https://a.com/x"}', 'utf16le'), 0, 'UTF-16'],
    ['{"s":1,"u":"https://a.com/x"}{"s":1}', 0, 'two'],
    ["{'s':1,'u':'https://a.com/x'}", 0, 'typographic quotes'],
    ['NaN', 0, 'no JSON'],
  ]
  for (const client of clients)
    for (const [body, hits, why] of rows) {
      const told = await send(client, 'POST', '/api/track', { body })
      const seen = since()
      t.ok(told.status === 204 || told.status === 403, `${client.name}: ${why}: ${told.status}`)
      t.equal(seen.hits.length, hits, `${client.name}: ${why}`)
      if (hits === 1) t.notMatch(JSON.stringify(seen.hits), /__proto__|\\ud[89a-f]/, `${client.name}: ${why}`)
    }
  t.same(logged, [])
  t.notOk('a' in {}, 'no object has got a property')
})

t.test('any input to any endpoint gets a specified answer, and no internal error', async (t) => {
  const { clients, since, logged } = await openTrackServer(t)
  const key = fc.constantFrom('s', 't', 'n', 'u', 'r', 'w', 'd', 'sc', 'p', 'id', 'e', 'events', '__proto__', 'x')
  const value = fc.oneof(fc.constantFrom<unknown>(1, 'https://a.com/x', 'custom', null), fc.jsonValue({ maxDepth: 4 }))
  const item = fc.dictionary(key, value, { noNullPrototype: true })
  const text = fc.oneof(
    item.map((one) => JSON.stringify({ ...HIT, ...one })),
    fc.array(item, { maxLength: 5 }).map((all) => JSON.stringify(all)),
    fc.string({ unit: 'binary', maxLength: 100 }),
  )
  const client = fc.constantFrom(...clients)
  await fc.assert(
    fc.asyncProperty(client, text, fc.constantFrom('', '/batch'), async (client, body, path) => {
      const { status, body: said } = await send(client, 'POST', `/api/track${path}`, { body })
      if ((status !== 204 && status !== 403) || said.length > 0) throw new Error(`${status}`)
      for (const hit of since().hits) JSON.stringify(hit)
    }),
    { numRuns: 200 },
  )
  await fc.assert(
    fc.asyncProperty(client, fc.string({ maxLength: 100 }), async (client, text) => {
      const query = text.replace(/[^\x21-\x7e]/g, '%')
      const { status, body } = await send(client, 'GET', `/api/track/pixel.gif?s=1&u=https://a.com/&${query}`)
      if (status !== 200 || body.length !== 43) throw new Error(`${status}`)
    }),
    { numRuns: 100 },
  )
  t.same(logged, [])
})
