import { Readable } from 'node:stream'
import { stopWaiting, waitForClient } from './client-timeout.js'
import type { Incoming, Outgoing } from './response-writer.js'

/**
 * A request's body for the origin, with backpressure. It stands between because the reader may be destroyed early (an
 * origin that answers before the upload is over) while the client's connection lives on: the rest is then read away.
 * A client that sends nothing for `idle` ms while we wait for it is cut.
 */
export function requestBody(req: Incoming, res: Outgoing, idle: number, onRead: () => void): Readable {
  let started = false
  const body = new Readable({
    read() {
      if (!started) {
        started = true
        onRead()
        req.on('data', (chunk: Buffer) => {
          if (body.destroyed || body.push(chunk)) return
          req.pause()
          stopWaiting(res)
        })
      }
      if (!res.writableEnded) waitForClient(res, idle)
      req.resume()
    },
    destroy(error, done) {
      if (!req.readableEnded && started) req.resume()
      done(error)
    },
  })
  req.once('end', () => {
    // After the answer the connection's timer is Node's again, for keep-alive.
    if (!res.writableEnded) stopWaiting(res)
    body.push(null)
  })
  req.once('close', () => {
    if (!req.readableEnded) body.destroy(new Error('the client left during its request'))
  })
  return body
}
