/** The most characters that a row keeps of a text from outside. */
export const MAX_CHARACTERS = {
  /** User agents are also read up to this length only: parsing a hostile one of 8 KB costs as much as serving a page. */
  user_agent: 512,
  pathname: 2000,
  referrer: 2000,
  hostname: 255,
  method: 32,
  content_type: 127,
  /** Everything else. */
  text: 500,
} as const

/**
 * Returns at most `limit` characters of `text`. A shortened text is a copy: a slice would keep the whole original in
 * memory for as long as a cache or queue holds the slice. Half a surrogate pair at the end becomes U+FFFD.
 */
export function truncate(text: string, limit: number): string {
  return text.length <= limit ? text : decoder.decode(encoder.encode(text.slice(0, limit)))
}
// Not `Buffer`: this also runs on platforms without Node.
const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Copies a text that was cut out of a longer one, so that it does not keep the longer one in memory. */
export const detachedCopy = (text: string): string => Buffer.from(text).toString()
