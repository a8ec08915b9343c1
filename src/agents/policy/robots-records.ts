import { type RobotsMode, trimAscii } from './robots-lines.js'

const RECORD_KINDS = [
  'user-agent',
  'allow',
  'disallow',
  'sitemap',
  'crawl-delay',
  'content-signal',
  'content-usage',
  'license',
] as const
type RobotsRecordKind = (typeof RECORD_KINDS)[number] | 'unknown'

/** Misspelt keys that Google's parser accepts. In `rfc` mode they are only reported. */
export const MISSPELT_KEYS: ReadonlyMap<string, string> = new Map([
  ...['useragent', 'user agent'].map((key) => [key, 'User-agent'] as const),
  ...['dissallow', 'dissalow', 'disalow', 'diasllow', 'disallaw'].map((key) => [key, 'Disallow'] as const),
  ['site-map', 'Sitemap'],
])

const GOOGLE_KEYS: readonly (readonly [string, RobotsRecordKind])[] = [
  ...RECORD_KINDS.slice(0, 4).map((kind) => [kind, kind] as const),
  ...[...MISSPELT_KEYS].map(([key, meant]) => [key, recordKind(meant.toLowerCase(), 'rfc')] as const),
]

/** Returns the kind of a record by its lower-case key. Google accepts any key that begins with a known one. */
export function recordKind(key: string, mode: RobotsMode): RobotsRecordKind {
  const exact = RECORD_KINDS.find((kind) => kind === key)
  if (exact !== undefined || mode === 'rfc') return exact ?? 'unknown'
  return GOOGLE_KEYS.find(([start]) => key.startsWith(start))?.[1] ?? 'unknown'
}

/**
 * Splits a line into a lower-case key and a value, both one character per octet. Returns undefined for an empty line or a
 * comment. Google accepts white space instead of the colon if the line has exactly two words.
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
 * Returns the lower-case names under which an agent can find a User-agent line; `*` stands for every agent. Google cuts at
 * the first character that a product token cannot contain, and reads `* anything` as `*`. RFC mode knows a line by its
 * whole value and by its first word (`GPTBot/1.2` is GPTBot; `Kangaroo Bot` and `MJ12bot` are whole names).
 */
export function userAgentNames(userAgent: string, mode: RobotsMode): readonly string[] {
  const value = userAgent.toLowerCase()
  if (value === '*' || (mode === 'google' && /^\*\s/.test(value))) return ['*']
  const word = (mode === 'google' ? /^[a-z_-]+/ : /^[^\s*/;,()]+/).exec(value)?.[0]
  if (word === undefined) return []
  return mode === 'google' || word === value ? [word] : [word, value]
}
