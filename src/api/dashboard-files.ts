import { LOGO } from './logo.js'
import { bodyResponse, COMMON_HEADERS, createFiles, etagOf, fileResponse } from './static-file.js'

/** Returns the response for an address of the dashboard, and undefined for a request that is not for the dashboard. */
export type Dashboard = (request: Request) => Promise<Response | undefined>

/** Returns the origins whose pages may frame a share link; none for an unknown slug. */
type EmbedOrigins = (slug: string) => Promise<readonly string[]>

/** Addresses that the application shows; it reads them itself. */
const APP_PATH = /^\/(?:(?:sites|settings|account|share)(?:\/.*)?)?$/
const SHARE_PATH = /^\/share\/([^/]+)/
/** The element of the built page that the server replaces, because the page is served at every depth. */
const BASE_ELEMENT = '<base href="./">'

const contentPolicy = (frameAncestors: string): string =>
  `default-src 'self'; img-src 'self' data:; base-uri 'self'; frame-ancestors ${frameAncestors}; form-action 'self'; object-src 'none'`

/** The page of a build that lacks the dashboard; `base` leads to the root of the service. */
const withoutDashboard = (
  base: string,
): string => `<!doctype html><html lang="en"><meta charset="utf-8"><base href="${base}">
<link rel="icon" href="favicon.svg"><title>readership</title><h1>readership</h1>
<p>This build of readership has no dashboard: its files are missing. <code>npm run build</code> makes them.</p>
<p>The API works without it: <a href="api/docs">documentation of the API</a>.</p></html>`

/**
 * Serves the dashboard's page and files from `folder`, as the build wrote them: `index.html`, `assets/*` with hashed names,
 * and compressed copies beside them. Only listed files are served, so that no address leads out of the folder.
 */
export function createDashboard(folder: string, embedOrigins: EmbedOrigins = async () => []): Dashboard {
  const files = createFiles(folder)
  return async (request) => {
    const { method, headers } = request
    if (method !== 'GET' && method !== 'HEAD') return undefined
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/favicon.svg' || pathname === '/favicon.ico') return logoResponse(request)
    const name = pathname.slice(1)
    const found = name === 'index.html' ? undefined : await files.negotiate(name, headers.get('accept-encoding'))
    if (found) return fileResponse(request, name, found)
    const isAddress = APP_PATH.test(pathname)
    if (!isAddress && !/\btext\/html\b/i.test(headers.get('accept') ?? '')) return undefined
    const slug = searchParams.get('embed') === '1' ? SHARE_PATH.exec(pathname)?.[1] : undefined
    const origins = slug === undefined ? [] : await embedOrigins(slug)
    return pageResponse(request, pathname, { status: isAddress ? 200 : 404, origins }, await files.read('index.html'))
  }
}

const logoResponse = (request: Request): Response =>
  bodyResponse(request, Buffer.from(LOGO), {
    ...COMMON_HEADERS,
    'content-type': 'image/svg+xml',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    'cache-control': 'public, max-age=86400',
  })

/** Responds with the page, whose base leads from `pathname` to the root; a base path in front of it stays unknown. */
function pageResponse(
  request: Request,
  pathname: string,
  { status, origins }: { status: number; origins: readonly string[] },
  page: Buffer | undefined,
): Response {
  const depth = pathname.split('/').length - 2
  const base = depth === 0 ? './' : '../'.repeat(depth)
  const html = page?.toString().replace(BASE_ELEMENT, `<base href="${base}">`) ?? withoutDashboard(base)
  const headers = {
    ...COMMON_HEADERS,
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    etag: etagOf(html),
    'content-security-policy': contentPolicy(origins.length === 0 ? "'none'" : origins.join(' ')),
    ...(origins.length === 0 ? { 'x-frame-options': 'DENY' } : {}),
    'cross-origin-opener-policy': 'same-origin',
    // The address of a share link is a secret.
    'referrer-policy': pathname.startsWith('/share/') ? 'no-referrer' : 'same-origin',
  }
  return bodyResponse(request, Buffer.from(html), headers, status)
}
