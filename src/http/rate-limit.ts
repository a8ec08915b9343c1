import { hash } from 'node:crypto'
import { networkKey } from '../address.js'

/** Hits a minute that a site takes from one address (spec 8). */
export const HITS_PER_MINUTE = 600
const MINUTE_MS = 60_000
/** Addresses remembered in a window; some 6 MB. */
const MAX_COUNTED_ADDRESSES = 100_000

export interface RateLimit {
  /** Counts one; false where it is one too many in this window. */
  take(site: number, ip: string): boolean
  /** Whether the next would be one too many; counts nothing. */
  isExhausted(site: number, ip: string): boolean
  /** Windows that are open. */
  readonly size: number
}

/**
 * Fixed windows of the clock, minutes unless `window` says how many ms, all of which begin together: with each all counts
 * are gone, and the salt under which addresses were digested, so that nothing could tell them any more. IPv6 counts by the /64 that one household or
 * machine has. Within a window at most `most` counts are kept; the one begun first makes room. `random(n)` gives n bytes.
 */
export function createRateLimit(deps: {
  now(): number
  random(bytes: number): Buffer
  per?: number
  most?: number
  window?: number
}): RateLimit {
  const { now, random, per = HITS_PER_MINUTE, most = MAX_COUNTED_ADDRESSES, window = MINUTE_MS } = deps
  let current = Number.NaN
  let salt = ''
  let counts = new Map<number, number>()
  const keyOf = (site: number, ip: string): number => {
    const present = Math.floor(now() / window)
    if (present !== current) {
      current = present
      salt = random(16).toString('hex')
      counts = new Map()
    }
    // 48 bits: two of 100,000 addresses meet once in some 50,000 windows, and nobody can choose which.
    return hash('sha256', `${salt} ${site} ${networkKey(ip)}`, 'buffer').readUIntBE(0, 6)
  }
  return {
    isExhausted: (site, ip) => (counts.get(keyOf(site, ip)) ?? 0) >= per,
    take(site, ip) {
      const key = keyOf(site, ip)
      const before = counts.get(key) ?? 0
      if (before >= per) return false
      if (before === 0 && counts.size >= most)
        for (const oldest of counts.keys()) {
          counts.delete(oldest)
          break
        }
      counts.set(key, before + 1)
      return true
    },
    get size() {
      return counts.size
    },
  }
}
