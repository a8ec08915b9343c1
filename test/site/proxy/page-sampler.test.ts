import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { SampledPage } from '../../../src/capture/sampled-page.js'
import { exchangeBytes, portOf, startProxy, waitUntil } from './fixtures/sockets.js'

const MINUTE = 60_000
const HTML = { 'content-type': 'text/html; charset=utf-8' }

/** A proxy that samples, on a clock that the test sets. */
async function open(t: Test, answer: (req: IncomingMessage, res: ServerResponse) => void) {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const pages: SampledPage[] = []
  let clock = 0
  const { proxy, port, records } = await startProxy(portOf(server), {
    monotonic: () => clock,
    now: () => 1_000_000 + clock,
    scriptFor: () => '/r/script.js?site=1',
    onSampledPage(page) {
      pages.push(page)
      if (page.pathname === '/throws') throw new Error('mine')
    },
  })
  t.teardown(() => proxy.close(0))
  /** Sends a request, by default a second after the one before, and returns the samples that it gave. */
  const ask = async (path: string, head = '', { method = 'GET', host = 'A.example:80', after = 1_000 } = {}) => {
    clock += after
    const before = records.length
    pages.length = 0
    const request = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${head}Connection: close\r\n\r\n`
    const { text } = await exchangeBytes(port, [request])
    await waitUntil(() => records.length > before)
    return { pages: [...pages], text, at: 1_000_000 + clock }
  }
  const pass = (ms: number) => {
    clock += ms
  }
  return { ask, port, pages, pass }
}

t.test('only pages that are for everyone are copied', async (t) => {
  let [status, head]: [number, Record<string, string | string[]>] = [200, {}]
  const { ask } = await open(t, (_, res) => res.writeHead(status, { ...HTML, ...head }).end('<p>text'))
  const CASES: [request: string, response: [number, Record<string, string | string[]>], taken: boolean, why: string][] =
    [
      ['', [200, {}], true, 'a page'],
      ['Accept-Language: de\r\n', [200, {}], true, 'with a language'],
      ['Cookie: a=b\r\n', [200, {}], false, 'a cookie'],
      ['Authorization: Basic x\r\n', [200, {}], false, 'credentials'],
      ['HX-Request: true\r\n', [200, {}], false, 'a part of a page'],
      ['Range: bytes=0-1\r\n', [200, {}], false, 'a range'],
      ['Sec-Fetch-Dest: iframe\r\n', [200, {}], false, 'a page in a page'],
      ['', [200, { 'set-cookie': 'a=b' }], false, 'a cookie that is set'],
      ['', [200, { 'cache-control': 'max-age=0, Private' }], false, 'private'],
      ['', [200, { 'cache-control': 'no-store' }], false, 'not to be stored'],
      ['', [200, { 'cache-control': 'private="x"' }], false, 'private in part'],
      ['', [200, { 'cache-control': 'public, no-cache' }], true, 'a page that is to be validated'],
      [
        'Accept-Language: de\r\n',
        [200, { vary: 'Accept-Encoding, Accept-Language' }],
        false,
        'one of several languages',
      ],
      ['', [200, { vary: 'Accept-Language' }], true, 'the language that everyone gets'],
      ['', [404, {}], false, 'a missing page'],
      ['', [203, {}], false, 'a changed page'],
      ['', [200, { 'content-type': 'application/json' }], false, 'no page'],
      ['', [200, { 'content-type': 'TEXT/HTML' }], true, 'in upper case'],
      ['', [200, { 'content-type': 'text/htmlx' }], false, 'another type'],
    ]
  for (const [n, [request, response, taken, why]] of CASES.entries()) {
    ;[status, head] = response
    const { pages } = await ask(`/${n}`, request)
    t.equal(pages.length, taken ? 1 : 0, why)
  }
  ;[status, head] = [200, {}]
  t.same((await ask('/q?token=1')).pages, [], 'a query')
  t.same((await ask('/head', '', { method: 'HEAD' })).pages, [], 'no body')
  t.same((await ask('/post', 'Content-Length: 0\r\n', { method: 'POST' })).pages, [], 'another method')
  t.match((await ask('/throws')).text, /^HTTP\/1\.1 200 /, 'a fault of ours does no harm')
  const { pages, at } = await ask('/all')
  t.match(pages, [{ hostname: 'a.example', pathname: '/all', at, coding: '' }])
})

t.test('the copy is what the origin sent, and the client gets what it gets without', async (t) => {
  const body = `<!doctype html><html><head></head><body>${'text '.repeat(60_000)}</body></html>`
  const packed = gzipSync(body, { level: 0 })
  const { ask } = await open(t, (req, res) => {
    const bytes = req.url === '/gzip' ? packed : Buffer.from(body)
    res.writeHead(200, { ...HTML, ...(req.url === '/gzip' && { 'content-encoding': 'gzip' }) })
    for (let from = 0; from < bytes.length; from += 50_000) res.write(bytes.subarray(from, from + 50_000))
    res.end()
  })
  const plain = await ask('/plain')
  t.equal(Buffer.from(plain.pages[0]?.body ?? []).toString(), body, 'without the script that the client gets')
  t.match(plain.text, '<script defer')
  const zipped = await ask('/gzip', '', { after: 10_000 })
  t.match(zipped.pages, [{ coding: 'gzip' }])
  t.ok(packed.equals(Buffer.from(zipped.pages[0]?.body ?? [])), 'still compressed')
})

t.test('people and agents have samples of their own', async (t) => {
  const { ask } = await open(t, (_, res) => res.writeHead(200, HTML).end('<p>text'))
  const CASES: [userAgent: string, path: string, is_agent: boolean | undefined, why: string][] = [
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36',
      '/a',
      false,
      'Chrome',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:145.0) Gecko/20100101 Firefox/145.0',
      '/a',
      undefined,
      'another',
    ],
    ['Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)', '/a', true, 'an agent after people'],
    ['curl/8.1', '/a', undefined, 'another one'],
    ['curl/8.1', '/b', true, 'a tool'],
    ['Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ChatGPT-User/1.0)', '/c', true, 'like a browser'],
    [
      'Mozilla/5.0 (Linux; Android 10) AppleWebKit/537.36 Chrome/142.0 Safari/537.36 (x; Googlebot/2.1)',
      '/d',
      true,
      'rendering',
    ],
    [
      'Mozilla/5.0 (Linux; Android 9; CUBOT NOTE) AppleWebKit/537.36 Chrome/142.0 Safari/537.36',
      '/e',
      false,
      'a telephone',
    ],
    ['', '/f', true, 'without a name'],
  ]
  for (const [userAgent, path, is_agent, why] of CASES) {
    const { pages } = await ask(path, userAgent === '' ? '' : `User-Agent: ${userAgent}\r\n`)
    t.equal(pages[0]?.is_agent, is_agent, why)
  }
})

t.test('a URL is sampled once in ten minutes, and few of all', async (t) => {
  let head: Record<string, string> = {}
  let size = 10
  const { ask, pages } = await open(t, (_, res) => res.writeHead(200, { ...HTML, ...head }).end('x'.repeat(size)))
  const count = async (path: string, after: number) => {
    const found = await ask(path, '', { after })
    return found.pages.map(({ body }) => body?.length)
  }
  const TIMES: [path: string, after: number, expected: (number | undefined)[], why: string][] = [
    ['/a', 1_000, [10], 'the first'],
    ['/b', 499, [], 'another URL too soon'],
    ['/b', 1, [10], 'half a second later'],
    ['/a', 10 * MINUTE - 501, [], 'the same URL too soon'],
    ['/a', 1, [10], 'ten minutes later'],
  ]
  for (const [path, after, expected, why] of TIMES) t.same(await count(path, after), expected, why)

  const LARGE: [size: number, path: string, after: number, expected: number[], why: string][] = [
    [262_144, '/l1', MINUTE, [262_144], 'two seconds of 128 KB'],
    [10, '/l2', 1_999, [], 'within them'],
    [10, '/l2', 1, [10], 'after them'],
  ]
  for (const [bytes, path, after, expected, why] of LARGE) {
    size = bytes
    t.same(await count(path, after), expected, why)
  }
  size = 10

  const VALIDATORS: [head: Record<string, string>, after: number, expected: (number | undefined)[], why: string][] = [
    [{ etag: '"1"' }, 10, [10], 'a validator'],
    [{ etag: '"1"' }, 10, [undefined], 'the same: the page is the same'],
    [{ etag: '"2"' }, 10, [10], 'another'],
    [{ etag: '"2"' }, 59, [undefined], 'within an hour'],
    [{ etag: '"2"' }, 10, [10], 'after an hour the body is read again'],
    [{ etag: 'W/"2"' }, 10, [10], 'weak'],
    [{ etag: 'W/"2"', 'last-modified': 'x' }, 10, [10], 'weak with a date'],
    [{ 'last-modified': 'x' }, 10, [10], 'a date'],
    [{ 'last-modified': 'x' }, 10, [undefined], 'the same date'],
    [{}, 10, [10], 'none'],
    [{}, 10, [10], 'none is equal to none'],
  ]
  for (const [given, minutes, expected, why] of VALIDATORS) {
    head = given
    t.same(await count('/v', minutes * MINUTE), expected, why)
  }
  size = 512 * 1024
  t.same(await count('/large', MINUTE), [size])
  size += 1
  head = { etag: '"l"' }
  t.same(await count('/larger', MINUTE), [], 'a larger one is not kept')
  t.same(await count('/larger', 10 * MINUTE), [], 'and its validator stands for nothing')
  size = 10
  for (let n = 0; n < 4_096; n++) await ask(`/${n}`)
  t.equal(pages.length, 1)
  t.same(await count('/a', 1_000), [10], 'a URL that was forgotten is sampled again')
})

t.test('of copies that do not end the oldest gives way', async (t) => {
  const waiting: ServerResponse[] = []
  const { port, pages, pass } = await open(t, (_, res) => {
    res.writeHead(200, HTML).write('<p>')
    waiting.push(res)
  })
  const slow: ReturnType<typeof exchangeBytes>[] = []
  for (let n = 0; n < 9; n++) {
    pass(1_000)
    slow.push(exchangeBytes(port, [`GET /${n} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`]))
    await waitUntil(() => waiting.length === n + 1)
  }
  for (const res of waiting) res.end('end')
  for (const { text } of await Promise.all(slow)) t.match(text, 'end', 'every client gets its page')
  t.same(pages.map(({ pathname }) => pathname).sort(), ['/1', '/2', '/3', '/4', '/5', '/6', '/7', '/8'])
})
