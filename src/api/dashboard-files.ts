import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { LOGO } from './logo.js'
import { acceptsEncoding, CACHE_IMMUTABLE, matchesEtag } from './static-file.js'

/** Returns the response for an address of the dashboard, and undefined for a request that is not for the dashboard. */
export type Dashboard = (request: Request) => Promise<Response | undefined>

/** Returns the origins whose pages may frame a share link; none for an unknown slug. */
type EmbedOrigins = (slug: string) => Promise<readonly string[]>

/** Files beyond this sum are read from disk for each request. */
const MAX_CACHED_BYTES = 16 * 1024 * 1024

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
}
/** The encodings that the build may have written beside a file, the smaller one first. */
const ENCODINGS = [
  { encoding: 'br', ending: '.br' },
  { encoding: 'gzip', ending: '.gz' },
] as const

/** Addresses that the application shows; it reads them itself. */
const APP_PATH = /^\/(?:(?:sites|settings|account|share)(?:\/.*)?)?$/
const SHARE_PATH = /^\/share\/([^/]+)/
/** The element of the built page that the server replaces, because the page is served at every depth. */
const BASE_ELEMENT = '<base href="./">'

const COMMON_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}

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

interface NegotiatedFile {
  readonly content: Buffer
  readonly encoding: string | undefined
}

/** The listed files of a folder, each read on first use. */
function createFiles(folder: string) {
  const cache = new Map<string, Buffer>()
  let cached = 0
  let names: ReadonlySet<string> | undefined
  const list = async (): Promise<ReadonlySet<string>> => {
    if (names) return names
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
    const found = entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
    const listed = new Set(found.map((path) => path.slice(join(folder, '/').length).replaceAll('\\', '/')))
    // A folder that is missing may be there later: the build runs beside a server in development.
    if (listed.size > 0) names = listed
    return listed
  }
  /** Returns the content of a file, and undefined for a name that is not listed. */
  const read = async (name: string): Promise<Buffer | undefined> => {
    if (!(await list()).has(name)) return undefined
    const known = cache.get(name)
    if (known) return known
    const content = await readFile(join(folder, name))
    if (!cache.has(name) && cached + content.length <= MAX_CACHED_BYTES) {
      cached += content.length
      cache.set(name, content)
    }
    return content
  }
  return {
    read,
    /** Returns a file in the smallest encoding that `Accept-Encoding` allows. */
    async negotiate(name: string, acceptEncoding: string | null): Promise<NegotiatedFile | undefined> {
      const listed = await list()
      const { encoding, ending } = ENCODINGS.find(
        (one) => acceptsEncoding(acceptEncoding, one.encoding) && listed.has(name + one.ending),
      ) ?? { encoding: undefined, ending: '' }
      const content = listed.has(name) ? await read(name + ending) : undefined
      return content && { content, encoding }
    },
  }
}

const etagOf = (content: string | Buffer): string =>
  `W/"${createHash('sha256').update(content).digest('hex').slice(0, 16)}"`

/** Responds with a body and its headers, or with 304 if the client has the same body. */
function bodyResponse(
  { method, headers: requestHeaders }: Request,
  body: Buffer,
  headers: Readonly<Record<string, string>>,
  status = 200,
): Response {
  const { etag } = headers
  if (etag !== undefined && status === 200 && matchesEtag(requestHeaders.get('if-none-match'), etag))
    return new Response(null, { status: 304, headers })
  return new Response(method === 'HEAD' ? null : Uint8Array.from(body), {
    status,
    headers: { ...headers, 'content-length': `${body.length}` },
  })
}

function fileResponse(request: Request, name: string, { content, encoding }: NegotiatedFile): Response {
  const isHashed = name.startsWith('assets/')
  return bodyResponse(request, content, {
    ...COMMON_HEADERS,
    'content-type': MEDIA_TYPES[extname(name)] ?? 'application/octet-stream',
    'content-security-policy': "default-src 'none'",
    vary: 'Accept-Encoding',
    ...(isHashed ? { 'cache-control': CACHE_IMMUTABLE } : { 'cache-control': 'no-cache', etag: etagOf(content) }),
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
  })
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
