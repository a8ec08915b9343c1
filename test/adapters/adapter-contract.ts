import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import type { Test } from 'tap'
import type { Observation, Readership } from '../../src/index.js'
import { openTrackServer, send } from '../fixtures/track-server.js'
import { SITE, type Start } from './sites.js'

interface SetupOptions {
  record?: () => void
  mounts?: number
  hit?: Readership['hit']
}

/**
 * Tests what every adapter must do on every framework. `start` builds a site as `SITE` describes, with the adapter in front
 * of it and all options at their defaults, and returns the server, not yet listening.
 */
export function testAdapterContract(t: Test, start: Start): void {
  const setup = async (t: Test, { record, mounts, hit }: SetupOptions = {}) => {
    const seen: Observation[] = []
    const readership: Readership = {
      record(observation) {
        record?.()
        seen.push(observation)
      },
      fetch: async (request, peer) =>
        Response.json(
          { url: request.url, method: request.method, body: await request.text(), ip: peer.ip },
          {
            headers: [
              ['set-cookie', 'a=1'],
              ['set-cookie', 'b=2'],
            ],
          },
        ),
      close: async () => {},
      ...(hit && { hit }),
    }
    const server = start(readership, mounts).listen(0, '127.0.0.1')
    if (!server.listening) await once(server, 'listening')
    t.teardown(() => {
      server.close()
      server.closeAllConnections()
    })
    const address = server.address()
    const port =
      (address satisfies AddressInfo | string | null) !== null && typeof address === 'object' ? (address?.port ?? 0) : 0
    const observed = async (): Promise<Observation> => {
      for (let i = 0; i < 300 && seen.length === 0; i++) await sleep(10)
      // A second observation would follow at once.
      await sleep(20)
      t.equal(seen.length, 1, 'one observation')
      const [first] = seen.splice(0)
      if (first === undefined) throw new Error('nothing was observed')
      return first
    }
    return { port, url: `http://127.0.0.1:${port}`, seen, observed }
  }

  t.test('records one observation per exchange', async (t) => {
    const { url, port, observed } = await setup(t)
    const before = Date.now()
    const response = await fetch(`${url}/page?utm_source=x&b`, {
      headers: {
        'user-agent': 'GPTBot/1.2',
        'if-none-match': '"x"',
        referer: 'https://elsewhere.example/a',
        'accept-language': 'de',
        cookie: 'secret=1',
      },
    })
    t.equal(await response.text(), SITE['/page'])
    const observation = await observed()
    t.match(observation, {
      user_agent: 'GPTBot/1.2',
      method: 'GET',
      hostname: '127.0.0.1',
      pathname: '/page',
      query: 'utm_source=x&b',
      status: 200,
      bytes: 14,
      content_type: /^text\/html/,
      conditional: 1,
      ip: '127.0.0.1',
      referrer: 'https://elsewhere.example/a',
    })
    t.match(observation.headers, { 'accept-language': 'de' })
    t.notOk(JSON.stringify(observation).includes('secret'), 'no cookie')
    const at = Date.parse(observation.timestamp)
    t.ok(at >= before && at <= Date.now() && observation.duration_ms >= 0)
    t.ok(port > 0)
  })

  t.test('records failures', async (t) => {
    const { url, observed } = await setup(t)
    await (await fetch(`${url}/boom`)).text()
    t.match(await observed(), { pathname: '/boom', status: 500, bytes: 4 })
    await (await fetch(`${url}/nothing-here`)).text()
    t.match(await observed(), { pathname: '/nothing-here', status: 404 })
    await (await fetch(`${url}/throws`)).text()
    t.match(await observed(), { pathname: '/throws', status: 500 }, 'a handler that throws')
  })

  t.test('records responses without a body, and routes below a prefix', async (t) => {
    const { url, observed } = await setup(t)
    const rows: [string, object][] = [
      ['/none', { status: 204, bytes: 0, conditional: 0 }],
      ['/same', { status: 304, bytes: 0, conditional: 1 }],
      ['/blog/post?a=1', { status: 200, bytes: 4, pathname: '/blog/post', query: 'a=1' }],
    ]
    for (const [path, expected] of rows) {
      const headers = path === '/same' ? { 'if-none-match': '"x"' } : undefined
      await (await fetch(`${url}${path}`, headers && { headers })).text()
      t.match(await observed(), expected, path)
    }
  })

  t.test('records once when mounted twice, also in a nested site', async (t) => {
    const { url, observed } = await setup(t, { mounts: 2 })
    for (const path of ['/page', '/blog/post', '/nothing-here']) {
      await (await fetch(`${url}${path}`)).text()
      t.equal((await observed()).pathname, path)
    }
  })

  t.test('serves the tracking endpoints under the base path', async (t) => {
    const { hit, since } = await openTrackServer(t)
    const { port, seen } = await setup(t, { hit })
    const door = { port, base: '/_readership' } as const
    const body = JSON.stringify({ s: 1, u: 'https://a.com/x' })
    const json = { 'Content-Type': 'application/json' }
    const rows: [string, string, object, number, number, string][] = [
      ['POST', '/api/track', { body, headers: json }, 204, 1, 'as JSON'],
      ['POST', '/api/track', { body, headers: { 'Content-Type': 'text/plain;charset=UTF-8' } }, 204, 1, 'as a beacon'],
      ['POST', '/api/track/batch', { body: `[${body},${body}]`, headers: json }, 204, 2, 'two at once'],
      ['GET', '/api/track/pixel.gif?s=1&u=https%3A%2F%2Fa.com%2Fx', {}, 200, 1, 'the image'],
      ['OPTIONS', '/api/track', {}, 204, 0, 'a CORS preflight'],
      ['POST', '/api/track', { body: body.replace('a.com', 'b.com'), headers: json }, 403, 0, "another site's page"],
      ['POST', '/api/track', { body: 'x'.repeat(65_537) }, 413, 0, 'larger than 64 KB'],
    ]
    for (const [method, path, given, status, hits, why] of rows) {
      const response = await send(door, method, path, given)
      t.same([response.status, response.headers['access-control-allow-origin']], [status, '*'], why)
      t.equal(since().hits.length, hits, why)
    }
    t.same(seen, [], 'tracking requests are not recorded')
    t.not((await send({ port, base: '' }, 'POST', '/api/track', { body, headers: json })).status, 204, "the site's own")
    t.same(since().hits, [])
  })

  t.test('HEAD sends no body', async (t) => {
    const { url, observed } = await setup(t)
    t.equal((await fetch(`${url}/page`, { method: 'HEAD' })).status, 200)
    t.match(await observed(), { method: 'HEAD', status: 200, bytes: 0, content_type: /^text\/html/ })
  })

  t.test('counts the bytes of a compressed response as sent', async (t) => {
    const { url, observed } = await setup(t)
    const [response]: IncomingMessage[] = await once(
      get(`${url}/zip`, { headers: { 'accept-encoding': 'gzip' } }),
      'response',
    )
    const chunks: Buffer[] = []
    for await (const chunk of response ?? []) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    t.equal(gunzipSync(body).toString(), SITE['/zip'])
    t.equal((await observed()).bytes, body.length)
  })

  t.test('counts a streamed response when it is over', async (t) => {
    const { url, observed } = await setup(t)
    t.equal(await (await fetch(`${url}/stream`)).text(), SITE['/stream'].repeat(3))
    const observation = await observed()
    t.equal(observation.bytes, 15)
    t.ok(observation.duration_ms >= 55, `${observation.duration_ms} ms`)
  })

  t.test('records a client that leaves during the response', async (t) => {
    const { port, observed } = await setup(t)
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /endless HTTP/1.1\r\nHost: a\r\n\r\n')
    let got = 0
    for await (const chunk of socket) {
      got += chunk.length
      if (got > 1_000_000) break
    }
    socket.destroy()
    const observation = await observed()
    t.equal(observation.status, 200)
    // Bytes in the buffers of both sockets count as sent.
    t.ok(observation.bytes > 900_000 && observation.bytes < 30_000_000, `${observation.bytes} bytes`)
  })

  t.test('records 499 for a client that leaves before the response', async (t) => {
    const { port, observed } = await setup(t)
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
    await sleep(100)
    socket.destroy()
    t.match(await observed(), { pathname: '/slow', status: 499, bytes: 0, content_type: '' })
  })

  t.test('serves the API under the base path, and does not record it', async (t) => {
    const { url, seen } = await setup(t)
    const response = await fetch(`${url}/_readership/api/log/edge?a=1`, { method: 'POST', body: '{"a":1}' })
    t.same(response.headers.getSetCookie(), ['a=1', 'b=2'])
    t.same(await response.json(), { url: `${url}/api/log/edge?a=1`, method: 'POST', body: '{"a":1}', ip: '127.0.0.1' })
    await sleep(30)
    t.same(seen, [])
    const near = await fetch(`${url}/_readershipx`)
    t.equal(near.status, 404, "the site's own")
    await near.text()
  })

  t.test('a recorder that throws does not break the site', async (t) => {
    const record = () => {
      throw new Error('recorder')
    }
    const { url } = await setup(t, { record })
    for (let i = 0; i < 3; i++) {
      const response = await fetch(`${url}/page`)
      t.same([response.status, await response.text()], [200, SITE['/page']])
    }
  })
}
