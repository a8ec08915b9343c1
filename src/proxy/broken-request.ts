import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

const STATUS_BY_PARSER_ERROR: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** The status for what Node's parser reported of a request that it could not read. */
export const parserErrorStatus = (error: NodeJS.ErrnoException): number =>
  STATUS_BY_PARSER_ERROR[error.code ?? ''] ?? 400

/** Answer on a connection that has no response object, and close it: its next byte means nothing to us. */
export function refuseConnection(socket: Duplex, status: number): void {
  if (!socket.writable) return void socket.destroy()
  const body = `${status} ${STATUS_CODES[status]}\n`
  socket.on('error', () => {})
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}
