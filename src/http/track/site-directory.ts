import type { DropReason } from '../../capture/drops.js'
import { isExcludedPath } from '../../capture/excluded-paths.js'
import type { Hit } from '../../capture/hit.js'
import { hasOptOutCookie, isOptedOut } from '../../capture/opt-out.js'
import { type Site, withoutWww } from '../../capture/site.js'

/** The sites as the doors ask for them. */
export interface SiteDirectory {
  get(id: number): Site | undefined
  /**
   * Whether a hostname is the site's (spec 5.6): it lists it, with or without `www.`; or it lists none, and the page lies
   * where the request went (`host`) and is no other site's (contract 2).
   */
  owns(site: Site, hostname: string, host: string): boolean
}

function createSnapshot(sites: readonly Site[]): SiteDirectory {
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

/** The directory of the sites that are there: as the records say; while they cannot be reached, as they said last. */
export function createSiteDirectory(sites: () => Promise<readonly Site[]>): () => Promise<SiteDirectory> {
  let listed: readonly Site[] | undefined
  let directory: SiteDirectory = createSnapshot([])
  return async () => {
    try {
      const found = await sites()
      if (found !== listed) {
        listed = found
        directory = createSnapshot(found)
      }
    } catch (error) {
      if (listed === undefined) throw error
    }
    return directory
  }
}

/** Why a site does not record a hit that is for it; undefined where it does. The rate limit is not asked. */
export function siteDropReason(
  site: Site,
  { pathname }: Pick<Hit, 'pathname'>,
  headers: Hit['headers'],
  cookie: string | undefined,
): DropReason | undefined {
  if (hasOptOutCookie(cookie) || isOptedOut({ headers }, site)) return 'opted_out'
  return isExcludedPath(site, pathname) ? 'excluded_path' : undefined
}
