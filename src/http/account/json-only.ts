import { isUnauthenticated } from '../auth.js'
import { errorResponse } from '../error-response.js'
import type { Call, Route } from '../route.js'

type HandlerRoute = Extract<Route, { run(call: Call): Promise<Response> }>

/** What routes about accounts answer beside their success, by status. */
const DOCUMENTED_RESPONSES: Record<number, string> = {
  400: 'The body is not JSON.',
  401: 'The credential is wrong; with the field `totp` a code is wanted as well, or it is wrong.',
  403: 'A page of another origin asks, or the service does not do this.',
  409: 'What is there already stands against it.',
  413: 'The body is larger than 64 KB.',
  415: 'The body is no application/json.',
  422: 'A value is wrong; `field` names it.',
  429: 'Too many attempts; try again after `Retry-After`.',
}

const isJson = ({ headers }: Request): boolean => /^application\/json *(;|$)/i.test(headers.get('content-type') ?? '')

/**
 * A route that takes JSON and nothing else: what a form of any page can send is none, so that none can send it in
 * somebody's name.
 */
export const jsonOnly = (line: HandlerRoute): Route => ({
  ...line,
  ...(isUnauthenticated(line.access)
    ? { otherResponses: { ...Object.fromEntries(Object.entries(DOCUMENTED_RESPONSES)), ...line.otherResponses } }
    : {}),
  run: async (call) =>
    isJson(call.request)
      ? line.run(call)
      : errorResponse('bad_request', 'The body must be application/json.', undefined, 415),
})
