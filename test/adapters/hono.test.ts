import { Hono } from 'hono'
import t from 'tap'
import { middleware } from '../../adapters/hono.js'

t.test("does nothing without a server, as in a site's own tests", async (t) => {
  const site = new Hono()
  site.use(
    middleware({ record: () => t.fail('recorded'), fetch: async () => new Response('api'), close: async () => {} }),
  )
  site.get('/page', (c) => c.text('hello'))
  t.equal(await (await site.request('/page')).text(), 'hello')
})
