import { type ClientRequest, type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import type { Observation } from '../capture/observation.js'
import { respondOnSocket } from './answer.js'
import { openOriginRequest } from './dial.js'
import { observeRequest } from './observe-request.js'
import { endToEndHeaders, formatHead, lastHeader, parseTokens } from './raw-headers.js'
import { abort, tunnel } from './tunnel.js'

export interface UpgradeRelayOptions {
  origin: URL
  /**
   * The end-to-end fields for the origin, `[name, value, ...]` (default: as they came). `Connection` and `Upgrade` are
   * added here, and `Host` where it is missing.
   */
  requestHeaders?(req: IncomingMessage): string[]
  clientAddress(req: IncomingMessage): string
  /** Until the origin's answer begins, in ms (default 60,000): 504 then. */
  headersTimeout?: number
  /** Without progress in the body of a refusal, or in a tunnel that one side has ended, in ms (default 300,000). */
  idleTimeout?: number
  /** `unreachable` and `invalid` were answered 502, `timeout` 504; `cut`: the origin broke off; `fault`: ours. */
  onError?(kind: UpgradeError, error: Error): void
  /**
   * Called once per exchange, when it is over (contract 3): a tunnel when it is closed, with status 101 and the bytes
   * after it.
   */
  record?(observation: Observation): void
  /** Milliseconds since 1970. */
  now?(): number
  /** For an https origin: `ca`, `rejectUnauthorized`. */
  tls?: ConnectionOptions
}
export type UpgradeError = 'unreachable' | 'timeout' | 'invalid' | 'cut' | 'fault'

/** Counts since the start; `open` are the tunnels at this moment, `waiting` the requests not yet answered. */
export interface UpgradeStats {
  open: number
  waiting: number
  switched: number
  refused: number
  failed: number
}

export interface UpgradeRelay {
  /** The whole exchange, as a pass of http-proxy in place of its `stream`. Throws only before anything has happened. */
  pass(req: IncomingMessage, client: Socket, options: unknown, head: Buffer): true
  stats(): UpgradeStats
  /** Lets what runs end for at most `grace` ms (default 0), then cuts it; resolves when all is closed and recorded. */
  close(grace?: number): Promise<void>
}

/** What a client may send before the origin has agreed is held, to this many bytes; beyond it TCP holds it. */
const MAX_EARLY_BYTES = 65_536

type ObservedResponse = Pick<Observation, 'status' | 'bytes' | 'content_type'>

/** One client waiting for its upgrade: `end` stops the waiting and gives what it has sent meanwhile. */
interface UpgradeExchange {
  readonly req: IncomingMessage
  readonly client: Socket
  readonly upstream: ClientRequest
  phase: 'waiting' | 'answered' | 'open'
  seen: ObservedResponse
  end(next: 'answered' | 'open'): Buffer[]
  /** Records it, the first time. */
  settle(): void
}

export function createUpgradeRelay(options: UpgradeRelayOptions): UpgradeRelay {
  const { headersTimeout = 60_000, idleTimeout = 300_000, now = Date.now } = options
  const live = new Set<Socket>()
  const stats: UpgradeStats = { open: 0, waiting: 0, switched: 0, refused: 0, failed: 0 }
  let drained: (() => void) | undefined

  const report = (kind: UpgradeError, error: unknown) =>
    options.onError?.(kind, error instanceof Error ? error : new Error(String(error)))

  const fail = (exchange: UpgradeExchange, kind: UpgradeError, error: unknown) => {
    const { req, client, upstream, phase } = exchange
    if (client.destroyed) return
    stats.failed++
    report(kind, error)
    if (phase === 'waiting') {
      const status = kind === 'timeout' ? 504 : 502
      const text = `${status} ${STATUS_CODES[status]}\n`
      const content_type = 'text/plain; charset=utf-8'
      exchange.end('answered')
      exchange.seen = { status, bytes: text.length, content_type }
      const headers = ['Content-Type', content_type, 'Content-Length', `${text.length}`, 'Connection', 'close']
      respondOnSocket(req, client, status, STATUS_CODES[status], headers).once('finish', exchange.settle).end(text)
    } else client.destroy()
    upstream.destroy()
  }

  const refuse = (exchange: UpgradeExchange, incoming: IncomingMessage) => {
    const { req, client } = exchange
    const status = incoming.statusCode ?? 0
    if (status < 200) throw new Error(`the origin answered ${status} unasked`)
    const headers = refusalHeaders(incoming)
    const res = respondOnSocket(req, client, status, incoming.statusMessage, headers).once('finish', exchange.settle)
    exchange.end('answered')
    stats.refused++
    const seen = { status, bytes: 0, content_type: lastHeader(headers, 'content-type') }
    exchange.seen = seen
    incoming.on('data', (chunk: Buffer) => {
      seen.bytes += chunk.length
    })
    incoming.setTimeout(idleTimeout, () => incoming.destroy(new Error(`no progress within ${idleTimeout} ms`)))
    client.setTimeout(idleTimeout, () => client.destroy())
    // Before the pipeline destroys both: a body that breaks off is cut for the client too, its framing left open.
    incoming.once('error', (error) => fail(exchange, 'cut', error))
    pipeline(incoming, res, () => {})
  }

  const open = (exchange: UpgradeExchange, incoming: IncomingMessage, socket: Socket, first: Buffer) => {
    const { req, client } = exchange
    // Before anything else: from here on nobody but us listens.
    socket.on('error', () => {})
    if (client.destroyed) return abort(socket)
    const protocol = incoming.headers.upgrade ?? ''
    const asked = parseTokens(req.headers.upgrade ?? '')
    const agreed = parseTokens(protocol)
    if (agreed.length === 0 || !agreed.every((token) => asked.includes(token))) {
      socket.destroy()
      return fail(exchange, 'invalid', new Error(`the origin switched to ${JSON.stringify(protocol)} unasked`))
    }
    const early = exchange.end('open')
    stats.switched++
    stats.open++
    const seen = { status: 101, bytes: first.length, content_type: '' }
    exchange.seen = seen
    const fields = [...endToEndHeaders(incoming.rawHeaders), 'Connection', 'Upgrade', 'Upgrade', protocol]
    client.write(formatHead(`HTTP/1.1 101 ${incoming.statusMessage ?? ''}`, fields), 'latin1')
    // Written, not put back for a reader: what came with the 101 may have come with the end as well.
    if (first.length > 0) client.write(first)
    for (const chunk of early) socket.write(chunk)
    socket.on('data', (chunk: Buffer) => {
      seen.bytes += chunk.length
    })
    tunnel(client, socket, idleTimeout)
  }

  const pass = (req: IncomingMessage, client: Socket, _options: unknown, head: Buffer): true => {
    const facts = observeRequest(req, options.clientAddress(req), now())
    const started = performance.now()
    const fields = endToEndHeaders(options.requestHeaders?.(req) ?? req.rawHeaders)
    const host = lastHeader(fields, 'host') === '' ? ['Host', req.headers.host ?? ''] : []
    const headers = [...host, ...fields, 'Connection', 'Upgrade', 'Upgrade', req.headers.upgrade ?? '']
    const upstream = openOriginRequest(options.origin, req.url ?? '/', headers, options.tls)
    live.add(client)
    stats.waiting++

    const early = head.length > 0 ? [head] : []
    let held = head.length
    let settled = false
    // Read while waiting, or a client's FIN would go unseen until the origin answers.
    const hold = (chunk: Buffer) => {
      early.push(chunk)
      held += chunk.length
      if (held > MAX_EARLY_BYTES) client.pause()
    }
    const gone = () => client.destroy()
    const timer = setTimeout(
      () => fail(exchange, 'timeout', new Error(`the origin did not answer within ${headersTimeout} ms`)),
      headersTimeout,
    )
    const exchange: UpgradeExchange = {
      req,
      client,
      upstream,
      phase: 'waiting',
      seen: { status: 499, bytes: 0, content_type: '' },
      end(next) {
        if (this.phase === 'waiting') stats.waiting--
        this.phase = next
        clearTimeout(timer)
        client.off('data', hold)
        client.off('end', gone)
        if (next === 'answered') client.resume()
        return early
      },
      settle() {
        if (settled) return
        settled = true
        try {
          options.record?.({ ...facts, ...exchange.seen, duration_ms: Math.round(performance.now() - started) })
        } catch (error) {
          report('fault', error)
        }
      },
    }
    client.on('data', hold)
    client.once('end', gone)
    client.once('close', () => {
      if (exchange.phase === 'waiting') exchange.end('answered')
      else if (exchange.phase === 'open') stats.open--
      upstream.destroy()
      live.delete(client)
      exchange.settle()
      if (live.size === 0) drained?.()
    })

    const guarded =
      <A extends unknown[]>(step: (exchange: UpgradeExchange, ...args: A) => void) =>
      (...args: A) => {
        try {
          step(exchange, ...args)
        } catch (error) {
          fail(exchange, 'invalid', error)
        }
      }
    upstream.on('error', (error: NodeJS.ErrnoException) => {
      if (exchange.phase === 'waiting')
        fail(exchange, error.code?.startsWith('HPE_') ? 'invalid' : 'unreachable', error)
    })
    upstream.on('information', (info) => {
      // RFC 9110 15.2: passed on. A client that does not read must not make us pile them up.
      if (exchange.phase !== 'waiting' || client.destroyed || client.writableNeedDrain) return
      client.write(
        formatHead(`HTTP/1.1 ${info.statusCode} ${info.statusMessage}`, endToEndHeaders(info.rawHeaders)),
        'latin1',
      )
    })
    upstream.once('response', guarded(refuse))
    upstream.once('upgrade', guarded(open))
    upstream.end()
    return true
  }

  return {
    pass,
    stats: () => ({ ...stats }),
    close: (grace = 0) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => {
          for (const client of live) client.destroy()
        }, grace)
        drained = () => {
          clearTimeout(timer)
          resolve()
        }
        if (live.size === 0) drained()
      }),
  }
}

/** 426 names the protocols it wants in `Upgrade`, and must (RFC 9110 15.5.22). */
function refusalHeaders(incoming: IncomingMessage): string[] {
  const fields = endToEndHeaders(incoming.rawHeaders)
  return incoming.statusCode === 426 && incoming.headers.upgrade !== undefined
    ? [...fields, 'Upgrade', incoming.headers.upgrade, 'Connection', 'Upgrade, close']
    : [...fields, 'Connection', 'close']
}
