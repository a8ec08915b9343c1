import { isExcludedPath } from '../../capture/excluded-paths.js'
import type { Hit } from '../../capture/hit.js'
import { hasOptOutCookie, isOptedOut } from '../../capture/opt-out.js'
import { type SiteSettings, withoutWww } from '../../capture/site.js'
import type { DropReason } from '../../storage/drops.js'

/** The sites, indexed for the track endpoints. */
export interface SiteDirectory {
  get(id: number): SiteSettings | undefined
  /**
   * Whether a hostname belongs to a site: the site lists it, with or without `www.`; or the site lists none, the page is on
   * the host that the request went to (`host`), and no other site lists it.
   */
  owns(site: SiteSettings, hostname: string, host: string): boolean
}

function createSnapshot(sites: readonly SiteSettings[]): SiteDirectory {
  const byId = new Map(sites.map((site) => [site.id, site]))
  const names = new Map(sites.map((site) => [site.id, new Set(site.domains.map(withoutWww))]))
  const listed = new Set(sites.flatMap(({ domains }) => domains.map(withoutWww)))
  return {
    get: (id) => byId.get(id),
    owns({ id, domains }, hostname, host) {
      const name = withoutWww(hostname)
      if (domains.length > 0) return names.get(id)?.has(name) === true
      return name === withoutWww(host) && !listed.has(name)
    },
  }
}

/** Returns a function that returns the lookup of all sites; while the records cannot be read, the one before. */
export function createSiteDirectory(sites: () => Promise<readonly SiteSettings[]>): () => Promise<SiteDirectory> {
  let listed: readonly SiteSettings[] | undefined
  let directory: SiteDirectory = createSnapshot([])
  return async () => {
    try {
      const current = await sites()
      if (current !== listed) {
        listed = current
        directory = createSnapshot(current)
      }
    } catch (error) {
      if (listed === undefined) throw error
    }
    return directory
  }
}

/** Returns why a site does not record one of its own hits, apart from the rate limit; undefined if it records the hit. */
export function siteDropReason(
  site: SiteSettings,
  { pathname }: Pick<Hit, 'pathname'>,
  headers: Hit['headers'],
  cookie: string | undefined,
): DropReason | undefined {
  if (hasOptOutCookie(cookie) || isOptedOut({ headers }, site)) return 'opted_out'
  return isExcludedPath(site, pathname) ? 'excluded_path' : undefined
}
