import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { secureHeaders } from 'hono/secure-headers'
import { ApiError } from '../errors.js'
import { authorize, type Credentials } from './auth.js'
import { corsForAnyOrigin, corsForOrigins } from './cors.js'
import { docsPage } from './docs-page.js'
import { errorResponse, renderError } from './error-response.js'
import { loadExamples } from './examples.js'
import { createOpenApiDocument } from './openapi.js'
import { cutOffOnRevocation } from './revocation.js'
import { type Route, readSearchParams } from './route.js'

/** Whose request it is: an address for what is rated by one, and whether it came through the control socket. */
export interface Peer {
  ip: string
  operator: boolean
}

/** Larger than any body that a route of the service takes. */
const MAX_BODY_BYTES = 64 * 1024

function memoize<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** The service as one web-standard function over its route table. */
export function createApp(deps: {
  routes: readonly Route[]
  credentials: Credentials
  version: string
  now?(): Date
  /** Whose pages may read what the reads answer. */
  cors_origins?: readonly string[]
  log(error: unknown): void
}): (request: Request, peer: Peer) => Promise<Response> {
  const app = new Hono<{ Bindings: Peer }>()
  const { now = () => new Date() } = deps
  app.use(
    secureHeaders({
      contentSecurityPolicy: {
        ...{ defaultSrc: ["'none'"], styleSrc: ["'unsafe-inline'"], frameAncestors: ["'none'"] },
        ...{ formAction: ["'self'"], baseUri: ["'none'"] },
      },
      xFrameOptions: 'DENY',
      // With `no-referrer` a form's `Origin` would be null, and could not be told from a stranger's.
      referrerPolicy: 'same-origin',
      // The listener speaks plain HTTP; who puts TLS before it decides on this.
      strictTransportSecurity: false,
      xXssProtection: false,
    }),
  )
  app.use(async (c, next) => {
    await next()
    // Numbers of a site are its owner's: no cache on the way keeps them.
    if (!c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store')
  })
  const direct = new Map<string, Extract<Route, { direct: unknown }>['direct']>()
  const limited = bodyLimit({
    maxSize: MAX_BODY_BYTES,
    onError: () => errorResponse('bad_request', 'The body is larger than 64 KB.', undefined, 413),
  })
  for (const route of deps.routes) {
    if ('direct' in route) {
      direct.set(route.path, route.direct)
      continue
    }
    const path = route.path.replace(/\{(\w+)\}/g, ':$1')
    if (route.access === 'stats:read') app.use(path, corsForOrigins(deps.cors_origins ?? []))
    if (route.anyOriginHeaders) app.use(path, corsForAnyOrigin(route.method, route.anyOriginHeaders))
    if (!route.readsOwnBody) app.on(route.method.toUpperCase(), path, limited)
    app.on(route.method.toUpperCase(), path, async (c) => {
      try {
        const { ip, operator } = c.env
        const { access } = route
        const request = c.req.raw
        const share = c.req.query('share') ?? null
        const caller = { operator, request, share }
        const principal = await authorize(access, caller, deps.credentials)
        const query = readSearchParams(new URL(c.req.url), route)
        const response = await route.run({ request, principal, access, ip, at: now(), query, params: c.req.param() })
        // What is no JSON may take as long to send as its reader likes.
        return route.contentType === undefined
          ? response
          : cutOffOnRevocation(response, principal, caller, deps.credentials)
      } catch (error) {
        // Here rather than in `onError`, which never sees what is thrown and is not an Error. What fails because the
        // client left is nobody's news.
        return renderError(error, c.req.raw.signal.aborted ? () => {} : deps.log)
      }
    })
  }
  // Made when it is first asked for: it takes longer than all else of a start.
  const document = memoize(() => createOpenApiDocument(deps.routes, deps.version, loadExamples()))
  const docs = memoize(() => docsPage(document()))
  app.get('/api/openapi.json', (c) => c.json(document()))
  app.get('/api/docs', (c) => c.html(docs()))
  app.get('/', (c) => c.redirect('api/docs'))
  app.notFound(() => renderError(new ApiError('not_found', 'There is nothing here.'), deps.log))
  app.onError((error) => renderError(error, deps.log))
  return async (request, peer) => direct.get(new URL(request.url).pathname)?.(request, peer) ?? app.fetch(request, peer)
}
