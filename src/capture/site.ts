/** The settings of a site that classification needs. */
export interface SiteSettings {
  id: number
  /** Its hostnames in lower case. A site with an empty list gets every hostname that no other site lists. */
  domains: readonly string[]
  /** IANA name. */
  timezone: string
  /** Whether a visitor's `Sec-GPC: 1` or `DNT: 1` is honoured. */
  respect_gpc: boolean
  visitor_salt: 'day' | 'week' | 'month' | 'never'
  /** Paths for which no person's view is recorded; `*` matches within a segment, `**` across segments. */
  excluded_paths: readonly string[]
}

export type SiteByHostname = (hostname: string) => SiteSettings | undefined
export type SiteById = (id: number) => SiteSettings | undefined

export const withoutWww = (hostname: string): string => (hostname.startsWith('www.') ? hostname.slice(4) : hostname)

/**
 * Creates the lookup of a hostname's site: the site that lists it, else one that lists it with or without `www.`, else
 * one that lists no hostname. If two sites claim the same hostname, the first gets it.
 */
export function createSiteLookup<S extends Pick<SiteSettings, 'domains'>>(
  sites: readonly S[],
): (hostname: string) => S | undefined {
  const exact = new Map<string, S>()
  const loose = new Map<string, S>()
  for (const site of sites)
    for (const domain of site.domains) {
      if (!exact.has(domain)) exact.set(domain, site)
      if (!loose.has(withoutWww(domain))) loose.set(withoutWww(domain), site)
    }
  const fallback = sites.find((site) => site.domains.length === 0)
  return (hostname) => exact.get(hostname) ?? loose.get(withoutWww(hostname)) ?? fallback
}
