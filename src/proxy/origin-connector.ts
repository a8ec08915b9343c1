import { isIP, type Socket } from 'node:net'
import { buildConnector } from 'undici'

/** Facts about connections to the origin that undici does not report. */
export interface ConnectionState {
  /** Set while undici learns that a connection ended: whether a reset ended it. */
  endedByReset: boolean
  /** The head that undici passes on is a 100, which it was told is a 102. */
  continued: boolean
  /** The connection that is being read. */
  reading: Socket | undefined
  /** Resumes a response that is paused because its client is slow. */
  readonly resume: WeakMap<Socket, () => void>
}

/** Creates undici's connector, with one server name for the origin and with resets reported as failures. */
export function createConnector(
  origin: URL,
  options: buildConnector.BuildOptions,
  state: ConnectionState,
): buildConnector.connector {
  const hostname = origin.hostname.replace(/^\[|\]$/g, '')
  const connect = buildConnector(options)
  return (request, callback) => {
    // The certificate must name the configured origin, not the client's `Host`; an IP address is not a server name.
    connect({ ...request, servername: isIP(hostname) ? '' : hostname }, (...args) => {
      const [error, socket] = args
      if (error !== null) return callback(error, null)
      // Runs before undici's listeners. They take a reset for the end of a body that only the close would end (a
      // truncated success), and one of their assertions throws where the parser is paused. As a socket error a reset
      // does neither, and a request that was not yet written to a stale connection goes to a new one.
      socket.on('error', (reset: NodeJS.ErrnoException) => {
        if (reset.code !== 'ECONNRESET' && reset.code !== 'EPIPE') return
        Object.assign(reset, { code: 'UND_ERR_SOCKET', socket: { bytesRead: socket.bytesRead } })
      })
      socket.on('readable', () => {
        state.reading = socket
      })
      // libuv reports a reset with unread bytes as an end. A connection that was reset has no peer any more, one that
      // the peer closed still has. Do not read `remoteAddress` earlier: Node caches it.
      socket.on('end', () => {
        // undici 7 does not take the end of a paused response (an assertion throws, and its client waits for ever).
        // All of it has been read by now.
        state.resume.get(socket)?.()
        state.endedByReset = socket.remoteAddress === undefined
      })
      callback(null, socket)
      acceptContinue(socket, state)
      socket.on('end', () => {
        state.endedByReset = false
      })
    })
  }
}

/**
 * Lets undici 7 accept a 100 response: it closes the connection at one, although an origin may send it unasked and a
 * proxy must forward it (RFC 9110 15.2). To the parser of this connection a 100 is a 102, which undici forwards.
 */
function acceptContinue(socket: Socket, state: ConnectionState): void {
  const symbol = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser')
  const parser: unknown = symbol && Reflect.get(socket, symbol)
  if (typeof parser !== 'object' || parser === null || !('onHeadersComplete' in parser)) return
  const { onHeadersComplete } = parser
  if (typeof onHeadersComplete !== 'function') return
  parser.onHeadersComplete = (status: number, ...rest: unknown[]): unknown => {
    state.continued = status === 100
    return Reflect.apply(onHeadersComplete, parser, [state.continued ? 102 : status, ...rest])
  }
}

/** How an origin failed; `/metrics` counts by these names. */
export type OriginFailure =
  | 'refused'
  | 'unresolved'
  | 'connect_timeout'
  | 'headers_timeout'
  | 'body_timeout'
  | 'closed'
  | 'protocol'
  | 'other'

const FAILURE_BY_CODE: Readonly<Record<string, OriginFailure>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  ENOTFOUND: 'unresolved',
  EAI_AGAIN: 'unresolved',
  ETIMEDOUT: 'connect_timeout',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  UND_ERR_HEADERS_TIMEOUT: 'headers_timeout',
  UND_ERR_BODY_TIMEOUT: 'body_timeout',
  UND_ERR_SOCKET: 'closed',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
}

/** Classifies an error of Node or undici. */
export function originFailure(error: Error): OriginFailure {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return FAILURE_BY_CODE[code] ?? (code.startsWith('HPE_') || error.name === 'HTTPParserError' ? 'protocol' : 'other')
}
