import { canonicalPatterns, PATH_LENGTH, type Path } from './canonical.js'
import type { RobotsRule } from './groups.js'
import type { Mode } from './lines.js'
import { createBestPrefix } from './prefixes.js'
import { type Candidate, createLongestMatch } from './robots.js'
import { createSieve, matches } from './sieve.js'

/** A rule in the form in which it is compared; one rule can stand in two. */
export interface Compiled extends Candidate {
  rule: RobotsRule
  /** Tells it from the others of its set. */
  key: number
}

/** What one judgement may still cost, in characters of the path times patterns: `MOST_WORK` at its start. */
export interface Budget {
  left: number
}

/** The heaviest rule that matches a path, if any. */
export type FindRule = (path: Path, budget: Budget) => Compiled | undefined

/** Some 10 ms. Where it is used up, patterns with `*` that were not reached, the lightest, count as not matching. */
export const MOST_WORK = 1_000_000
/** Up to here, in characters of patterns times those of the path, and for so many, robots-parser compares. */
const PARSER_WORK = 100_000
const PARSER_CANDIDATES = 64
/** What a part of a pattern costs beside the path's characters. */
const PART_WORK = 16
/** Small sets of candidates come again and again: this many stay compiled. */
const KEPT = 256

/**
 * The longest match over rules (RFC 9309 2.2.2). Of 15,000 few can match a path: prefixes are found by binary search,
 * patterns with `*` by characters that they hold, and robots-parser decides among those. Its work for one pattern is
 * octets times path, so where that would be much (thousands of patterns made of `*a*a`) each is compared in one
 * pass instead, the heaviest first, until one matches.
 */
export function compileRules(rules: readonly RobotsRule[], mode: Mode): FindRule {
  const prefixes: (readonly [string, Compiled])[] = []
  const wild: Compiled[] = []
  const whole = new Map<string, Compiled>()
  let key = 0
  for (const rule of rules)
    for (const { parts, anchored, octets } of canonicalPatterns(rule.octets, rule.allow, mode)) {
      const [head = '', second] = parts
      if (parts.reduce((sum, { length }) => sum + length, 0) > PATH_LENGTH) continue
      const one: Compiled = { parts, anchored, octets, allow: rule.allow, line: rule.line, rule, key: key++ }
      if (anchored && second === undefined) {
        const known = whole.get(head)
        whole.set(head, known === undefined ? one : heavier(known, one))
      } else if (!anchored && (second === undefined || (second === '' && parts.length === 2)))
        prefixes.push([head, one])
      else wild.push(one)
    }
  const prefix = createBestPrefix(prefixes, heavier)
  wild.sort(byWeight)
  const sieve = createSieve(wild)
  const kept = new Map<string, (path: Path) => Compiled | undefined>()

  return (path, budget) => {
    const floor = heavierOf(prefix(path.text), path.cut ? undefined : whole.get(path.text))
    const candidates: Compiled[] = []
    let work = 0
    for (const place of sieve.through(path.text)) {
      const one = wild[place]
      if (one === undefined || (floor && byWeight(floor, one) <= 0)) break
      if (!path.text.startsWith(one.parts[0] ?? '')) continue
      candidates.push(one)
      work += one.octets * path.text.length
    }
    if (floor) candidates.push(floor)
    if (candidates.length === 0) return undefined
    if (candidates.length > PARSER_CANDIDATES || work > Math.min(PARSER_WORK, budget.left))
      return firstMatch(candidates, path, budget) ?? floor
    budget.left -= work
    const set = candidates.map((one) => one.key).join()
    let longest = kept.get(set)
    if (longest === undefined) {
      if (kept.size === KEPT) kept.clear()
      longest = createLongestMatch(candidates)
      kept.set(set, longest)
    }
    return longest(path)
  }
}

/** Most octets first, `allow` before `disallow`, then as in the file. */
const byWeight = (a: Compiled, b: Compiled): number =>
  b.octets - a.octets || Number(b.allow) - Number(a.allow) || a.line - b.line
const heavier = (a: Compiled, b: Compiled): Compiled => (byWeight(a, b) <= 0 ? a : b)

export const heavierOf = (a: Compiled | undefined, b: Compiled | undefined): Compiled | undefined =>
  a && b ? heavier(a, b) : (a ?? b)

function firstMatch(candidates: readonly Compiled[], path: Path, budget: Budget): Compiled | undefined {
  for (const one of candidates) {
    budget.left -= path.text.length + PART_WORK * one.parts.length
    if (budget.left < 0) return undefined
    if (matches(one, path)) return one
  }
  return undefined
}
