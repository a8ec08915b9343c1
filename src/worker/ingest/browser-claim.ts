/** The browser that a user agent claims to be, as far as its headers can be checked against the claim. */
export interface BrowserClaim {
  engine: 'chrome' | 'firefox' | 'safari'
  version: number
  /** Such a browser sends Sec-Fetch-Mode, -Dest and -Site with every navigation to a trustworthy origin. */
  modern: boolean
  /** A plain Chrome from before 2020 on a later system. */
  stale: boolean
}

/** The first versions that always send all three: Chrome 80, Firefox 90, Safari 16.4. */
const FIRST_MODERN_VERSION = { chrome: 80, firefox: 90, safari: 16.4 }

/**
 * Parses the claim by plain text search, because it is parsed for every row. Returns undefined for browsers that may send any
 * headers: apps' web views, iOS browsers other than Safari, televisions, everything old.
 */
export function parseBrowserClaim(userAgent: string): BrowserClaim | undefined {
  const chrome = numberAfter(userAgent, 'Chrome/')
  if (chrome !== undefined) {
    // In an app's web view the app decides what is sent.
    if (userAgent.includes('; wv)') || userAgent.includes('Electron/')) return undefined
    return createClaim('chrome', chrome, chrome < FIRST_MODERN_VERSION.chrome && isPlainDesktop(userAgent))
  }
  const firefox = numberAfter(userAgent, 'Firefox/')
  if (firefox !== undefined) return createClaim('firefox', firefox, false)
  const safari = numberAfter(userAgent, 'Version/')
  const isApple = userAgent.includes('Macintosh') || userAgent.includes('iPhone') || userAgent.includes('iPad')
  if (safari === undefined || !isApple || !userAgent.includes(' Safari/')) return undefined
  return createClaim('safari', safari, false)
}

const createClaim = (engine: BrowserClaim['engine'], version: number, stale: boolean): BrowserClaim => ({
  engine,
  version,
  modern: version >= FIRST_MODERN_VERSION[engine],
  stale,
})

/** Returns the number right after `token`; undefined if no number follows. */
function numberAfter(userAgent: string, token: string): number | undefined {
  const at = userAgent.indexOf(token)
  if (at < 0) return undefined
  const from = at + token.length
  const number = Number.parseFloat(userAgent.slice(from, from + 6))
  return Number.isNaN(number) ? undefined : number
}

/** Other makers keep old Chrome versions for years, and append their own name. */
const isPlainDesktop = (userAgent: string) =>
  userAgent.endsWith(' Safari/537.36') &&
  (userAgent.includes('Windows NT 10.0') || userAgent.includes('Intel Mac OS X 10_15'))
