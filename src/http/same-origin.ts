const READS: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/**
 * Whether a request that a browser authenticates by itself comes from a page of our own, or only asks. `Sec-Fetch-Site`
 * says so where the browser sends it, `Origin` otherwise, by its host alone: whoever ends TLS before us changes the
 * scheme. Neither proves nothing.
 */
export function sameOrigin({ method, headers, url }: Request): boolean {
  if (READS.includes(method)) return true
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = headers.get('origin')
  return origin !== null && URL.canParse(origin) && new URL(origin).host === new URL(url).host
}
