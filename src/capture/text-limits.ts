import { MAX_USER_AGENT_CHARS } from '../agents/identify.js'

/** The most characters a row holds of a text that a stranger wrote. */
export const MAX_CHARACTERS = {
  user_agent: MAX_USER_AGENT_CHARS,
  pathname: 2000,
  referrer: 2000,
  hostname: 255,
  method: 32,
  content_type: 127,
  /** Everything else. */
  text: 500,
} as const

/**
 * At most `limit` characters of `text`. What is cut is copied: a slice would keep the whole original in memory for as
 * long as a cache or queue holds it. Half a character pair at the cut becomes U+FFFD.
 */
export function truncate(text: string, limit: number): string {
  return text.length <= limit ? text : decoder.decode(encoder.encode(text.slice(0, limit)))
}
// Not `Buffer`: this runs where there is no Node, too.
const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** A copy of `text` alone: what was cut out of a longer one keeps all of that in memory for as long as it lives. */
export const detachedCopy = (text: string): string => Buffer.from(text).toString()
