import { MAX_CHARACTERS, truncate } from '../base/text-limits.js'

type ClickId = 'google' | 'bing' | 'display'

/** The campaign parameters of a landing address, as sent, percent-decoded once. */
export interface Campaign {
  utm_source: string | null
  utm_medium: string | null
  utm_campaign: string | null
  utm_content: string | null
  utm_term: string | null
  /** `source` or `ref`, which some links carry instead of `utm_source`. */
  ref: string | null
  /** The advertising network whose click id the address carries; `display`: Google's for banners. */
  click: ClickId | null
}

const NO_CAMPAIGN: Campaign = {
  utm_source: null,
  utm_medium: null,
  utm_campaign: null,
  utm_content: null,
  utm_term: null,
  ref: null,
  click: null,
}

const CLICK_IDS: Record<string, ClickId> = {
  gclid: 'google',
  gbraid: 'google',
  wbraid: 'google',
  gad_source: 'google',
  msclkid: 'bing',
  dclid: 'display',
}
/** The rest of a longer query string is not read. */
const MAX_QUERY_CHARACTERS = 8192

/** Parses a query string without its question mark. The first of several values counts; an empty value counts as absent. */
export function parseCampaign(query: string | undefined): Campaign {
  if (!query) return NO_CAMPAIGN
  let campaign: Campaign | undefined
  let source: string | undefined
  let ref: string | undefined
  const text = query.slice(0, MAX_QUERY_CHARACTERS)
  for (let start = 0; start < text.length; ) {
    const amp = text.indexOf('&', start)
    const end = amp < 0 ? text.length : amp
    const pair = text.slice(start, end)
    const equals = pair.indexOf('=')
    if (equals > 0 && equals < pair.length - 1) {
      const key = decodeComponent(pair.slice(0, equals)).toLowerCase()
      const value = () => truncate(decodeComponent(pair.slice(equals + 1)).trim(), MAX_CHARACTERS.text)
      if (isUtmParameter(key)) {
        campaign ??= { ...NO_CAMPAIGN }
        campaign[key] ??= value() || null
      } else if (key === 'source') source ??= value()
      else if (key === 'ref') ref ??= value()
      else if (Object.hasOwn(CLICK_IDS, key)) {
        campaign ??= { ...NO_CAMPAIGN }
        // A banner that was sold by search has both ids, and the one of search says more.
        if (campaign.click === null || campaign.click === 'display') campaign.click = CLICK_IDS[key] ?? null
      }
    }
    start = end + 1
  }
  const tag = source || ref
  return tag ? { ...(campaign ?? NO_CAMPAIGN), ref: tag } : (campaign ?? NO_CAMPAIGN)
}

const UTM_PARAMETERS = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_content', 'utm_term'] as const
const isUtmParameter = (key: string): key is (typeof UTM_PARAMETERS)[number] =>
  UTM_PARAMETERS.some((utm) => utm === key)

/** Decodes `+` and percent escapes. A text with a malformed escape stays as sent. */
function decodeComponent(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}
