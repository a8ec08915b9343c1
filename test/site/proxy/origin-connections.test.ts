// The attack: an origin that is broken or compromised leaves a connection in a state of which the next request, another
// client's, becomes the victim. Each row is one connection that serves one request in an odd way, on a real socket; the
// next request must get its own response, on the same connection only where nothing can be left of the first.

import { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import type { ConnectionOptions, OriginConnection, OriginRequest } from '../../../src/site/proxy/origin/connection.js'
import { Deadlines } from '../../../src/site/proxy/origin/deadlines.js'
import type { OriginFailure } from '../../../src/site/proxy/origin/failure.js'
import { createOpenSocket } from '../../../src/site/proxy/origin/open-socket.js'
import { OriginPool } from '../../../src/site/proxy/origin/pool.js'
import { formatRequestHead } from '../../../src/site/proxy/origin/request-head.js'
import type { OriginHead } from '../../../src/site/proxy/origin/response-head.js'
import { Upload } from '../../../src/site/proxy/upload.js'
import { CONNECTIONS, type RequestKind } from './fixtures/origin-connection-rows.js'
import { sleep, startRawServer, waitFor } from './fixtures/sockets.js'

/** A request that writes down what happens to it. */
class Probe implements OriginRequest {
  readonly head: string
  connection: OriginConnection | undefined
  isAbandoned = false
  status = 0
  body = ''
  failure: OriginFailure | undefined
  stale = false
  informational = 0
  done = false
  /** The result of `onBody`. */
  ready = true

  constructor(
    readonly method: string,
    path: string,
    readonly upload: Upload | null = null,
  ) {
    const length = upload === null ? undefined : (upload.length ?? 'chunked')
    this.head = formatRequestHead({ method, path, host: 'a', fields: [] }, length)
  }

  get text(): string {
    const response = this.status === 0 ? '' : `${this.status} "${this.body}"`
    return this.failure === undefined ? response : `${response} ${this.failure}`.trim()
  }

  onInformation(): void {
    this.informational += 1
  }
  onHead({ status }: OriginHead): void {
    this.status = status
  }
  onHeadRead(): void {}
  onBody(part: Buffer): boolean {
    this.body += part.toString('latin1')
    return this.ready
  }
  onEnd(last: Buffer): void {
    this.body += last.toString('latin1')
    this.done = true
  }
  onFailure(failure: OriginFailure, stale: boolean): void {
    this.failure = failure
    this.stale = stale
    this.done = true
  }
}

/** A client's request with a body, and the stream by which the client sends that body. */
function openUpload(length?: string) {
  const client = new PassThrough()
  const res = Object.assign(new PassThrough(), { setTimeout: () => {} })
  // The two that an upload uses of a request and its response.
  const upload: Upload = Reflect.construct(Upload, [client, res, length, 1_000, () => {}])
  return { client, upload }
}

function probeOf(kind: RequestKind | undefined): Probe {
  if (kind === undefined || kind === 'HEAD') return new Probe(kind ?? 'GET', '/')
  const { client, upload } = openUpload('5')
  client.write('hel')
  if (kind !== 'POST without an end') client.end('lo')
  return new Probe(kind === 'GET with a body' ? 'GET' : 'POST', '/', upload)
}

const optionsFor = (port: number, more: Partial<ConnectionOptions> = {}): ConnectionOptions => ({
  open: createOpenSocket(new URL(`http://127.0.0.1:${port}`), {}),
  connectTimeout: 5_000,
  headersTimeout: 250,
  bodyIdleTimeout: 250,
  maxHeaderSize: 65_536,
  deadlines: new Deadlines(20),
  ...more,
})

/** Starts an origin that serves requests for `/control` with the number of the connection on which they came. */
async function startOrigin(t: Test, serve: (socket: Socket, bytes: Buffer) => void) {
  let connections = 0
  const origin = await startRawServer((socket) => {
    connections += 1
    const number = String(connections)
    socket.setNoDelay(true)
    socket.on('data', (bytes) => {
      if (bytes.includes('GET /control')) socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${number}`)
      else serve(socket, bytes)
    })
  })
  t.teardown(() => origin.close())
  return origin
}

const isDone = (one: Probe) => waitFor('an outcome', () => one.done)

t.test('no connection is used again after anything unclear', async (t) => {
  t.ok(CONNECTIONS.length >= 80, `${CONNECTIONS.length} origins`)
  const rows = async (part: number) => {
    for (const [name, serve, expected, next, kind] of CONNECTIONS.filter((_, i) => i % 4 === part)) {
      let served = false
      const origin = await startOrigin(t, (socket) => {
        if (!served) void serve(socket)
        served = true
      })
      const pool = new OriginPool(optionsFor(origin.port))
      const first = probeOf(kind)
      pool.send(first)
      await isDone(first)
      t.equal(first.text, expected, name)
      t.equal(first.connection, undefined, 'and lets go of its connection')
      // Late bytes are there by now; the request itself must not have to wait for it.
      await sleep(40)
      const second = new Probe('GET', '/control')
      pool.send(second)
      await isDone(second)
      t.equal(second.text, `200 "${next}"`, `${name}: the next request`)
      pool.destroy()
      await origin.close()
    }
  }
  await Promise.all([0, 1, 2, 3].map(rows))
})

t.test('a connection that was kept and ended is stale until a byte of the response', async (t) => {
  for (const [how, expected, stale] of [
    ['end', 'closed', true],
    ['reset', 'closed', true],
    ['H', 'closed', false],
    ['HTTP/1.1 103 \r\n\r\n', 'closed', false],
    ['silence', 'headers_timeout', false],
  ] as const) {
    const origin = await startOrigin(t, (socket) => {
      if (how === 'end') socket.end()
      else if (how === 'reset') socket.resetAndDestroy()
      else if (how !== 'silence') socket.end(how)
    })
    const pool = new OriginPool(optionsFor(origin.port))
    for (const path of ['/control', '/second']) {
      const probe = new Probe('GET', path)
      pool.send(probe)
      await isDone(probe)
      if (path === '/control') continue
      t.equal(probe.text, expected, how)
      t.equal(probe.stale, stale, `${how}: stale`)
    }
    pool.destroy()
  }
})

t.test('bytes that nothing requested never answer a request that is sent at the same moment', async (t) => {
  let idle: Socket | undefined
  const origin = await startOrigin(t, () => {})
  for (const bytes of ['HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison', undefined]) {
    const pool = new OriginPool(optionsFor(origin.port))
    const first = new Probe('GET', '/control')
    pool.send(first)
    await isDone(first)
    idle = [...origin.sockets].at(-1)
    // From a timer: the packet is there before the next look at the sockets.
    await sleep(5)
    if (bytes === undefined) idle?.end()
    else idle?.write(bytes)
    const second = new Probe('GET', '/control')
    pool.send(second)
    await isDone(second)
    t.equal(second.text, `200 "${Number(first.body) + 1}"`, bytes === undefined ? 'a close' : 'a response')
    pool.destroy()
  }
})

t.test('idle connections end before the origin closes them', async (t) => {
  const origin = await startOrigin(t, (socket) =>
    socket.write('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=2, max=9\r\nContent-Length: 0\r\n\r\n'),
  )
  for (const [path, least, most] of [
    ['/control', 40, 400],
    ['/', 0, 40],
  ] as const) {
    const pool = new OriginPool(optionsFor(origin.port), 100)
    const probe = new Probe('GET', path)
    pool.send(probe)
    await isDone(probe)
    const began = performance.now()
    await waitFor('the end', () => origin.sockets.size === 0)
    const ms = performance.now() - began
    t.ok(ms >= least && ms <= most, `${path}: after ${ms} ms`)
  }
})

t.test('requests share connections, as many as are in use at once', async (t) => {
  const origin = await startOrigin(t, () => {})
  const pool = new OriginPool(optionsFor(origin.port))
  for (const count of [5, 3, 5]) {
    const probes = Array.from({ length: count }, () => new Probe('GET', '/control'))
    for (const probe of probes) pool.send(probe)
    await Promise.all(probes.map(isDone))
    t.equal(new Set(probes.map(({ body }) => body)).size, count, 'each on a connection of its own')
    t.equal(origin.sockets.size, 5, 'which are five')
  }
  pool.destroy()
  await waitFor('the end of all', () => origin.sockets.size === 0)
})

t.test('the origin learns that a client left', async (t) => {
  let closed = 0
  let asked = 0
  const origin = await startOrigin(t, (socket, bytes) => {
    asked += 1
    if (bytes.includes('/body')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello')
    socket.once('close', () => {
      closed += 1
    })
  })
  const pool = new OriginPool(optionsFor(origin.port))
  for (const path of ['/silent', '/body']) {
    const probe = new Probe('GET', path)
    pool.send(probe)
    const before = asked
    await waitFor('the request', () => asked > before && (path === '/silent' || probe.body === 'hello'))
    probe.connection?.abort(probe)
    await waitFor('the close', () => closed === asked)
    t.notOk(probe.done, 'and nothing more is said about it')
  }
  const connecting = new Probe('GET', '/')
  pool.send(connecting)
  connecting.connection?.abort(connecting)
  const kept = new Probe('GET', '/control')
  pool.send(kept)
  await isDone(kept)
  const waiting = new Probe('GET', '/')
  pool.send(waiting)
  waiting.isAbandoned = true
  await sleep(20)
  t.equal(asked, 2, 'a request whose client has left is not sent')
  kept.connection?.abort(kept)
  const next = new Probe('GET', '/control')
  pool.send(next)
  await isDone(next)
  t.equal(next.body, kept.body, 'an exchange that is over does not touch the connection')
  pool.destroy()
})

t.test('a slow client slows the origin down, and a slow origin the client', async (t) => {
  const size = 30_000_000
  let written = 0
  let taken = 0
  let release = () => {}
  const origin = await startOrigin(t, (socket, bytes) => {
    if (bytes.includes('/big')) {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`)
      const push = () => {
        while (written < size && socket.writable) {
          written += 100_000
          if (!socket.write(Buffer.alloc(100_000))) break
        }
      }
      socket.on('drain', push)
      push()
      return
    }
    if (bytes.includes('POST /up')) {
      socket.pause()
      release = () => void socket.resume()
    }
    taken += bytes.length
    if (taken >= 20_000_000) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
  })
  const pool = new OriginPool(optionsFor(origin.port, { headersTimeout: 10_000, bodyIdleTimeout: 100 }))
  const big = new Probe('GET', '/big')
  let received = 0
  big.onBody = (part) => {
    received += part.length
    return big.ready
  }
  big.ready = false
  pool.send(big)
  await sleep(400)
  t.ok(written < 20_000_000 && received < 100_000, `${written} of ${size} bytes, which the kernel holds`)
  t.equal(big.failure, undefined, 'which is not a timeout of the origin')
  big.ready = true
  big.connection?.resume()
  await isDone(big)
  t.equal(received + big.body.length, size)

  const { client, upload } = openUpload()
  const up = new Probe('POST', '/up', upload)
  pool.send(up)
  for (let i = 0; i < 200; i++) client.write(Buffer.alloc(100_000))
  client.end()
  await sleep(100)
  await waitFor('the origin to read', () => taken > 0)
  const waiting = client.readableLength + client.writableLength
  t.ok(waiting > 5_000_000, `${waiting} bytes wait at the client`)
  release()
  await isDone(up)
  t.equal(up.text, '200 ""', 'and all arrive in the end')
  pool.destroy()
})

t.test('an upload is one whole request, or the connection ends', async (t) => {
  let bytes = ''
  const origin = await startOrigin(t, (socket, part) => {
    bytes += part.toString('latin1')
    if (bytes.endsWith('hello') || bytes.endsWith('0\r\n\r\n')) socket.write('HTTP/1.1 204 \r\n\r\n')
  })
  for (const [length, parts, expected, why] of [
    ['5', ['hel', 'lo'], '204 ""', 'as long as it says'],
    [undefined, ['hel', '', 'lo'], '204 ""', 'in chunks, of which none is empty'],
    [undefined, [], '204 ""', 'in no chunk'],
    ['5', ['hel'], 'other', 'shorter'],
    ['5', ['hel', 'lo!'], 'other', 'longer'],
  ] as const) {
    bytes = ''
    const pool = new OriginPool(optionsFor(origin.port))
    const { client, upload } = openUpload(length)
    const probe = new Probe('POST', '/', upload)
    pool.send(probe)
    await waitFor('the head, before the first byte', () => bytes.endsWith('\r\n\r\n'))
    for (const part of parts) {
      if (part === '') client.emit('data', Buffer.alloc(0))
      else client.write(part)
      await sleep(5)
    }
    client.end()
    await isDone(probe)
    t.equal(probe.text, expected, why)
    if (expected === 'other') t.notOk(bytes.endsWith('lo!'), 'nothing that could be another request')
    else t.match(bytes, length ? /\r\n\r\nhello$/ : /\r\n\r\n(?:3\r\nhel\r\n2\r\nlo\r\n)?0\r\n\r\n$/, why)
    pool.destroy()
  }
})

t.test('says why there is no connection', async (t) => {
  const gone = await startRawServer(() => {})
  await gone.close()
  const refused = new Probe('GET', '/')
  new OriginPool(optionsFor(gone.port)).send(refused)
  const silent = new Probe('GET', '/')
  new OriginPool(optionsFor(0, { open: () => new Socket(), connectTimeout: 100 })).send(silent)
  const broken = new Probe('GET', '/')
  const open = () => {
    throw new Error('settings that TLS refuses')
  }
  new OriginPool(optionsFor(0, { open })).send(broken)
  await Promise.all([refused, silent, broken].map(isDone))
  t.same([refused.text, silent.text, broken.text], ['refused', 'connect_timeout', 'other'])
})
