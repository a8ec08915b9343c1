import { createServer } from 'node:http'
import { openReadership } from 'readership'
import { listener } from 'readership/node'
import { listener as site } from './.output/server/index.mjs'

const readership = await openReadership({ data: './readership-data' })
const server = createServer(listener(readership, site))
server.listen(Number(process.env.PORT ?? 3000))

const stop = () => {
  // The server would wait for an open live view of the dashboard.
  readership.endStreams()
  server.close(() => void readership.close())
}
process.once('SIGINT', stop).once('SIGTERM', stop)
