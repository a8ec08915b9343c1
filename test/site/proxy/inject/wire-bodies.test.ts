// The attack: an origin, or an author who can store a page on it, sends bodies that contradict their coding: invalid gzip, gzip that
// breaks off, or has garbage after it, and 60 MB that compress to almost nothing. A slow client keeps the decoded page in
// memory; many slow clients at once keep many of them. Memory must stay bounded, a broken body must look broken to the client
// too, and the next page must be complete.
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import * as zlib from 'node:zlib'
import t from 'tap'
import { sleep, startProxy, startRawServer, waitUntil } from '../fixtures/sockets.js'
import { field } from '../fixtures/strict-parser.js'
import { ask, get, HEAD, PAGE, PAGE_WITH_TAG, startInjectingSite, testScriptFor } from './injecting-site.js'
import { TAG } from './pages.js'

t.test('sends what the origin has sent while it pauses', async (t) => {
  let write = (_: string) => {}
  let over: Promise<unknown> = Promise.resolve()
  const { port } = await startInjectingSite(t, (req, res) => {
    const coding = (req.url ?? '/').slice(1)
    res.writeHead(200, { 'Content-Type': 'text/html', ...(coding === '' ? {} : { 'Content-Encoding': coding }) })
    const encoder =
      coding === 'gzip' ? zlib.createGzip() : coding === 'br' ? zlib.createBrotliCompress() : zlib.createDeflate()
    encoder.on('data', (part) => res.write(part))
    write = (text) => {
      if (coding === '') return void res.write(text)
      encoder.write(text)
      encoder.flush()
    }
    over = new Promise((resolve) => res.once('close', resolve))
    write(`${HEAD}<title>x</title>`)
  })
  for (const coding of ['', 'gzip', 'br', 'deflate'] as const) {
    const socket = connect(port, '127.0.0.1')
    let raw = ''
    socket.on('data', (part) => {
      raw += part.toString('latin1')
    })
    socket.write(get(`/${coding}`))
    const sent = [`${HEAD}<title>x</title>`, `${TAG}</head><body><p>one`, '<p>two', '<p>three']
    for (let parts = 1; parts <= sent.length; parts++) {
      const expected = sent.slice(0, parts).join('')
      const now = () => {
        const body = Buffer.from(chunksOf(raw), 'latin1')
        return coding === '' || body.length === 0 ? String(body) : soFar(coding, body)
      }
      t.ok(await waitUntil(() => now() === expected), `${coding}: part ${parts} is there before the next is written`)
      if (parts < sent.length) write(sent[parts]?.replace(TAG, '') ?? '')
    }
    socket.destroy()
    await over
    t.pass('a client that leaves: so do we')
  }
})

/** Returns the body of a chunked response that is not complete. */
function chunksOf(raw: string): string {
  let at = raw.indexOf('\r\n\r\n') + 4
  let body = ''
  for (;;) {
    const end = raw.indexOf('\r\n', at)
    const size = Number.parseInt(raw.slice(at, end), 16)
    if (at < 4 || end < 0 || raw.length < end + 2 + size) return body
    body += raw.slice(end + 2, end + 2 + size)
    at = end + 2 + size + 2
  }
}

const soFar = (coding: 'gzip' | 'br' | 'deflate', bytes: Buffer): string =>
  coding === 'br'
    ? String(zlib.brotliDecompressSync(bytes, { finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH }))
    : String(zlib.unzipSync(bytes, { finishFlush: zlib.constants.Z_SYNC_FLUSH }))
t.test('handles bodies that contradict their coding', async (t) => {
  const zip = zlib.gzipSync(PAGE)
  const long = Buffer.from(`${HEAD}</head><body>${'<p>hello'.repeat(40_000)}`)
  const random = Buffer.from(Array.from({ length: 300_000 }, (_, i) => ((i * i) >> 5) % 251))
  const noise = zlib.gzipSync(Buffer.concat([Buffer.from(PAGE), random]))
  const spoilt = Buffer.from(noise)
  spoilt.fill(0xff, noise.length >> 1, (noise.length >> 1) + 100)
  const half = zlib.gzipSync(long)
  const bomb = zlib.gzipSync(Buffer.concat([Buffer.from(PAGE), Buffer.alloc(60_000_000)]))
  const bodies: Record<string, Buffer> = {
    '/plain': Buffer.from(PAGE),
    '/short': zip.subarray(0, 5),
    '/cut': half.subarray(0, half.length - 30),
    '/trailing': Buffer.concat([zip, Buffer.from('garbage')]),
    '/members': Buffer.concat([zip, zlib.gzipSync('<p>more')]),
    '/spoilt': spoilt,
    '/bomb': bomb,
    '/empty': Buffer.alloc(0),
  }
  const { port, proxy } = await startInjectingSite(t, (req, res) => {
    const fields = { 'Content-Type': 'text/html', 'Content-Encoding': 'gzip' }
    if (req.url === '/dies') {
      res.writeHead(200, fields)
      res.write(zip.subarray(0, 60), () => setTimeout(() => res.socket?.destroy(), 50))
      return
    }
    const body = bodies[req.url ?? ''] ?? zip
    res.writeHead(200, { ...fields, 'Content-Length': body.length, ETag: '"x"' }).end(body)
  })
  const inflated = async (path: string) => {
    const { message, body } = await ask(port, get(path))
    t.ok(message, `${path}: a whole message`)
    return String(zlib.gunzipSync(body, { finishFlush: zlib.constants.Z_SYNC_FLUSH }))
  }
  // First, because the decoder's first use is slow: the head is sent 25 ms after the origin's, decoded or not.
  t.equal(await inflated('/members'), `${PAGE_WITH_TAG}<p>more`, 'two members are one')
  for (const path of ['/plain', '/short', '/trailing', '/empty']) {
    const { message, body } = await ask(port, get(path))
    t.ok(body.equals(bodies[path] ?? zip), `${path}: unchanged`)
    t.equal(field(message, 'etag'), '"x"', path)
  }
  const torn = await inflated('/cut')
  t.ok(torn.length > 100_000 && torn.includes(TAG), 'the existing part is sent')
  t.throws(() => zlib.gunzipSync(Buffer.from('x')))
  const whole = await ask(port, get('/cut'))
  t.throws(() => zlib.gunzipSync(whole.body), 'and it breaks off for the client as well')
  for (const path of ['/spoilt', '/bomb', '/dies']) {
    const before = process.memoryUsage().rss
    const { message, end, text } = await ask(port, get(path))
    t.equal(message, undefined, `${path}: no whole message`)
    t.match(text, /^HTTP\/1\.1 200/)
    t.not(end, 'open', `${path}: it is over`)
    t.ok(process.memoryUsage().rss - before < 60_000_000, `${path}: in bounded memory`)
  }
  t.match(proxy.stats().failures, { protocol: 2, closed: 1 })
  t.equal(String(zlib.gunzipSync((await ask(port, get('/'))).body)), PAGE_WITH_TAG, 'the next page is complete')
})

t.test('a client that does not read slows the origin down, in bounded memory', async (t) => {
  let sent = 0
  const part = Buffer.from(Array.from({ length: 65_536 }, (_, i) => 33 + (((i * i * 31) >> 7) % 90)))
  const { port, records } = await startInjectingSite(t, (req, res) => {
    const gzip = zlib.createGzip({ level: 1 })
    const coded = req.url === '/gzip'
    res.writeHead(200, { 'Content-Type': 'text/html', ...(coded ? { 'Content-Encoding': 'gzip' } : {}) })
    const out = coded ? gzip : res
    if (coded) gzip.pipe(res)
    out.write(PAGE)
    const more = () => {
      while (sent < 60_000_000) {
        sent += part.length
        if (!out.write(part)) return void out.once('drain', more)
      }
      out.end()
    }
    more()
  })
  for (const path of ['/plain', '/gzip']) {
    sent = 0
    const socket = connect(port, '127.0.0.1')
    socket.write(get(path))
    await sleep(50)
    socket.pause()
    await sleep(400)
    t.ok(sent < 30_000_000, `${path}: ${sent >> 20} MB and no more`)
    const stuck = sent
    let bytes = 0
    socket.on('data', (data) => {
      bytes += data.length
    })
    socket.resume()
    t.ok(await waitUntil(() => sent > stuck && bytes > 5_000_000), `${path}: it goes on`)
    socket.destroy()
    t.ok(await waitUntil(() => records.length === 1), 'and is over when the client leaves')
    records.length = 0
  }
})

t.test('limits the compressed pages in flight; further ones stay as they are', async (t) => {
  const waiting: ServerResponse[] = []
  const first = zlib.gzipSync(PAGE)
  const hold = (res: ServerResponse) => {
    res.writeHead(200, { 'Content-Type': 'text/html', 'Content-Encoding': 'gzip' })
    res.write(first.subarray(0, first.length - 8))
    waiting.push(res)
  }
  // The first page waits until the last one is asked for.
  const { port } = await startInjectingSite(t, (_, res) => hold(res), 30_000)
  const answers: Promise<string>[] = []
  // All at once; the machine may be busy with other tests.
  const patient = async () => String(zlib.gunzipSync((await ask(port, get())).body))
  for (let i = 0; i < 260; i++) answers.push(patient())
  t.ok(await waitUntil(() => waiting.length === 260))
  for (const res of waiting) res.end(first.subarray(first.length - 8))
  const got = await Promise.all(answers)
  t.equal(got.filter((page) => page === PAGE_WITH_TAG).length, 256)
  t.equal(got.filter((page) => page === PAGE).length, 4)
  const next = ask(port, get())
  await waitUntil(() => waiting.length === 261)
  waiting.at(-1)?.end(first.subarray(first.length - 8))
  t.equal(String(zlib.gunzipSync((await next).body)), PAGE_WITH_TAG, 'then there is room again')
})

t.test('cuts a page whose origin dies', async (t) => {
  const origin = await startRawServer((socket) => {
    socket.on('data', (part) => {
      const [, path] = part.toString('latin1').split(' ')
      const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n'
      if (path === '/length') socket.write(`${head}Content-Length: 500\r\n\r\n${PAGE}`, () => socket.destroy())
      else if (path === '/chunks')
        socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n2f\r\n${HEAD}\r\n`, () => socket.destroy())
      else if (path === '/close') socket.end(`${head}\r\n${PAGE}`)
      else socket.write(`${head}Content-Length: 500\r\n\r\n`, () => socket.destroy())
    })
  })
  const { proxy, port } = await startProxy(origin.port, { scriptFor: testScriptFor })
  for (const path of ['/length', '/chunks']) {
    const { message, end, text } = await ask(port, get(path))
    t.equal(message, undefined, `${path}: no whole message`)
    t.not(end, 'open', path)
    t.match(text, /200 OK/, path)
  }
  t.equal((await ask(port, get('/close'))).message?.body, PAGE_WITH_TAG, 'a body that the close ends is whole')
  t.match((await ask(port, get('/nothing'))).text, /^HTTP\/1\.1 502/, 'before anything is sent, an error page')
  t.equal(proxy.stats().active, 0)
  await proxy.close(100)
  await origin.close()
})
