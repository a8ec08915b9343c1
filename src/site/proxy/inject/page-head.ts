/** The facts in a response's head that decide about changing its body. */
interface PageResponse {
  coding: Coding
  /** Values of `Content-Security-Policy` and its report-only form. */
  policies: string[]
}
/** A content coding; empty for none. */
export type Coding = '' | 'gzip' | 'deflate' | 'br'

const SUPPORTED_CODINGS: ReadonlyMap<string, Coding> = new Map([
  ['', ''],
  ['identity', ''],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
])

const PAGE_TYPE = /^\s*text\/html\s*(?:;|$)/i
/** Charsets in which the bytes of a tag mean something else, or other bytes look like a tag. */
const NOT_ASCII = /;\s*charset\s*=[\s"']*(?:utf-?(?:16|32|7)|ucs-?[24]|unicode|iso-10646|(?:cs)?iso-?2022|hz-)/i

/** Fields that describe the exact bytes of the body. */
const BYTE_DEPENDENT_FIELDS = new Set(['accept-ranges', 'content-digest', 'content-md5', 'digest', 'repr-digest'])

/** Reads the head of a complete response. Returns undefined if it is not a page, or one that must not be changed. */
export function readPageResponse(content_type: string, fields: readonly string[]): PageResponse | undefined {
  if (!PAGE_TYPE.test(content_type) || NOT_ASCII.test(content_type)) return undefined
  const policies: string[] = []
  let coding = ''
  let types = 0
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const value = fields[i + 1] ?? ''
    switch (fields[i]?.toLowerCase()) {
      case 'content-type':
        types += 1
        break
      case 'content-encoding':
        coding = coding === '' ? value.trim().toLowerCase() : 'several'
        break
      case 'content-security-policy':
      case 'content-security-policy-report-only':
        policies.push(value)
        break
      case 'cache-control':
        if (/(?:^|,)\s*no-transform\s*(?:,|$)/i.test(value)) return undefined
        break
      case 'content-disposition':
        if (/^\s*attachment/i.test(value)) return undefined
        break
      // A part of a page; signed bytes; a page whose scripts need a hash.
      case 'content-range':
      case 'signature-input':
      case 'integrity-policy':
      case 'integrity-policy-report-only':
        return undefined
    }
  }
  const supported = SUPPORTED_CODINGS.get(coding)
  return types > 1 || supported === undefined ? undefined : { coding: supported, policies }
}

/** Returns the head for a page that may be changed; `length` is its new body's length, if known. */
export function changedFields(fields: readonly string[], length: number | undefined): string[] {
  const changed: string[] = []
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] ?? ''
    const value = fields[i + 1] ?? ''
    const lower = name.toLowerCase()
    if (BYTE_DEPENDENT_FIELDS.has(lower)) continue
    if (lower === 'etag') changed.push(name, markEntityTag(value))
    else if (lower !== 'content-length') changed.push(name, value)
    else if (length !== undefined) changed.push(name, String(length))
  }
  return changed
}

/** Returns the trailers that still hold for a changed page. */
export const changedTrailers = (trailers: [string, string][]): [string, string][] =>
  trailers.filter(([name]) => !BYTE_DEPENDENT_FIELDS.has(name.toLowerCase()) && name.toLowerCase() !== 'etag')

/** Returns the length that a head announces. */
export function contentLength(fields: readonly string[]): number | undefined {
  const at = fields.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'content-length')
  const length = at < 0 ? Number.NaN : Number(fields[at + 1])
  return Number.isSafeInteger(length) ? length : undefined
}

/**
 * Marks the entity tag of a page that differs from the origin's bytes. It becomes weak and gets this suffix, so that the
 * origin receives its own tag again exactly as it wrote it. A plain `W/` would look like a weak tag of the origin, and
 * some origins compare the whole field as text (Rack does).
 */
const ETAG_SUFFIX = '~readership'
const STRONG = /^"([\x21\x23-\x7e\x80-\xff]*)"$/
const MARKED = new RegExp(`W/"([\\x21\\x23-\\x7e\\x80-\\xff]*)${ETAG_SUFFIX}"`, 'g')

/** Marks a strong `ETag` of the origin; any other stays as it is. */
const markEntityTag = (tag: string): string => tag.replace(STRONG, `W/"$1${ETAG_SUFFIX}"`)

/** Restores the origin's own tags in a client's `If-None-Match` or `If-Match`. */
export const restoreEntityTags = (value: string): string => value.replace(MARKED, '"$1"')

/** Returns the `ETag` of a 304 in the form in which the client sent it, so that its copy keeps the tag it has. */
export function confirmEntityTag(tag: string, ifNoneMatch: string): string {
  const marked = markEntityTag(tag)
  return ifNoneMatch.includes(marked) && !ifNoneMatch.includes(tag) ? marked : tag
}
