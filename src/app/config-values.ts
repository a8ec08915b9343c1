import { z } from 'zod'
import { asciiHostname } from '../base/hostname.js'

/* The kinds of values that settings have. */

/** Accepts a whole number within bounds, also as text. */
export const wholeNumber = (min: number, max: number) =>
  z
    .union([z.int(), z.string().regex(/^\d+$/).transform(Number)], { error: 'must be a whole number' })
    .pipe(z.int().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`))
/** Accepts text of at least one character. */
export const nonEmptyText = z.string('must be text').min(1, 'must not be empty')
/** Accepts a YAML list, a repeated flag, or one text with commas. */
export const listOf = <T extends z.ZodType>(item: T) =>
  z.preprocess(
    (value) =>
      (Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [value])
        .map((item) => (typeof item === 'string' ? item.trim() : item))
        .filter((item) => item !== ''),
    z.array(item),
  )
/** Accepts an http or https URL of only a host and port. */
export const originUrl = nonEmptyText.refine((value) => {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false
  const url = new URL(value)
  return url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password
}, 'must be an http or https URL of only a host, such as http://localhost:3000')
/** Accepts an http or https URL that may have a path. */
export const serviceUrl = nonEmptyText.refine((value) => {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false
  const url = new URL(value)
  return !url.search && !url.hash && !url.username && !url.password
}, 'must be an http or https URL, such as https://stats.example.com')
/** Accepts the URL of a mail server. */
export const smtpUrl = nonEmptyText.refine((value) => {
  if (!/^smtps?:\/\//i.test(value) || !URL.canParse(value)) return false
  return new URL(value).hostname !== ''
}, 'must be an smtp or smtps URL, such as smtp://mail.example.com:587')
/** Converts a hostname to ASCII, as browsers send it. */
export const hostname = nonEmptyText.transform((value, context) => {
  const ascii = asciiHostname(value)
  if (ascii === undefined) context.addIssue('must be a hostname, without scheme, port or path')
  return ascii ?? ''
})
/** Converts an origin to what browsers send in `Origin`: ASCII, lower case, without the scheme's default port. */
export const pageOrigin = originUrl.transform((value, context) => {
  const { origin, hostname } = new URL(value)
  if (hostname.includes('*')) context.addIssue('must be one origin, not a pattern')
  return origin
})
const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const
/** The levels of the log, each with all before it. */
export const logLevel = z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` })
/** Accepts a timeout of up to a day, in seconds. */
export const timeoutSeconds = wholeNumber(1, 86_400)
/** A size with its unit, such as `512MB` or `1.5GiB`. */
export const SIZE_PATTERN = /^\d+(\.\d+)?\s?[KMGT]i?B$/i
/** Converts `512MB`, `1.5GiB` or a plain number to bytes. */
export const byteSize = z
  .union([z.int().min(0), nonEmptyText.regex(/^\d+$/), nonEmptyText.regex(SIZE_PATTERN)], {
    error: 'must be a size such as 512MB',
  })
  .transform((value) => {
    const [, number, unit, binary] = /^([\d.]+)\s?([KMGT]?)(i?)B?$/i.exec(String(value)) ?? []
    const power = unit ? 'KMGT'.indexOf(unit.toUpperCase()) + 1 : 0
    return Math.floor(Number(number) * (binary ? 1024 : 1000) ** power)
  })

/** Accepts the URL of a database, with one of these schemes. */
export const databaseUrl = (schemes: RegExp, example: string) =>
  nonEmptyText.refine((value) => schemes.test(value) && URL.canParse(value), {
    error: `must be a URL such as ${example}`,
  })
