import { createFileState, type PolicyFileState } from './file-schedule.js'
import { createHostnames, MAX_UNLISTED_HOSTNAMES } from './hostnames.js'
import { POLICY_KINDS, type PolicyKind, type PolicyVersion } from './version.js'

/** The two files of one hostname. */
export type PolicyFiles = { readonly [K in PolicyKind]: PolicyFileState }

export interface PolicyFilesDeps {
  /** The hostnames whose policy is fetched; another array once they have changed. */
  sites: () => readonly {
    readonly domains: readonly string[]
    readonly origin: string | null
    /** The robots.txt that readership serves for the site's hostnames in place of the origin's. */
    readonly managed_robots?: string | null
  }[]
  /** The hostname whose policy is fetched until a site or a request names one: that of the settings, or of the origin's URL. */
  assumedHostname?: string
  /** Milliseconds since 1970. */
  now: () => number
}

/** Hostnames without a request in a long time are forgotten this often. */
const FORGET_INTERVAL_MS = 10_000

export type PolicyFileList = ReturnType<typeof createPolicyFiles>

/** The hostnames whose policy is fetched, with the state of their files. */
export function createPolicyFiles({ sites: listSites, assumedHostname, now }: PolicyFilesDeps) {
  const hostnames = createHostnames()
  const filesByHostname = new Map<string, PolicyFiles>()
  /** Origins of the sites that have their own, by hostname. */
  let origins: ReadonlyMap<string, string> = new Map()
  let managedOf = createManagedLookup([])
  let listedSites: ReturnType<PolicyFilesDeps['sites']> | undefined
  let listedAt = Number.NEGATIVE_INFINITY

  const all = (): PolicyFileState[] => [...filesByHostname.values()].flatMap(({ robots, llms }) => [robots, llms])
  const add = (hostname: string, due: number) => {
    const robots = createFileState(hostname, 'robots', due)
    filesByHostname.set(hostname, { robots, llms: createFileState(hostname, 'llms', due) })
  }
  const removeForgotten = () => {
    for (const hostname of filesByHostname.keys()) if (!hostnames.has(hostname)) filesByHostname.delete(hostname)
  }
  /** Adds and removes hostnames as the sites list them, and forgets those that are not requested any more. */
  const updateFromSites = () => {
    const time = now()
    const sites = listSites()
    if (sites === listedSites && time - listedAt < FORGET_INTERVAL_MS) return
    listedSites = sites
    listedAt = time
    hostnames.setListed(sites.flatMap(({ domains }) => domains))
    origins = new Map(
      sites.flatMap(({ domains, origin }) =>
        origin === null ? [] : domains.map((domain) => [domain, origin] as const),
      ),
    )
    managedOf = replaceManaged(managedOf, sites, filesByHostname, time)
    hostnames.forget(time)
    if (assumedHostname !== undefined) hostnames.assume(assumedHostname, time)
    removeForgotten()
    for (const hostname of hostnames.all()) if (!filesByHostname.has(hostname)) add(hostname, time)
  }

  return {
    get: (hostname: string): PolicyFiles | undefined => filesByHostname.get(hostname),
    all,
    /** Returns every hostname: those that sites list first, then those with most requests. */
    hostnames: hostnames.all,
    isListed: hostnames.isListed,
    isAdmitted: hostnames.isAdmitted,
    /** Returns the origin of the hostname's site; undefined if the site has none of its own. */
    originOf: (hostname: string): string | undefined => origins.get(hostname),
    /** Returns the robots.txt that readership serves for the hostname; undefined if the origin's is served. */
    managedOf: (hostname: string): string | undefined => managedOf(hostname),
    /** Counts a request of the hostname. A hostname that no site lists waits for its admission. */
    observe(hostname: string): void {
      // Now, and not when the request arrived: rows of other servers may be weeks old, and a hostname that was forgotten at
      // once and found again would have its files fetched and stored each time.
      if (!hostnames.observe(hostname, now())) return
      add(hostname, Number.POSITIVE_INFINITY)
      removeForgotten()
    },
    /** Brings the hostnames up to date, and makes the files of those that are admitted due. */
    update(): void {
      updateFromSites()
      const time = now()
      for (const hostname of hostnames.admit(time))
        for (const kind of POLICY_KINDS) {
          const file = filesByHostname.get(hostname)?.[kind]
          if (file) file.due = time
        }
    },
    /** Takes over stored versions, in the place of those that were known before. */
    restore(versions: readonly PolicyVersion[]): void {
      const time = now()
      updateFromSites()
      // A hostname that is in no site's list is treated as seen now; otherwise a long downtime would remove it.
      const latest = new Map(versions.map(({ hostname, last_seen }) => [hostname, last_seen]))
      const unlisted = [...latest].filter(([hostname]) => !hostnames.has(hostname)).sort((a, b) => b[1] - a[1])
      for (const [hostname] of unlisted.slice(0, MAX_UNLISTED_HOSTNAMES))
        if (hostnames.observe(hostname, time, true)) add(hostname, time)
      for (const file of all()) file.versions.length = 0
      for (const version of versions) filesByHostname.get(version.hostname)?.[version.kind].versions.push(version)
    },
  }
}

type ManagedLookup = (hostname: string) => string | undefined

/** Returns the lookup of the sites, and makes each robots.txt due that is another one by it. */
function replaceManaged(
  before: ManagedLookup,
  sites: ReturnType<PolicyFilesDeps['sites']>,
  files: ReadonlyMap<string, PolicyFiles>,
  time: number,
): ManagedLookup {
  const lookup = createManagedLookup(sites)
  // A hostname that is not admitted yet has no finite time.
  for (const [hostname, { robots }] of files)
    if (Number.isFinite(robots.due) && lookup(hostname) !== before(hostname)) robots.due = time
  return lookup
}

const withoutWww = (hostname: string): string => (hostname.startsWith('www.') ? hostname.slice(4) : hostname)

/** Returns the function that finds the managed robots.txt of a hostname; a site without hostnames has all that no other lists. */
function createManagedLookup(sites: ReturnType<PolicyFilesDeps['sites']>): ManagedLookup {
  const texts = new Map(
    sites.flatMap(({ domains, managed_robots = null }) => domains.map((domain) => [domain, managed_robots] as const)),
  )
  // For a hostname of which only the other spelling, with or without `www.`, is listed.
  const loose = new Map([...texts].reverse().map(([domain, text]) => [withoutWww(domain), text]))
  const others = sites.find(({ domains }) => domains.length === 0)?.managed_robots
  return (hostname) => {
    const text = texts.has(hostname) ? texts.get(hostname) : loose.get(withoutWww(hostname))
    return (text === undefined ? others : text) ?? undefined
  }
}
