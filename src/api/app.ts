import { createHash } from 'node:crypto'
import { Hono, type MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { secureHeaders } from 'hono/secure-headers'
import { checkParameterNames } from '../analytics/query/envelope.js'
import { ApiError } from '../base/errors.js'
import { createEventLoopQueue } from '../base/event-loop-queue.js'
import { PAGE_STYLE } from './account/html.js'
import { languageOf } from './account/page-language.js'
import { authorize, type Credentials } from './auth.js'
import type { Dashboard } from './dashboard-files.js'
import type { Docs } from './docs-files.js'
import { DOCS_STYLE, docsPage } from './docs-page.js'
import { errorResponse, renderError } from './error-response.js'
import { loadExamples } from './examples.js'
import { createOpenApiDocument } from './openapi.js'
import { cutOffOnRevocation } from './revocation.js'
import { type Peer, type Route, readSearchParams, toResponse } from './route.js'
import { isScriptPath } from './tracker-script.js'

/** A web-standard request handler. */
export type App = (request: Request, peer: Peer) => Promise<Response>

/** The address of the MCP server, beside `/api`. */
const MCP_PATH = '/mcp'
/** Larger than any body that a route of the service accepts, except those that read their own. */
const MAX_BODY_BYTES = 64 * 1024

const limitBody = (maxSize: number) =>
  bodyLimit({
    maxSize,
    onError: () => errorResponse('bad_request', `The body is larger than ${maxSize / 1024} KB.`, undefined, 413),
  })

function memoize<T>(make: () => T): () => T {
  let cached: { value: T } | undefined
  return () => {
    cached ??= { value: make() }
    return cached.value
  }
}

const SECURITY_HEADERS = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    styleSrc: [PAGE_STYLE, DOCS_STYLE].map(
      (style) => `'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    ),
    imgSrc: ["'self'"],
    frameAncestors: ["'none'"],
    formAction: ["'self'"],
    baseUri: ["'none'"],
  },
  xFrameOptions: 'DENY',
  // `no-referrer` would make a form's `Origin` null, which could not be told from another site's.
  referrerPolicy: 'same-origin',
  // The listener speaks plain HTTP; the TLS proxy in front decides on this header.
  strictTransportSecurity: false,
  xXssProtection: false,
})

/**
 * Returns the `Referrer-Policy` for an address that is itself a secret, so that no page passes it on. Links of mails lead
 * to forms, which need the `Origin` that `no-referrer` would hide.
 */
const referrerPolicyOf = (path: string, query: (name: string) => string | undefined): string | undefined => {
  if (path.startsWith('/api/share/') || query('share') !== undefined) return 'no-referrer'
  return query('token') === undefined ? undefined : 'strict-origin'
}

/** Lets pages of any site show a response as an image, and nothing more. */
function openImage(headers: Headers): void {
  headers.set('cross-origin-resource-policy', 'cross-origin')
  headers.set('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox")
}

/**
 * Refuses parameters that the route does not have. Accepts any where a person or a probe follows an address as it is: pages
 * and images, whose links mail programs extend, and the service's own endpoints; and on the control socket, whose only client
 * is our program. `share` carries a credential, which each route may be sent; `site` is part of the question to each read.
 */
function checkQuery(query: URLSearchParams, { access, contentType = '', query: known, tag }: Route): void {
  if (tag === 'service' || access === 'operator' || /^(?:text\/html|image\/)/.test(contentType)) return
  checkParameterNames(query, Object.keys(known?.shape ?? {}), access === 'stats:read' ? ['share', 'site'] : ['share'])
}

type Service = Hono<{ Bindings: Peer; Variables: { route?: Route } }>

/** Adds the headers that every response has. */
function addHeaders(app: Service): void {
  app.use(async (c, next) => {
    await next()
    const policy = referrerPolicyOf(c.req.path, (name) => c.req.query(name))
    if (policy !== undefined) c.res.headers.set('referrer-policy', policy)
    if (c.get('route')?.isImageForAnySite) openImage(c.res.headers)
  })
  app.use(SECURITY_HEADERS)
  app.use(async (c, next) => {
    await next()
    // Shared caches must not keep a site's numbers.
    if (!c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store')
  })
}

/** Builds the service from its route table, as one web-standard function. */
export function createApp(deps: {
  routes: readonly Route[]
  credentials: Credentials
  version: string
  now?(): Date
  /** Origins whose pages may read the analytics reads. */
  cors_origins?: readonly string[]
  /** Serves the addresses that belong to no route. */
  dashboard?: Dashboard
  /** Serves the documentation site. */
  docs?: Docs
  /** Loads the MCP server; `dispatch` sends a further request of the same sender through the route table. */
  mcp?(): Promise<{ fetch(request: Request, dispatch: (part: Request) => Promise<Response>): Promise<Response> }>
  log(error: unknown): void
}): App {
  const app: Service = new Hono()
  const { now = () => new Date() } = deps
  addHeaders(app)
  const direct = new Map<string, Extract<Route, { direct: unknown }>['direct']>()
  const waitForTurn = createEventLoopQueue()
  const mcp = deps.mcp && memoize(deps.mcp)
  for (const route of deps.routes) {
    if ('direct' in route) {
      direct.set(route.path, route.direct)
      continue
    }
    const path = route.path.replace(/\{(\w+)\}/g, ':$1')
    if (route.access === 'stats:read') app.use(path, corsForOrigins(deps.cors_origins ?? []))
    if (route.anyOriginHeaders) app.use(path, corsForAnyOrigin(route.method, route.anyOriginHeaders))
    if (!route.readsOwnBody) app.on(route.method.toUpperCase(), path, limitBody(route.maxBodyBytes ?? MAX_BODY_BYTES))
    app.on(route.method.toUpperCase(), path, async (c) => {
      c.set('route', route)
      try {
        const { ip, operator } = c.env
        const { access } = route
        const request = c.req.raw
        const caller = { operator, request, share: c.req.query('share') ?? null }
        const principal = await authorize(access, caller, deps.credentials)
        const url = new URL(c.req.url)
        checkQuery(url.searchParams, route)
        const query = readSearchParams(url, route)
        const dispatch = (part: Request) => waitForTurn().then(() => app.fetch(part, { ip, operator }))
        const call = { request, principal, access, ip, at: now(), query, params: c.req.param(), dispatch }
        const response = toResponse(route, await route.run(call))
        // Responses other than JSON are streams, which may last as long as their reader likes.
        return route.contentType === undefined
          ? response
          : cutOffOnRevocation(response, principal, caller, deps.credentials)
      } catch (error) {
        // Caught here, because Hono's `onError` never gets thrown values that are not an Error. Errors caused by a
        // client that disconnected are not logged.
        return renderError(error, c.req.raw.signal.aborted ? () => {} : deps.log)
      }
    })
  }
  // Made on first use: it takes longer than the rest of a start.
  const document = memoize(() => createOpenApiDocument(deps.routes, deps.version, loadExamples()))
  const reference = { en: memoize(() => docsPage(document(), 'en')), de: memoize(() => docsPage(document(), 'de')) }
  app.get('/api/openapi.json', (c) => c.json(document()))
  app.get('/api/docs', (c) => c.html(reference[languageOf(c.req.raw)]()))
  app.notFound(() => renderError(notFound(), deps.log))
  app.onError((error) => renderError(error, deps.log))
  // Programs use what lies below these; an unknown address there is JSON for every client.
  const areas = new Set(['api', 'mcp', ...deps.routes.map(({ path }) => firstSegment(path))])
  return async (request, peer) => {
    const { pathname } = new URL(request.url)
    if (pathname === MCP_PATH && mcp) {
      await waitForTurn()
      return (await mcp()).fetch(request, async (part) => app.fetch(part, { ...peer, operator: false }))
    }
    const page = areas.has(firstSegment(pathname))
      ? undefined
      : ((await deps.docs?.(request)) ?? (await deps.dashboard?.(request)))
    return page ?? direct.get(pathname)?.(request, peer) ?? waitForTurn().then(() => app.fetch(request, peer))
  }
}

const firstSegment = (path: string): string => path.split('/')[1] ?? ''

const notFound = () => new ApiError('not_found', 'Not found.')

/** Parts of the service that the public listener serves under its base path if `expose` names them. */
export type ExposedPart = 'ingest' | 'api' | 'mcp'

/** Endpoints that a site's own pages call, open to everybody. */
const PUBLIC_PATHS = /^\/api\/(?:track(?:\/batch|\/pixel\.gif)?|flags\/evaluate)$/
const EXPOSED_PATHS: Record<ExposedPart, (path: string) => boolean> = {
  ingest: (path) => path === '/api/log/edge',
  mcp: (path) => path === MCP_PATH,
  /** The API with its pages: the dashboard, and those that mailed links lead to. */
  api: (path) => !OPERATIONAL_PATH.test(path),
}
const OPERATIONAL_PATH = /^\/(?:control|metrics|healthz|readyz)(?:\/|$)/

/**
 * The service on the public listener, below its base path: the tracker script, the public endpoints and the exposed
 * parts. Health, metrics and control routes are never served.
 */
export const createPublicApp =
  (app: App, exposed: readonly ExposedPart[]) =>
  async (request: Request, peer: { ip: string }): Promise<Response> => {
    const { pathname } = new URL(request.url)
    const isPublic = isScriptPath(pathname) || PUBLIC_PATHS.test(pathname)
    return isPublic || exposed.some((part) => EXPOSED_PATHS[part](pathname))
      ? app(request, { ...peer, operator: false })
      : renderError(notFound(), () => {})
  }

/** Seconds for which a browser may cache a preflight; browsers cap the value at between two hours and a day. */
const PREFLIGHT_MAX_AGE_S = '7200'

/**
 * Lets pages of these origins read responses, errors included, with an API key and never with cookies. Origins are
 * compared exactly. Other origins get the same response without CORS headers, so the browser keeps it from the page.
 */
const corsForOrigins =
  (origins: readonly string[]): MiddlewareHandler =>
  async (c, next) => {
    const preflight = c.req.method === 'OPTIONS'
    if (preflight) c.res = new Response(null, { status: 204 })
    else await next()
    // On every response: a cache must not give one origin's response to another.
    c.header('vary', 'Origin', { append: true })
    const origin = c.req.header('origin')
    if (origin === undefined || !origins.includes(origin)) return
    c.header('access-control-allow-origin', origin)
    if (preflight) {
      c.header('access-control-allow-methods', 'GET')
      c.header('access-control-allow-headers', 'authorization')
      c.header('access-control-max-age', PREFLIGHT_MAX_AGE_S)
    } else c.header('access-control-expose-headers', 'Retry-After, Content-Disposition')
  }

/** Lets pages of any origin call a route and read its responses, errors included. Cookies are never allowed. */
const corsForAnyOrigin =
  (method: string, headers: readonly string[]): MiddlewareHandler =>
  async (c, next) => {
    const preflight = c.req.method === 'OPTIONS'
    if (preflight) c.res = new Response(null, { status: 204 })
    else await next()
    c.header('access-control-allow-origin', '*')
    if (preflight) {
      c.header('access-control-allow-methods', method.toUpperCase())
      c.header('access-control-allow-headers', headers.join(', '))
      c.header('access-control-max-age', PREFLIGHT_MAX_AGE_S)
    } else c.header('access-control-expose-headers', 'Retry-After')
  }
