import { z } from 'zod'
import { asciiHostname } from '../base/hostname.js'
import { withoutWww } from '../capture/site.js'
import type { Org } from './orgs.js'
import type { ManagedSite } from './sites.js'

/** A hostname whose requests, hits and rows are refused, because no site lists it. */
export const RefusedHostname = z.object({
  hostname: z.string().describe('As the client sent it, in ASCII and lower case; a client may send any.'),
  count: z.int().describe('Number of requests, hits and rows.'),
  last_at: z.iso.datetime().describe('When the last of them came.'),
})
export type RefusedHostname = z.infer<typeof RefusedHostname>

/** Bounds memory and responses: clients choose the hostnames. */
export const MAX_REFUSED_HOSTNAMES = 10

interface Counted {
  count: number
  last: number
}

export type RefusedHostnames = ReturnType<typeof createRefusedHostnames>

interface RefusedHostnamesDeps {
  /** All sites of the instance. */
  sites(): Promise<readonly Pick<ManagedSite, 'id' | 'domains'>[]>
  orgs(): Promise<readonly Pick<Org, 'id'>[]>
  now(): Date
}

/** Counts refused hostnames by site since the process started, in memory alone; the processes of `--workers` count none. */
export function createRefusedHostnames({ sites, orgs, now }: RefusedHostnamesDeps) {
  /** By site; undefined holds those of requests to the proxy, which name no site. */
  const bySite = new Map<number | undefined, Map<string, Counted>>()
  return {
    /** Counts one more. Text that can be no hostname of a site is ignored. Never throws. */
    add(site: number | undefined, text: string): void {
      const hostname = text.length > 253 ? undefined : asciiHostname(text)
      // A shell would read a leading hyphen as a flag.
      if (hostname === undefined || !/^[a-z0-9]/.test(hostname)) return
      const counts = bySite.get(site) ?? new Map<string, Counted>()
      bySite.set(site, counts)
      const counted = counts.get(hostname)
      if (counted === undefined && counts.size >= MAX_REFUSED_HOSTNAMES) counts.delete(rarest(counts))
      counts.set(hostname, { count: (counted?.count ?? 0) + 1, last: now().getTime() })
    },

    /**
     * Returns those of a site, the most frequent first. A hostname that a site lists by now, also one of another organisation,
     * is left out. Requests to the proxy name no site, so theirs are shown only where the instance has one organisation.
     */
    async list(site: number): Promise<RefusedHostname[]> {
      const all = await sites()
      const ids = new Set<number | undefined>(all.map(({ id }) => id))
      for (const key of bySite.keys()) if (key !== undefined && !ids.has(key)) bySite.delete(key)
      const listed = new Set(all.flatMap(({ domains }) => domains.map(withoutWww)))
      const isAlone = (await orgs()).length === 1
      const sum = new Map<string, Counted>()
      for (const counts of [bySite.get(site), isAlone ? bySite.get(undefined) : undefined])
        for (const [hostname, { count, last }] of counts ?? []) {
          const other = sum.get(hostname)
          if (listed.has(withoutWww(hostname))) continue
          sum.set(hostname, { count: count + (other?.count ?? 0), last: Math.max(last, other?.last ?? 0) })
        }
      return [...sum]
        .map(([hostname, { count, last }]) => ({ hostname, count, last_at: new Date(last).toISOString() }))
        .sort((a, b) => b.count - a.count || (a.hostname < b.hostname ? -1 : 1))
        .slice(0, MAX_REFUSED_HOSTNAMES)
    },
  }
}

/** The hostname that came the fewest times, of equals the one that came longest ago: a scan displaces no real hostname. */
function rarest(counts: ReadonlyMap<string, Counted>): string {
  const [first] = [...counts].sort(([, a], [, b]) => a.count - b.count || a.last - b.last)
  return first?.[0] ?? ''
}
