/**
 * The tag of a page that is no longer the origin's byte for byte: weak, and marked, so that the origin hears its own
 * again, exactly as it wrote it. A plain `W/` could not be told from a weak tag of the origin's own, and some compare
 * the whole field as text (Rack does).
 */
const ETAG_SUFFIX = '~readership'
const STRONG = /^"([\x21\x23-\x7e\x80-\xff]*)"$/
const MARKED = new RegExp(`W/"([\\x21\\x23-\\x7e\\x80-\\xff]*)${ETAG_SUFFIX}"`, 'g')

/** An origin's `ETag` for a page with our tag in it: a strong one is weakened, any other stays as it is. */
export const markEntityTag = (tag: string): string => tag.replace(STRONG, `W/"$1${ETAG_SUFFIX}"`)

/** A client's `If-None-Match` or `If-Match` with the origin's own tags. */
export const restoreEntityTags = (value: string): string => value.replace(MARKED, '"$1"')

/** The `ETag` of a 304 to a client who asked with `asked`: in the form that its copy has, or the copy would gain one. */
export function confirmEntityTag(tag: string, asked: string): string {
  const weak = markEntityTag(tag)
  return asked.includes(weak) && !asked.includes(tag) ? weak : tag
}
