import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync } from 'node:zlib'

/** `/script.js` is cached for an hour; the name with the content's hash is cached permanently. */
const CACHE_ONE_HOUR = 'public, max-age=3600'
const CACHE_IMMUTABLE = 'public, max-age=31536000, immutable'

const readScript = (): Buffer => readFileSync(new URL('../tracker/script.js', import.meta.url))
const digest = (content: Buffer): string => createHash('sha256').update(content).digest('hex').slice(0, 8)

/** Whether a path, without its base path, is the tracker script's: `/script.js`, or the hashed name of any version. */
export const isScriptPath = (pathname: string): boolean => /^\/script(-[0-9a-f]{8})?\.js$/.test(pathname)

let name: string | undefined
/** The hashed file name, which browsers may cache permanently: `script-<8 hex digits>.js`. */
export const scriptName = (): string => {
  name ??= `script-${digest(readScript())}.js`
  return name
}

/**
 * Serves the tracker script to pages of any origin; returns undefined for other requests. It runs before the routes of the
 * service, whose headers would keep pages of other origins from loading the script.
 */
export function createScriptHandler(): (request: Request) => Response | undefined {
  const plain = readScript()
  const etag = `W/"${digest(plain)}"`
  const encodings = [
    { encoding: 'br', body: brotliCompressSync(plain) },
    { encoding: 'gzip', body: gzipSync(plain, { level: 9 }) },
  ]
  return ({ url, method, headers }) => {
    const { pathname } = new URL(url)
    if (!isScriptPath(pathname) || (method !== 'GET' && method !== 'HEAD')) return undefined
    const common = {
      'cache-control': pathname === `/${scriptName()}` ? CACHE_IMMUTABLE : CACHE_ONE_HOUR,
      etag,
      vary: 'Accept-Encoding',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
    }
    if (matchesEtag(headers.get('if-none-match'), etag)) return new Response(null, { status: 304, headers: common })
    const { encoding, body } = encodings.find(({ encoding }) =>
      acceptsEncoding(headers.get('accept-encoding'), encoding),
    ) ?? {
      encoding: undefined,
      body: plain,
    }
    return new Response(method === 'HEAD' ? null : Uint8Array.from(body), {
      headers: {
        ...common,
        'content-type': 'text/javascript; charset=utf-8',
        'content-length': `${body.length}`,
        'x-content-type-options': 'nosniff',
        ...(encoding ? { 'content-encoding': encoding } : {}),
      },
    })
  }
}

/** Whether an `If-None-Match` header contains an entity tag, by weak comparison (RFC 9110 8.8.3.2). */
const matchesEtag = (header: string | null, etag: string): boolean =>
  (header ?? '').split(',').some((one) => one.trim() === '*' || `W/${one.trim().replace(/^W\//, '')}` === etag)

/** Whether an `Accept-Encoding` header names a coding with a weight above 0. No browser asks for one by `*`. */
const acceptsEncoding = (header: string | null, encoding: string): boolean =>
  (header ?? '').split(',').some((one) => {
    const [coding = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase())
    return coding === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
