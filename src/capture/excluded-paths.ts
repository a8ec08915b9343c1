import { withoutFragmentRoute } from './fragment-route.js'
import type { SiteSettings } from './site.js'

const compiledPatterns = new WeakMap<SiteSettings, readonly Pattern[]>()

/**
 * Returns whether a site excludes views of a path. Its patterns match whole paths, with `*` within a segment and `**`
 * across segments. A fragment route is excluded if the whole path or the path without the route matches.
 */
export function isExcludedPath(site: SiteSettings, pathname: string): boolean {
  if (site.excluded_paths.length === 0) return false
  let patterns = compiledPatterns.get(site)
  if (patterns === undefined) {
    patterns = site.excluded_paths.map(compilePattern)
    compiledPatterns.set(site, patterns)
  }
  const plain = withoutFragmentRoute(pathname)
  return patterns.some((one) => matchesPattern(one, pathname) || (plain !== pathname && matchesPattern(one, plain)))
}

/** Returns a function that tells whether a path is one of these patterns, which match as those of a site do. */
export function createPathMatcher(patterns: readonly string[]): (pathname: string) => boolean {
  const compiled = patterns.map(compilePattern)
  return (pathname) => compiled.some((one) => matchesPattern(one, pathname))
}

/** A set of positions in a pattern: position n is bit n, 32 to a word. */
type BitSet = Uint32Array

interface Pattern {
  /** The text before the first star. */
  readonly prefix: string
  /** The text after the last star: a path that ends in another text is refused at once. */
  readonly suffix: string
  /** Number of positions after the prefix: one for a character or a run of stars. A path that passes all of them matches. */
  readonly length: number
  /** The positions of each character. */
  readonly characters: ReadonlyMap<string, BitSet>
  readonly stars: BitSet
  /** Stars that cross segments. */
  readonly crossingStars: BitSet
}

const wordCount = (length: number) => (length >> 5) + 1

function compilePattern(wildcard: string): Pattern {
  const star = wildcard.indexOf('*')
  const suffix = wildcard.slice(wildcard.lastIndexOf('*') + 1)
  const prefix = star < 0 ? wildcard : wildcard.slice(0, star)
  const parts = wildcard.slice(prefix.length).match(/\*+|[^*]/gs) ?? []
  const positions = (includes: (part: string) => boolean): BitSet => {
    const bits = new Uint32Array(wordCount(parts.length))
    for (const [i, part] of parts.entries()) if (includes(part)) bits[i >> 5] = (bits[i >> 5] ?? 0) | (1 << (i & 31))
    return bits
  }
  const characters = new Set(parts.filter((part) => !part.startsWith('*')))
  return {
    prefix,
    suffix,
    length: parts.length,
    characters: new Map([...characters].map((one) => [one, positions((part) => part === one)])),
    stars: positions((part) => part.startsWith('*')),
    crossingStars: positions((part) => part.length > 1),
  }
}

/**
 * Returns whether all of `path` matches. Follows every reachable position of the pattern at once, in the bits of a few
 * words, so the time is proportional to the path. A regular expression with as many stars would try them all against each
 * other, and clients choose the path.
 */
function matchesPattern({ prefix, suffix, length, characters, stars, crossingStars }: Pattern, path: string): boolean {
  if (!path.startsWith(prefix)) return false
  if (length === 0) return path.length === prefix.length
  if (!path.endsWith(suffix)) return false
  if (length === 1 && (crossingStars[0] ?? 0) > 0) return true
  const words = wordCount(length)
  const reached = new Uint32Array(words)
  // The first position is a star, which may match nothing.
  reached[0] = 3
  for (let i = prefix.length; i < path.length; i++) {
    const matching = characters.get(path.charAt(i))
    const staying = path.charAt(i) === '/' ? crossingStars : stars
    let matchCarry = 0
    let skipCarry = 0
    let any = 0
    for (let w = 0; w < words; w++) {
      const at = reached[w] ?? 0
      const matched = at & (matching?.[w] ?? 0)
      let next = (matched << 1) | matchCarry | (at & (staying[w] ?? 0))
      matchCarry = matched >>> 31
      // A star that is reached may match nothing; two stars never stand side by side.
      const skipped = next & (stars[w] ?? 0)
      next |= (skipped << 1) | skipCarry
      skipCarry = skipped >>> 31
      reached[w] = next
      any |= next
    }
    if (any === 0) return false
  }
  return ((reached[length >> 5] ?? 0) & (1 << (length & 31))) !== 0
}
