/** Seconds without a request after which the next one starts a session, as in the store. */
const SESSION_GAP = 30 * 60
/** A visitor with fewer pageviews proves nothing by loading no asset: a browser may have all of them in its cache. */
const MIN_PAGEVIEWS_WITHOUT_ASSET = 3
const FIRST_CAPACITY = 1 << 14
/** The share of places that are taken before the table grows. Ten million visitors fit into 285 MB. */
const MAX_LOAD = 0.75

/**
 * Creates a table of visitors by number, which counts them and their sessions. Flat arrays take 17 bytes a place; a
 * `Map` takes several times that, and holds at most 16.7 million entries.
 */
export function createVisitorTable() {
  let capacity = FIRST_CAPACITY
  let used = 0
  let keys = new Float64Array(capacity)
  let lastSeen = new Uint32Array(capacity)
  let pageviews = new Uint32Array(capacity)
  let assets = new Uint8Array(capacity)
  let sessions = 0

  /** Returns the place of `key`, or the free place where it belongs. */
  const place = (key: number): number => {
    let at = key % capacity
    while (keys[at] !== 0 && keys[at] !== key) at = at + 1 === capacity ? 0 : at + 1
    return at
  }
  const grow = () => {
    const before = { keys, lastSeen, pageviews, assets }
    capacity *= 2
    keys = new Float64Array(capacity)
    lastSeen = new Uint32Array(capacity)
    pageviews = new Uint32Array(capacity)
    assets = new Uint8Array(capacity)
    before.keys.forEach((key, from) => {
      if (key === 0) return
      const to = place(key)
      keys[to] = key
      lastSeen[to] = before.lastSeen[from] ?? 0
      pageviews[to] = before.pageviews[from] ?? 0
      assets[to] = before.assets[from] ?? 0
    })
  }
  const find = (visitor: number): number => {
    // 0 marks a free place.
    const key = visitor || 1
    const at = place(key)
    if (keys[at] !== 0) return at
    keys[at] = key
    used++
    if (used <= capacity * MAX_LOAD) return at
    grow()
    return place(key)
  }
  return {
    /** `visitor` is an integer of at most 53 bits, `at` in seconds since 1970. Lines may be out of order. */
    addPageview(visitor: number, at: number): void {
      const i = find(visitor)
      if (pageviews[i] === 0 || at - (lastSeen[i] ?? 0) > SESSION_GAP) sessions++
      if (at > (lastSeen[i] ?? 0)) lastSeen[i] = at
      pageviews[i] = (pageviews[i] ?? 0) + 1
    },
    addAsset(visitor: number): void {
      assets[find(visitor)] = 1
    },
    /** Counts visitors with a pageview, their sessions, and those who opened three pages or more and never loaded an asset. */
    totals() {
      let visitors = 0
      const withoutAssets = { visitors: 0, pageviews: 0 }
      pageviews.forEach((count, i) => {
        if (count === 0) return
        visitors++
        if (assets[i] === 1 || count < MIN_PAGEVIEWS_WITHOUT_ASSET) return
        withoutAssets.visitors++
        withoutAssets.pageviews += count
      })
      return { visitors, sessions, withoutAssets }
    },
  }
}

const HASH_MULTIPLIERS = [0x85ebca6b, 0xc2b2ae35] as const

/** Returns a number of 53 bits for a text, different for each `seed`. Two of ten million visitors share one once in 180 runs. */
export function hashText(text: string, seed = 0): number {
  let low = 0x9e3779b9 ^ seed
  let high = 0x7f4a7c15 ^ (seed / 0x1_0000_0000)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    low = Math.imul(low ^ code, HASH_MULTIPLIERS[0])
    high = Math.imul(high ^ code, HASH_MULTIPLIERS[1])
    low ^= low >>> 15
    high ^= high >>> 13
  }
  low = Math.imul(low ^ (high >>> 16), HASH_MULTIPLIERS[1])
  high = Math.imul(high ^ (low >>> 13), HASH_MULTIPLIERS[0])
  return (high >>> 11) * 0x1_0000_0000 + (low >>> 0)
}
