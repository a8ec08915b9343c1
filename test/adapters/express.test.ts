import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import express, { type RequestHandler } from 'express'
import t from 'tap'
import { middleware } from '../../adapters/express.js'
import type { Observation } from '../../src/index.js'
import { openTrackServer, send } from '../fixtures/track-server.js'

t.test(
  "records the original URL and Express's own address and host, on a router and with a proxy in front",
  async (t) => {
    const seen: Observation[] = []
    const readership = {
      record: (observation: Observation) => void seen.push(observation),
      fetch: async () => new Response('api'),
      close: async () => {},
    }
    const site = express()
    site.set('trust proxy', 'loopback')
    const blog = express.Router()
    blog.use(middleware(readership))
    blog.get('/post', (_req, res) => void res.send('post'))
    site.use('/blog', blog)
    site.use(middleware(readership))
    const server = createServer(site).listen(0)
    t.teardown(() => {
      server.close()
      server.closeAllConnections()
    })
    const address = server.address()
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
    const headers = { 'x-forwarded-for': '203.0.113.4', 'x-forwarded-host': 'Public.Example:443' }
    t.equal(await (await fetch(`${url}/blog/post?a=1`, { headers })).text(), 'post')
    await sleep(20)
    t.match(seen, [{ pathname: '/blog/post', query: 'a=1', ip: '203.0.113.4', hostname: 'public.example' }])
    await (await fetch(`${url}/blog/none`)).text()
    await sleep(20)
    t.equal(seen.length, 2, 'mounted twice, recorded once')
  },
)

t.test('takes the body from a parser that consumed it', async (t) => {
  const { hit, since } = await openTrackServer(t)
  const raw = (request: IncomingMessage, _res: ServerResponse, bytes: Buffer) => {
    Object.assign(request, { rawBody: bytes })
  }
  const payload = { s: 1, u: 'https://a.com/x', p: { plan: 'yearly' }, t: 'custom', n: 'subscribe' }
  const body = JSON.stringify(payload)
  const json = 'application/json'
  const rows: [RequestHandler, string, string, object, string][] = [
    [express.json(), json, body, { name: 'subscribe', props: { plan: 'yearly' } }, 'an object'],
    [express.text({ type: '*/*' }), 'text/plain', body, { name: 'subscribe' }, 'a text'],
    [express.raw({ type: '*/*' }), json, body, { name: 'subscribe' }, 'bytes'],
    [express.json({ verify: raw }), json, body, { name: 'subscribe' }, 'bytes kept as rawBody'],
    [express.json(), 'text/plain;charset=UTF-8', body, { name: 'subscribe' }, 'a type that it does not parse'],
  ]
  for (const [parser, type, sent, expected, why] of rows) {
    const site = express()
    site.use(parser)
    const posted: string[] = []
    const fetch = async (request: Request) => {
      posted.push(await request.text())
      return new Response()
    }
    site.use(middleware({ record() {}, hit, fetch, close: async () => {} }))
    const server = createServer(site).listen(0)
    const address = server.address()
    const way = { port: typeof address === 'object' ? (address?.port ?? 0) : 0, base: '/_readership' } as const
    const headers = { 'Content-Type': type }
    t.equal((await send(way, 'POST', '/api/track', { body: sent, headers })).status, 204, why)
    t.match(since().hits, [expected], why)
    await send(way, 'POST', '/api/keys', { body: sent, headers })
    t.same(posted, [body], `${why}, of any other route`)
    server.close()
    server.closeAllConnections()
  }
})
