import { createRequestHandler } from '@react-router/express'
import express from 'express'
import { openReadership } from 'readership'
import { middleware } from 'readership/express'
import * as build from './build/server/index.js'

const readership = await openReadership({ data: './readership-data' })
const site = express()
// Before the files, and before anything that compresses.
site.use(middleware(readership))
site.use(express.static('build/client', { index: false }))
site.use(createRequestHandler({ build }))
const server = site.listen(Number(process.env.PORT ?? 3000))

const stop = () => {
  // The server would wait for an open live view of the dashboard.
  readership.endStreams()
  server.close(() => void readership.close())
}
process.once('SIGINT', stop).once('SIGTERM', stop)
