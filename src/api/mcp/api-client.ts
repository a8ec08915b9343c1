import { z } from 'zod'
import { ApiError, type Code, STATUS } from '../../base/errors.js'
import { ErrorBody } from '../error-response.js'
import { ReadMeta } from './answer.js'

/** Sends a request to the API with the caller's rights and returns the status and the JSON of its response. */
export type SendToApi = (
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
) => Promise<{ readonly status: number; readonly json: unknown }>

const Success = z.object({ data: z.unknown(), meta: ReadMeta.optional() })
const isCode = (code: string): code is Code => Object.hasOwn(STATUS, code)

/** Query parameters by name; those that are undefined are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>

/** The API as tools call it. */
export type ApiClient = ReturnType<typeof createApiClient>

/** Returns the path with its parameters. */
export function pathWith(path: string, query: Query): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value))
  return given.size === 0 ? path : `${path}?${given}`
}

/** Calls the API through `send`; a response that is an error throws `ApiError` with its code, message and field. */
export function createApiClient(send: SendToApi) {
  const call = async (method: 'GET' | 'POST', path: string, body?: unknown) => {
    const { status, json } = await send(method, path, body)
    if (status < 400) return Success.parse(json)
    const { code, message, field } = ErrorBody.parse(json).error
    throw new ApiError(isCode(code) ? code : 'internal_error', message, field)
  }
  return {
    get: (path: string, query: Query = {}) => call('GET', pathWith(path, query)),
    post: (path: string, body: unknown) => call('POST', path, body),
  }
}
