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
  /** Seconds after which the answer can be another, where that is known. */
  readonly retry_after?: number

  constructor(
    readonly code: Code,
    message: string,
    readonly field?: string,
    { retry_after, ...options }: { cause?: unknown; retry_after?: number } = {},
  ) {
    super(message, options)
    this.name = 'ApiError'
    if (retry_after !== undefined) this.retry_after = retry_after
  }
}
