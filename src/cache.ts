/** A map that forgets what was not asked for lately. */
export interface RecentCache<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): void
  delete(key: K): void
  /** Makes a generation older: what is not asked for before the next one is forgotten. */
  rotate(): void
  keys(): Iterable<K>
  readonly size: number
}

/**
 * Two generations: entries move to the young one when asked for, and the old one is dropped when the young one holds
 * `limit / 2`, or half of what entries may weigh together. At most `limit` entries; half the cost of an LRU, since a hit on a young entry moves nothing.
 * `aged` is told of each generation that is dropped.
 */
export function createRecentCache<K, V>(
  limit: number,
  weigh?: { of: (value: V) => number; limit: number },
  aged?: () => void,
): RecentCache<K, V> {
  let young = new Map<K, V>()
  let old = new Map<K, V>()
  let weight = 0
  const age = () => {
    old = young
    young = new Map()
    weight = 0
    aged?.()
  }
  const set = (key: K, value: V) => {
    if (young.size >= limit / 2 || (weigh && weight >= weigh.limit / 2)) age()
    young.set(key, value)
    if (weigh) weight += weigh.of(value)
  }
  return {
    get(key) {
      const value = young.get(key)
      if (value !== undefined) return value
      const again = old.get(key)
      if (again !== undefined) {
        old.delete(key)
        set(key, again)
      }
      return again
    },
    set,
    delete(key) {
      young.delete(key)
      old.delete(key)
    },
    rotate: age,
    keys: () => [...young.keys(), ...old.keys()],
    get size() {
      return young.size + old.size
    },
  }
}

/** `work` with its last answers kept, at most `limit` of them, by a key of text. */
export function memoize<V extends object>(limit: number, work: (key: string) => V): (key: string) => V {
  const recent = createRecentCache<string, V>(limit)
  return (key) => {
    const known = recent.get(key)
    if (known !== undefined) return known
    const value = work(key)
    recent.set(key, value)
    return value
  }
}
