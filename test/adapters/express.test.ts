import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import express from 'express'
import t from 'tap'
import { middleware } from '../../adapters/express.js'
import type { Observation } from '../../src/index.js'
import { adapterContract, SITE } from './contract.js'

adapterContract(t, (readership) => {
  const site = express()
  site.use(middleware(readership))
  // Compression as middleware does it: `write` and `end` taken over after ours.
  site.use('/zip', (_req, res, next) => {
    const write = res.write.bind(res)
    const end = res.end.bind(res)
    const gzip = createGzip()
    gzip.on('data', (chunk: Buffer) => write(chunk))
    gzip.on('end', () => end())
    res.setHeader('content-encoding', 'gzip')
    res.end = (chunk: unknown) => {
      res.removeHeader('content-length')
      gzip.end(chunk)
      return res
    }
    next()
  })
  site.get('/page', (_req, res) => void res.type('html').send(SITE['/page']))
  site.get('/boom', (_req, res) => void res.status(500).send(SITE['/boom']))
  site.get('/zip', (_req, res) => void res.send(SITE['/zip']))
  site.get('/stream', async (_req, res) => {
    for (let i = 0; i < 3; i++) {
      res.write(SITE['/stream'])
      await sleep(30)
    }
    res.end()
  })
  site.get('/endless', (_req, res) => {
    const more = () => {
      while (res.write(Buffer.alloc(SITE['/endless'])));
    }
    res.on('drain', more)
    more()
  })
  site.get('/slow', (_req, res) => void setTimeout(() => res.send(SITE['/slow']), 1000))
  return createServer(site)
})

t.test("mounted on a router, behind a proxy: the URL as it came, Express's own address and host", async (t) => {
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
  t.equal(seen.length, 2, 'passed twice, recorded once')
})
