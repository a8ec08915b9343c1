const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/**
 * Whether a request that a browser authenticates by itself comes from a page of our own, or only asks. `Sec-Fetch-Site`
 * says so where the browser sends it, `Origin` otherwise, by its host alone: whoever ends TLS before us changes the
 * scheme. Neither proves nothing.
 */
export function isProvenSameOrigin({ method, headers, url }: Request): boolean {
  if (SAFE_METHODS.includes(method)) return true
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = headers.get('origin')
  return origin !== null && URL.canParse(origin) && new URL(origin).host === new URL(url).host
}

/**
 * Whether a page of somebody else sent it, as far as it says: what takes its credential in the body is open to programs,
 * which say nothing, and yet a stranger's page must not sign its visitors in as somebody else.
 */
export function isKnownCrossOrigin({ headers, url }: Request): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site !== 'same-origin' && site !== 'none'
  const origin = headers.get('origin')
  return origin !== null && !(URL.canParse(origin) && new URL(origin).host === new URL(url).host)
}
