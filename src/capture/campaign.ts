import { CAPS, cap } from './caps.js'

/** What a landing address says of the campaign that led to it; values as they were sent, decoded once. */
export interface Campaign {
  utm_source: string | null
  utm_medium: string | null
  utm_campaign: string | null
  utm_content: string | null
  utm_term: string | null
  /** `source` or `ref`, which some links carry in place of `utm_source`. */
  ref: string | null
  /** Whose advertisement was clicked, by the click id it left. */
  click: 'google' | 'bing' | null
}

const NONE: Campaign = {
  utm_source: null,
  utm_medium: null,
  utm_campaign: null,
  utm_content: null,
  utm_term: null,
  ref: null,
  click: null,
}

const CLICK_IDS: Record<string, 'google' | 'bing'> = {
  gclid: 'google',
  gbraid: 'google',
  wbraid: 'google',
  gad_source: 'google',
  msclkid: 'bing',
}
/** As far as a query string is read. */
const QUERY_LENGTH = 8192
const TEXT = CAPS.text

/** The campaign of a query string without its question mark. The first of several wins, an empty one is none. */
export function campaign(query: string | undefined): Campaign {
  if (!query) return NONE
  let found: Campaign | undefined
  let source: string | undefined
  let ref: string | undefined
  const text = query.slice(0, QUERY_LENGTH)
  for (let start = 0; start < text.length; ) {
    const amp = text.indexOf('&', start)
    const end = amp < 0 ? text.length : amp
    const pair = text.slice(start, end)
    const equals = pair.indexOf('=')
    if (equals > 0 && equals < pair.length - 1) {
      const key = decode(pair.slice(0, equals)).toLowerCase()
      const value = () => cap(decode(pair.slice(equals + 1)).trim(), TEXT)
      if (isUtm(key)) {
        found ??= { ...NONE }
        found[key] ??= value() || null
      } else if (key === 'source') source ??= value()
      else if (key === 'ref') ref ??= value()
      else if (Object.hasOwn(CLICK_IDS, key)) {
        found ??= { ...NONE }
        found.click ??= CLICK_IDS[key] ?? null
      }
    }
    start = end + 1
  }
  const tag = source || ref
  return tag ? { ...(found ?? NONE), ref: tag } : (found ?? NONE)
}

const UTM = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_content', 'utm_term'] as const
const isUtm = (key: string): key is (typeof UTM)[number] => UTM.some((utm) => utm === key)

/** A malformed escape stands as it was sent. */
function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}
