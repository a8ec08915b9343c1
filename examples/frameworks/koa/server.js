import { createServer } from 'node:http'
import Koa from 'koa'
import { openReadership } from 'readership'
import { listener } from 'readership/node'

const tracker = '<script defer src="/_readership/script.js?site=1"></script>'
const page = (title) =>
  `<!doctype html><title>${title}</title>${tracker}<h1>${title}</h1><a href="/">Home</a> <a href="/about">About</a>`
const pages = { '/': page('Hello from Koa'), '/about': page('About') }

const readership = await openReadership({ data: './readership-data' })
const site = new Koa()
site.use((ctx) => {
  ctx.status = pages[ctx.path] ? 200 : 404
  ctx.type = 'html'
  ctx.body = pages[ctx.path] ?? page('Not found')
})
// In place of `site.listen(port)`.
const server = createServer(listener(readership, site.callback()))
server.listen(Number(process.env.PORT ?? 3000))

const stop = () => {
  // The server would wait for an open live view of the dashboard.
  readership.endStreams()
  server.close(() => void readership.close())
}
process.once('SIGINT', stop).once('SIGTERM', stop)
