import type { z } from 'zod'

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

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}
const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'an ISO-8601 instant such as 2026-11-21T08:00:00.000Z',
  url: 'a URL',
}

/** The predicate of the sentence about an issue: `must be a string`. */
export function expectation(issue: z.core.$ZodIssue | undefined, whole: unknown): string {
  if (issue === undefined) return 'is not valid'
  const value = issue.path.reduce<unknown>((v, key) => (isRecord(v) ? v[key] : undefined), whole)
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined ? 'is required' : `must be ${TYPES[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      if (value === undefined) return 'is required'
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`
    case 'too_big':
      return sizeBound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)
    case 'too_small':
      if (issue.origin === 'string' && issue.minimum === 1) return 'must not be empty'
      return sizeBound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)
    case 'invalid_format':
      return `must be ${FORMATS[issue.format] ?? 'in the expected form'}`
    case 'unrecognized_keys':
      return 'is not a known field'
    case 'invalid_union':
      return value === undefined ? 'is required' : 'has none of the accepted forms'
    default:
      return 'is not valid'
  }
}

const sizeBound = (origin: string, bound: string, size: number | bigint): string => {
  if (origin === 'string') return `must have ${bound} ${size} characters`
  return origin === 'array' ? `must have ${bound} ${size} items` : `must be ${bound} ${size}`
}

const isRecord = (value: unknown): value is Readonly<Record<PropertyKey, unknown>> =>
  typeof value === 'object' && value !== null
