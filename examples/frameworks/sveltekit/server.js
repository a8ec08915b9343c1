import { createServer } from 'node:http'
import { openReadership } from 'readership'
import { listener } from 'readership/node'
import { handler } from './build/handler.js'

const readership = await openReadership({ data: './readership-data' })
// In place of `node build`. The third argument of `handler` is for requests that SvelteKit does not handle; there are none.
const server = createServer(listener(readership, (req, res) => handler(req, res, () => res.writeHead(404).end())))
server.listen(Number(process.env.PORT ?? 3000))

const stop = () => {
  // The server would wait for an open live view of the dashboard.
  readership.endStreams()
  server.close(() => void readership.close())
}
process.once('SIGINT', stop).once('SIGTERM', stop)
