import type { DropReason } from '../../capture/drop.js'
import { isExcluded } from '../../capture/excluded.js'
import type { Hit } from '../../capture/hit.js'
import { saysOptOut } from '../../capture/observation.js'
import { isOptedOut } from '../../capture/opt-out.js'
import { bare, type Site } from '../../capture/site.js'

/** The sites as the doors ask for them. */
export interface Directory {
  get(id: number): Site | undefined
  /**
   * Whether a hostname is the site's (spec 5.6): it lists it, with or without `www.`; or it lists none, and the page lies
   * where the request went (`host`) and is no other site's (contract 2).
   */
  owns(site: Site, hostname: string, host: string): boolean
}

function createDirectory(sites: readonly Site[]): Directory {
  const byId = new Map(sites.map((site) => [site.id, site]))
  const names = new Map(sites.map((site) => [site.id, new Set(site.domains.map(bare))]))
  const listed = new Set(sites.flatMap(({ domains }) => domains.map(bare)))
  return {
    get: (id) => byId.get(id),
    owns({ id, domains }, hostname, host) {
      const name = bare(hostname)
      if (domains.length > 0) return names.get(id)?.has(name) === true
      return name === bare(host) && !listed.has(name)
    },
  }
}

/** The directory of the sites that are there: as the records say; while they cannot be reached, as they said last. */
export function directoryOf(sites: () => Promise<readonly Site[]>): () => Promise<Directory> {
  let listed: readonly Site[] | undefined
  let directory: Directory = createDirectory([])
  return async () => {
    try {
      const found = await sites()
      if (found !== listed) {
        listed = found
        directory = createDirectory(found)
      }
    } catch (error) {
      if (listed === undefined) throw error
    }
    return directory
  }
}

/** Why a site does not record a hit that is for it; undefined where it does. The rate limit is not asked. */
export function declined(
  site: Site,
  { pathname }: Pick<Hit, 'pathname'>,
  headers: Hit['headers'],
  cookie: string | undefined,
): DropReason | undefined {
  if (saysOptOut(cookie) || isOptedOut({ headers }, site)) return 'opted_out'
  return isExcluded(site, pathname) ? 'excluded_path' : undefined
}
