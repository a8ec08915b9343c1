import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { acceptsEncoding, CACHE_IMMUTABLE, matchesEtag } from './static-file.js'

/** For `/script.js`; the name with the content's hash is cached permanently. */
const CACHE_ONE_HOUR = 'public, max-age=3600'

const readScript = (): Buffer => readFileSync(new URL('../browser/tracker/script.js', import.meta.url))
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
