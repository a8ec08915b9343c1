import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { connect } from 'node:net'
import * as zlib from 'node:zlib'
import t, { type Test } from 'tap'
import { exchangeBytes, portOf, sleep, startProxy, startRawServer, waitUntil } from '../fixtures/sockets.js'
import { field, parseStrictly } from '../fixtures/strict-parser.js'
import { PAGES, SRC, TAG } from './pages.js'

const script = (hostname: string) => (hostname === 'other.example' ? undefined : SRC)
const HEAD = '<!doctype html><html><head><meta charset=utf-8>'
const PAGE = `${HEAD}</head><body>hello</body></html>`
const WITH = `${HEAD}${TAG}</head><body>hello</body></html>`

type Coding = 'gzip' | 'x-gzip' | 'br' | 'deflate' | 'raw deflate'
const encode: Record<Coding, (bytes: Buffer) => Buffer> = {
  gzip: (bytes) => zlib.gzipSync(bytes),
  'x-gzip': (bytes) => zlib.gzipSync(bytes),
  br: (bytes) => zlib.brotliCompressSync(bytes),
  deflate: (bytes) => zlib.deflateSync(bytes),
  'raw deflate': (bytes) => zlib.deflateRawSync(bytes),
}
const decode: Record<Coding, (bytes: Buffer) => Buffer> = {
  gzip: (bytes) => zlib.gunzipSync(bytes),
  'x-gzip': (bytes) => zlib.gunzipSync(bytes),
  br: (bytes) => zlib.brotliDecompressSync(bytes),
  deflate: (bytes) => zlib.inflateSync(bytes),
  'raw deflate': (bytes) => zlib.inflateRawSync(bytes),
}
const CODINGS: Coding[] = ['gzip', 'x-gzip', 'br', 'deflate', 'raw deflate']
const nameOf = (coding: Coding) => coding.replace('raw ', '')

/** A site of one handler, behind a proxy that injects. */
async function site(t: Test, handler: (req: IncomingMessage, res: ServerResponse) => void) {
  const origin = createServer(handler)
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const made = await startProxy(portOf(origin), { scriptFor: script, bodyIdleTimeout: 2_000 })
  t.teardown(async () => {
    await made.proxy.close(100)
    origin.closeAllConnections()
    origin.close()
  })
  return made
}

const get = (path = '/', lines = '', method = 'GET', version = '1.1') =>
  `${method} ${path} HTTP/${version}\r\nHost: site.example\r\nConnection: close\r\n${lines}\r\n`
async function ask(port: number, request: string, ms?: number) {
  const { text, end } = await exchangeBytes(port, [request], ms === undefined ? {} : { ms })
  const { messages, fault, rest } = parseStrictly(text, 'response', () => !request.startsWith('HEAD'))
  const [message] = messages
  return { message, body: Buffer.from(message?.body ?? '', 'latin1'), fault, end, rest, text }
}

t.test('every page in every coding, in parts', async (t) => {
  let serve: { bytes: Buffer; cuts: number[]; coding: string | undefined }
  const { port, records } = await site(t, async (_, res) => {
    const { bytes, cuts, coding } = serve
    res.writeHead(200, {
      'Content-Type': 'text/html; charset=utf-8',
      ...(coding === undefined ? {} : { 'Content-Encoding': coding }),
    })
    let from = 0
    for (const to of [...cuts, bytes.length]) {
      res.write(bytes.subarray(from, to))
      from = to
      await new Promise((resolve) => setImmediate(resolve))
    }
    res.end()
  })
  let seed = 7
  const cutsOf = (size: number) => {
    const cuts = new Set<number>()
    for (let i = 0; i < 5; i++) {
      seed = (seed * 48_271) % 2_147_483_647
      if (size > 1) cuts.add(1 + (seed % (size - 1)))
    }
    return [...cuts].sort((a, b) => a - b)
  }
  // What a response's head cannot say is of the placement's own test.
  const pages = PAGES.filter(({ target }) => target.policies.length === 0)
  for (const [number, { input, output, why, changed }] of pages.entries()) {
    for (const coding of [undefined, ...CODINGS]) {
      // Each page in two codings and without one; over all pages every coding has its turn.
      if (coding !== undefined && ![number % 5, (number + 2) % 5].includes(CODINGS.indexOf(coding))) continue
      const bytes = coding === undefined ? input : encode[coding](input)
      serve = { bytes, cuts: cutsOf(bytes.length), coding: coding && nameOf(coding) }
      const { body, message, fault } = await ask(port, get())
      const sent = coding === undefined ? body : decode[coding](body)
      if (fault !== undefined || !sent.equals(output))
        t.equal(`${fault}: ${String(sent).slice(0, 500)}`, String(output).slice(0, 500), `${why}, ${coding}`)
      if (changed) t.equal(field(message, 'content-encoding'), coding && nameOf(coding))
      await waitUntil(() => records.length === 1)
      t.equal(records.pop()?.bytes, body.length, `${why}, ${coding ?? 'plain'}`)
    }
  }
})

t.test('only documents, and what their heads say', async (t) => {
  const fields: Record<string, Record<string, string | string[]>> = {
    '/': {},
    '/json': { 'Content-Type': 'application/json' },
    '/xhtml': { 'Content-Type': 'application/xhtml+xml' },
    '/xhtml-ish': { 'Content-Type': 'text/html-sandboxed' },
    '/attachment': { 'Content-Disposition': 'attachment; filename=x.html' },
    '/inline': { 'Content-Disposition': 'inline' },
    '/no-transform': { 'Cache-Control': 'max-age=1, No-Transform' },
    '/utf-16': { 'Content-Type': 'text/html; charset="UTF-16LE"' },
    '/latin1': { 'Content-Type': 'TEXT/HTML;charset=iso-8859-1' },
    '/jis': { 'Content-Type': 'text/html; charset=iso-2022-jp' },
    '/zstd': { 'Content-Encoding': 'zstd' },
    '/two-codings': { 'Content-Encoding': 'gzip, br' },
    '/two-fields': { 'Content-Encoding': ['gzip', 'gzip'] },
    '/identity': { 'Content-Encoding': 'identity' },
    '/signed': { 'Signature-Input': 'sig=("content-digest")' },
    '/csp-none': { 'Content-Security-Policy': "default-src 'none'" },
    '/csp-reported': { 'Content-Security-Policy-Report-Only': "script-src 'none'" },
    '/csp-nonce': { 'Content-Security-Policy': "script-src 'nonce-AbC='; connect-src 'self'" },
  }
  const { port } = await site(t, (req, res) => {
    const status = Number(/^\/(\d{3})$/.exec(req.url ?? '')?.[1] ?? 200)
    res.writeHead(status, { 'Content-Type': 'text/html', 'Content-Length': PAGE.length, ...fields[req.url ?? ''] })
    res.end(PAGE)
  })
  const nonced = `${HEAD}${TAG.replace('></', ' nonce="AbC="></')}</head><body>hello</body></html>`
  const rows: [request: string, expected: string, why: string][] = [
    [get(), WITH, 'a page'],
    [get('/', 'Sec-Fetch-Dest: document\r\n'), WITH, 'a navigation'],
    [get('/', 'Sec-Fetch-Dest: iframe\r\n'), PAGE, 'a frame'],
    [get('/', 'Sec-Fetch-Dest: empty\r\n'), PAGE, 'fetch()'],
    [get('/', 'X-Requested-With: XMLHttpRequest\r\n'), PAGE, 'XMLHttpRequest'],
    [get('/', 'X-Requested-With: com.example.app\r\n'), WITH, 'a web view of Android'],
    [get('/', 'HX-Request: true\r\n'), PAGE, 'htmx'],
    [get('/', 'Turbo-Frame: a\r\n'), PAGE, 'Turbo'],
    [get('/', 'X-PJAX: true\r\n'), PAGE, 'pjax'],
    [get('/', 'Range: bytes=0-\r\n'), PAGE, 'a range, answered whole'],
    [get('/').replace('site.example', 'other.example'), PAGE, 'a host of no site'],
    [get('/', '', 'POST'), PAGE, 'POST'],
    [get('/', '', 'HEAD'), '', 'HEAD'],
    ...[404, 500, 203, 206].map((status): [string, string, string] => [get(`/${status}`), PAGE, `${status}`]),
    [get('/inline'), WITH, 'inline'],
    [get('/latin1'), WITH, 'latin1'],
    [get('/identity'), WITH, 'the coding that is none'],
    [get('/csp-nonce'), nonced, 'with the nonce of the page'],
    ...Object.keys(fields)
      .filter((path) => !['/', '/inline', '/latin1', '/identity', '/csp-nonce'].includes(path))
      .map((path): [string, string, string] => [get(path), PAGE, path]),
  ]
  for (const [request, expected, why] of rows) {
    const { message, fault, text } = await ask(port, request)
    t.equal(fault, undefined, why)
    t.equal(message?.body, expected, why)
    const length = request.startsWith('HEAD') ? PAGE.length : expected.length
    t.equal(field(message, 'content-length'), String(length), `${why}: its length`)
    t.notMatch(text, /transfer-encoding/i)
  }
})

t.test('fields that speak of the bytes', async (t) => {
  const { port } = await site(t, (req, res) => {
    const coded = req.url === '/gzip'
    const body = coded ? zlib.gzipSync(PAGE) : req.url === '/fragment' ? Buffer.from('<p>hello') : Buffer.from(PAGE)
    res.writeHead(200, [
      ...['Content-Type', 'text/html', 'ETag', '"v1"', 'Last-Modified', 'Sat, 21 Nov 2026 08:00:00 GMT'],
      ...['Accept-Ranges', 'bytes', 'Content-MD5', 'x', 'Digest', 'x', 'Content-Digest', 'x', 'Repr-Digest', 'x'],
      ...['Vary', 'Cookie', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Server-Timing', 'db;dur=5'],
      ...(coded ? ['Content-Encoding', 'gzip'] : []),
      ...['Content-Length', String(body.length)],
    ])
    res.end(body)
  })
  const kept = (message: { fields: [string, string][] } | undefined) =>
    message?.fields.filter(([name]) => !['date', 'connection', 'transfer-encoding'].includes(name))
  const always = [
    ['content-type', 'text/html'],
    ['etag', 'W/"v1~readership"'],
    ['last-modified', 'Sat, 21 Nov 2026 08:00:00 GMT'],
    ['vary', 'Cookie'],
    ['set-cookie', 'a=1'],
    ['set-cookie', 'b=2'],
    ['server-timing', 'db;dur=5'],
  ]
  const plain = await ask(port, get())
  t.same(kept(plain.message), [...always, ['content-length', String(WITH.length)]])
  const coded = await ask(port, get('/gzip'))
  t.same(kept(coded.message), [...always, ['content-encoding', 'gzip']])
  t.equal(field(coded.message, 'transfer-encoding'), 'chunked')
  const fragment = await ask(port, get('/fragment'))
  t.equal(field(fragment.message, 'etag'), '"v1"', 'what is not changed keeps all')
  t.equal(fragment.message?.fields.length, 15)
  const old = await ask(port, get('/gzip', '', 'GET', '1.0'))
  t.equal(field(old.message, 'transfer-encoding'), undefined, 'HTTP/1.0 has no chunks')
  t.equal(String(zlib.gunzipSync(old.body)), WITH)
  t.equal((await ask(port, get('/', '', 'GET', '1.0'))).message?.body, WITH)
})

t.test('a validator comes back as the origin wrote it', async (t) => {
  const asked: (string | undefined)[] = []
  const { port } = await site(t, (req, res) => {
    const wanted = req.headers['if-none-match']
    asked.push(wanted)
    const tag = req.url === '/weak' ? 'W/"v1"' : '"v1"'
    // As text, as some do.
    const same = wanted === tag
    res.writeHead(same ? 304 : 200, { ETag: tag, 'Content-Type': 'text/html' }).end(same ? undefined : PAGE)
  })
  const rows: [path: string, sent: string, heard: string, status: string, tag: string][] = [
    ['/', 'W/"v1~readership"', '"v1"', '304', 'W/"v1~readership"'],
    ['/', '"v1"', '"v1"', '304', '"v1"'],
    ['/', 'W/"v1"', 'W/"v1"', '200', 'W/"v1~readership"'],
    ['/', '"v0"', '"v0"', '200', 'W/"v1~readership"'],
    ['/', 'W/"a~readership", "b", W/"c"', '"a", "b", W/"c"', '200', 'W/"v1~readership"'],
    ['/weak', 'W/"v1"', 'W/"v1"', '304', 'W/"v1"'],
    ['/weak', '"v0"', '"v0"', '200', 'W/"v1"'],
  ]
  for (const [path, sent, heard, status, tag] of rows) {
    const { message } = await ask(port, get(path, `If-None-Match: ${sent}\r\n`))
    t.equal(asked.pop(), heard, sent)
    t.equal(message?.start.split(' ')[1], status, sent)
    t.equal(field(message, 'etag'), tag, sent)
  }
})

t.test('who saves a page says which one was read, and asks for no part of it', async (t) => {
  const { port } = await site(t, ({ method, headers }, res) => {
    const heard = [method, headers['if-match'], headers['if-range']].map((each) => each ?? '-').join(' ')
    res.writeHead(200, { 'Content-Type': 'text/plain' }).end(heard)
  })
  const rows: [method: string, sent: string, heard: string][] = [
    ['DELETE', 'If-Match: W/"v1~readership"', 'DELETE "v1" -'],
    ['DELETE', 'If-Match: "v1"', 'DELETE "v1" -'],
    ['DELETE', 'if-match: *', 'DELETE * -'],
    ['GET', 'If-Range: W/"v1~readership"', 'GET - W/"v1~readership"'],
  ]
  for (const [method, sent, heard] of rows)
    t.equal((await ask(port, get('/', `${sent}\r\n`, method))).message?.body, heard, sent)
})

t.test('what the origin has sent is there while it pauses', async (t) => {
  let write = (_: string) => {}
  let over: Promise<unknown> = Promise.resolve()
  const { port } = await site(t, (req, res) => {
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

/** The body of a chunked response that is not over. */
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

t.test('bodies that are not what they say', async (t) => {
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
  const { port, proxy } = await site(t, (req, res) => {
    const fields = { 'Content-Type': 'text/html', 'Content-Encoding': 'gzip' }
    if (req.url === '/dies') {
      res.writeHead(200, fields)
      res.write(zip.subarray(0, 60), () => setTimeout(() => res.socket?.destroy(), 50))
      return
    }
    const body = bodies[req.url ?? ''] ?? zip
    res.writeHead(200, { ...fields, 'Content-Length': body.length, ETag: '"x"' }).end(body)
  })
  for (const path of ['/plain', '/short', '/trailing', '/empty']) {
    const { message, body } = await ask(port, get(path))
    t.ok(body.equals(bodies[path] ?? zip), `${path}: as it came`)
    t.equal(field(message, 'etag'), '"x"', path)
  }
  const inflated = async (path: string) => {
    const { message, body } = await ask(port, get(path))
    t.ok(message, `${path}: a whole message`)
    return String(zlib.gunzipSync(body, { finishFlush: zlib.constants.Z_SYNC_FLUSH }))
  }
  t.equal(await inflated('/members'), `${WITH}<p>more`, 'two members are one')
  const torn = await inflated('/cut')
  t.ok(torn.length > 100_000 && torn.includes(TAG), 'what is there of it is sent')
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
  t.equal(String(zlib.gunzipSync((await ask(port, get('/'))).body)), WITH, 'the next is well')
})

t.test('a client that does not read holds the origin up, and only so much is kept', async (t) => {
  let sent = 0
  const part = Buffer.from(Array.from({ length: 65_536 }, (_, i) => 33 + (((i * i * 31) >> 7) % 90)))
  const { port, records } = await site(t, (req, res) => {
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
    t.ok(await waitUntil(() => sent > stuck && bytes > 5_000_000, 5_000), `${path}: it goes on`)
    socket.destroy()
    t.ok(await waitUntil(() => records.length === 1), 'and is over when the client leaves')
    records.length = 0
  }
})

t.test('HTTP/2', async (t) => {
  const { proxy, records } = await site(t, (req, res) => {
    if (req.url === '/twice') {
      res.writeHead(200, ['Content-Type', 'text/html', 'ETag', '"a"', 'ETag', '"b"']).end(PAGE)
      return
    }
    res.writeHead(200, {
      'Content-Type': 'text/html',
      ETag: '"x"',
      ...(req.url === '/gzip' ? { 'Content-Encoding': 'gzip' } : {}),
    })
    if (req.url === '/late') {
      res.flushHeaders()
      setTimeout(() => res.end(PAGE), 150)
    } else if (req.url === '/dies') res.write(HEAD, () => setTimeout(() => res.socket?.destroy(), 30))
    else res.end(req.url === '/gzip' ? zlib.gzipSync(PAGE) : PAGE)
  })
  const server = createHttp2Server(proxy.handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const session = connectHttp2(`http://127.0.0.1:${portOf(server)}`)
  t.teardown(() => {
    session.close()
    server.close()
  })
  const fetch = (path: string) =>
    new Promise<{ body: Buffer; etag: unknown; head: number; data: number; rst: number | undefined }>((resolve) => {
      const stream = session.request({ ':authority': 'site.example', ':path': path })
      const parts: Buffer[] = []
      const answer = { etag: undefined as unknown, head: 0, data: 0 }
      stream.on('response', (fields) => {
        answer.etag = fields.etag
        answer.head = performance.now()
      })
      stream.on('data', (part) => {
        answer.data ||= performance.now()
        parts.push(part)
      })
      stream.on('error', () => {})
      stream.on('close', () => resolve({ ...answer, body: Buffer.concat(parts), rst: stream.rstCode }))
    })
  const plain = await fetch('/')
  t.equal(String(plain.body), WITH)
  t.equal(plain.etag, 'W/"x~readership"')
  t.equal(String(zlib.gunzipSync((await fetch('/gzip')).body)), WITH)
  const late = await fetch('/late')
  t.equal(String(late.body), WITH)
  t.ok(late.data - late.head > 80, 'the head does not wait for the body')
  t.not((await fetch('/dies')).rst, 0, 'a cut is a reset stream')
  const twice = await fetch('/twice')
  t.equal(String(twice.body), WITH, 'a field that comes twice')
  t.equal(twice.etag, 'W/"a~readership"')
  t.same(
    records.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  )
})

t.test('so many compressed pages at once and no more; those beyond stay as they are', async (t) => {
  const waiting: ServerResponse[] = []
  const first = zlib.gzipSync(PAGE)
  const { port } = await site(t, (_, res) => {
    res.writeHead(200, { 'Content-Type': 'text/html', 'Content-Encoding': 'gzip' })
    res.write(first.subarray(0, first.length - 8))
    waiting.push(res)
  })
  const answers: Promise<string>[] = []
  // All at once, on a machine that may be busy with other tests.
  const patient = async () => String(zlib.gunzipSync((await ask(port, get(), 20_000)).body))
  for (let i = 0; i < 260; i++) answers.push(patient())
  t.ok(await waitUntil(() => waiting.length === 260))
  for (const res of waiting) res.end(first.subarray(first.length - 8))
  const got = await Promise.all(answers)
  t.equal(got.filter((page) => page === WITH).length, 256)
  t.equal(got.filter((page) => page === PAGE).length, 4)
  const next = ask(port, get(), 20_000)
  await waitUntil(() => waiting.length === 261)
  waiting.at(-1)?.end(first.subarray(first.length - 8))
  t.equal(String(zlib.gunzipSync((await next).body)), WITH, 'then there is room again')
})

t.test('an origin that dies', async (t) => {
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
  const { proxy, port } = await startProxy(origin.port, { scriptFor: script })
  for (const path of ['/length', '/chunks']) {
    const { message, end, text } = await ask(port, get(path))
    t.equal(message, undefined, `${path}: no whole message`)
    t.not(end, 'open', path)
    t.match(text, /200 OK/, path)
  }
  t.equal((await ask(port, get('/close'))).message?.body, WITH, 'a body that the close ends is whole')
  t.match((await ask(port, get('/nothing'))).text, /^HTTP\/1\.1 502/, 'before anything is sent, an error page')
  t.equal(proxy.stats().active, 0)
  await proxy.close(100)
  await origin.close()
})
