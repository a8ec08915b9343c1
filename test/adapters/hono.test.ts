import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { compress } from 'hono/compress'
import { stream } from 'hono/streaming'
import t from 'tap'
import { middleware } from '../../adapters/hono.js'
import { adapterContract, SITE } from './contract.js'

adapterContract(t, (readership) => {
  const site = new Hono()
  site.use(middleware(readership))
  site.use('/zip', compress())
  site.get('/page', (c) => c.html(SITE['/page']))
  site.get('/boom', (c) => c.text(SITE['/boom'], 500))
  site.get('/zip', (c) => c.text(SITE['/zip']))
  site.get('/stream', (c) =>
    stream(c, async (out) => {
      for (let i = 0; i < 3; i++) {
        await out.write(SITE['/stream'])
        await sleep(30)
      }
    }),
  )
  site.get('/endless', (c) =>
    stream(c, async (out) => {
      while (!out.aborted) await out.write(Buffer.alloc(SITE['/endless']))
    }),
  )
  site.get('/slow', async (c) => {
    await sleep(1000)
    return c.text(SITE['/slow'])
  })
  return createServer(getRequestListener(site.fetch, { overrideGlobalObjects: false }))
})

t.test("without a server, as in a site's own tests, it stands aside", async (t) => {
  const site = new Hono()
  site.use(
    middleware({ record: () => t.fail('recorded'), fetch: async () => new Response('api'), close: async () => {} }),
  )
  site.get('/page', (c) => c.text('hello'))
  t.equal(await (await site.request('/page')).text(), 'hello')
})
