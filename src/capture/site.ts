/** What classification needs to know of a site (contract 7). */
export interface Site {
  id: number
  /** Its hostnames, lower case; an empty list takes every hostname that no other site has. */
  domains: readonly string[]
  /** IANA name. */
  timezone: string
  /** Whether a visitor's `Sec-GPC: 1` or `DNT: 1` is honoured. */
  respect_gpc: boolean
  visitor_salt: 'day' | 'week' | 'month' | 'never'
  /** Paths of which no person's view is recorded; `*` stands for a run within a segment, `**` across segments. */
  excluded_paths: readonly string[]
}

export type SiteByHostname = (hostname: string) => Site | undefined
export type SiteById = (id: number) => Site | undefined

export const withoutWww = (hostname: string): string => (hostname.startsWith('www.') ? hostname.slice(4) : hostname)

/**
 * The site a hostname belongs to: the one that lists it, else the one that lists it with or without `www.`, else the
 * one that lists none. Of two that claim the same, the first.
 */
export function createSiteLookup(sites: readonly Site[]): SiteByHostname {
  const exact = new Map<string, Site>()
  const loose = new Map<string, Site>()
  for (const site of sites)
    for (const domain of site.domains) {
      if (!exact.has(domain)) exact.set(domain, site)
      if (!loose.has(withoutWww(domain))) loose.set(withoutWww(domain), site)
    }
  const rest = sites.find((site) => site.domains.length === 0)
  return (hostname) => exact.get(hostname) ?? loose.get(withoutWww(hostname)) ?? rest
}
