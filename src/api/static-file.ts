import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress, gzip } from 'node:zlib'

/** Responses may be cached permanently where the name of a file has the hash of its content. */
export const CACHE_IMMUTABLE = 'public, max-age=31536000, immutable'

/** Whether an `If-None-Match` header contains an entity tag, by weak comparison (RFC 9110 8.8.3.2). */
export const matchesEtag = (header: string | null, etag: string): boolean =>
  (header ?? '').split(',').some((one) => one.trim() === '*' || `W/${one.trim().replace(/^W\//, '')}` === etag)

/** Whether an `Accept-Encoding` header names a coding with a weight above 0. No browser asks for one by `*`. */
export const acceptsEncoding = (header: string | null, encoding: string): boolean =>
  (header ?? '').split(',').some((one) => {
    const [coding = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase())
    return coding === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })

/** Files beyond this sum are read from disk for each request. */
const MAX_CACHED_BYTES = 16 * 1024 * 1024

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.gz': 'application/gzip',
  '.txt': 'text/plain; charset=utf-8',
}
/** Shorter texts fit into the first packet as they are. */
const MIN_PACKED_BYTES = 1024
// Not on the thread that serves the site.
const pack = promisify<Buffer, Buffer>(gzip)
const unpack = promisify<Buffer, Buffer>(brotliDecompress)

/** Headers of every file and page. */
export const COMMON_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}

interface NegotiatedFile {
  readonly content: Buffer
  readonly encoding: string | undefined
}

/** The listed files of a folder, each read on first use. */
export function createFiles(folder: string) {
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
  /** Returns the content that is kept by this name, or else makes and keeps it. */
  const keep = async (name: string, make: () => Promise<Buffer>): Promise<Buffer> => {
    const known = cache.get(name)
    if (known) return known
    const content = await make()
    if (!cache.has(name) && cached + content.length <= MAX_CACHED_BYTES) {
      cached += content.length
      cache.set(name, content)
    }
    return content
  }
  const load = async (name: string): Promise<Buffer | undefined> =>
    (await list()).has(name) ? keep(name, () => readFile(join(folder, name))) : undefined
  /** Returns the content of a file, and undefined for a name that is not listed. */
  const read = async (name: string): Promise<Buffer | undefined> => {
    const plain = await load(name)
    if (plain) return plain
    const packed = await load(`${name}.br`)
    return packed && keep(name, () => unpack(packed))
  }
  return {
    read,
    /**
     * Returns a file in the smallest encoding that `Accept-Encoding` allows. The package has texts in Brotli alone; for a
     * browser that does not accept it, which none does without TLS, a text is compressed again when it is first requested.
     */
    async negotiate(name: string, acceptEncoding: string | null): Promise<NegotiatedFile | undefined> {
      const packed = acceptsEncoding(acceptEncoding, 'br') ? await load(`${name}.br`) : undefined
      if (packed) return { content: packed, encoding: 'br' }
      const content = await read(name)
      if (content === undefined) return undefined
      const isText = MEDIA_TYPES[extname(name)]?.startsWith('text/') && content.length >= MIN_PACKED_BYTES
      return isText && acceptsEncoding(acceptEncoding, 'gzip')
        ? { content: await keep(`${name}.gz`, () => pack(content)), encoding: 'gzip' }
        : { content, encoding: undefined }
    },
  }
}

/** Returns the weak entity tag of a content. */
export const etagOf = (content: string | Buffer): string =>
  `W/"${createHash('sha256').update(content).digest('hex').slice(0, 16)}"`

/** Responds with a body and its headers, or with 304 if the client has the same body. */
export function bodyResponse(
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

/** Responds with a file: cached permanently below `assets/`, where names have a hash, and revalidated elsewhere. */
export function fileResponse(
  request: Request,
  name: string,
  { content, encoding }: NegotiatedFile,
  moreHeaders: Readonly<Record<string, string>> = {},
): Response {
  const isHashed = name.startsWith('assets/')
  return bodyResponse(request, content, {
    ...COMMON_HEADERS,
    'content-type': MEDIA_TYPES[extname(name)] ?? 'application/octet-stream',
    'content-security-policy': "default-src 'none'",
    vary: 'Accept-Encoding',
    ...(isHashed ? { 'cache-control': CACHE_IMMUTABLE } : { 'cache-control': 'no-cache', etag: etagOf(content) }),
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    ...moreHeaders,
  })
}
