/** Of many prefixes of text, the value of the best one that a text begins with. */
type BestPrefix<V> = (text: string) => V | undefined

/**
 * Prefixes sorted, each knowing the longest other that it begins with: one binary search, then only lengths are
 * compared. `better` chooses between two values, also of one prefix.
 */
export function createBestPrefix<V>(
  entries: Iterable<readonly [prefix: string, value: V]>,
  better: (one: V, other: V) => V,
): BestPrefix<V> {
  const own = new Map<string, V>()
  for (const [prefix, value] of entries) {
    const known = own.get(prefix)
    own.set(prefix, known === undefined ? value : better(known, value))
  }
  const prefixes = [...own.keys()].sort()
  const parents: number[] = []
  const best: V[] = []
  const open: number[] = []
  prefixes.forEach((prefix, place) => {
    while (open.length > 0 && !prefix.startsWith(prefixes[open.at(-1) ?? 0] ?? '')) open.pop()
    const parent = open.at(-1) ?? -1
    const above = best[parent]
    const value = own.get(prefix)
    if (value !== undefined) best.push(above === undefined ? value : better(above, value))
    parents.push(parent)
    open.push(place)
  })
  return (text) => {
    let low = 0
    let high = prefixes.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((prefixes[middle] ?? '') <= text) low = middle + 1
      else high = middle
    }
    let place = low - 1
    const common = commonLength(prefixes[place] ?? '', text)
    while (place >= 0 && (prefixes[place]?.length ?? 0) > common) place = parents[place] ?? -1
    return best[place]
  }
}

function commonLength(one: string, other: string): number {
  const most = Math.min(one.length, other.length)
  let length = 0
  while (length < most && one.charCodeAt(length) === other.charCodeAt(length)) length++
  return length
}
