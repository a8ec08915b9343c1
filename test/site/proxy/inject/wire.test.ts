import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import * as zlib from 'node:zlib'
import t from 'tap'
import { portOf, waitUntil } from '../fixtures/sockets.js'
import { field } from '../fixtures/strict-parser.js'
import {
  ask,
  CODINGS,
  decode,
  encode,
  get,
  HEAD,
  nameOf,
  PAGE,
  PAGE_WITH_TAG,
  startInjectingSite,
} from './injecting-site.js'
import { PAGES, TAG } from './pages.js'

t.test('inserts the tag into every page, in every coding and in parts', async (t) => {
  let serve: { bytes: Buffer; cuts: number[]; coding: string | undefined }
  const { port, records } = await startInjectingSite(t, async (_, res) => {
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
  // Policies of the head are tested in tag-inserter.test.ts.
  const pages = PAGES.filter(({ target }) => target.policies.length === 0)
  for (const [number, { input, output, why, changed }] of pages.entries()) {
    for (const coding of [undefined, ...CODINGS]) {
      // Each page in two codings and without one; all pages together cover every coding.
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

t.test('changes only documents whose head allows it', async (t) => {
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
  const { port } = await startInjectingSite(t, (req, res) => {
    const status = Number(/^\/(\d{3})$/.exec(req.url ?? '')?.[1] ?? 200)
    res.writeHead(status, { 'Content-Type': 'text/html', 'Content-Length': PAGE.length, ...fields[req.url ?? ''] })
    res.end(PAGE)
  })
  const nonced = `${HEAD}${TAG.replace('></', ' nonce="AbC="></')}</head><body>hello</body></html>`
  const rows: [request: string, expected: string, why: string][] = [
    [get(), PAGE_WITH_TAG, 'a page'],
    [get('/', 'Sec-Fetch-Dest: document\r\n'), PAGE_WITH_TAG, 'a navigation'],
    [get('/', 'Sec-Fetch-Dest: iframe\r\n'), PAGE, 'a frame'],
    [get('/', 'Sec-Fetch-Dest: empty\r\n'), PAGE, 'fetch()'],
    [get('/', 'X-Requested-With: XMLHttpRequest\r\n'), PAGE, 'XMLHttpRequest'],
    [get('/', 'X-Requested-With: com.example.app\r\n'), PAGE_WITH_TAG, 'a web view of Android'],
    [get('/', 'HX-Request: true\r\n'), PAGE, 'htmx'],
    [get('/', 'Turbo-Frame: a\r\n'), PAGE, 'Turbo'],
    [get('/', 'X-PJAX: true\r\n'), PAGE, 'pjax'],
    [get('/', 'Range: bytes=0-\r\n'), PAGE, 'a range, answered whole'],
    [get('/').replace('site.example', 'other.example'), PAGE, 'a host of no site'],
    [get('/', '', 'POST'), PAGE, 'POST'],
    [get('/', '', 'HEAD'), '', 'HEAD'],
    ...[404, 500, 203, 206].map((status): [string, string, string] => [get(`/${status}`), PAGE, `${status}`]),
    [get('/inline'), PAGE_WITH_TAG, 'inline'],
    [get('/latin1'), PAGE_WITH_TAG, 'latin1'],
    [get('/identity'), PAGE_WITH_TAG, 'the identity coding'],
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

t.test('removes fields that describe the exact bytes', async (t) => {
  const { port } = await startInjectingSite(t, (req, res) => {
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
  t.same(kept(plain.message), [...always, ['content-length', String(PAGE_WITH_TAG.length)]])
  const coded = await ask(port, get('/gzip'))
  t.same(kept(coded.message), [...always, ['content-encoding', 'gzip']])
  t.equal(field(coded.message, 'transfer-encoding'), 'chunked')
  const fragment = await ask(port, get('/fragment'))
  t.equal(field(fragment.message, 'etag'), '"v1"', 'an unchanged page keeps all fields')
  t.equal(fragment.message?.fields.length, 15)
  const old = await ask(port, get('/gzip', '', 'GET', '1.0'))
  t.equal(field(old.message, 'transfer-encoding'), undefined, 'HTTP/1.0 has no chunks')
  t.equal(String(zlib.gunzipSync(old.body)), PAGE_WITH_TAG)
  t.equal((await ask(port, get('/', '', 'GET', '1.0'))).message?.body, PAGE_WITH_TAG)
})

t.test('the origin gets its own validator back', async (t) => {
  const asked: (string | undefined)[] = []
  const { port } = await startInjectingSite(t, (req, res) => {
    const wanted = req.headers['if-none-match']
    asked.push(wanted)
    const tag = req.url === '/weak' ? 'W/"v1"' : '"v1"'
    // Compared as text, as some origins do.
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

t.test('restores If-Match, and leaves If-Range alone', async (t) => {
  const { port } = await startInjectingSite(t, ({ method, headers }, res) => {
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

t.test('inserts the tag over HTTP/2', async (t) => {
  const { proxy, records } = await startInjectingSite(t, (req, res) => {
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
  t.equal(String(plain.body), PAGE_WITH_TAG)
  t.equal(plain.etag, 'W/"x~readership"')
  t.equal(String(zlib.gunzipSync((await fetch('/gzip')).body)), PAGE_WITH_TAG)
  const late = await fetch('/late')
  t.equal(String(late.body), PAGE_WITH_TAG)
  t.ok(late.data - late.head > 80, 'the head does not wait for the body')
  t.not((await fetch('/dies')).rst, 0, 'a cut is a reset stream')
  const twice = await fetch('/twice')
  t.equal(String(twice.body), PAGE_WITH_TAG, 'a field that comes twice')
  t.equal(twice.etag, 'W/"a~readership"')
  t.same(
    records.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  )
})
