import { promisify, TextDecoder } from 'node:util'
import zlib, { brotliDecompress, gunzip, inflate, inflateRaw, type ZlibOptions } from 'node:zlib'
import type { SampledPage } from '../../capture/sampled-page.js'

/** A larger page is not read: it would keep the worker from its rows. */
const MAX_PAGE_BYTES = 2 << 20
/** A browser looks for the charset in so many bytes (HTML 13.2.3.2). */
const CHARSET_BYTES = 1_024

type Decompress = (body: Uint8Array, options: ZlibOptions) => Promise<Buffer>
const decompressWithHeader: Decompress = promisify<Uint8Array, ZlibOptions, Buffer>(inflate)
const decompressRaw: Decompress = promisify<Uint8Array, ZlibOptions, Buffer>(inflateRaw)
const decompressGzip: Decompress = promisify<Uint8Array, ZlibOptions, Buffer>(gunzip)
/** Absent before Node 22.15. */
const zstdDecompress: unknown = Reflect.get(zlib, 'zstdDecompress')
const decompressZstd: Decompress = (body, options) =>
  new Promise((done, fail) => {
    if (typeof zstdDecompress !== 'function') return fail(new Error('this Node has no Zstandard'))
    zstdDecompress(body, options, (error: Error | null, bytes: Buffer) => (error ? fail(error) : done(bytes)))
  })
const DECOMPRESS: ReadonlyMap<string, Decompress> = new Map([
  ['gzip', decompressGzip],
  ['x-gzip', decompressGzip],
  ['br', promisify<Uint8Array, ZlibOptions, Buffer>(brotliDecompress)],
  ['zstd', decompressZstd],
  // Some servers leave out the header of zlib (RFC 9110 8.4.1.2).
  ['deflate', (body, options) => decompressWithHeader(body, options).catch(() => decompressRaw(body, options))],
])

/** Returns a page's HTML; undefined if its coding is not known, or its body is damaged or too large. */
export async function decodePage(
  { coding, content_type }: Pick<SampledPage, 'coding' | 'content_type'>,
  body: Uint8Array,
): Promise<string | undefined> {
  const isPlain = coding === '' || coding === 'identity'
  const bytes = isPlain
    ? body
    : await DECOMPRESS.get(coding)?.(body, { maxOutputLength: MAX_PAGE_BYTES }).catch(() => undefined)
  return bytes && decoderOf(content_type, bytes).decode(bytes)
}

/** The charset of the response, else that which the page names, else UTF-8. */
function decoderOf(content_type: string, bytes: Uint8Array): TextDecoder {
  const start = Buffer.from(bytes.subarray(0, CHARSET_BYTES)).toString('latin1')
  const [, named] = /charset\s*=\s*["']?([\w:.-]{1,40})/i.exec(content_type) ?? []
  const [, written] = /<meta\s[^>]*charset\s*=\s*["']?([\w:.-]{1,40})/i.exec(start) ?? []
  try {
    return new TextDecoder(named ?? written ?? 'utf-8')
  } catch {
    return new TextDecoder()
  }
}
