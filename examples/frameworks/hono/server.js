import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { openReadership } from 'readership'
import { middleware } from 'readership/hono'

const tracker = '<script defer src="/_readership/script.js?site=1"></script>'
const page = (title) =>
  `<!doctype html><title>${title}</title>${tracker}<h1>${title}</h1><a href="/">Home</a> <a href="/about">About</a>`

const readership = await openReadership({ data: './readership-data' })
const site = new Hono()
site.use(middleware(readership))
site.get('/', (c) => c.html(page('Hello from Hono')))
site.get('/about', (c) => c.html(page('About')))
site.notFound((c) => c.html(page('Not found'), 404))
const server = serve({ fetch: site.fetch, port: Number(process.env.PORT ?? 3000) })

const stop = () => {
  // The server would wait for an open live view of the dashboard.
  readership.endStreams()
  server.close(() => void readership.close())
}
process.once('SIGINT', stop).once('SIGTERM', stop)
