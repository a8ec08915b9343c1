import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import t from 'tap'
import { listener } from '../../../adapters/node.js'
import type { Observation } from '../../../src/capture/observation.js'
import { nameRuleSet } from '../../../src/rules/build-rule-set.js'
import { createRuledReadership, listen, newRules } from '../rules/fixtures/adapter-sites.js'
import { exchangeBytes, waitFor } from './fixtures/sockets.js'

/** Every way in which a Node application may respond, with and without a redirect of its path. */

/** Middleware that replaces `write` and `end` later than the adapter, as those that compress do. */
function compress(res: ServerResponse): void {
  const [write, end] = [res.write.bind(res), res.end.bind(res)]
  const gzip = createGzip().on('data', (part) => write(part))
  gzip.on('end', () => end())
  res.setHeader('content-encoding', 'gzip')
  res.write = (part: unknown) => gzip.write(part)
  res.end = (part: unknown) => {
    gzip.end(part)
    return res
  }
}

/** Middleware that changes the head just before it is sent. */
function beforeHead(res: ServerResponse, change: () => void): void {
  const { writeHead } = res
  res.writeHead = (...args: unknown[]) => {
    res.writeHead = writeHead
    change()
    args[0] = res.statusCode
    return Reflect.apply(writeHead, res, args)
  }
}

const TYPE = ['Content-Type', 'text/html'] as const
const WAYS: Record<string, (res: ServerResponse, status: number) => void> = {
  'end with a text': (res, status) => Object.assign(res, { statusCode: status }).end('a page'),
  'end without a text': (res, status) => Object.assign(res, { statusCode: status }).end(),
  'end with an encoding and a callback': (res, status) =>
    Object.assign(res, { statusCode: status }).end('é', 'latin1', () => {}),
  'write, then end'(res, status) {
    res.statusCode = status
    res.setHeader('Set-Cookie', ['a=1', 'b=2'])
    res.write('a ')
    res.end('page')
  },
  'each part when the last one is written'(res, status) {
    res.statusCode = status
    res.write('a ', () => res.write(Buffer.from('page'), () => res.end(() => {})))
  },
  'writeHead with an object': (res, status) => res.writeHead(status, { ...Object.fromEntries([TYPE]) }).end('a page'),
  'writeHead with a text of its own': (res, status) => res.writeHead(status, 'As it is', { ETag: '"1"' }).end('a page'),
  'writeHead with a list': (res, status) => res.writeHead(status, [...TYPE, 'Content-Length', '6']).end('a page'),
  'writeHead with a list of pairs': (res, status) =>
    Reflect.apply(res.writeHead, res, [status, [[...TYPE], ['Set-Cookie', 'a=1']]]).end('a page'),
  'writeHead after setHeader'(res, status) {
    res.setHeader('X-Own', '1').setHeader('Content-Type', 'text/plain')
    res.writeHead(status, [...TYPE]).end('a page')
  },
  'flushHeaders, and a body later'(res, status) {
    res.statusCode = status
    res.statusMessage = 'As it is'
    res.setHeader(...TYPE)
    res.flushHeaders()
    setImmediate(() => {
      res.write('a ')
      setImmediate(() => res.end('page'))
    })
  },
  'a head, and an end later'(res, status) {
    res.writeHead(status, { 'Content-Length': 6 })
    setImmediate(() => res.end('a page'))
  },
  'a stream of a megabyte'(res, status) {
    res.statusCode = status
    Readable.from(Array.from({ length: 16 }, () => Buffer.alloc(65_536, 'x'))).pipe(res)
  },
  trailers(res, status) {
    res.writeHead(status)
    res.write('a page')
    res.addTrailers({ 'X-Sum': '1' })
    res.end()
  },
  'early hints before'(res, status) {
    res.writeEarlyHints({ link: '</style.css>; rel=preload' }, () =>
      Object.assign(res, { statusCode: status }).end('a page'),
    )
  },
  'corked writes'(res, status) {
    res.statusCode = status
    res.cork()
    res.write('a ')
    res.write('page')
    res.uncork()
    res.end()
  },
  'compressing middleware'(res, status) {
    compress(res)
    res.statusCode = status
    res.write('a ')
    res.end('page')
  },
  'middleware that sets a field before the head'(res, status) {
    beforeHead(res, () => res.setHeader('X-Time', '1'))
    Object.assign(res, { statusCode: status }).end('a page')
  },
  'middleware that makes every status 200'(res, status) {
    beforeHead(res, () => Object.assign(res, { statusCode: 200 }))
    res.statusCode = status
    res.write('a page')
    res.end()
  },
}

const application: RequestListener = (req, res) => {
  const [, status, n] = (req.url ?? '').split('/')
  Object.values(WAYS)[Number(n)]?.(res, Number(status))
}

t.test('a redirect takes the place of 404 and 410 however they are sent, and of nothing else', async (t) => {
  const rules = newRules()
  const { readership, records } = createRuledReadership(rules)
  const rows = Object.keys(WAYS).flatMap((way, n) =>
    [404, 410, 200, 500].flatMap((status) =>
      ['GET', 'HEAD'].map((method) => ({ way, status, method, path: `/${status}/${n}` })),
    ),
  )
  const redirects = rows.map(({ path }) => ({ from: path, to: '/new', status: 301 as const }))
  rules.apply(nameRuleSet([{ site: 1, domains: ['a.example'], rules: [], sitemaps: [], robots: [], redirects }]))
  const plain = await listen(t, createServer(application))
  const observed = await listen(t, createServer(listener(readership, application)))
  const ask = async (port: number, method: string, path: string, host: string) => {
    const lines = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
    return (await exchangeBytes(port, [lines])).text.replace(/^Date: .*\r\n/m, '')
  }
  for (const { way, status, method, path } of rows) {
    const what = `${way}, ${status}, ${method}`
    const expected = await ask(plain, method, path, 'a.example')
    const sent = await ask(observed, method, path, 'a.example')
    await waitFor('the record', () => records.length > 0)
    const [record] = records.splice(0)
    if (status > 403 && status < 500 && !way.includes('every status 200')) {
      const hints = way.startsWith('early') ? 'HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n' : ''
      const head =
        'HTTP/1.1 301 Moved Permanently\r\nlocation: /new\r\ncache-control: no-cache\r\ncontent-length: 0\r\n'
      t.equal(sent, `${hints}${head}Connection: close\r\n\r\n`, what)
      t.match(record, { status: 301, bytes: 0, content_type: '' } satisfies Partial<Observation>, what)
    } else t.equal(sent, expected, `${what}: as without readership`)
    t.equal(await ask(observed, method, path, 'b.example'), expected, `${what}, of another site`)
    await waitFor('the record', () => records.length > 0)
    records.length = 0
  }
})

t.test('the client gets the redirect while the application still writes', async (t) => {
  const rules = newRules()
  const { readership } = createRuledReadership(rules)
  const redirects = [{ from: '/', to: '/new', status: 301 as const }]
  rules.apply(nameRuleSet([{ site: 1, domains: [], rules: [], sitemaps: [], robots: [], redirects }]))
  const endless = listener(readership, (_, res) => void res.writeHead(404).write('a page'))
  const port = await listen(t, createServer(endless))
  const { text } = await exchangeBytes(port, ['GET / HTTP/1.1\r\nHost: a\r\n\r\n'], {
    done: (sent) => sent.endsWith('\r\n\r\n'),
  })
  t.match(text, /^HTTP\/1\.1 301 [\s\S]*\r\nConnection: close\r\n/, 'the next request is not held up')
})

t.test('a response that is over stays over', async (t) => {
  const rules = newRules()
  const { readership } = createRuledReadership(rules)
  const redirects = [{ from: '/', to: '/new', status: 302 as const }]
  rules.apply(nameRuleSet([{ site: 1, domains: [], rules: [], sitemaps: [], robots: [], redirects }]))
  const called: string[] = []
  const port = await listen(
    t,
    createServer(
      listener(readership, (_, res) => {
        res.on('error', (error) => called.push(error.message))
        res.writeHead(404)
        called.push(`${res.statusCode} ${res.headersSent}`)
        t.throws(() => res.writeHead(404), { code: 'ERR_HTTP_HEADERS_SENT' })
        t.equal(
          res.write('a page', () => called.push('written')),
          true,
        )
        res.end(() => called.push('ended'))
        res.write('more')
      }),
    ),
  )
  await exchangeBytes(port, ['GET / HTTP/1.1\r\nHost: a\r\n\r\n'])
  const once = ['302 true', 'written', 'write after end', 'ended']
  t.same(called.sort(), once.sort(), 'callbacks are called, and errors are reported')
  const atOnce = listener(readership, (_, res) => Object.assign(res, { statusCode: 404 }).end('a page'))
  const two = 'GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  const { text: sent } = await exchangeBytes(await listen(t, createServer(atOnce)), [two])
  t.equal(sent.match(/HTTP\/1\.1 302 Found\r\n/g)?.length, 2, 'the connection of a response that is over is used again')
})
