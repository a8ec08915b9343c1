// An Express site with readership inside. The service answers under /_readership; `readership tail` and
// `readership keys create`, run in the same folder, reach it through ./readership-data.
import express from 'express'
import { openReadership } from 'readership'
import { middleware } from 'readership/express'

const readership = await openReadership({ data: './readership-data' })
const site = express()
site.use(middleware(readership))
site.get('/', (_req, res) => void res.send('<!doctype html><title>Hello</title><h1>Hello from Express</h1>'))

const port = Number(process.env.PORT ?? 3000)
const server = site.listen(port, () =>
  console.log(`http://localhost:${port}/ and http://localhost:${port}/_readership/`),
)
const stop = () => {
  // The server would wait for an open live view of the dashboard.
  readership.endStreams()
  server.close(() => void readership.close())
}
process.once('SIGINT', stop).once('SIGTERM', stop)
