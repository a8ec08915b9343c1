import { markEntityTag } from './entity-tag.js'

/** What a response's head says about changing its body. */
export interface PageResponse {
  xml: boolean
  coding: Coding
  /** Of `Content-Security-Policy` and its twin that only reports. */
  policies: string[]
}
/** `''` is none. */
export type Coding = '' | 'gzip' | 'deflate' | 'br'

const SUPPORTED_CODINGS: ReadonlyMap<string, Coding> = new Map([
  ['', ''],
  ['identity', ''],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
])

const PAGE_TYPE = /^\s*(?:text\/html|(application\/xhtml\+xml))\s*(?:;|$)/i
/** Charsets in which the bytes of a tag are no tag, or those of something else may be one. */
const NOT_ASCII = /;\s*charset\s*=[\s"']*(?:utf-?(?:16|32|7)|ucs-?[24]|unicode|iso-10646|(?:cs)?iso-?2022|hz-)/i

/** Fields that speak of the bytes as they were. */
const BYTE_DEPENDENT_FIELDS = new Set(['accept-ranges', 'content-digest', 'content-md5', 'digest', 'repr-digest'])

/** What the head of a whole response says; undefined where it is no page, or one that must not be changed. */
export function readPageResponse(content_type: string, fields: readonly string[]): PageResponse | undefined {
  const page = PAGE_TYPE.exec(content_type)
  if (page === null || NOT_ASCII.test(content_type)) return undefined
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
      // A part; bytes that are signed; scripts that have to bring their hash.
      case 'content-range':
      case 'signature-input':
      case 'integrity-policy':
      case 'integrity-policy-report-only':
        return undefined
    }
  }
  const known = SUPPORTED_CODINGS.get(coding)
  return types > 1 || known === undefined ? undefined : { xml: page[1] !== undefined, coding: known, policies }
}

/** The head for a page that may be changed; `length` is its body's, where that is known. */
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

/** The trailers that still hold of a page that was changed. */
export const changedTrailers = (trailers: [string, string][]): [string, string][] =>
  trailers.filter(([name]) => !BYTE_DEPENDENT_FIELDS.has(name.toLowerCase()) && name.toLowerCase() !== 'etag')

/** The length that a head announces. */
export function contentLength(fields: readonly string[]): number | undefined {
  const at = fields.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'content-length')
  const length = at < 0 ? Number.NaN : Number(fields[at + 1])
  return Number.isSafeInteger(length) ? length : undefined
}
