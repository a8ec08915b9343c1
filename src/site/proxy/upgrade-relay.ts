import { type ClientRequest, type IncomingMessage, request, ServerResponse, STATUS_CODES } from 'node:http'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import type { FetchDecision, SubstituteResponse } from '../../capture/decision.js'
import type { Observation } from '../../capture/observation.js'
import type { LiveRules } from '../rules/live-rules.js'
import { toArrivingRequest } from './arriving-request.js'
import { hopOf } from './hop.js'
import { formatHead, parseTokens, type ResponseHead, readRequestHead, readResponseHead } from './message-heads.js'
import { observeRequest, type RequestObservation } from './observe-request.js'
import { abort, tunnel } from './tunnel.js'

export interface UpgradeRelayOptions {
  origin: URL
  clientAddress(req: IncomingMessage): string
  /** Returns whether a peer is a proxy whose `X-Forwarded-*` are believed. */
  isTrustedPeer(peer: string): boolean
  /** Time until the origin's response begins, in ms (default 60,000); then the client gets 504. */
  headersTimeout?: number
  /** Time without progress in the body of a refusal, or in a tunnel that one side has ended, in ms (default 300,000). */
  idleTimeout?: number
  onError?(kind: UpgradeError, error: Error): void
  /** Called once per exchange, when it is over: for a tunnel, when it closes, with status 101 and the bytes after it. */
  record?(observation: Observation): void
  /** Epoch ms. */
  now?(): number
  /** The rules for agents; a strict rule does not wait here. */
  rules?: Pick<LiveRules, 'decide'>
  /** For an https origin: `ca`, `rejectUnauthorized`. */
  tls?: ConnectionOptions
}

/**
 * `unreachable` and `invalid` give the client a 502, `timeout` a 504. `cut`: the origin broke off its response. `fault`: an
 * error in this process.
 */
type UpgradeError = 'unreachable' | 'timeout' | 'invalid' | 'cut' | 'fault'

/** Counts since the start; `open` tunnels and `waiting` requests are those of this moment. */
export interface UpgradeStats {
  open: number
  waiting: number
  switched: number
  refused: number
  failed: number
}

/** Bytes that are buffered before the origin agrees to the upgrade; a client that sends more is paused. */
const MAX_EARLY_BYTES = 65_536
const MAX_HEAD_BYTES = 65_536

/** The state that all exchanges of a relay share. */
interface RelayState {
  readonly options: UpgradeRelayOptions
  readonly stats: UpgradeStats
  /** Connections of clients whose exchange is not over. */
  readonly clients: Set<Socket>
  onEmpty?: () => void
}

/** Creates the relay of upgrade requests: one connection to the origin for each. */
export function createUpgradeRelay(options: UpgradeRelayOptions) {
  const stats: UpgradeStats = { open: 0, waiting: 0, switched: 0, refused: 0, failed: 0 }
  const state: RelayState = { options, stats, clients: new Set() }
  return {
    /** Relays one exchange, as a pass of http-proxy that comes before its `stream`. Throws only before it does anything. */
    pass(req: IncomingMessage, client: Socket, _options: unknown, head: Buffer): true {
      const decision = options.rules?.decide?.(toRequest(req, options))
      if (decision?.response) substitute(req, client, decision, decision.response, state)
      else new UpgradeExchange(req, client, head, state, decision).begin()
      return true
    },
    stats: (): UpgradeStats => ({ ...stats }),
    /** Lets exchanges end for at most `grace` ms (default 0), then closes them. Resolves when all are recorded. */
    close: (grace = 0): Promise<void> =>
      new Promise((resolve) => {
        const timer = setTimeout(() => {
          for (const client of state.clients) client.destroy()
        }, grace)
        state.onEmpty = () => {
          clearTimeout(timer)
          resolve()
        }
        if (state.clients.size === 0) state.onEmpty()
      }),
  }
}

/** One client's upgrade, from its request to the end of its tunnel or of the origin's refusal. */
class UpgradeExchange {
  #phase: 'waiting' | 'responded' | 'open' = 'waiting'
  #response: Pick<Observation, 'status' | 'bytes' | 'content_type'> = { status: 499, bytes: 0, content_type: '' }
  #recorded = false
  #timer: NodeJS.Timeout | undefined
  /** Bytes that the client sent before the origin agreed. */
  readonly #early: Buffer[]
  #earlyBytes: number
  readonly #requestObservation: RequestObservation
  readonly #startedAt = performance.now()
  readonly #upstream: ClientRequest
  readonly #headersTimeout: number
  readonly #idleTimeout: number

  constructor(
    readonly req: IncomingMessage,
    readonly client: Socket,
    head: Buffer,
    readonly state: RelayState,
    readonly decision: FetchDecision | undefined,
  ) {
    const { origin, clientAddress, isTrustedPeer, tls, headersTimeout, idleTimeout, now } = state.options
    this.#headersTimeout = headersTimeout ?? 60_000
    this.#idleTimeout = idleTimeout ?? 300_000
    this.#early = head.length > 0 ? [head] : []
    this.#earlyBytes = head.length
    this.#requestObservation = observeRequest(req, clientAddress(req), now?.() ?? Date.now())
    const { fields, host } = readRequestHead(req.rawHeaders, hopOf(req, isTrustedPeer))
    const connection = ['Connection', 'Upgrade', 'Upgrade', req.headers.upgrade ?? '']
    this.#upstream = openOriginRequest(origin, req.url ?? '/', ['Host', host ?? '', ...fields, ...connection], tls)
  }

  begin(): void {
    const { client, state } = this
    const upstream = this.#upstream
    state.clients.add(client)
    state.stats.waiting++
    const timedOut = () => new Error(`the origin did not respond within ${this.#headersTimeout} ms`)
    this.#timer = setTimeout(() => this.#fail('timeout', timedOut()), this.#headersTimeout)
    // Reads while waiting, or a client's FIN would stay unnoticed until the origin responds.
    client.on('data', this.#buffer)
    client.once('end', this.#destroyClient)
    client.once('close', () => {
      if (this.#phase === 'waiting') this.#stopWaiting('responded')
      else if (this.#phase === 'open') state.stats.open--
      upstream.destroy()
      state.clients.delete(client)
      this.#record()
      if (state.clients.size === 0) state.onEmpty?.()
    })
    upstream.on('error', (error: NodeJS.ErrnoException) => {
      if (this.#phase === 'waiting') this.#fail(error.code?.startsWith('HPE_') ? 'invalid' : 'unreachable', error)
    })
    upstream.on('information', (info) => {
      // RFC 9110 15.2: forwarded, unless the client does not read; its buffer must not grow.
      if (this.#phase !== 'waiting' || client.destroyed || client.writableNeedDrain) return
      const { fields } = readResponseHead(info.rawHeaders, info.statusCode, false)
      client.write(formatHead(`HTTP/1.1 ${info.statusCode} ${info.statusMessage}`, fields), 'latin1')
    })
    upstream.once('response', (incoming) => this.#orFail(() => this.#refuse(incoming)))
    upstream.once('upgrade', (incoming, socket, head) => this.#orFail(() => this.#open(incoming, socket, head)))
    upstream.end()
  }

  readonly #buffer = (chunk: Buffer): void => {
    this.#early.push(chunk)
    this.#earlyBytes += chunk.length
    if (this.#earlyBytes > MAX_EARLY_BYTES) this.client.pause()
  }

  readonly #destroyClient = (): void => void this.client.destroy()

  #orFail(step: () => void): void {
    try {
      step()
    } catch (error) {
      this.#fail('invalid', error)
    }
  }

  #stopWaiting(next: 'responded' | 'open'): void {
    if (this.#phase === 'waiting') this.state.stats.waiting--
    this.#phase = next
    clearTimeout(this.#timer)
    this.client.off('data', this.#buffer)
    this.client.off('end', this.#destroyClient)
    if (next === 'responded') this.client.resume()
  }

  #fail(kind: UpgradeError, error: unknown): void {
    const { req, client, state } = this
    if (client.destroyed) return
    state.stats.failed++
    this.#report(kind, error)
    if (this.#phase === 'waiting') {
      const status = kind === 'timeout' ? 504 : 502
      const text = `${status} ${STATUS_CODES[status]}\n`
      const content_type = 'text/plain; charset=utf-8'
      this.#stopWaiting('responded')
      this.#response = { status, bytes: text.length, content_type }
      const headers = ['Content-Type', content_type, 'Content-Length', `${text.length}`, 'Connection', 'close']
      const res = respondOnSocket(req, client, status, STATUS_CODES[status], headers)
      res.once('finish', () => this.#record()).end(text)
    } else client.destroySoon()
    this.#upstream.destroy()
  }

  /** Relays a response other than 101. */
  #refuse(incoming: IncomingMessage): void {
    const { req, client, state } = this
    const status = incoming.statusCode ?? 0
    if (status < 200) throw new Error(`unexpected status ${status} from the origin`)
    const head = readResponseHead(incoming.rawHeaders, status, false)
    const res = respondOnSocket(req, client, status, incoming.statusMessage, refusalHeaders(status, head))
    res.once('finish', () => this.#record())
    this.#stopWaiting('responded')
    state.stats.refused++
    const response = { status, bytes: 0, content_type: head.content_type }
    this.#response = response
    incoming.on('data', (chunk: Buffer) => {
      response.bytes += chunk.length
    })
    const idle = this.#idleTimeout
    incoming.setTimeout(idle, () => incoming.destroy(new Error(`no progress within ${idle} ms`)))
    client.setTimeout(idle, this.#destroyClient)
    // No `pipeline`, which would destroy the client's connection with what is still to be sent on it. A body that breaks
    // off breaks off for the client too, after all that came before. Node ends a body without a length as if it were
    // complete when its connection is reset, and reports the reset on the request only.
    let cut = false
    const breakOff = (error: Error): void => {
      if (cut) return
      cut = true
      this.#fail('cut', error)
    }
    incoming.once('error', breakOff)
    this.#upstream.on('error', (error) => incoming.complete || breakOff(error))
    res.write(Buffer.alloc(0))
    incoming.pipe(res)
  }

  /** Opens the tunnel after a 101. */
  #open(incoming: IncomingMessage, socket: Socket, head: Buffer): void {
    const { req, client, state } = this
    // First of all: from here on nothing else listens for errors.
    socket.on('error', () => {})
    if (client.destroyed) {
      abort(socket)
      return
    }
    const protocol = incoming.headers.upgrade ?? ''
    const requested = parseTokens(req.headers.upgrade ?? '')
    const agreed = parseTokens(protocol)
    if (agreed.length === 0 || !agreed.every((token) => requested.includes(token))) {
      socket.destroy()
      throw new Error(`the origin switched to ${JSON.stringify(protocol)}, which was not requested`)
    }
    this.#stopWaiting('open')
    state.stats.switched++
    state.stats.open++
    const response = { status: 101, bytes: head.length, content_type: '' }
    this.#response = response
    const { fields } = readResponseHead(incoming.rawHeaders, 101, false)
    const lines = [...fields, 'Connection', 'Upgrade', 'Upgrade', protocol]
    client.write(formatHead(`HTTP/1.1 101 ${incoming.statusMessage ?? ''}`, lines), 'latin1')
    // Written and not unshifted: the bytes that came with the 101 may have come with the end as well.
    if (head.length > 0) client.write(head)
    for (const chunk of this.#early) socket.write(chunk)
    socket.on('data', (chunk: Buffer) => {
      response.bytes += chunk.length
    })
    tunnel(client, socket, this.#idleTimeout)
  }

  #record(): void {
    if (this.#recorded) return
    this.#recorded = true
    const duration_ms = Math.round(performance.now() - this.#startedAt)
    const { decided, countBytes } = this.decision ?? {}
    countBytes?.(this.#response.bytes)
    const observation = { ...this.#requestObservation, ...this.#response, duration_ms, ...(decided && { decided }) }
    try {
      this.state.options.record?.(observation)
    } catch (error) {
      this.#report('fault', error)
    }
  }

  #report(kind: UpgradeError, error: unknown): void {
    this.state.options.onError?.(kind, error instanceof Error ? error : new Error(String(error)))
  }
}

/** Returns the request of an upgrade as the rules for agents need it. */
function toRequest(req: IncomingMessage, { clientAddress, isTrustedPeer, now }: UpgradeRelayOptions) {
  const { host = '' } = readRequestHead(req.rawHeaders, hopOf(req, isTrustedPeer))
  const exchange = { req, method: req.method ?? 'GET', host, path: req.url ?? '/', ip: clientAddress(req) }
  return toArrivingRequest(exchange, now?.() ?? Date.now(), false)
}

/** Sends the response of a rule in place of an upgrade, without asking the origin, and records it. */
function substitute(
  req: IncomingMessage,
  client: Socket,
  { decided }: FetchDecision,
  { status, headers, body }: SubstituteResponse,
  { options, stats, clients, ...state }: RelayState,
): void {
  stats.refused++
  const bytes = Buffer.byteLength(body)
  const fields = [...headers.flat(), 'content-length', String(bytes), 'connection', 'close']
  const observation = {
    ...observeRequest(req, options.clientAddress(req), options.now?.() ?? Date.now()),
    status,
    bytes,
    duration_ms: 0,
    content_type: headers.find(([name]) => name === 'content-type')?.[1] ?? '',
    ...(decided && { decided }),
  }
  clients.add(client)
  client.once('close', () => {
    clients.delete(client)
    if (clients.size === 0) state.onEmpty?.()
  })
  const res = respondOnSocket(req, client, status, STATUS_CODES[status], fields)
  res.end(body)
  options.record?.(observation)
}

/** A 426 must name the protocols that it requires in `Upgrade` (RFC 9110 15.5.22). */
const refusalHeaders = (status: number, { fields }: ResponseHead): string[] => [
  ...fields,
  'Connection',
  status === 426 && fields.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'upgrade')
    ? 'Upgrade, close'
    : 'close',
]

/**
 * Opens a GET request to the origin, not yet ended, on a connection of its own: never pooled, so no later exchange finds
 * anything left on it, and resolved again. `path` is sent byte for byte: a URL parser would take `//x` for a host and
 * remove dot segments. The connection can be half-closed. Throws if Node refuses a header or the path.
 */
function openOriginRequest(
  origin: URL,
  path: string,
  headers: readonly string[],
  tls: ConnectionOptions = {},
): ClientRequest {
  const host = origin.hostname.replace(/^\[|\]$/g, '')
  const secure = origin.protocol === 'https:'
  const to = { host, port: Number(origin.port) || (secure ? 443 : 80), allowHalfOpen: true }
  return request({
    method: 'GET',
    path,
    headers,
    maxHeaderSize: MAX_HEAD_BYTES,
    createConnection: () =>
      secure
        ? connectTls({ servername: isIP(host) ? '' : host, ...tls, ...to, ALPNProtocols: ['http/1.1'] })
        : connectTcp(to),
  })
}

/**
 * Begins an ordinary response on a socket that Node released for an upgrade; Node frames the body. The connection ends
 * with it, because the client's next bytes were meant for another protocol. `headers` are raw pairs with a `Connection`
 * that says close. Throws, with nothing sent, if Node refuses the status, reason or a header.
 */
function respondOnSocket(
  req: IncomingMessage,
  client: Socket,
  status: number,
  reason: string | undefined,
  headers: string[],
): ServerResponse {
  const res = new ServerResponse(req)
  res.shouldKeepAlive = false
  res.sendDate = false
  res.writeHead(status, reason, headers)
  res.assignSocket(client)
  // The server that would pass this event on has released the socket.
  client.on('drain', () => res.emit('drain'))
  res.once('finish', () => linger(client))
  return res
}

/** Time for a client to stop sending after its response and our FIN: closing on unread bytes would reset the response. */
const LINGER_MS = 2_000

function linger(socket: Socket): void {
  if (socket.destroyed) return
  socket.end()
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}
