import express from 'express'
import { openReadership } from 'readership'
import { middleware } from 'readership/express'

const tracker = '<script defer src="/_readership/script.js?site=1"></script>'
const page = (title) =>
  `<!doctype html><title>${title}</title>${tracker}<h1>${title}</h1><a href="/">Home</a> <a href="/about">About</a>`

const readership = await openReadership({ data: './readership-data' })
const site = express()
// Before anything that responds, compresses or parses bodies.
site.use(middleware(readership))
site.get('/', (_req, res) => res.send(page('Hello from Express')))
site.get('/about', (_req, res) => res.send(page('About')))
site.use((_req, res) => res.status(404).send(page('Not found')))
const server = site.listen(Number(process.env.PORT ?? 3000))

const stop = () => {
  // The server would wait for an open live view of the dashboard.
  readership.endStreams()
  server.close(() => void readership.close())
}
process.once('SIGINT', stop).once('SIGTERM', stop)
