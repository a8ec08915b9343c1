import { hash } from 'node:crypto'
import { networkKey } from '../base/address.js'
import { MINUTE_MS } from '../base/time-units.js'

/** Hits that a site accepts from one address in a minute. */
const HITS_PER_MINUTE = 600
/** Bounds memory to some 6 MB a window. */
const MAX_COUNTED_ADDRESSES = 100_000

export type RateLimit = ReturnType<typeof createRateLimit>

/**
 * Counts by site and address in fixed windows of the clock: `window` milliseconds, a minute by default. IPv6 addresses count
 * by their /64, which one household or machine has. Each window discards all counts, and the salt under which addresses
 * were digested, so that they cannot be recovered. A window keeps at most `most` counts; the oldest makes room. `random(n)`
 * returns n bytes.
 */
export function createRateLimit(deps: {
  now(): number
  random(bytes: number): Buffer
  per?: number
  most?: number
  window?: number
}) {
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
    // 48 bits: two of 100,000 addresses collide once in some 50,000 windows, and no client can choose which.
    return hash('sha256', `${salt} ${site} ${networkKey(ip)}`, 'buffer').readUIntBE(0, 6)
  }
  return {
    /** Whether the limit of this window is used up; counts nothing. */
    isExhausted: (site: number, ip: string): boolean => (counts.get(keyOf(site, ip)) ?? 0) >= per,
    /** Counts one; returns false if the limit of this window is used up. */
    take(site: number, ip: string): boolean {
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
    /** The number of addresses counted in this window. */
    get size(): number {
      return counts.size
    },
  }
}
