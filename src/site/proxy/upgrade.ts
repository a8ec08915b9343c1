import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import httpProxy from 'http-proxy'
import { forEachHeader, formatHead, parseTokens } from './message-heads.js'
import { afterPendingResponses } from './response-writer.js'
import { createUpgradeRelay, type UpgradeRelayOptions } from './upgrade-relay.js'

export interface UpgradeOptions extends UpgradeRelayOptions {
  /** Takes back a connection whose request is not upgraded; the request, without `Upgrade`, is the next thing to read. */
  handleAsOrdinary(socket: Socket): void
  /** Returns whether a target belongs to the service: the origin must not see it, so it is never upgraded. */
  isServicePath?(target: string): boolean
}

/** http-proxy with the method that puts a pass before one of its own, which its type declarations lack. */
class UpgradeProxy extends httpProxy {
  declare before: (type: 'ws', name: string, pass: ReturnType<typeof createUpgradeRelay>['pass']) => void
}

/**
 * Creates the handler of upgrade requests. WebSockets run through the passes of http-proxy: `checkMethodAndHeader` and
 * `XHeaders`, then ours, which ends the list before `stream`. That pass crashes the process when a client resets before
 * the 101, hangs up on a refusal or breaks its framing, and leaks the origin's socket. `XHeaders` adds nothing without
 * `xfwd`: it would keep the statements of an untrusted peer. Other protocols come to our pass at once, because
 * `checkMethodAndHeader` hangs up on them.
 */
export function createUpgrader(options: UpgradeOptions) {
  const relay = createUpgradeRelay(options)
  const proxy = new UpgradeProxy({ target: options.origin.href })
  proxy.before('ws', 'stream', relay.pass)
  proxy.on('error', (error) => options.onError?.('fault', error))

  const begin = (req: IncomingMessage, socket: Socket, head: Buffer): void => {
    if (socket.destroyed) return
    try {
      if (isUpgrade(req) && !options.isServicePath?.(req.url ?? '')) {
        if (req.headers.upgrade?.toLowerCase() === 'websocket') proxy.ws(req, socket, head)
        else relay.pass(req, socket, undefined, head)
      } else {
        socket.off('error', ignore)
        socket.unshift(Buffer.concat([Buffer.from(headWithoutUpgrade(req), 'latin1'), head]))
        options.handleAsOrdinary(socket)
      }
    } catch (error) {
      socket.on('error', ignore)
      socket.destroy()
      options.onError?.('fault', error instanceof Error ? error : new Error(String(error)))
    }
  }

  return {
    /** For a server's `upgrade` event. Never throws. */
    upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
      // Node has removed its own listeners: a reset would be an uncaught error and end the process.
      socket.on('error', ignore)
      if (socket instanceof Socket) afterPendingResponses(socket, () => begin(req, socket, head))
      else socket.destroy()
    },
    stats: relay.stats,
    /** Lets exchanges and tunnels end for at most `grace` ms (default 0), then closes them. */
    close: relay.close,
  }
}

function ignore(): void {}

/**
 * Returns whether a request is upgraded. Only the plain form is: HTTP/1.1, GET, a path, one Host, nothing that could frame
 * a body, and protocols that do not carry HTTP themselves (through h2c or TLS a client would send requests that the proxy
 * does not see). A server may ignore `Upgrade` in any other request (RFC 9110 7.8), which is then an ordinary one.
 */
function isUpgrade(req: IncomingMessage): boolean {
  const protocols = parseTokens(req.headers.upgrade ?? '')
  let hosts = 0
  let body = false
  forEachHeader(req.rawHeaders, (name, value) => {
    const lower = name.toLowerCase()
    if (lower === 'host') hosts++
    // Includes names like `transfer_encoding`: some origins read them as the real field.
    if (/^(content.length|transfer.encoding)$/.test(lower)) body ||= lower !== 'content-length' || value !== '0'
  })
  return (
    req.httpVersion === '1.1' &&
    req.method === 'GET' &&
    (req.url ?? '').startsWith('/') &&
    hosts === 1 &&
    !body &&
    protocols.length > 0 &&
    protocols.every(
      (token) =>
        /^[\w!#$%&'*+.^`|~-]+(\/[\w!#$%&'*+.^`|~-]+)?$/.test(token) && !/^(h2c?|h3|https?|tls)(\/|$)/.test(token),
    )
  )
}

/** Formats the request's head as it came, without the request to upgrade. */
function headWithoutUpgrade(req: IncomingMessage): string {
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
