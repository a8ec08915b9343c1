import { isUnauthenticated } from '../auth.js'
import { errorResponse } from '../error-response.js'
import { hasJsonType, type Route, type RouteWithHandler } from '../route.js'

/** The errors of account routes that need no credential, by status. */
const DOCUMENTED_RESPONSES: Readonly<Record<number, string>> = {
  400: 'The body is not JSON.',
  401: 'The credential is wrong. With the field `totp`: a two-factor code is missing or wrong.',
  403: 'A page of another origin sent the request, or the service does not offer this.',
  409: 'An existing record prevents it.',
  413: 'The body is larger than 64 KB.',
  415: 'The body is not application/json.',
  422: 'A value is wrong; `field` names it.',
  429: 'Too many attempts; try again after `Retry-After`.',
}

/** Lets a route accept JSON only: a form on a foreign page cannot send JSON on behalf of its visitor. */
export const jsonOnly = (route: RouteWithHandler): Route => ({
  ...route,
  ...(isUnauthenticated(route.access) ? { otherResponses: { ...DOCUMENTED_RESPONSES, ...route.otherResponses } } : {}),
  run: async (call) =>
    hasJsonType(call.request)
      ? route.run(call)
      : errorResponse('bad_request', 'The body must be application/json.', undefined, 415),
})
