import { memoize } from '../base/cache.js'
import { MAX_CHARACTERS, truncate } from '../base/text-limits.js'

const LANGUAGE_TAG = /^([a-z]{2,3})(?:-([a-z]{4}))?(?:-([a-z]{2}|\d{3}))?(?:-[a-z0-9-]+)?$/i

const parseCached = memoize(512, (header) => ({ tag: parseHeader(header) }))

/** Returns the first language of `Accept-Language` in BCP 47 spelling (`de-AT`, `zh-Hans-CN`); null if it names none. */
export const parseLanguage = (acceptLanguage: string | undefined): string | null =>
  acceptLanguage ? parseCached(truncate(acceptLanguage, MAX_CHARACTERS.text)).tag : null

function parseHeader(header: string): string | null {
  const [first = ''] = header.split(/[,;]/, 1)
  const [, primary, script, region] = LANGUAGE_TAG.exec(first.trim()) ?? []
  if (primary === undefined) return null
  const titleCase = script && script.charAt(0).toUpperCase() + script.slice(1).toLowerCase()
  return [primary.toLowerCase(), titleCase, region?.toUpperCase()].filter(Boolean).join('-')
}
