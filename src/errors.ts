/** Error codes and the one status each maps to (spec 7, contract 6). */
export const STATUS = {
  bad_request: 400,
  validation_error: 422,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  rate_limited: 429,
  internal_error: 500,
  upstream_error: 502,
  database_error: 503,
} as const
export type Code = keyof typeof STATUS

/** The only error that reaches a client. Thrown anywhere, rendered once (src/http). */
export class ApiError extends Error {
  constructor(
    readonly code: Code,
    message: string,
    readonly field?: string,
    options?: { cause?: unknown },
  ) {
    super(message, options)
    this.name = 'ApiError'
  }
}
