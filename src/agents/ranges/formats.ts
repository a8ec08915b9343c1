import { z } from 'zod'
import { formatPrefix, isLocatable, type Prefix, parsePrefix } from '../../base/address.js'

/** The text or file is not a usable list. The message is one line and goes after the name of its source. */
export class ListError extends Error {
  override readonly name = 'ListError'
}

/** Returns the entries of a published list that should be prefixes or addresses. */
type ReadEntries = (text: string) => readonly unknown[]

const json = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ListError('is not JSON', { cause })
  }
}
function read<T>(schema: z.ZodType<T>, text: string, what: string): T {
  const found = schema.safeParse(json(text))
  if (!found.success) throw new ListError(`does not have the form ${what}`, { cause: found.error })
  return found.data
}

const Google = z.object({
  prefixes: z.array(z.object({ ipv4Prefix: z.unknown().optional(), ipv6Prefix: z.unknown().optional() })),
})
const Aws = z.object({
  prefixes: z.array(z.object({ ip_prefix: z.unknown(), service: z.string() })),
  ipv6_prefixes: z.array(z.object({ ipv6_prefix: z.unknown(), service: z.string() })).default([]),
})
const Datadog = z.object({
  synthetics: z.object({
    prefixes_ipv4: z.array(z.unknown()).default([]),
    prefixes_ipv6: z.array(z.unknown()).default([]),
  }),
})
const Stripe = z.object({ WEBHOOKS: z.array(z.unknown()) })

/** Returns the first word of each line, without comments. */
const lineEntries: ReadEntries = (text) =>
  text
    .split(/\r\n?|\n/)
    .map((line) => line.replace(/[#;].*/, '').trim())
    .filter((line) => line !== '')
    .map((line) => line.split(/[\s,]/, 1)[0])

const ADDRESS_KEY = /^(?:ip|cidr|prefix|address)(?:v?[46])?$|^ip(?:v?[46])?_?(?:address|prefix|cidr)(?:es)?$/i
const MAX_DEPTH = 6

/** Returns every text in an array, and every text under a key that names an address. */
const jsonEntries: ReadEntries = (text) => {
  const prefixes: unknown[] = []
  const walk = (value: unknown, key: string | undefined, depth: number) => {
    if (typeof value === 'string') {
      if (key === undefined || (ADDRESS_KEY.test(key) && value.trim() !== '')) prefixes.push(value)
    } else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH) {
      if (Array.isArray(value)) for (const one of value) walk(one, undefined, depth + 1)
      else for (const [name, one] of Object.entries(value)) walk(one, name, depth + 1)
    }
  }
  walk(json(text), '', 0)
  return prefixes
}

// A browser version, a file name or a date is not an address, so no part of a word may touch the match.
const V4 = /(?<![\w.:/@-])\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2})?(?![\w/:-]|\.\w)/g
const V6 = /(?<![\w.:/@-])[23][0-9a-f]{0,3}:[0-9a-f:]{2,36}(?:\/\d{1,3})?(?![\w/:-])/gi

/** Returns the addresses in a help page. Only global ones, since pages also show examples. */
const helpPageEntries: ReadEntries = (text) => {
  const plain = text
    .replaceAll('\\/', '/')
    .replace(/<\/?[a-z!][^<>]{0,2000}>/gi, ' ')
    .replace(/&(?:nbsp|#160|#xa0);/gi, ' ')
    .replace(/&(?:sol|#47|#x2f);/gi, '/')
  return [...plain.matchAll(V4), ...plain.matchAll(V6)]
    .map(([token]) => token)
    .filter((token) => {
      const prefix = parsePrefix(token)
      return prefix && isLocatable(prefix[0])
    })
}

const FORMATS: Readonly<Record<string, ReadEntries>> = {
  'prefixes-json': (text) =>
    read(Google, text, '{"prefixes": [{"ipv4Prefix": …}]}').prefixes.flatMap(({ ipv4Prefix, ipv6Prefix }) =>
      [ipv4Prefix, ipv6Prefix].filter((one) => one !== undefined && one !== null),
    ),
  'csv-geofeed': lineEntries,
  'cidr-lines': lineEntries,
  'ip-lines': lineEntries,
  'ip-json': jsonEntries,
  'json-array': jsonEntries,
  'json-array-objects-ip': jsonEntries,
  'json-object-of-arrays': jsonEntries,
  'json WEBHOOKS array': (text) => read(Stripe, text, '{"WEBHOOKS": […]}').WEBHOOKS,
  'json-object synthetics.prefixes_ipv4/prefixes_ipv6': (text) => {
    const { prefixes_ipv4, prefixes_ipv6 } = read(Datadog, text, '{"synthetics": {"prefixes_ipv4": […]}}').synthetics
    return [...prefixes_ipv4, ...prefixes_ipv6]
  },
  'help-page-cidrs': helpPageEntries,
  'help-page-ips': helpPageEntries,
  'help-page-single-ip': helpPageEntries,
  'html-or-js-page': helpPageEntries,
  'html-or-text': helpPageEntries,
}

const awsEntries =
  (wanted: string): ReadEntries =>
  (text) => {
    const { prefixes, ipv6_prefixes } = read(Aws, text, '{"prefixes": [{"ip_prefix": …, "service": …}]}')
    const isWanted = ({ service }: { service: string }) => service === wanted
    return [
      ...prefixes.filter(isWanted).map((one) => one.ip_prefix),
      ...ipv6_prefixes.filter(isWanted).map((one) => one.ipv6_prefix),
    ]
  }

function readerOf(format: string): ReadEntries | undefined {
  const service = /^aws-ip-ranges-json service=(\w+)$/.exec(format)?.[1]
  return service === undefined ? FORMATS[format] : awsEntries(service)
}

/** Returns true for a format that this program reads. A test checks every format of the catalog. */
export const isKnownFormat = (format: string): boolean => readerOf(format) !== undefined

/** Returns true for a help page, which may be incomplete: an address that is not on it proves nothing. */
export const isHelpPage = (format: string): boolean => FORMATS[format] === helpPageEntries

/** Detects the format of a file from its text. */
export function detectFormat(text: string): string {
  const start = stripInvisible(text).trimStart()
  if (!/^[[{]/.test(start)) return start.startsWith('<') ? 'html-or-text' : 'cidr-lines'
  try {
    return Google.parse(JSON.parse(start)).prefixes.length > 0 ? 'prefixes-json' : 'json-array'
  } catch {
    return 'json-array'
  }
}

/** Removes byte order marks and zero-width characters, which occur in the middle of published lists. */
const stripInvisible = (text: string): string => text.replace(/[\u200b-\u200d\u2060\ufeff]/g, '')

const MAX_ENTRIES = 200_000
/** One in so many entries may be unreadable: a typing error must not make a long list unusable. */
const ENTRIES_PER_UNREADABLE = 100

/**
 * Returns the distinct prefixes of a published list. Throws `ListError` if the text does not have the format, holds no
 * entries, too many or too many unreadable ones, or holds a block that no single operator owns: shorter than /8, or /16
 * for IPv6.
 */
export function parseList(text: string, format: string): Prefix[] {
  const entries = readerOf(format)?.(stripInvisible(text))
  if (entries === undefined) throw new ListError(`has an unknown format: ${format}`)
  if (entries.length > MAX_ENTRIES)
    throw new ListError(`has ${entries.length} entries, at most ${MAX_ENTRIES} are allowed`)
  const prefixes = new Map<string, Prefix>()
  let unreadable = 0
  for (const entry of entries) {
    const prefix = typeof entry === 'string' ? parsePrefix(entry.trim()) : undefined
    if (!prefix) unreadable++
    else if (prefix[1] < (prefix[0].kind() === 'ipv4' ? 8 : 16))
      throw new ListError(`has ${JSON.stringify(entry)}, which is wider than any one operator's network`)
    else prefixes.set(formatPrefix(prefix), prefix)
  }
  if (prefixes.size === 0) throw new ListError('has no address')
  if (unreadable * ENTRIES_PER_UNREADABLE > entries.length)
    throw new ListError(`has ${unreadable} of ${entries.length} entries that are not addresses`)
  return [...prefixes.values()]
}
