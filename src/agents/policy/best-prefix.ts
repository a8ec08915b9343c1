/**
 * Returns a function that finds the best value among the prefixes of a text. The prefixes are sorted, and each knows the
 * longest other prefix that it begins with, so a lookup is one binary search and a few comparisons of lengths. `better`
 * chooses between two values, also between values of the same prefix.
 */
export function createBestPrefix<V>(
  entries: Iterable<readonly [prefix: string, value: V]>,
  better: (one: V, other: V) => V,
): (text: string) => V | undefined {
  const values = new Map<string, V>()
  for (const [prefix, value] of entries) {
    const known = values.get(prefix)
    values.set(prefix, known === undefined ? value : better(known, value))
  }
  const prefixes = [...values.keys()].sort()
  const parents: number[] = []
  const best: V[] = []
  const open: number[] = []
  prefixes.forEach((prefix, place) => {
    while (open.length > 0 && !prefix.startsWith(prefixes[open.at(-1) ?? 0] ?? '')) open.pop()
    const parent = open.at(-1) ?? -1
    const above = best[parent]
    const value = values.get(prefix)
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
