import { createServer } from 'node:http'
import next from 'next'
import { openReadership } from 'readership'
import { listener } from 'readership/node'

const port = Number(process.env.PORT ?? 3000)
const site = next({ dev: process.env.NODE_ENV !== 'production', port })
await site.prepare()
const readership = await openReadership({ data: './readership-data' })
const server = createServer(listener(readership, site.getRequestHandler()))
server.listen(port)

const stop = () => {
  // The server would wait for an open live view of the dashboard.
  readership.endStreams()
  server.close(async () => {
    await readership.close()
    await site.close()
  })
}
process.once('SIGINT', stop).once('SIGTERM', stop)
