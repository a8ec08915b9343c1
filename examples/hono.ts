// A Hono site on its Node server with readership inside; see express.ts.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { openReadership } from 'readership'
import { middleware } from 'readership/hono'

const readership = await openReadership({ data: './readership-data' })
const site = new Hono()
site.use(middleware(readership))
site.get('/', (c) => c.html('<!doctype html><title>Hello</title><h1>Hello from Hono</h1>'))

const port = Number(process.env.PORT ?? 3000)
const server = serve({ fetch: site.fetch, port }, () =>
  console.log(`http://localhost:${port}/ and http://localhost:${port}/_readership/`),
)
const stop = () => {
  // The server would wait for an open live view of the dashboard.
  readership.endStreams()
  server.close(() => void readership.close())
}
process.once('SIGINT', stop).once('SIGTERM', stop)
