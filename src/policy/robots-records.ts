import { type RobotsMode, trimAscii } from './robots-lines.js'

export type RobotsRecordKind =
  | 'user-agent'
  | 'allow'
  | 'disallow'
  | 'sitemap'
  | 'crawl-delay'
  | 'content-signal'
  | 'content-usage'
  | 'unknown'

const RECORD_KINDS = [
  'user-agent',
  'allow',
  'disallow',
  'sitemap',
  'crawl-delay',
  'content-signal',
  'content-usage',
] as const

/** Spellings that Google reads as what was meant; the RFC's reader only says so. */
export const MISSPELT_KEYS: ReadonlyMap<string, string> = new Map([
  ...['useragent', 'user agent'].map((key) => [key, 'User-agent'] as const),
  ...['dissallow', 'dissalow', 'disalow', 'diasllow', 'disallaw'].map((key) => [key, 'Disallow'] as const),
  ['site-map', 'Sitemap'],
])

const GOOGLE_KEYS: readonly (readonly [string, RobotsRecordKind])[] = [
  ['user-agent', 'user-agent'],
  ['allow', 'allow'],
  ['disallow', 'disallow'],
  ['sitemap', 'sitemap'],
  ...[...MISSPELT_KEYS].map(([key, meant]): readonly [string, RobotsRecordKind] => [
    key,
    recordKind(meant.toLowerCase(), 'rfc'),
  ]),
]

/** What a record is by its lower-cased key. Google takes any key that begins as one it knows. */
export function recordKind(key: string, mode: RobotsMode): RobotsRecordKind {
  const exact = RECORD_KINDS.find((kind) => kind === key)
  if (exact !== undefined || mode === 'rfc') return exact ?? 'unknown'
  return GOOGLE_KEYS.find(([start]) => key.startsWith(start))?.[1] ?? 'unknown'
}

/**
 * A line's key, in lower case, and value, both one character an octet; undefined for an empty line or a comment. Google
 * takes white space for the colon where the line is exactly two words.
 */
export function splitRecord(line: string, mode: RobotsMode): { key: string; value: string } | 'no colon' | undefined {
  const hash = line.indexOf('#')
  const text = trimAscii(hash < 0 ? line : line.slice(0, hash))
  if (text === '') return undefined
  const colon = text.indexOf(':')
  if (colon < 0) {
    const words = mode === 'google' ? /^([^ \t]+)[ \t]+([^ \t]+)$/.exec(text) : null
    return words?.[1] && words[2] ? { key: words[1].toLowerCase(), value: words[2] } : 'no colon'
  }
  const key = trimAscii(text.slice(0, colon)).toLowerCase()
  return key === '' ? 'no colon' : { key, value: trimAscii(text.slice(colon + 1)) }
}

/**
 * Under which names, in lower case, a User-agent line can be found; `*` is everyone's. Google cuts at the first
 * character outside of a product token, and takes `* anything` for `*`. The RFC's reader knows a line by its whole value
 * and by its first word (`GPTBot/1.2` is GPTBot, `Kangaroo Bot` and `MJ12bot` are themselves).
 */
export function userAgentNames(userAgent: string, mode: RobotsMode): readonly string[] {
  const value = userAgent.toLowerCase()
  if (value === '*' || (mode === 'google' && /^\*\s/.test(value))) return ['*']
  const word = (mode === 'google' ? /^[a-z_-]+/ : /^[^\s*/;,()]+/).exec(value)?.[0]
  if (word === undefined) return []
  return mode === 'google' || word === value ? [word] : [word, value]
}
