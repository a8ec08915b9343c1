import { networkKey } from '../base/address.js'

export type ByteBudget = ReturnType<typeof createByteBudget>

/**
 * Bounds the bytes of requests that are read and not stored yet: `total` bytes, and for one address (one /64 of IPv6) at
 * most `each`, so that one sender cannot use up the budget of the others.
 */
export function createByteBudget({ total, each }: { total: number; each: number }) {
  const byNetwork = new Map<string, number>()
  let reserved = 0
  return {
    /** Returns false, and reserves nothing, if the budget or the address's share is used up. */
    reserve(bytes: number, address: string): boolean {
      const key = networkKey(address)
      const ofNetwork = (byNetwork.get(key) ?? 0) + bytes
      if (reserved + bytes > total || ofNetwork > each) return false
      reserved += bytes
      byNetwork.set(key, ofNetwork)
      return true
    },
    release(bytes: number, address: string): void {
      const key = networkKey(address)
      const left = (byNetwork.get(key) ?? 0) - bytes
      reserved -= bytes
      if (left > 0) byNetwork.set(key, left)
      else byNetwork.delete(key)
    },
  }
}
