import { placeOf } from '../../address.js'

/** A bound on the bytes of requests that are read and not stored yet. */
export interface Room {
  /** False where there is none left, or this address has taken its share; nothing is taken then. */
  take(bytes: number, address: string): boolean
  give(bytes: number, address: string): void
}

/** `total` bytes, no more than `each` of them for one address (of IPv6 for one /64): a stranger's bodies must not shut out the others. */
export function createRoom({ total, each }: { total: number; each: number }): Room {
  const taken = new Map<string, number>()
  let all = 0
  return {
    take(bytes, address) {
      const place = placeOf(address)
      const mine = (taken.get(place) ?? 0) + bytes
      if (all + bytes > total || mine > each) return false
      all += bytes
      taken.set(place, mine)
      return true
    },
    give(bytes, address) {
      const place = placeOf(address)
      const left = (taken.get(place) ?? 0) - bytes
      all -= bytes
      if (left > 0) taken.set(place, left)
      else taken.delete(place)
    },
  }
}
