/** Methods that announce an empty body with a length of 0 (RFC 9110 8.6). */
const EXPECTS_BODY = new Set(['POST', 'PUT', 'PATCH', 'QUERY', 'PROPFIND', 'PROPPATCH'])

/** Bytes that no field may carry: they could end it and begin another, or another request. */
const UNSAFE = /[^\t\x20-\x7e\x80-\xff]/
const UNSAFE_IN_PATH = /[^\x21-\x7e\x80-\xff]/

/** A request for the origin, without its body. */
export interface RequestLine {
  method: string
  path: string
  host: string
  /** Name, value, name, value, without `Host`, `Connection` and those that frame the body. */
  fields: readonly string[]
}

/**
 * Returns whether the connection is closed after the response. Some origins send a body after HEAD, or take the body of
 * a GET or DELETE for the next request; neither may become part of another exchange.
 */
export const closesAfter = (method: string, hasBody: boolean): boolean =>
  method === 'HEAD' || (hasBody && !EXPECTS_BODY.has(method))

/**
 * Formats a request's head as latin1 text. `length` is the body's, `chunked`, or undefined without a body. Throws if a
 * part of it could be read as more than that part.
 */
export function formatRequestHead({ method, path, host, fields }: RequestLine, length: string | undefined): string {
  if (UNSAFE_IN_PATH.test(path) || UNSAFE.test(host)) throw new Error('unsafe bytes in a request')
  const connection = closesAfter(method, length !== undefined) ? 'close' : 'keep-alive'
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: ${connection}\r\n`
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const value = fields[i + 1] ?? ''
    if (UNSAFE.test(value)) throw new Error('unsafe bytes in a field')
    head += `${fields[i]}: ${value}\r\n`
  }
  if (length === 'chunked') return `${head}transfer-encoding: chunked\r\n\r\n`
  if (length !== undefined) return `${head}content-length: ${length}\r\n\r\n`
  return EXPECTS_BODY.has(method) ? `${head}content-length: 0\r\n\r\n` : `${head}\r\n`
}
