import { readFileSync } from 'node:fs'
import { type ClientRequest, request } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { createServer as createTlsServer } from 'node:tls'
import t from 'tap'
import { portOf, startProxy, startRawServer } from './fixtures/sockets.js'

/**
 * Uploads that the origin refuses before they are complete, as servers with a limit do: the origin closes with bytes unread,
 * so its system resets the connection, and the proxy's next write of the upload fails. The response has arrived by then.
 */

const TEXT = 'Payload Too Large'
const refusal = (body: string, framing: string) => `HTTP/1.1 413 ${TEXT}\r\nConnection: close\r\n${framing}\r\n${body}`
const WHOLE = refusal('no', 'Content-Length: 2\r\n')
const LARGEST = 20_000_000
const TLS = {
  cert: readFileSync('test/site/proxy/fixtures/tls/first.cert.pem', 'utf8'),
  key: readFileSync('test/site/proxy/fixtures/tls/first.key.pem', 'utf8'),
}

type Serve = (socket: Socket, received: number) => void

/** Refuses the upload with these bytes once the origin has received so many. */
const refuseAfter =
  (bytes: number, response = WHOLE): Serve =>
  (socket, received) => {
    if (received < bytes || socket.writableEnded) return
    socket.pause()
    // Closes as soon as the response is handed to the system, with the upload unread.
    socket.write(response, () => socket.destroy())
    socket.end()
  }

async function startOrigin(serve: Serve, secure: boolean) {
  const onSocket = (socket: Socket) => {
    let received = 0
    socket.on('error', () => {})
    socket.on('data', (part) => {
      received += part.length
      serve(socket, received)
    })
  }
  if (!secure) return startRawServer(onSocket)
  const server = createTlsServer(TLS, onSocket)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: portOf(server), close: () => new Promise<void>((resolve) => server.close(() => resolve())) }
}

/** Writes `bytes` of a body, as fast as its reader takes them. */
function upload(body: Writable, bytes: number): void {
  const part = Buffer.alloc(65_536, 'x')
  let sent = 0
  const write = () => {
    while (sent < bytes && !body.destroyed) {
      const next = part.subarray(0, Math.min(part.length, bytes - sent))
      sent += next.length
      if (!body.write(next)) return void body.once('drain', write)
    }
    body.end()
  }
  body.on('error', () => {})
  write()
}

/** Returns status and body of the response to an upload, or the error that ended it. */
function post1(port: number, bytes: number, chunked: boolean): Promise<string> {
  return new Promise((resolve) => {
    const headers = chunked ? {} : { 'content-length': bytes }
    const req: ClientRequest = request({ port, host: '127.0.0.1', method: 'POST', path: '/up', headers }, (res) => {
      let body = ''
      res.setEncoding('utf8')
      res.on('data', (part) => {
        body += part
      })
      res.on('error', () => resolve(`${res.statusCode} ${body} cut`))
      res.on('end', () => resolve(`${res.statusCode} ${body}`))
    })
    req.on('error', (error) => resolve(error.message))
    upload(req, bytes)
  })
}

function post2(port: number, bytes: number, chunked: boolean): Promise<string> {
  return new Promise((resolve) => {
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    session.on('error', () => {})
    const length = chunked ? {} : { 'content-length': String(bytes) }
    const stream = session.request({ ':method': 'POST', ':path': '/up', ':authority': 's', ...length })
    let result = 'none'
    let body = ''
    stream.setEncoding('utf8')
    stream.on('response', (head) => {
      result = String(head[':status'])
    })
    stream.on('data', (part) => {
      body += part
    })
    stream.on('close', () => {
      resolve(`${result} ${body}`)
      session.destroy()
    })
    upload(stream, bytes)
  })
}

t.test('the client gets the response of an origin that refuses an upload and closes at once', async (t) => {
  for (const secure of [false, true]) {
    for (const after of [1, 300_000]) {
      const origin = await startOrigin(refuseAfter(after), secure)
      const { proxy, port } = await startProxy(0, {
        origin: new URL(secure ? `https://localhost:${origin.port}` : `http://127.0.0.1:${origin.port}`),
        originTls: { ca: TLS.cert },
      })
      const http2 = createHttp2Server(proxy.handler)
      await new Promise<void>((resolve) => http2.listen(0, '127.0.0.1', resolve))
      for (const bytes of [1_000_000, LARGEST])
        for (const chunked of [false, true]) {
          const what = `${secure ? 'https' : 'http'} origin, after ${after} bytes of ${bytes}${chunked ? ' in chunks' : ''}`
          for (let run = 0; run < 3; run++) {
            t.equal(await post1(port, bytes, chunked), '413 no', `HTTP/1.1, ${what}`)
            t.equal(await post2(portOf(http2), bytes, chunked), '413 no', `HTTP/2, ${what}`)
          }
        }
      await proxy.close(100)
      await new Promise((resolve) => http2.close(resolve))
      await origin.close()
    }
  }
})
