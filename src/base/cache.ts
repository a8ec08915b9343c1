/** A cache that forgets what was not read lately. */
export type RecentCache<K, V> = ReturnType<typeof createRecentCache<K, V>>

/**
 * Creates a cache of two generations. A read moves an entry to the current generation. When that one holds `limit / 2`
 * entries, or half of `weight.limit`, the previous one is dropped and `onRotate` is called. Holds at most `limit` entries.
 * Costs half of an LRU cache, because reading an entry of the current generation moves nothing.
 */
export function createRecentCache<K, V>(
  limit: number,
  weight?: { of: (value: V) => number; limit: number },
  onRotate?: () => void,
) {
  let current = new Map<K, V>()
  let previous = new Map<K, V>()
  let currentWeight = 0
  /** Starts a new generation: entries that are not read before the next call are forgotten. */
  const rotate = () => {
    previous = current
    current = new Map()
    currentWeight = 0
    onRotate?.()
  }
  const set = (key: K, value: V) => {
    if (current.size >= limit / 2 || (weight && currentWeight >= weight.limit / 2)) rotate()
    current.set(key, value)
    if (weight) currentWeight += weight.of(value)
  }
  return {
    get(key: K): V | undefined {
      const value = current.get(key)
      if (value !== undefined) return value
      const older = previous.get(key)
      if (older !== undefined) {
        previous.delete(key)
        set(key, older)
      }
      return older
    },
    set,
    delete(key: K) {
      current.delete(key)
      previous.delete(key)
    },
    rotate,
    keys: (): Iterable<K> => [...current.keys(), ...previous.keys()],
    get size() {
      return current.size + previous.size
    },
  }
}

/** Returns `compute` with its latest results cached by key, at most `limit` of them. */
export function memoize<V extends object>(limit: number, compute: (key: string) => V): (key: string) => V {
  const cache = createRecentCache<string, V>(limit)
  return (key) => {
    const cached = cache.get(key)
    if (cached !== undefined) return cached
    const value = compute(key)
    cache.set(key, value)
    return value
  }
}
