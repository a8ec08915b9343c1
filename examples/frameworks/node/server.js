import { createServer } from 'node:http'
import { openReadership } from 'readership'
import { listener } from 'readership/node'

const tracker = '<script defer src="/_readership/script.js?site=1"></script>'
const page = (title) =>
  `<!doctype html><title>${title}</title>${tracker}<h1>${title}</h1><a href="/">Home</a> <a href="/about">About</a>`
const pages = { '/': page('Hello from Node'), '/about': page('About') }

const readership = await openReadership({ data: './readership-data' })
const server = createServer(
  listener(readership, (req, res) => {
    const found = pages[new URL(req.url, 'http://site').pathname]
    res.writeHead(found ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' }).end(found ?? page('Not found'))
  }),
)
server.listen(Number(process.env.PORT ?? 3000))

const stop = () => {
  // The server would wait for an open live view of the dashboard.
  readership.endStreams()
  server.close(() => void readership.close())
}
process.once('SIGINT', stop).once('SIGTERM', stop)
