import { subscribe } from 'node:diagnostics_channel'
import { Socket } from 'node:net'
import { Readable, type ReadableOptions } from 'node:stream'
import { type Incoming, type Outgoing, startClientTimeout, stopClientTimeout } from './response-writer.js'

/** The body of a request on its way to the origin. */
export class Upload extends Readable {
  constructor(
    /** Its Content-Length; a body without one is sent in chunks. */
    readonly length: string | undefined,
    options: ReadableOptions,
  ) {
    super(options)
  }
}

/**
 * Returns a request's body as a stream for the origin, with backpressure. It is separate from the request because undici
 * may destroy it early (an origin that responds before the upload is over) while the client's connection lives on; the
 * rest of the upload is then read and discarded. A client that sends nothing for `timeout` ms while the origin waits for
 * it is disconnected. `onFirstRead` is called when the connection to the origin is ready.
 */
export function readUpload(
  req: Incoming,
  res: Outgoing,
  length: string | undefined,
  timeout: number,
  onFirstRead: () => void,
): Upload {
  let started = false
  const body = new Upload(length, {
    read() {
      if (!started) {
        started = true
        onFirstRead()
        req.on('data', (chunk: Buffer) => {
          if (body.destroyed || body.push(chunk)) return
          req.pause()
          stopClientTimeout(res)
        })
      }
      if (!res.writableEnded) startClientTimeout(res, timeout)
      req.resume()
    },
    destroy(error, done) {
      if (!req.readableEnded && started) req.resume()
      done(error)
    },
  })
  req.once('end', () => {
    // After the response the connection's timer belongs to Node again, for keep-alive.
    if (!res.writableEnded) stopClientTimeout(res)
    body.push(null)
  })
  req.once('close', () => {
    if (!req.readableEnded) body.destroy(new Error('the client left during its request'))
  })
  return body
}

/**
 * Sends the head of an upload although its client has sent no byte of the body yet. undici keeps the head until the first
 * byte, so a client that waits for a 401 before it sends anything would wait for ever. undici announces each head on this
 * channel before it writes anything. A body that is there already leaves in the same packet, as without this.
 */
subscribe('undici:client:sendHeaders', (message) => {
  if (!isUploadHead(message)) return
  const { request, headers, socket } = message
  const { body } = request
  setImmediate(() => {
    if (!body.readableDidRead && !body.readableEnded && !body.destroyed && !socket.destroyed)
      sendHeadNow(socket, headers, body.length)
  })
})

interface UploadHead {
  request: { body: Upload }
  /** Request line and fields, each with its CRLF, without the one that frames the body. */
  headers: string
  socket: Socket
}

function isUploadHead(message: unknown): message is UploadHead {
  if (typeof message !== 'object' || message === null) return false
  if (!('request' in message && 'headers' in message && 'socket' in message)) return false
  const { request, headers, socket } = message
  if (typeof request !== 'object' || request === null || !('body' in request)) return false
  return request.body instanceof Upload && typeof headers === 'string' && socket instanceof Socket
}

/**
 * Writes a head with the field that frames the body, and leaves the head out of what undici writes later: the head again,
 * before the first byte or, for a body that turned out to be empty, at its end.
 */
function sendHeadNow(socket: Socket, head: string, length: string | undefined): void {
  const chunked = 'transfer-encoding: chunked\r\n'
  const { write } = socket
  socket.write(`${head}${length === undefined ? chunked : `content-length: ${length}\r\n`}\r\n`, 'latin1')
  socket.write = (part: Uint8Array | string, ...rest: unknown[]): boolean => {
    const text = typeof part === 'string' ? part : ''
    if (text === `${head}${chunked}`) return true
    socket.write = write
    // The empty line that ends the head is written already.
    if (text.startsWith('\r\n')) return Reflect.apply(write, socket, [text.slice(2), ...rest])
    if (!text.startsWith(head)) return Reflect.apply(write, socket, [part, ...rest])
    return length === undefined ? Reflect.apply(write, socket, ['0\r\n\r\n', ...rest]) : true
  }
}
