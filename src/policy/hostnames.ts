import { DAY_MS } from './version.js'

/** Hostnames that are known only from requests: any stranger can write one, so they are few. */
export const MAX_UNLISTED_HOSTNAMES = 64
/** What is unseen for so long is forgotten, ms. */
const FORGET_AFTER_MS = DAY_MS

interface HostnameEntry {
  /** Its site lists it: it stays. */
  listed: boolean
  /** Rows of it that were judged. */
  rows: number
  last: number
}

/** The hostnames whose policy is kept. */
export interface Hostnames {
  /** A row of `hostname` came at `at`, epoch ms. True: it was not known before and is from now on. */
  observe(hostname: string, at: number): boolean
  /** These are the hostnames that sites list. */
  setListed(hostnames: readonly string[]): void
  has(hostname: string): boolean
  isListed(hostname: string): boolean
  /** Forgets what was long unseen, and answers it. */
  forget(at: number): string[]
  /** Those that sites list first, then those seen most. */
  all(): readonly string[]
}

/** A hostname as URLs have it: one that becomes another in a URL would be asked for there. */
const isHostname = (text: string): boolean =>
  /^(?:[a-z0-9_](?:[a-z0-9._-]{0,252})|\[[0-9a-f:.]{2,45}\])$/.test(text) &&
  URL.canParse(`http://${text}/`) &&
  new URL(`http://${text}/`).hostname === text

export function createHostnames(): Hostnames {
  const known = new Map<string, HostnameEntry>()
  let observed = 0

  const remove = (hostname: string) => {
    if (known.get(hostname)?.listed === false) observed--
    known.delete(hostname)
  }
  /** The one least missed: fewest rows, then longest unseen. What a flood of made-up names brings is told by that. */
  const least = (): string | undefined => {
    let found: [string, HostnameEntry] | undefined
    for (const one of known) {
      const [, { listed, rows, last }] = one
      if (listed) continue
      if (!found || rows < found[1].rows || (rows === found[1].rows && last < found[1].last)) found = one
    }
    return found?.[0]
  }

  return {
    observe(hostname, at) {
      const one = known.get(hostname)
      if (one) {
        one.rows++
        if (at > one.last) one.last = at
        return false
      }
      if (!isHostname(hostname)) return false
      if (observed >= MAX_UNLISTED_HOSTNAMES) {
        const gone = least()
        if (gone !== undefined) remove(gone)
      }
      known.set(hostname, { listed: false, rows: 1, last: at })
      observed++
      return true
    },
    setListed(hostnames) {
      const listed = new Set(hostnames.filter(isHostname))
      for (const [hostname, one] of known) {
        if (one.listed === listed.has(hostname)) continue
        one.listed = !one.listed
        observed += one.listed ? -1 : 1
      }
      for (const hostname of listed) if (!known.has(hostname)) known.set(hostname, { listed: true, rows: 0, last: 0 })
    },
    has: (hostname) => known.has(hostname),
    isListed: (hostname) => known.get(hostname)?.listed === true,
    forget(at) {
      const gone = [...known]
        .filter(([, one]) => !one.listed && at - one.last > FORGET_AFTER_MS)
        .map(([hostname]) => hostname)
      for (const hostname of gone) remove(hostname)
      return gone
    },
    all: () =>
      [...known]
        .sort(([, a], [, b]) => Number(b.listed) - Number(a.listed) || b.rows - a.rows)
        .map(([hostname]) => hostname),
  }
}
