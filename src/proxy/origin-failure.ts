/** How an origin failed: closed, counted by name in `/metrics`. */
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

/** The name for what Node or undici reported. */
export function originFailure(error: Error): OriginFailure {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return FAILURE_BY_CODE[code] ?? (code.startsWith('HPE_') || error.name === 'HTTPParserError' ? 'protocol' : 'other')
}
