import { z } from 'zod'
import { ApiError, type Code, STATUS } from '../errors.js'

/** The body of every failure (spec 7). */
export const ErrorBody = z.object({
  error: z.object({
    code: z.enum(Object.keys(STATUS)).describe('Stable: what a client branches on.'),
    message: z.string().describe('For a person; it may change.'),
    field: z.string().optional().describe('The parameter or the field of the body that is wrong.'),
  }),
})

/** Seconds after which a client may try again, where the answer can change by itself (contract 6). */
const RETRY_AFTER_S: Partial<Record<Code, string>> = { database_error: '5', rate_limited: '60' }

/**
 * The one place where an error becomes a response. What is not an `ApiError` is handed to `log` whole and shown bare.
 */
export function renderError(error: unknown, log: (error: unknown) => void): Response {
  if (!(error instanceof ApiError)) {
    log(error)
    return errorResponse('internal_error', 'Something went wrong on our side; it has been logged.')
  }
  if (error.code === 'database_error' || error.code === 'internal_error') log(error)
  const response = errorResponse(error.code, error.message, error.field)
  if (error.retry_after !== undefined) response.headers.set('retry-after', String(error.retry_after))
  return response
}

/** `status` differs from the code's own only for a body over its limit (contract 6: `bad_request`, 413). */
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

/** `rows[3].name`, as contract 6 writes fields. */
const formatFieldPath = (path: readonly PropertyKey[]): string =>
  path.map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i > 0 ? '.' : ''}${String(key)}`)).join('')

/** A field of a body or a query that is wrong. */
export const validationError = (message: string, path: readonly PropertyKey[]): ApiError =>
  new ApiError('validation_error', message, formatFieldPath(path) || undefined)

/**
 * `value` as `schema` sees it; throws `validation_error` with the first field that is wrong, which is below `at` where
 * that is given.
 */
export function validate<T extends z.ZodType>(schema: T, value: unknown, at: readonly PropertyKey[] = []): z.output<T> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw validationError(issue?.message ?? 'Invalid.', [
    ...at,
    ...(issue?.path ?? []),
    ...(issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []),
  ])
}
