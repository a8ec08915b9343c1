import { ProtocolError } from './response-head.js'

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
  ECONNRESET: 'closed',
  EPIPE: 'closed',
}

/** Classifies an error of a connection to the origin. */
export function originFailure(error: unknown): OriginFailure {
  if (error instanceof ProtocolError) return 'protocol'
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  return FAILURE_BY_CODE[code] ?? 'other'
}
