import { once } from 'node:events'
import { createServer, get as httpGet, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import t from 'tap'
import type { Observation } from '../../../src/capture/observation.js'
import { observe } from '../../../src/site/proxy/observe-node.js'
import { openRawClient } from './fixtures/node-server.js'
import { portOf, waitFor } from './fixtures/sockets.js'

t.test('observe records each form of response', async (t) => {
  const seen: Observation[] = []
  let isAsked = false
  const site = createServer((req: IncomingMessage, res: ServerResponse) => {
    observe(req, res, '192.0.2.9', (observation) => seen.push(observation))
    const path = (req.url ?? '').split('?')[0]
    const html = { 'Content-Type': 'text/html' }
    if (path === '/head-object') res.writeHead(200, html).end('12345')
    else if (path === '/head-array') res.writeHead(200, ['content-type', 'text/css']).end('123')
    else if (path === '/head-reason') res.writeHead(404, 'Nope', html).end()
    else if (path === '/set') {
      res.setHeader('content-type', 'text/plain')
      res.write('é')
      res.write('ff', 'hex')
      res.end(Buffer.from([1, 2, 3]), () => {})
    } else if (path === '/not-modified') res.writeHead(304).end()
    else if (path === '/gzip') {
      res.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' })
      const gzip = createGzip()
      gzip.pipe(res)
      gzip.end('a'.repeat(100_000))
    } else if (path === '/slow') isAsked = true
    else if (path === '/endless') {
      res.writeHead(200, html)
      const more = () => {
        while (res.write(Buffer.alloc(65_536)));
      }
      res.on('drain', more)
      more()
    } else if (path === '/twice') {
      observe(req, res, '192.0.2.9', (observation) => seen.push(observation))
      res.end('x')
    } else if (path === '/rewritten') {
      req.url = '/other'
      res.end()
    } else res.end('ok')
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  t.teardown(() => {
    site.close()
    site.closeAllConnections()
  })
  const ask = async (bytes: string): Promise<{ observation: Observation | undefined }> => {
    seen.length = 0
    const client = openRawClient(t, portOf(site), bytes)
    await once(client.socket, 'close')
    await waitFor('the observation', () => seen.length > 0)
    await sleep(5)
    t.equal(seen.length, 1, 'once')
    return { observation: seen[0] }
  }
  const end = 'Host: Site.Example:80\r\nConnection: close\r\n\r\n'
  const rows: [start: string, expected: Partial<Observation>, why: string][] = [
    [
      'GET /head-object?a=1&b',
      {
        status: 200,
        bytes: 5,
        content_type: 'text/html',
        pathname: '/head-object',
        query: 'a=1&b',
        hostname: 'site.example',
        method: 'GET',
        ip: '192.0.2.9',
      },
      'headers given to writeHead',
    ],
    ['GET /head-array', { bytes: 3, content_type: 'text/css' }, 'as an array'],
    ['GET /head-reason', { status: 404, bytes: 0, content_type: 'text/html' }, 'after a reason'],
    ['GET /set', { bytes: 2 + 1 + 3, content_type: 'text/plain' }, 'strings, encodings, bytes'],
    ['HEAD /head-object', { method: 'HEAD', bytes: 0, status: 200 }, 'HEAD sends no body'],
    ['GET /not-modified', { status: 304, bytes: 0, content_type: '' }, '304'],
    ['GET /twice', { bytes: 1 }, 'watched twice'],
    ['GET /rewritten', { pathname: '/rewritten' }, 'the original URL'],
    ['GET //a/..;/%2F', { pathname: '//a/..;/%2F' }, 'byte for byte'],
    ['GET http://other/x?', { pathname: '/x', query: '', hostname: 'site.example' }, 'the absolute form'],
  ]
  for (const [start, expected, why] of rows)
    t.match((await ask(`${start} HTTP/1.1\r\n${end}`)).observation, expected, why)

  const { observation: full } = await ask(
    `GET / HTTP/1.1\r\nUser-Agent: GPTBot/1.2\r\nReferer: https://a/\r\nIf-None-Match: "x"\r\nAccept-Language: de\r\nSec-GPC: 1\r\nAuthorization: secret\r\nCookie: secret\r\n${end}`,
  )
  t.match(full, { user_agent: 'GPTBot/1.2', referrer: 'https://a/', conditional: 1 })
  t.same(full?.headers, { 'accept-language': 'de', 'sec-gpc': '1' }, 'only the observed headers')
  t.match(full?.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const { observation: bare } = await ask(`GET / HTTP/1.1\r\n${end}`)
  t.notOk(bare && ('headers' in bare || 'query' in bare || 'referrer' in bare), 'absent, never empty')

  seen.length = 0
  const [gzip]: IncomingMessage[] = await once(httpGet(`http://127.0.0.1:${portOf(site)}/gzip`), 'response')
  let travelled = 0
  for await (const chunk of gzip ?? []) travelled += chunk.length
  await waitFor('the observation', () => seen.length === 1)
  t.ok(travelled > 0 && travelled < 1_000, 'compressed')
  t.equal(seen[0]?.bytes, travelled, 'as many as travelled')

  seen.length = 0
  const slow = openRawClient(t, portOf(site), `GET /slow HTTP/1.1\r\n${end}`)
  await waitFor('the request', () => isAsked)
  await sleep(50)
  slow.socket.destroy()
  await waitFor('499', () => seen.length === 1)
  t.match(
    seen[0],
    { status: 499, bytes: 0, content_type: '', pathname: '/slow' },
    'a client that left before the response',
  )
  t.ok((seen[0]?.duration_ms ?? -1) >= 40)

  seen.length = 0
  const half = openRawClient(t, portOf(site), `GET /endless HTTP/1.1\r\n${end}`)
  await waitFor('some', () => half.text().length > 500_000)
  half.socket.destroy()
  await waitFor('cut', () => seen.length === 1)
  const { status, bytes } = seen[0] ?? { status: 0, bytes: 0 }
  t.equal(status, 200, 'a client that left within it')
  t.ok(bytes > 400_000 && bytes < 30_000_000, `${bytes} bytes were sent`)
})
