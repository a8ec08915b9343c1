import { z } from 'zod'
import { ApiError, type Code, STATUS } from '../base/errors.js'

/** The body of every error. */
export const ErrorBody = z.object({
  error: z.object({
    code: z.enum(Object.keys(STATUS)).describe('Stable; programs branch on it.'),
    message: z.string().describe('A sentence for people; it may change.'),
    field: z.string().optional().describe('The parameter or body field that is wrong.'),
  }),
})

/** Seconds after which a client may retry, for errors that can pass by themselves. */
const RETRY_AFTER_S: Partial<Record<Code, string>> = { database_error: '5', rate_limited: '60' }

/**
 * Turns an error into a response; no other place does. An error that is not an `ApiError` goes to `log` whole, and the
 * client sees none of its text.
 */
export function renderError(error: unknown, log: (error: unknown) => void): Response {
  if (!(error instanceof ApiError)) {
    log(error)
    return errorResponse('internal_error', 'Something went wrong on our side. The error has been logged.')
  }
  if (error.code === 'database_error' || error.code === 'internal_error') log(error)
  const response = errorResponse(error.code, error.message, error.field)
  if (error.retry_after !== undefined) response.headers.set('retry-after', String(error.retry_after))
  return response
}

/** Builds an error response. `status` differs from the code's own only for faults of the body: 408, 413, 415. */
export function errorResponse(code: Code, message: string, field?: string, status: number = STATUS[code]): Response {
  const retry = RETRY_AFTER_S[code]
  return Response.json(
    { error: { code, message, ...(field === undefined ? {} : { field }) } },
    {
      status,
      headers: {
        ...(code === 'unauthorized' ? { 'www-authenticate': 'Bearer' } : {}),
        ...(retry === undefined ? {} : { 'retry-after': retry }),
      },
    },
  )
}
