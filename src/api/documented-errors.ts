import { type Code, STATUS } from '../base/errors.js'
import { isUnauthenticated } from './auth.js'
import { errorResponse } from './error-response.js'
import { componentRef } from './json-schema.js'
import type { Route } from './route.js'

interface DocumentedError {
  code: Code
  /** The status, if it is not the code's own. */
  status?: number
  when: string
  message: string
  field?: string
}

/** Every error that a route may return, by its name in the API document, with an example that the service really sends. */
const DOCUMENTED_ERRORS = {
  Unauthorized: {
    code: 'unauthorized',
    when: 'There is no credential, or it is unknown.',
    message: 'Send an API key (Authorization: Bearer svcg_...), or sign in.',
  },
  Forbidden: {
    code: 'forbidden',
    when: 'The credential lacks the scope or the role.',
    message: 'The API key lacks the scope stats:read.',
  },
  NotFound: {
    code: 'not_found',
    when: 'The site, the segment or the resource of the path does not exist, or this credential cannot reach it.',
    message: 'There is no such site.',
    field: 'site',
  },
  Conflict: {
    code: 'conflict',
    when: 'An existing record prevents it.',
    message: 'The site already has a goal with this name.',
    field: 'name',
  },
  BadRequest: { code: 'bad_request', when: 'The body is not JSON.', message: 'The body is not JSON.' },
  TooLarge: {
    code: 'bad_request',
    status: 413,
    when: 'The body is too large.',
    message: 'The body is larger than 64 KB.',
  },
  WrongType: {
    code: 'bad_request',
    status: 415,
    when: 'The body is not application/json, or it is compressed.',
    message: 'The body must be application/json.',
  },
  Invalid: {
    code: 'validation_error',
    when: 'A value is wrong; `field` names it.',
    message: 'site is missing.',
    field: 'site',
  },
  RateLimited: {
    code: 'rate_limited',
    when: 'Too many requests; try again after `Retry-After`.',
    message: 'Too many requests for this site from this address.',
  },
  OurFault: {
    code: 'internal_error',
    when: 'Something went wrong on our side.',
    message: 'Something went wrong on our side. The error has been logged.',
  },
  Unavailable: {
    code: 'database_error',
    when: 'The store does not respond, or not in time; try again after `Retry-After`.',
    message: 'The store is being opened again.',
  },
} as const satisfies Record<string, DocumentedError>
type Name = keyof typeof DOCUMENTED_ERRORS

const names = Object.keys(DOCUMENTED_ERRORS).filter((name): name is Name => Object.hasOwn(DOCUMENTED_ERRORS, name))
const documented = (name: Name): DocumentedError => DOCUMENTED_ERRORS[name]
const statusOf = ({ code, status = STATUS[code] }: DocumentedError): number => status

/** The errors that follow from an entry of the route table, by status. */
export function errorReferences(route: Route): Record<string, { $ref: string }> {
  const guarded = !isUnauthenticated(route.access)
  const query = route.query?.shape ?? {}
  const may: Record<Name, boolean> = {
    Unauthorized: route.access !== 'public',
    Forbidden: route.access !== 'public',
    NotFound: guarded && (route.path.includes('{') || 'site' in query || route.body !== undefined),
    Conflict: route.mayConflict === true,
    BadRequest: route.body !== undefined,
    TooLarge: route.body !== undefined,
    WrongType: route.access === 'signed',
    Invalid: Object.keys(query).length > 0 || route.body !== undefined,
    RateLimited: route.access !== 'public',
    OurFault: guarded,
    Unavailable: guarded,
  }
  return Object.fromEntries(
    names.filter((name) => may[name]).map((name) => [statusOf(documented(name)), componentRef('responses', name)]),
  )
}

const headers = {
  'Retry-After': { description: 'Seconds after which to try again.', schema: { type: 'integer' as const }, example: 5 },
  'WWW-Authenticate': { description: 'Always `Bearer`.', schema: { type: 'string' as const }, example: 'Bearer' },
}

/** The `components.responses` of the API document. Headers are those of the real error responses. */
export const errorComponents = () =>
  Object.fromEntries(
    names.map((name) => {
      const { code, when, message, field } = documented(name)
      const sent = errorResponse(code, message, field).headers
      const documentedHeaders = Object.entries(headers).filter(([header]) => sent.has(header))
      const example = { error: { code, message, ...(field === undefined ? {} : { field }) } }
      return [
        name,
        {
          description: when,
          ...(documentedHeaders.length > 0 ? { headers: Object.fromEntries(documentedHeaders) } : {}),
          content: { 'application/json': { schema: componentRef('schemas', 'Error'), example } },
        },
      ]
    }),
  )
