import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { Observation } from '../../../src/capture/observation.js'
import { observe } from '../../../src/site/proxy/observe-node.js'
import { exchangeBytes, portOf, startProxy, startRawServer, waitUntil } from './fixtures/sockets.js'

async function site(t: Test, answer: (req: IncomingMessage, res: ServerResponse) => void) {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return portOf(server)
}

t.test('reports a changed robots.txt or llms.txt once', async (t) => {
  let body = 'User-agent: *\nDisallow: /\n'
  let there = true
  const origin = await site(t, (req, res) => {
    if (there && req.headers['accept-encoding'] === 'gzip')
      res.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(body))
    else if (req.url === '/robots.txt' && req.headers['if-none-match']) res.writeHead(304).end()
    else if (!there || req.headers.host === 'gone.example') res.writeHead(404).end(body)
    else {
      res.writeHead(200)
      // In parts, like a slow origin.
      res.write(body.slice(0, 5))
      setTimeout(() => res.end(body.slice(5)), 5)
    }
  })
  const changes: string[] = []
  const at: number[] = []
  const { proxy, port, records } = await startProxy(origin, {
    onPolicyChange(hostname, path, time) {
      changes.push(`${hostname}${path}`)
      at.push(time)
      if (hostname === 'throws.example') throw new Error('mine')
    },
  })
  t.teardown(() => proxy.close(0))
  const get = async (host: string, path: string, more = '', method = 'GET') => {
    const before = records.length
    const { text } = await exchangeBytes(port, [
      `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`,
    ])
    await waitUntil(() => records.length > before)
    return text
  }
  const steps: [what: string, run: () => Promise<unknown>, reported: string[]][] = [
    ['the first', () => get('A.example:80', '/robots.txt'), ['a.example/robots.txt']],
    ['unchanged', () => get('a.example', '/robots.txt'), []],
    ['another file', () => get('a.example', '/llms.txt'), ['a.example/llms.txt']],
    ['another host', () => get('b.example', '/robots.txt'), ['b.example/robots.txt']],
    ['another coding', () => get('a.example', '/robots.txt', 'Accept-Encoding: gzip\r\n'), ['a.example/robots.txt']],
    ['the same coding', () => get('a.example', '/robots.txt', 'Accept-Encoding: gzip\r\n'), []],
    ['no change', () => get('a.example', '/robots.txt', 'If-None-Match: "x"\r\n'), []],
    ['no body', () => get('c.example', '/robots.txt', '', 'HEAD'), []],
    ['no file', () => get('gone.example', '/robots.txt'), []],
    ['another path', () => get('a.example', '/robots.txt.bak'), []],
    ['a query', () => get('a.example', '/robots.txt?x'), []],
  ]
  for (const [what, run, reported] of steps) {
    changes.length = 0
    await run()
    t.same(changes, reported, what)
  }
  body = 'User-agent: *\nDisallow:\n'
  changes.length = 0
  await get('a.example', '/robots.txt')
  await get('a.example', '/robots.txt')
  t.same(changes, ['a.example/robots.txt'], 'it changed')
  t.ok(Math.abs((at.at(-1) ?? 0) - Date.now()) < 5_000, 'with the time of the request')
  const gzip = 'Accept-Encoding: gzip\r\n'
  const leaving: [what: string, is: boolean, run: () => Promise<unknown>, reported: string[]][] = [
    ['taken away', false, () => get('a.example', '/robots.txt'), ['a.example/robots.txt']],
    ['still away', false, () => get('a.example', '/robots.txt', gzip), []],
    ['back unchanged', true, () => get('a.example', '/robots.txt'), ['a.example/robots.txt']],
    ['still there', true, () => get('a.example', '/robots.txt'), []],
  ]
  for (const [what, is, run, reported] of leaving) {
    there = is
    changes.length = 0
    await run()
    t.same(changes, reported, what)
  }
  t.match(
    await get('throws.example', '/robots.txt'),
    /Disallow:\n\r\n0\r\n\r\n$/,
    'a callback that throws does not break the response',
  )
  t.equal(records.at(-1)?.status, 200)
})

t.test('ignores a body that breaks off', async (t) => {
  const origin = await startRawServer((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nUser-agent: *'))
  })
  t.teardown(() => origin.close())
  const changes: string[] = []
  const { proxy, port } = await startProxy(origin.port, { onPolicyChange: (hostname) => changes.push(hostname) })
  t.teardown(() => proxy.close(0))
  await exchangeBytes(port, ['GET /robots.txt HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n'])
  t.same(changes, [])
})

const HEADERS: [sent: [string, string | string[]][], expected: Record<string, string> | undefined, why: string][] = [
  [[], undefined, 'nothing to say'],
  [[['X-Robots-Tag', 'noai']], { 'x-robots-tag': 'noai' }, 'one'],
  [
    [
      ['x-robots-tag', ['noai', 'otherbot: noindex']],
      ['Content-Usage', 'train-ai=n'],
    ],
    { 'x-robots-tag': 'noai, otherbot: noindex', 'content-usage': 'train-ai=n' },
    'several',
  ],
]

t.test('observes X-Robots-Tag and Content-Usage, in the proxy and in adapters', async (t) => {
  for (const [sent, expected, why] of HEADERS) {
    const mounted: Observation[] = []
    const origin = await site(t, (req, res) => {
      observe(req, res, '127.0.0.1', (observation) => mounted.push(observation))
      if (req.url === '/head') res.writeHead(200, Object.fromEntries(sent))
      else for (const [name, value] of sent) res.setHeader(name, value)
      res.end('x')
    })
    const { proxy, port, records } = await startProxy(origin)
    t.teardown(() => proxy.close(0))
    for (const path of ['/set', '/head']) {
      const { text } = await exchangeBytes(port, [
        `GET ${path} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`,
      ])
      await waitUntil(() => records.length > 0 && mounted.length > 0)
      t.same(records.pop()?.response, expected, `${why}: proxy, ${path}`)
      t.same(mounted.pop()?.response, expected, `${why}: mounted, ${path}`)
      for (const [name] of sent) t.match(text, new RegExp(`^${name}:`, 'im'), 'and it goes on to the client')
    }
  }
})
