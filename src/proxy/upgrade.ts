import type { IncomingMessage } from 'node:http'
import { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import httpProxy from 'http-proxy'
import { forEachHeader, formatHead, parseTokens } from './raw-headers.js'
import { createUpgradeRelay, type UpgradeRelayOptions, type UpgradeStats } from './upgrade-relay.js'

export interface UpgradeOptions extends UpgradeRelayOptions {
  /**
   * Takes back a connection whose request is not to be upgraded; the request, without `Upgrade`, is the next thing read
   * from it.
   */
  handleAsOrdinary(socket: Socket): void
  /** Targets that are ours, of which the origin must not hear: none of them is upgraded. */
  isServicePath?(target: string): boolean
}

export interface Upgrader {
  /** For a server's `upgrade` event. Never throws. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void
  stats(): UpgradeStats
  /** Lets exchanges and tunnels end for at most `grace` ms (default 0), then cuts them; resolves when all are recorded. */
  close(grace?: number): Promise<void>
}

/**
 * Upgrades through http-proxy (WebSocket and whatever else a site speaks). http-proxy takes the request through its
 * list of passes; the list is ours, because its own passes lose answers, bytes and sockets (README, Decisions).
 */
export function createUpgrader(options: UpgradeOptions): Upgrader {
  const relay = createUpgradeRelay(options)
  const proxy = httpProxy.createProxyServer({ target: options.origin.href })
  Object.assign(proxy, { wsPasses: [relay.pass] })
  proxy.on('error', (error) => options.onError?.('fault', error))

  const begin = (req: IncomingMessage, socket: Socket, head: Buffer): void => {
    if (socket.destroyed) return
    try {
      if (isUpgrade(req) && !options.isServicePath?.(req.url ?? '')) {
        proxy.ws(req, socket, head)
      } else {
        socket.off('error', ignore)
        socket.unshift(Buffer.concat([Buffer.from(withoutUpgrade(req), 'latin1'), head]))
        options.handleAsOrdinary(socket)
      }
    } catch (error) {
      socket.on('error', ignore)
      socket.destroy()
      options.onError?.('fault', error instanceof Error ? error : new Error(String(error)))
    }
  }

  return {
    upgrade(req, socket, head) {
      // Node has taken its own listeners off: a reset would be an uncaught error, and the end of the process.
      socket.on('error', ignore)
      if (socket instanceof Socket) afterPendingResponses(socket, () => begin(req, socket, head))
      else socket.destroy()
    },
    stats: relay.stats,
    close: relay.close,
  }
}

function ignore(): void {}

/**
 * Only the plain form is switched: HTTP/1.1, GET, a path, one Host, nothing that could frame a body, and protocols that
 * do not carry HTTP themselves (through h2c or TLS a client would send requests that nobody sees). For all else a
 * server may ignore `Upgrade` (RFC 9110 7.8), and the rules for ordinary requests decide.
 */
export function isUpgrade(req: IncomingMessage): boolean {
  const asked = parseTokens(req.headers.upgrade ?? '')
  let hosts = 0
  let body = false
  forEachHeader(req.rawHeaders, (name, value) => {
    const lower = name.toLowerCase()
    if (lower === 'host') hosts++
    // Look-alikes too (`transfer_encoding`): some origins read them as the real thing.
    if (/^(content.length|transfer.encoding)$/.test(lower)) body ||= lower !== 'content-length' || value !== '0'
  })
  return (
    req.httpVersion === '1.1' &&
    req.method === 'GET' &&
    (req.url ?? '').startsWith('/') &&
    hosts === 1 &&
    !body &&
    asked.length > 0 &&
    asked.every(
      (token) =>
        /^[\w!#$%&'*+.^`|~-]+(\/[\w!#$%&'*+.^`|~-]+)?$/.test(token) && !/^(h2c?|h3|https?|tls)(\/|$)/.test(token),
    )
  )
}

/** The request's head as it came, without the wish to upgrade. */
function withoutUpgrade(req: IncomingMessage): string {
  const kept: string[] = []
  forEachHeader(req.rawHeaders, (name, value) => {
    const lower = name.toLowerCase()
    if (lower === 'upgrade' || lower === 'http2-settings') return
    if (lower !== 'connection') return kept.push(name, value)
    const left = parseTokens(value).filter((token) => token !== 'upgrade' && token !== 'http2-settings')
    if (left.length > 0) kept.push(name, left.join(', '))
  })
  return formatHead(`${req.method} ${req.url} HTTP/${req.httpVersion}`, kept)
}

/** A client may pipeline an upgrade behind other requests: their answers come first, whole. */
function afterPendingResponses(socket: Socket, go: () => void): void {
  const answering = Reflect.get(socket, '_httpMessage')
  if (!(answering instanceof ServerResponse)) {
    go()
    return
  }
  const drain = () => answering.emit('drain')
  socket.on('drain', drain)
  answering.once('close', () => {
    socket.off('drain', drain)
    socket.setTimeout(0)
    afterPendingResponses(socket, go)
  })
}
