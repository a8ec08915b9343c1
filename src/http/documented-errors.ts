import { type Code, STATUS } from '../errors.js'
import { isUnauthenticated } from './auth.js'
import { errorResponse } from './error-response.js'
import { componentRef } from './json-schema.js'
import type { Route } from './route.js'

interface DocumentedError {
  code: Code
  /** Where a code has two. */
  status?: number
  when: string
  message: string
  field?: string
}

/** Every failure that a route may answer, by its name in the document, with a true example of it. */
export const DOCUMENTED_ERRORS = {
  Unauthorized: {
    code: 'unauthorized',
    when: 'No credential, or none that is known.',
    message: 'Send an API key, Authorization: Bearer svcg_..., or sign in.',
  },
  Forbidden: {
    code: 'forbidden',
    when: 'The credential lacks the scope or the role.',
    message: 'The API key lacks the scope stats:read.',
  },
  NotFound: {
    code: 'not_found',
    when: 'Not there, or not for this credential: a site, a segment, what the path names.',
    message: 'There is no such site.',
    field: 'site',
  },
  Conflict: {
    code: 'conflict',
    when: 'What is there already stands against it.',
    message: 'The site has a goal of this name.',
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
    when: 'The body is no application/json, or it is compressed.',
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
    message: 'Slow down.',
  },
  OurFault: {
    code: 'internal_error',
    when: 'Something went wrong on our side.',
    message: 'Something went wrong on our side; it has been logged.',
  },
  Unavailable: {
    code: 'database_error',
    when: 'The store does not answer, or not in time; try again after `Retry-After`.',
    message: 'The store is being opened again.',
  },
} as const satisfies Record<string, DocumentedError>
type Name = keyof typeof DOCUMENTED_ERRORS

const names = Object.keys(DOCUMENTED_ERRORS).filter((name): name is Name => Object.hasOwn(DOCUMENTED_ERRORS, name))
const documented = (name: Name): DocumentedError => DOCUMENTED_ERRORS[name]
const statusOf = ({ code, status = STATUS[code] }: DocumentedError): number => status

/** The failures that follow from what the table says of a route, by status. */
export function errorReferences(route: Route): Record<string, { $ref: string }> {
  const guarded = !isUnauthenticated(route.access)
  const asked = route.query?.shape ?? {}
  const may: Record<Name, boolean> = {
    Unauthorized: route.access !== 'public',
    Forbidden: route.access !== 'public',
    NotFound: guarded && (route.path.includes('{') || 'site' in asked || route.body !== undefined),
    Conflict: route.mayConflict === true,
    BadRequest: route.body !== undefined,
    TooLarge: route.body !== undefined,
    WrongType: route.access === 'signed',
    Invalid: Object.keys(asked).length > 0 || route.body !== undefined,
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

/** The `responses` of the document's components. Their examples are rendered as the failures themselves are. */
export const errorComponents = () =>
  Object.fromEntries(
    names.map((name) => {
      const { code, when, message, field } = documented(name)
      const sent = errorResponse(code, message, field).headers
      const own = Object.entries(headers).filter(([header]) => sent.has(header))
      const example = { error: { code, message, ...(field === undefined ? {} : { field }) } }
      return [
        name,
        {
          description: when,
          ...(own.length > 0 ? { headers: Object.fromEntries(own) } : {}),
          content: { 'application/json': { schema: componentRef('schemas', 'Error'), example } },
        },
      ]
    }),
  )
