import { createServer } from 'node:http'
import Fastify from 'fastify'
import { openReadership } from 'readership'
import { listener } from 'readership/node'

const tracker = '<script defer src="/_readership/script.js?site=1"></script>'
const page = (title) =>
  `<!doctype html><title>${title}</title>${tracker}<h1>${title}</h1><a href="/">Home</a> <a href="/about">About</a>`

const readership = await openReadership({ data: './readership-data' })
const site = Fastify({
  // Fastify's own handler runs after readership, so that hooks, compression and errors are seen as they leave.
  serverFactory: (handler, options) => createServer(options, listener(readership, handler)),
  // Closes connections that a browser keeps open, when the site stops.
  forceCloseConnections: 'idle',
})
const html = (reply, text) => reply.type('text/html; charset=utf-8').send(text)
site.get('/', (_request, reply) => html(reply, page('Hello from Fastify')))
site.get('/about', (_request, reply) => html(reply, page('About')))
site.setNotFoundHandler((_request, reply) => html(reply.code(404), page('Not found')))
await site.listen({ port: Number(process.env.PORT ?? 3000) })

const stop = async () => {
  // The server would wait for an open live view of the dashboard.
  readership.endStreams()
  await site.close()
  await readership.close()
}
process.once('SIGINT', stop).once('SIGTERM', stop)
