import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import * as zlib from 'node:zlib'
import type { Test } from 'tap'
import { exchangeBytes, portOf, startProxy } from '../fixtures/sockets.js'
import { parseStrictly } from '../fixtures/strict-parser.js'
import { SRC, TAG } from './pages.js'

export const testScriptFor = (hostname: string) => (hostname === 'other.example' ? undefined : SRC)
export const HEAD = '<!doctype html><html><head><meta charset=utf-8>'
export const PAGE = `${HEAD}</head><body>hello</body></html>`
export const PAGE_WITH_TAG = `${HEAD}${TAG}</head><body>hello</body></html>`

type Coding = 'gzip' | 'x-gzip' | 'br' | 'deflate' | 'raw deflate'
export const encode: Record<Coding, (bytes: Buffer) => Buffer> = {
  gzip: (bytes) => zlib.gzipSync(bytes),
  'x-gzip': (bytes) => zlib.gzipSync(bytes),
  br: (bytes) => zlib.brotliCompressSync(bytes),
  deflate: (bytes) => zlib.deflateSync(bytes),
  'raw deflate': (bytes) => zlib.deflateRawSync(bytes),
}
export const decode: Record<Coding, (bytes: Buffer) => Buffer> = {
  gzip: (bytes) => zlib.gunzipSync(bytes),
  'x-gzip': (bytes) => zlib.gunzipSync(bytes),
  br: (bytes) => zlib.brotliDecompressSync(bytes),
  deflate: (bytes) => zlib.inflateSync(bytes),
  'raw deflate': (bytes) => zlib.inflateRawSync(bytes),
}
export const CODINGS: Coding[] = ['gzip', 'x-gzip', 'br', 'deflate', 'raw deflate']
export const nameOf = (coding: Coding) => coding.replace('raw ', '')

/** Starts a site and a proxy with injection in front of it. */
export async function startInjectingSite(
  t: Test,
  handler: (req: IncomingMessage, res: ServerResponse) => void,
  bodyIdleTimeout = 2_000,
) {
  const origin = createServer(handler)
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const made = await startProxy(portOf(origin), { scriptFor: testScriptFor, bodyIdleTimeout })
  t.teardown(async () => {
    await made.proxy.close(100)
    origin.closeAllConnections()
    origin.close()
  })
  return made
}

export const get = (path = '/', lines = '', method = 'GET', version = '1.1') =>
  `${method} ${path} HTTP/${version}\r\nHost: site.example\r\nConnection: close\r\n${lines}\r\n`
export async function ask(port: number, request: string) {
  const { text, end } = await exchangeBytes(port, [request])
  const { messages, fault, rest } = parseStrictly(text, 'response', () => !request.startsWith('HEAD'))
  const [message] = messages
  return { message, body: Buffer.from(message?.body ?? '', 'latin1'), fault, end, rest, text }
}
