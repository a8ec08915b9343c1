import { withoutFragmentRoute } from './fragment-route.js'
import type { Site } from './site.js'

const compiledPatterns = new WeakMap<Site, readonly Pattern[]>()

/**
 * Whether a site asked not to record views of a path: its patterns are whole paths with `*` and `**`. Of a route the whole
 * may be excluded, and the path that all routes are of.
 */
export function isExcludedPath(site: Site, pathname: string): boolean {
  if (site.excluded_paths.length === 0) return false
  let patterns = compiledPatterns.get(site)
  if (patterns === undefined) {
    patterns = site.excluded_paths.map(compilePattern)
    compiledPatterns.set(site, patterns)
  }
  const asked = withoutFragmentRoute(pathname)
  return patterns.some((one) => matchesPattern(one, pathname) || (asked !== pathname && matchesPattern(one, asked)))
}

/** A set of places of a pattern: place n is the n-th bit, 32 to a word. */
type BitSet = Uint32Array

interface Pattern {
  /** What stands before the first star. */
  readonly prefix: string
  /** How many places there are behind it, a character or a run of stars each; what has all of them behind it fits. */
  readonly length: number
  /** Where each character stands. */
  readonly characters: ReadonlyMap<string, BitSet>
  readonly stars: BitSet
  /** Stars that cross segments. */
  readonly crossingStars: BitSet
}

const wordCount = (length: number) => (length >> 5) + 1

function compilePattern(wildcard: string): Pattern {
  const star = wildcard.indexOf('*')
  const prefix = star < 0 ? wildcard : wildcard.slice(0, star)
  const rest = wildcard.slice(prefix.length).match(/\*+|[^*]/gs) ?? []
  const placesOf = (is: (part: string) => boolean): BitSet => {
    const places = new Uint32Array(wordCount(rest.length))
    for (const [i, part] of rest.entries()) if (is(part)) places[i >> 5] = (places[i >> 5] ?? 0) | (1 << (i & 31))
    return places
  }
  const characters = new Set(rest.filter((part) => !part.startsWith('*')))
  return {
    ...{ prefix, length: rest.length },
    characters: new Map([...characters].map((one) => [one, placesOf((part) => part === one)])),
    stars: placesOf((part) => part.startsWith('*')),
    crossingStars: placesOf((part) => part.length > 1),
  }
}

/**
 * Whether all of `path` fits. Every place of the pattern that may have been reached is followed at once, in the bits of a
 * few words, so that the time is that of the path: a regular expression with as many stars would try them all against
 * each other, and strangers choose the path.
 */
function matchesPattern({ prefix, length, characters, stars, crossingStars: across }: Pattern, path: string): boolean {
  if (!path.startsWith(prefix)) return false
  if (length === 0) return path.length === prefix.length
  const words = wordCount(length)
  const reached = new Uint32Array(words)
  // The first place is a star, which may stand for nothing.
  reached[0] = 3
  for (let i = prefix.length; i < path.length; i++) {
    const here = characters.get(path.charAt(i))
    const staying = path.charAt(i) === '/' ? across : stars
    let on = 0
    let past = 0
    let any = 0
    for (let w = 0; w < words; w++) {
      const at = reached[w] ?? 0
      const taken = at & (here?.[w] ?? 0)
      let next = (taken << 1) | on | (at & (staying[w] ?? 0))
      on = taken >>> 31
      // A star that was reached may stand for nothing; no two stand side by side.
      const skipped = next & (stars[w] ?? 0)
      next |= (skipped << 1) | past
      past = skipped >>> 31
      reached[w] = next
      any |= next
    }
    if (any === 0) return false
  }
  return ((reached[length >> 5] ?? 0) & (1 << (length & 31))) !== 0
}
