import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'

/** A response that is prepared before any request: a page, a file, a feed. */
export interface Resource {
  status: number
  type: string
  body: Buffer
  /** The body compressed, where that makes it smaller. */
  gzip: Buffer | undefined
  /** The entity tag without quotes. */
  etag: string
  modified: Date
  headers: Record<string, string>
}

const TEXT = /^(text\/|image\/svg|application\/(json|xml|rss\+xml|javascript))/

/** Prepares a body and its validators. `modified` is truncated to seconds, the precision of `Last-Modified`. */
export function resource(
  body: Buffer | string,
  type: string,
  modified: Date,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Resource {
  const bytes = Buffer.from(body)
  return {
    status,
    type,
    body: bytes,
    gzip: TEXT.test(type) && bytes.length > 512 ? gzipSync(bytes) : undefined,
    etag: createHash('sha256').update(bytes).digest('base64url').slice(0, 16),
    modified: new Date(Math.floor(modified.getTime() / 1000) * 1000),
    headers,
  }
}

/** Responds to GET and HEAD: checks validators first, then one range, then gzip (RFC 9110 8.4, 13, 14). */
export function send(req: IncomingMessage, res: ServerResponse, resource: Resource): void {
  const packed = resource.gzip && acceptsGzip(req.headers['accept-encoding']) ? resource.gzip : undefined
  const etag = `"${resource.etag}${packed ? '-gz' : ''}"`
  const headers: Record<string, string> = { ...resource.headers }
  if (resource.gzip) headers.vary = 'Accept-Encoding'
  if (resource.status === 200) {
    headers.etag = etag
    headers['last-modified'] = resource.modified.toUTCString()
    if (!resource.gzip) headers['accept-ranges'] = 'bytes'
    if (isFresh(req, etag, resource.modified)) {
      res.writeHead(304, headers).end()
      return
    }
  }
  headers['content-type'] = resource.type
  const part = resource.status === 200 && !resource.gzip && req.method === 'GET' ? rangeOf(req, resource) : undefined
  if (part === 'unsatisfiable') {
    res.writeHead(416, { 'content-range': `bytes */${resource.body.length}`, 'content-length': 0 }).end()
    return
  }
  if (part) {
    headers['content-range'] = `bytes ${part.first}-${part.last}/${resource.body.length}`
    headers['content-length'] = String(part.last - part.first + 1)
    res.writeHead(206, headers).end(resource.body.subarray(part.first, part.last + 1))
    return
  }
  const body = packed ?? resource.body
  if (packed) headers['content-encoding'] = 'gzip'
  headers['content-length'] = String(body.length)
  res.writeHead(resource.status, headers)
  res.end(req.method === 'HEAD' ? undefined : body)
}

/** Tells whether `Accept-Encoding` has `gzip` or `*` with a weight above 0. */
function acceptsGzip(header: string | string[] | undefined): boolean {
  return String(header ?? '')
    .split(',')
    .some((one) => {
      const [coding, ...parameters] = one.trim().toLowerCase().split(';')
      return (coding === 'gzip' || coding === '*') && !parameters.some((p) => /^\s*q\s*=\s*0(\.0*)?\s*$/.test(p))
    })
}

function isFresh(req: IncomingMessage, etag: string, modified: Date): boolean {
  const tags = req.headers['if-none-match']
  // If-None-Match overrides the date (RFC 9110 13.1.3).
  if (tags !== undefined) {
    return tags.trim() === '*' || tags.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
  }
  const since = Date.parse(req.headers['if-modified-since'] ?? '')
  return !Number.isNaN(since) && modified.getTime() <= since
}

function rangeOf(
  req: IncomingMessage,
  resource: Resource,
): { first: number; last: number } | 'unsatisfiable' | undefined {
  const condition = req.headers['if-range']
  if (condition !== undefined && condition !== `"${resource.etag}"` && condition !== resource.modified.toUTCString())
    return
  // Several ranges, or a unit other than bytes: responding with the whole is allowed.
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(req.headers.range ?? '') ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return
  const size = resource.body.length
  const first = from === '' ? Math.max(0, size - Number(to)) : Number(from)
  const last = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1)
  if (from !== '' && to !== '' && Number(to) < Number(from)) return
  return first > last || first >= size ? 'unsatisfiable' : { first, last }
}
