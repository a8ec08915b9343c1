import { StoreOpenError } from '../../base/errors.js'

/** Reasons for the operator, by SQLSTATE or the system's code of an error. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the name has no address',
  ETIMEDOUT: 'there was no answer',
  '28P01': 'the user or the password is wrong',
  '28000': 'the user may not connect',
  '3D000': 'there is no such database',
  '53300': 'the server has too many connections',
}

/** The server's message names the table or schema, and nothing that is secret. */
const LACKS_RIGHT = '42501'

/** Returns the error of a start that failed, as one line without the password. */
export function toOpenError(name: string, cause: unknown): StoreOpenError {
  if (cause instanceof StoreOpenError) return cause
  const code = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
  const message = cause instanceof Error ? cause.message.split('\n', 1)[0] : String(cause)
  if (code === LACKS_RIGHT)
    return new StoreOpenError(`${name} cannot be used: the user lacks a right: ${message}`, { cause })
  return new StoreOpenError(`${name} cannot be used: ${REASONS[String(code)] ?? message}`, { cause })
}
