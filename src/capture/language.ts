import { memo } from '../cache.js'
import { CAPS, cap } from './caps.js'

const TAG = /^([a-z]{2,3})(?:-([a-z]{4}))?(?:-([a-z]{2}|\d{3}))?(?:-[a-z0-9-]+)?$/i

const read = memo(512, (header) => ({ tag: parse(header) }))

/** The first language of `Accept-Language` as BCP 47 writes it (`de-AT`, `zh-Hans-CN`), null where it names none. */
export const language = (acceptLanguage: string | undefined): string | null =>
  acceptLanguage ? read(cap(acceptLanguage, CAPS.text)).tag : null

function parse(header: string): string | null {
  const [first = ''] = header.split(/[,;]/, 1)
  const [, primary, script, region] = TAG.exec(first.trim()) ?? []
  if (primary === undefined) return null
  const written = [
    primary.toLowerCase(),
    script && script.charAt(0).toUpperCase() + script.slice(1).toLowerCase(),
    region?.toUpperCase(),
  ]
  return written.filter(Boolean).join('-')
}
