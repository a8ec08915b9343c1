import { networkKey } from '../../address.js'

/** A bound on the bytes of requests that are read and not stored yet. */
export interface ByteBudget {
  /** False where there is none left, or this address has taken its share; nothing is taken then. */
  reserve(bytes: number, address: string): boolean
  release(bytes: number, address: string): void
}

/** `total` bytes, no more than `each` of them for one address (of IPv6 for one /64): a stranger's bodies must not shut out the others. */
export function createByteBudget({ total, each }: { total: number; each: number }): ByteBudget {
  const taken = new Map<string, number>()
  let all = 0
  return {
    reserve(bytes, address) {
      const place = networkKey(address)
      const mine = (taken.get(place) ?? 0) + bytes
      if (all + bytes > total || mine > each) return false
      all += bytes
      taken.set(place, mine)
      return true
    },
    release(bytes, address) {
      const place = networkKey(address)
      const left = (taken.get(place) ?? 0) - bytes
      all -= bytes
      if (left > 0) taken.set(place, left)
      else taken.delete(place)
    },
  }
}
