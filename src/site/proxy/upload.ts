import type { Socket } from 'node:net'
import { type Incoming, type Outgoing, startClientTimeout, stopClientTimeout } from './response-writer.js'

/** The body of a request on its way to the origin, with backpressure. */
export class Upload {
  #socket: Socket | undefined
  #stopped = false
  #sentBytes = 0
  #onSent: (complete: boolean) => void = () => {}

  /**
   * A body without `length` (its Content-Length) is sent in chunks. A client that sends nothing for `timeout` ms while the
   * origin waits for it is disconnected. `onReady` is called when the connection to the origin is ready.
   */
  constructor(
    readonly req: Incoming,
    readonly res: Outgoing,
    readonly length: string | undefined,
    readonly timeout: number,
    readonly onReady: () => void,
  ) {}

  /**
   * Sends the body after its head. Calls `onSent` when it is over: `complete` is false if the body differs from its
   * length.
   */
  send(socket: Socket, onSent: (complete: boolean) => void): void {
    const { req, res, timeout } = this
    this.#socket = socket
    this.#onSent = onSent
    this.onReady()
    req.on('data', this.#onData)
    req.once('end', this.#onEnd)
    if (!res.writableEnded) startClientTimeout(res, timeout)
    req.resume()
  }

  /** Discards the rest, so that the client's connection can go on after a response that came early. */
  stop(): void {
    this.#stopped = true
    if (this.#socket !== undefined) this.req.resume()
  }

  readonly #onData = (part: Buffer): void => {
    const socket = this.#socket
    // An empty part would be the last chunk.
    if (this.#stopped || socket === undefined || part.length === 0) return
    this.#sentBytes += part.length
    if (this.length === undefined) this.#writeChunk(socket, part)
    else if (this.#sentBytes > Number(this.length)) {
      this.#onSent(false)
      return
    } else socket.write(part)
    if (!socket.writableNeedDrain) return
    this.req.pause()
    stopClientTimeout(this.res)
    socket.once('drain', this.#onDrain)
  }

  #writeChunk(socket: Socket, part: Buffer): void {
    socket.cork()
    socket.write(`${part.length.toString(16)}\r\n`, 'latin1')
    socket.write(part)
    socket.write('\r\n', 'latin1')
    socket.uncork()
  }

  readonly #onDrain = (): void => {
    if (this.#stopped) return
    const { req, res, timeout } = this
    if (!res.writableEnded) startClientTimeout(res, timeout)
    req.resume()
  }

  readonly #onEnd = (): void => {
    // After the response the connection's timer belongs to Node again, for keep-alive.
    if (!this.res.writableEnded) stopClientTimeout(this.res)
    if (this.#stopped) return
    if (this.length === undefined) this.#socket?.write('0\r\n\r\n', 'latin1')
    this.#onSent(this.length === undefined || this.#sentBytes === Number(this.length))
  }
}
