import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import httpProxy from 'http-proxy'
import { type Dispatcher, Pool } from 'undici'
import { clientAddress, parseTrust } from '../../src/base/address.js'
import type { Observation } from '../../src/capture/observation.js'
import { createRecorder } from '../../src/capture/recorder.js'
import { createProxy } from '../../src/site/proxy/proxy.js'
import { startWorkerClient } from '../../src/worker-client/worker-client.js'
import { addSite } from '../fixtures/worker-client.js'

/** One server of the bench in a process of its own: it says where it listens, and how many rows it dropped when asked. */
const [kind = '', originPort = '0'] = process.argv.slice(2)
const origin = new URL(`http://127.0.0.1:${originPort}`)

let drops = () => 0

const ours = (record: (observation: Observation) => void): Server => {
  const trust = parseTrust(['loopback'])
  return createProxy({
    origin,
    record,
    clientAddress: ({ socket, headers }) =>
      clientAddress(socket.remoteAddress, String(headers['x-forwarded-for'] ?? ''), trust),
    isTrustedPeer: () => true,
  }).server
}

const servers: Record<string, () => Server | Promise<Server>> = {
  origin: () => {
    const pages = new Map([1_024, 102_400].map((size) => [`/${size}`, Buffer.alloc(size, 'x')]))
    return createServer((req, res) => {
      const [path = ''] = (req.url ?? '').split('?')
      const split = path.startsWith('/split')
      const page = pages.get(split ? path.slice('/split'.length) : path) ?? Buffer.alloc(0)
      res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': page.length, ETag: '"x"' })
      if (!split) res.end(page)
      else {
        // The head in a packet of its own.
        res.flushHeaders()
        setImmediate(() => res.end(page))
      }
    })
  },

  /** As `readership proxy` runs it: every exchange is recorded, by the worker, into a DuckDB file. */
  async readership() {
    const data = mkdtempSync(join(tmpdir(), 'readership-bench-'))
    process.on('exit', () => rmSync(data, { recursive: true, force: true }))
    const engine = await startWorkerClient({
      data,
      offline: true,
      log: { info() {}, warn: console.warn, error: console.error },
    })
    await addSite(engine)
    const recorder = createRecorder({
      send: (batch) => engine.record(batch),
      now: () => performance.now(),
      log: { warn: console.warn },
    })
    drops = () => Object.values(recorder.stats().drops).reduce((sum, n) => sum + n, 0)
    return ours((observation) => recorder.record(observation))
  },

  /** The wire alone: observations are made and thrown away. */
  'not recording': () => {
    let kept: Observation[] = []
    return ours((observation) => {
      if (kept.push(observation) >= 1_000) kept = []
    })
  },

  'http-proxy': () => {
    const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
    const proxy = httpProxy.createProxyServer({ target: origin.origin, agent, xfwd: true })
    proxy.on('error', (_error, _req, res) => void res.destroy())
    return createServer((req, res) => proxy.web(req, res))
  },

  /** The least that forwards: undici's older callbacks, raw fields, nothing checked, nothing stripped. */
  undici: () => {
    const pool = new Pool(origin.origin)
    return createServer((req, res) => {
      const fields: string[] = []
      for (let i = 0; i + 1 < req.rawHeaders.length; i += 2) {
        const name = req.rawHeaders[i] ?? ''
        if (name.length !== 10 || name.toLowerCase() !== 'connection') fields.push(name, req.rawHeaders[i + 1] ?? '')
      }
      let resume = () => {}
      const handler: Dispatcher.DispatchHandler = {
        onConnect() {},
        onHeaders(status, raw, again, message) {
          resume = again
          const out: string[] = []
          for (let i = 0; i + 1 < raw.length; i += 2) {
            const name = raw[i]?.toString('latin1') ?? ''
            if (name.length !== 10 || name.toLowerCase() !== 'connection')
              out.push(name, raw[i + 1]?.toString('latin1') ?? '')
          }
          res.writeHead(status, message, out)
          return true
        },
        onData(chunk) {
          const more = res.write(chunk)
          if (!more) res.once('drain', resume)
          return more
        },
        onComplete: () => void res.end(),
        onError: () => void res.destroy(),
      }
      pool.dispatch({ path: req.url ?? '/', method: req.method ?? 'GET', headers: fields }, handler)
    })
  },
}

const make = servers[kind]
if (make === undefined) throw new Error(`no server ${kind}`)
const server = await make()
server.listen(0, '127.0.0.1', () => {
  const address: AddressInfo | string | null = server.address()
  process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0 })
})
process.on('message', () => {
  process.send?.({ drops: drops() })
})
process.on('disconnect', () => process.exit(0))
