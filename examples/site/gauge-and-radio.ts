import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { height, STATIONS } from './tides.js'

const gaugeAt = (at: number): number => {
  const station = STATIONS.get('ostrand')
  if (!station) throw new Error('no gauge')
  // The stilling well leaves a few millimetres of swell.
  return Math.round((height(station, at) + 0.004 * Math.sin(at / 1700) + 0.002 * Math.sin(at / 610)) * 1000) / 1000
}

/** Streams readings of the gauge as `text/event-stream`: one at once, then one every `interval` milliseconds, endlessly. */
export function streamGauge(req: IncomingMessage, res: ServerResponse, now: () => number, interval: number): void {
  res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' })
  if (req.method === 'HEAD') {
    res.end()
    return
  }
  let id = 0
  let last = gaugeAt(now() - 60_000)
  const tell = () => {
    const reading = gaugeAt(now())
    const trend = reading > last ? 'rising' : 'falling'
    last = reading
    const data = JSON.stringify({ at: new Date(now()).toISOString(), height: reading, trend })
    res.write(`${id === 0 ? 'retry: 3000\n' : ''}id: ${++id}\nevent: reading\ndata: ${data}\n\n`)
  }
  tell()
  const timer = setInterval(tell, interval)
  res.on('close', () => clearInterval(timer))
}

interface Radio {
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void
  close(): void
}

/** Runs a WebSocket chat: every client receives each message, and the harbour replies when a message asks for the tide. */
export function createRadio(now: () => number): Radio {
  const server = new WebSocketServer({ noServer: true, maxPayload: 4096 })
  server.on('connection', (socket) => {
    socket.on('error', () => socket.terminate())
    const tide = () => `Harbour: ${gaugeAt(now()).toFixed(2)} metres on the gauge at Ostrand.`
    socket.send('Harbour: channel 12 is open.')
    socket.on('message', (data, isBinary) => {
      // Binary messages go back to their sender only.
      if (isBinary) return socket.send(data, { binary: true })
      const said = data.toString()
      for (const listener of server.clients) if (listener.readyState === listener.OPEN) listener.send(said)
      if (/\btide\b/i.test(said)) socket.send(tide())
    })
  })
  return {
    upgrade(req, socket, head) {
      socket.on('error', () => socket.destroy())
      if (req.url?.split('?')[0] !== '/ws/radio') {
        const body = 'There is no station on this channel.\n'
        socket.end(
          `HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
        )
        return
      }
      server.handleUpgrade(req, socket, head, (client) => server.emit('connection', client, req))
    },
    close() {
      for (const client of server.clients) client.terminate()
      server.close()
    },
  }
}
