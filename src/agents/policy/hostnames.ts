import { DAY_MS } from '../../base/time-units.js'

/** Hostnames that are known only from requests. They are few, since a client can send any `Host`. */
export const MAX_UNLISTED_HOSTNAMES = 64
/** A hostname without requests is forgotten after this time. */
const FORGET_AFTER_MS = DAY_MS
/** New unlisted hostnames are admitted one per interval, with a burst at most. */
const ADMISSION_INTERVAL_MS = 10_000
const MAX_ADMISSION_BURST = 8

interface HostnameEntry {
  /** True if a site lists the hostname; it is then never forgotten. */
  listed: boolean
  /** False for a hostname that only requests name until its files may be fetched. */
  admitted: boolean
  /** Number of its requests that were judged. */
  requests: number
  last: number
}

/** Returns true for a hostname in the form of URLs. A text that a URL would change would be fetched under another name. */
const isHostname = (text: string): boolean =>
  /^(?:[a-z0-9_](?:[a-z0-9._-]{0,252})|\[[0-9a-f:.]{2,45}\])$/.test(text) &&
  URL.canParse(`http://${text}/`) &&
  new URL(`http://${text}/`).hostname === text

/** The hostnames whose policy is fetched. Times are milliseconds since 1970. */
export function createHostnames() {
  const entries = new Map<string, HostnameEntry>()
  let unlisted = 0
  const mayAdmit = createAdmissionLimit()
  /** Known from the origin's URL alone. It makes way for the first hostname that a request or a site names. */
  let assumed: string | undefined

  const remove = (hostname: string) => {
    if (entries.get(hostname)?.listed === false) unlisted--
    entries.delete(hostname)
  }
  const confirm = (hostname: string) => {
    if (assumed !== undefined && assumed !== hostname) remove(assumed)
    assumed = undefined
  }
  const all = (): string[] => [...entries].sort(compareUse).map(([hostname]) => hostname)

  return {
    /** Counts a request of `hostname` that was seen at `at`. Returns true if the hostname is new. */
    observe(hostname: string, at: number, admitted = false): boolean {
      const entry = entries.get(hostname)
      if (entry) {
        confirm(hostname)
        entry.requests++
        if (at > entry.last) entry.last = at
        return false
      }
      if (!isHostname(hostname)) return false
      confirm(hostname)
      if (unlisted >= MAX_UNLISTED_HOSTNAMES) {
        const displaced = leastUsed(entries)
        if (displaced !== undefined) remove(displaced)
      }
      entries.set(hostname, { listed: false, admitted, requests: 1, last: at })
      unlisted++
      return true
    },
    /** Adds the origin's own hostname if no other is known, until another is. */
    assume(hostname: string, at: number): void {
      if (entries.size > 0 || !isHostname(hostname)) return
      entries.set(hostname, { listed: false, admitted: true, requests: 0, last: at })
      unlisted++
      assumed = hostname
    },
    /** Sets the hostnames that sites list. */
    setListed(hostnames: readonly string[]): void {
      const listed = new Set(hostnames.filter(isHostname))
      for (const hostname of listed) confirm(hostname)
      for (const [hostname, entry] of entries) {
        if (entry.listed === listed.has(hostname)) continue
        entry.listed = !entry.listed
        unlisted += entry.listed ? -1 : 1
      }
      for (const hostname of listed)
        if (!entries.has(hostname)) entries.set(hostname, { listed: true, admitted: true, requests: 0, last: 0 })
    },
    /** Admits as many waiting hostnames as may be: those that a site lists by now, then those with most requests. */
    admit(at: number): string[] {
      const admitted: string[] = []
      for (const hostname of all()) {
        const entry = entries.get(hostname)
        if (!entry || entry.admitted) continue
        if (!entry.listed && !mayAdmit(at)) break
        entry.admitted = true
        admitted.push(hostname)
      }
      return admitted
    },
    has: (hostname: string): boolean => entries.has(hostname),
    isListed: (hostname: string): boolean => entries.get(hostname)?.listed === true,
    isAdmitted: (hostname: string): boolean => entries.get(hostname)?.admitted === true,
    /** Forgets unlisted hostnames that were unseen for a day. */
    forget(at: number): void {
      for (const [hostname, entry] of entries) if (!entry.listed && at - entry.last > FORGET_AFTER_MS) remove(hostname)
    },
    /** Returns those that sites list first, then those with most requests. */
    all,
  }
}

const compareUse = ([, a]: [string, HostnameEntry], [, b]: [string, HostnameEntry]): number =>
  Number(b.listed) - Number(a.listed) || b.requests - a.requests

/**
 * Finds the unlisted hostname with the fewest requests, of several the one that was unseen for longest. So a flood of
 * made-up hostnames displaces its own entries.
 */
function leastUsed(entries: ReadonlyMap<string, HostnameEntry>): string | undefined {
  let least: [string, HostnameEntry] | undefined
  for (const entry of entries) {
    const [, { listed, requests, last }] = entry
    if (listed) continue
    if (!least || requests < least[1].requests || (requests === least[1].requests && last < least[1].last))
      least = entry
  }
  return least?.[0]
}

/** Returns a function that tells whether one more unlisted hostname may be admitted at a time, and counts it. */
function createAdmissionLimit(): (at: number) => boolean {
  let nextAdmission = 0
  return (at) => {
    const next = Math.max(nextAdmission, at - ADMISSION_INTERVAL_MS * MAX_ADMISSION_BURST) + ADMISSION_INTERVAL_MS
    if (next > at) return false
    nextAdmission = next
    return true
  }
}
