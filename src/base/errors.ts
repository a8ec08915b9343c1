/** Error codes of the API and the HTTP status of each. */
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

/** The only error whose message reaches a client; `src/api/error-response.ts` turns it into a response. */
export class ApiError extends Error {
  /** Seconds after which a retry can succeed, if known. */
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

/**
 * A store cannot be opened, and only the operator can change that. `message` is one line that names the file or the server.
 */
export class StoreOpenError extends Error {
  override readonly name: string = 'StoreOpenError'
}

/** A file or value that a setting names cannot be used; the message is one line for the operator. */
export class UnusableSetting extends Error {}
