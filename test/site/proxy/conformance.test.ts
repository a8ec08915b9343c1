import t from 'tap'
import { manyRules, PERSON, startRules } from '../rules/fixtures/fifty-rules.js'
import { type ReceivedRequest, startConformanceSite } from './fixtures/conformance-site.js'
import { exchangeBytes, portOf, startProxy } from './fixtures/sockets.js'
import { parseStrictly } from './fixtures/strict-parser.js'

/**
 * The proxy changes nothing except these fields. They are removed from both sides before the comparison; differences of a
 * single row stand in that row.
 */
const EVERYWHERE = {
  response: [
    ['date', 'the second may differ; a missing one is added on the way (RFC 9110 6.6.1)'],
    ['connection', 'of the connection (RFC 9110 7.6.1)'],
    ['keep-alive', 'of the connection: 75 s, not Node’s 5'],
  ],
  request: [
    ['host', 'the same value, written first and in lower case'],
    ['connection', 'of the connection'],
    ['content-length', 'the same value, written last and in lower case'],
    ['transfer-encoding', 'of the connection'],
    ['x-forwarded-for', 'appended'],
    ['x-forwarded-proto', 'set'],
    ['x-forwarded-host', 'set'],
  ],
} as const

/** [name, bytes sent, and the differences: statuses that the client sees, requests that the site gets, the reason] */
type Row = [name: string, sent: (string | number | RegExp)[], differs?: Difference]
interface Difference {
  see?: string[]
  ask?: string[]
  why: string
  /** Without the proxy, the connection stays open for seconds. */
  bareStaysOpen?: true
}

/** The wait for a connection that stays open. */
const OPEN_MS = 1_000

const ask = (path: string, lines = '', method = 'GET', version = '1.1') =>
  `${method} ${path} HTTP/${version}\r\nHost: site.example\r\n${lines}\r\n`
const last = (path: string, lines = '', method = 'GET') => ask(path, `Connection: close\r\n${lines}`, method)
const body = (path: string, text: string, method = 'POST', lines = '') =>
  `${last(path, `${lines}Content-Length: ${text.length}\r\n`, method)}${text}`
const chunked = (path: string, parts: string[], method = 'POST', trailer = '') =>
  `${last(path, 'Transfer-Encoding: chunked\r\n', method)}${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n${trailer}\r\n`

const ROWS: Row[] = [
  ...['/', '/chunked', '/empty-chunked', '/gzip', '/br', '/binary', '/big', '/big-chunked', '/cookies', '/case'].map(
    same,
  ),
  ...['/latin1', '/reason', '/no-reason', '/long-head', '/304', '/204', '/205', '/301', '/303', '/401', '/404'].map(
    same,
  ),
  ...['/500', '/503', '/999', '/multirange', '/416', '/103', '/102', '/100', '/trailers', '/events', '/no-date'].map(
    same,
  ),
  ['304 that quotes a length', [last('/304-length')]],
  ['a range', [last('/range', 'Range: bytes=1-3\r\n')]],
  [
    '426',
    [last('/426')],
    {
      ...{ see: ['426'], bareStaysOpen: true },
      why: 'closed, as its client asked; node:http forgets that where Connection is set by hand',
    },
  ],
  ['HEAD', [last('/', '', 'HEAD')]],
  ['HEAD of a chunked page', [last('/chunked', '', 'HEAD')]],
  ['HEAD of 304', [last('/304-length', '', 'HEAD')]],
  ['HEAD of 404', [last('/404', '', 'HEAD')]],
  ['POST', [body('/', 'a=1')]],
  ['POST without a body', [last('/', 'Content-Length: 0\r\n', 'POST')]],
  ['POST without a length', [last('/', '', 'POST')]],
  ['POST in chunks', [chunked('/', ['one', 'two'])]],
  ['POST of a megabyte', [body('/', 'z'.repeat(1_000_000))]],
  ['POST in two packets', [last('/', 'Content-Length: 6\r\n', 'POST'), 'one', 30, 'two']],
  ['POST with latin1 bytes', [body('/', 'Zo\xeb\xff\0')]],
  ['PUT', [body('/', 'text', 'PUT')]],
  ['PATCH', [body('/', 'text', 'PATCH')]],
  ['DELETE', [last('/', '', 'DELETE')]],
  ['DELETE with a body', [body('/', 'text', 'DELETE')]],
  ['DELETE in chunks', [chunked('/', ['text'], 'DELETE')]],
  ['OPTIONS', [last('/', '', 'OPTIONS')]],
  ['OPTIONS in chunks', [chunked('/', ['text'], 'OPTIONS')]],
  ['GET with a body', [body('/', 'text', 'GET')]],
  ['PROPFIND', [body('/', '<x/>', 'PROPFIND')]],
  ['REPORT', [body('/', '<x/>', 'REPORT')]],
  ['PURGE', [last('/', '', 'PURGE')]],
  ['MKCALENDAR', [last('/', '', 'MKCALENDAR')]],
  [
    'Expect',
    [last('/', 'Expect: 100-continue\r\nContent-Length: 4\r\n', 'POST'), /100 Continue\r\n\r\n/, 'text'],
    drops('Expect', 'answered here, before the origin is asked for a body'),
  ],
  [
    'an unknown expectation',
    [last('/', 'Expect: the-impossible\r\n')],
    { see: ['417'], why: "the proxy's error page has a body" },
  ],
  ['fields twice', [last('/', 'X-A: 1\r\nX-B: 2\r\nX-A: 3\r\nCookie: a=1\r\nCookie: b=2\r\n')]],
  ['field case', [last('/', 'aCCept: */*\r\nUSER-AGENT: x\r\n')]],
  ['an empty field', [last('/', 'X-Empty:\r\n')]],
  ['latin1 in a field', [last('/', 'X-Name: Zo\xeb\r\n')]],
  ['a field of 60 KB', [last('/', `X-Long: ${'z'.repeat(60_000)}\r\n`)]],
  [
    'a head of 70 KB',
    [last('/', `X-Long: ${'z'.repeat(70_000)}\r\n`)],
    { see: ['431'], why: "the proxy's error page has a body" },
  ],
  [
    'a range of validators',
    [last('/304', 'If-None-Match: "x", W/"y"\r\nIf-Modified-Since: Sat, 21 Nov 2026 08:00:00 GMT\r\n')],
  ],
  [
    'a body for a proxy before us',
    [last('/', 'Proxy-Authorization: Basic eA==\r\n')],
    drops('Proxy-Authorization', 'for the proxy (RFC 9110 11.7.2)'),
  ],
  ['TE', [last('/', 'TE: trailers\r\n')], drops('TE', 'of the connection')],
  ['Keep-Alive', [last('/', 'Keep-Alive: timeout=9\r\n')], drops('Keep-Alive', 'of the connection')],
  [
    'a field named by Connection',
    [ask('/', 'Connection: close, X-Private\r\nX-Private: 1\r\nX-Public: 2\r\n')],
    drops('X-Private', 'of the connection'),
  ],
  [
    'a response field named by Connection',
    [last('/hop')],
    { see: ['200'], bareStaysOpen: true, why: 'X-Private and Proxy-Authenticate are of the connection' },
  ],
  [
    'request trailers',
    [chunked('/', ['text'], 'POST', 'X-Sum: 42\r\n')],
    { ask: ['POST /'], why: 'dropped (RFC 9110 6.5.1 allows it)' },
  ],
  ['two slashes', [last('//x//y')]],
  ['dots', [last('/a/../b/./c')]],
  ['dots and a semicolon', [last('/a/..;/b;v=1')]],
  ['escapes', [last('/a%2fb%2Fc%00%zz%')]],
  ['odd bytes', [last('/|"<>\\^`{}~!$&\'()*+,;=:@[]')]],
  ['latin1 in a path', [last('/caf\xe9')], { see: ['400'], why: "the proxy's error page has a body" }],
  ['UTF-8 in a path', [last('/caf\xc3\xa9')], { see: ['400'], why: "the proxy's error page has a body" }],
  ['a query', [last('/x?a=1&b=%20+&c')]],
  ['two question marks', [last('/x?a?b=?')]],
  ['an empty query', [last('/x?')]],
  ['a fragment', [last('/x#y')]],
  ['a long path', [last(`/${'p'.repeat(8_000)}`)]],
  [
    'absolute form',
    [last('http://site.example/')],
    { see: ['200'], ask: ['GET /'], why: 'sent on in origin form, the same resource (RFC 9112 3.2.1)' },
  ],
  ['HTTP/1.0', [ask('/', '', 'GET', '1.0')]],
  ['HTTP/1.0 without a length', [ask('/chunked', '', 'GET', '1.0')]],
  [
    'HTTP/1.0 that keeps alive',
    [ask('/', 'Connection: keep-alive\r\n', 'GET', '1.0'), /hello/, ask('/404', '', 'GET', '1.0')],
  ],
  ['HTTP/1.0 without Host', ['GET / HTTP/1.0\r\n\r\n'], { see: ['200'], why: 'the origin hears its own name' }],
  ['two requests', [ask('/'), /hello/, last('/404')]],
  ['three at once', [ask('/slow') + ask('/chunked') + last('/')]],
  ['POST pipelined after GET', [ask('/slow') + body('/', 'text')]],
  ['HEAD before GET, at once', [ask('/', '', 'HEAD') + last('/404')]],
  ['close in capitals', [ask('/', 'connection: CLOSE\r\n')]],
  ['dies in its body', [last('/dies')]],
  ['dies in its chunks', [last('/dies-chunked')]],
  ['dies before its head', [last('/dies-early')], { see: ['502'], why: 'a closed connection is a page here' }],
  ['no Host', ['GET / HTTP/1.1\r\nConnection: close\r\n\r\n']],
  [
    'two Hosts',
    [last('/', 'Host: other.example\r\n')],
    { see: ['400'], ask: [], why: 'two readers could differ (RFC 9112 3.2)' },
  ],
  ['an empty Host', ['GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n']],
  [
    'absolute form of another host',
    [last('http://other.example/')],
    { see: ['400'], ask: [], why: 'the target names another host' },
  ],
  [
    'two lengths',
    [last('/', 'Content-Length: 4\r\nContent-Length: 4\r\n', 'POST')],
    { see: ['400'], why: "the proxy's error page has a body" },
  ],
  [
    'another coding',
    [last('/', 'Transfer-Encoding: gzip, chunked\r\n', 'POST')],
    { see: ['501'], ask: [], bareStaysOpen: true, why: 'a coding that nothing would decode' },
  ],
  ['TRACE', [last('/', '', 'TRACE')], { see: ['405'], ask: [], why: 'it would echo what proxies add' }],
  ['OPTIONS *', [last('*', '', 'OPTIONS')], { see: ['400'], ask: [], why: 'of the server' }],
  [
    'CONNECT',
    ['CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n'],
    { see: ['501'], ask: [], why: 'no tunnels; node:http closes without a word' },
  ],
  ['an unknown method', [last('/', '', 'BREW')], { see: ['400'], why: "the proxy's error page has a body" }],
  ['garbage', ['\x16\x03\x01hello\r\n\r\n'], { see: ['400'], why: "the proxy's error page has a body" }],
]

function same(path: string): Row {
  return [path, [last(path)]]
}
function drops(field: string, why: string): Difference {
  return { ask: [`without ${field}`], why }
}

t.test('requests and responses are the same with and without the proxy', async (t) => {
  const { server, asked } = await startConformanceSite()
  const { proxy, port } = await startProxy(portOf(server))
  t.ok(ROWS.length >= 60, `${ROWS.length} rows`)
  for (const [name, sent, differs] of ROWS) {
    const bare = await run(portOf(server), sent, asked, differs?.bareStaysOpen && OPEN_MS)
    const proxied = await run(port, sent, asked)
    t.equal(proxied.fault, undefined, name)
    if (differs === undefined) {
      t.same(proxied, bare, name)
      continue
    }
    const { see, ask, why } = differs
    if (see === undefined) t.same(proxied.responses, bare.responses, name)
    else t.same(statuses(proxied), see, `${name}: ${why}`)
    const without = ask?.[0]?.startsWith('without ') ? ask[0].slice('without '.length) : undefined
    if (without !== undefined)
      t.same(
        proxied.asked,
        bare.asked.map((one) => leave(one, without)),
        `${name}: ${why}`,
      )
    else if (ask === undefined) t.same(proxied.asked, bare.asked, name)
    else
      t.same(
        proxied.asked.map(({ line }) => line),
        ask,
        `${name}: ${why}`,
      )
    t.notSame(proxied, bare, `${name}: the difference exists`)
  }
  await proxy.close(100)
  server.closeAllConnections()
  server.close()
})

t.test('a person sends and sees the same bytes with fifty rules for agents active', async (t) => {
  const { server, asked } = await startConformanceSite()
  const plain = await startProxy(portOf(server))
  const ruled = await startProxy(portOf(server), { rules: startRules(manyRules(50)) })
  const read = async (port: number, sent: Row[1]) => {
    asked.length = 0
    const { text, end } = await exchangeBytes(port, sent)
    return { text: text.replace(/^date: .*\r\n/gim, ''), end, asked: [...asked] }
  }
  for (const [name, sent] of ROWS) {
    const asPerson = sent.map((part) =>
      typeof part === 'string' ? part.replace(/^(.+ HTTP\/1\.\d\r\n)/gm, `$1User-Agent: ${PERSON}\r\n`) : part,
    )
    t.same(await read(ruled.port, asPerson), await read(plain.port, asPerson), name)
  }
  t.ok(ruled.records.every(({ decided }) => decided === undefined))
  await Promise.all([plain.proxy.close(100), ruled.proxy.close(100)])
  server.closeAllConnections()
  server.close()
})

const statuses = ({ responses }: { responses: { start: string }[] }) =>
  responses.map(({ start }) => start.split(' ')[1])
const leave = (one: ReceivedRequest, name: string): ReceivedRequest => ({
  ...one,
  fields: without(one.fields, new Set([name.toLowerCase()])),
})

async function run(port: number, sent: Row[1], asked: ReceivedRequest[], ms?: number) {
  asked.length = 0
  const methods =
    sent
      .filter((part) => typeof part === 'string')
      .join('')
      .match(/^[A-Z]+(?= \S+ HTTP)/gm) ?? []
  const { text, end } = await exchangeBytes(port, sent, ms === undefined ? {} : { ms })
  const { messages, fault, rest } = parseStrictly(text, 'response', (_, index) => methods[index] !== 'HEAD')
  const drop = new Set<string>(EVERYWHERE.response.map(([name]) => name))
  const responses = messages.map((one) => ({
    ...one,
    fields: one.fields.filter(([name]) => !drop.has(name)),
    spelled: spellings(text, drop),
  }))
  const framing = asked.map(({ fields }) => [valueIn(fields, 'host'), valueIn(fields, 'content-length')])
  const dropAsked = new Set<string>(EVERYWHERE.request.map(([name]) => name))
  const seen = asked.map((one) => ({ ...one, fields: without(one.fields, dropAsked) }))
  return { responses, rest: rest.length > 0, open: end === 'open', asked: seen, framing: portless(framing), fault }
}

/** Returns field names as sent, in their case. */
const spellings = (text: string, drop: ReadonlySet<string>) =>
  [...text.matchAll(/^([A-Za-z-]+): /gm)].map(([, name]) => name ?? '').filter((name) => !drop.has(name.toLowerCase()))

function without(fields: readonly string[], names: ReadonlySet<string>): string[] {
  return fields.filter((_, i) => !names.has((fields[i & ~1] ?? '').toLowerCase()))
}
function valueIn(fields: readonly string[], name: string): string | undefined {
  const at = fields.findIndex((one, i) => i % 2 === 0 && one.toLowerCase() === name)
  return at < 0 ? undefined : fields[at + 1]
}
/** Ignores a length of 0, which has no meaning (GET), or which is added (POST): there is no body in either case. */
const portless = (framing: (string | undefined)[][]) =>
  framing.map(([host, length]) => [host?.replace(/^127\.0\.0\.1:\d+$/, ''), length === '0' ? undefined : length])
