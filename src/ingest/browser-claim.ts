/** Which browser a user agent claims to be, as far as its headers can be held against it. */
export interface BrowserClaim {
  engine: 'chrome' | 'firefox' | 'safari'
  version: number
  /** Such a browser sends Sec-Fetch-Mode, -Dest and -Site with every navigation to a trustworthy origin. */
  modern: boolean
  /** A plain Chrome of before 2020 on a system of later. */
  stale: boolean
}

/** First versions that send all three, and none of a part: Chrome 80, Firefox 90, Safari 16.4. */
const FIRST_MODERN_VERSION = { chrome: 80, firefox: 90, safari: 16.4 }

/**
 * The claim of a user agent, by plain search: it is made for every row. Undefined for what may send any headers: apps'
 * web views, iOS browsers that are not Safari, televisions, everything old.
 */
export function parseBrowserClaim(userAgent: string): BrowserClaim | undefined {
  const chrome = numberAfter(userAgent, 'Chrome/')
  if (chrome !== undefined) {
    // What an app shows its pages in sends what the app makes it send.
    if (userAgent.includes('; wv)') || userAgent.includes('Electron/')) return undefined
    return createClaim('chrome', chrome, chrome < FIRST_MODERN_VERSION.chrome && isPlainDesktop(userAgent))
  }
  const firefox = numberAfter(userAgent, 'Firefox/')
  if (firefox !== undefined) return createClaim('firefox', firefox, false)
  const safari = numberAfter(userAgent, 'Version/')
  const apple = userAgent.includes('Macintosh') || userAgent.includes('iPhone') || userAgent.includes('iPad')
  return safari !== undefined && apple && userAgent.includes(' Safari/')
    ? createClaim('safari', safari, false)
    : undefined
}

const createClaim = (engine: BrowserClaim['engine'], version: number, stale: boolean): BrowserClaim => ({
  engine,
  version,
  modern: version >= FIRST_MODERN_VERSION[engine],
  stale,
})

/** The number right behind `token`; undefined where there is none. */
function numberAfter(userAgent: string, token: string): number | undefined {
  const at = userAgent.indexOf(token)
  if (at < 0) return undefined
  const from = at + token.length
  const number = Number.parseFloat(userAgent.slice(from, from + 6))
  return Number.isNaN(number) ? undefined : number
}

/** Other makers keep old Chromes for years and add their name behind it. */
const isPlainDesktop = (userAgent: string) =>
  userAgent.endsWith(' Safari/537.36') &&
  (userAgent.includes('Windows NT 10.0') || userAgent.includes('Intel Mac OS X 10_15'))
