import { createBestPrefix } from './best-prefix.js'
import { type CanonicalPath, canonicalPatterns, MAX_PATH_CHARS } from './canonical.js'
import { createLongestMatch, type MatchCandidate } from './longest-match.js'
import type { RobotsRule } from './parse-robots.js'
import { createPatternIndex, matchesPattern } from './pattern-index.js'
import type { RobotsMode } from './robots-lines.js'

/** A rule in the form in which it is compared; one rule can stand in two. */
export interface CompiledRule extends MatchCandidate {
  rule: RobotsRule
  /** Tells it from the others of its set. */
  key: number
}

/** What one judgement may still cost, in characters of the path times patterns: `MOST_WORK` at its start. */
interface MatchBudget {
  left: number
}

/** The heaviest rule that matches a path, if any. */
export type MatchRules = (path: CanonicalPath, budget: MatchBudget) => CompiledRule | undefined

/** Some 10 ms. Where it is used up, patterns with `*` that were not reached, the lightest, count as not matching. */
export const MAX_MATCH_WORK = 1_000_000
/** Up to here, in characters of patterns times those of the path, and for so many, robots-parser compares. */
const MAX_PARSER_WORK = 100_000
const MAX_PARSER_CANDIDATES = 64
/** What a part of a pattern costs beside the path's characters. */
const WORK_PER_PART = 16
/** Small sets of candidates come again and again: this many stay compiled. */
const MAX_CACHED_CANDIDATE_SETS = 256

/**
 * The longest match over rules (RFC 9309 2.2.2). Of 15,000 few can match a path: prefixes are found by binary search,
 * patterns with `*` by characters that they hold, and robots-parser decides among those. Its work for one pattern is
 * octets times path, so where that would be much (thousands of patterns made of `*a*a`) each is compared in one
 * pass instead, the heaviest first, until one matches.
 */
export function compileRules(rules: readonly RobotsRule[], mode: RobotsMode): MatchRules {
  const prefixes: (readonly [string, CompiledRule])[] = []
  const wild: CompiledRule[] = []
  const whole = new Map<string, CompiledRule>()
  let key = 0
  for (const rule of rules)
    for (const { parts, anchored, octets } of canonicalPatterns(rule.octets, rule.allow, mode)) {
      const [head = '', second] = parts
      if (parts.reduce((sum, { length }) => sum + length, 0) > MAX_PATH_CHARS) continue
      const one: CompiledRule = { parts, anchored, octets, allow: rule.allow, line: rule.line, rule, key: key++ }
      if (anchored && second === undefined) {
        const known = whole.get(head)
        whole.set(head, known === undefined ? one : heavier(known, one))
      } else if (!anchored && (second === undefined || (second === '' && parts.length === 2)))
        prefixes.push([head, one])
      else wild.push(one)
    }
  const prefix = createBestPrefix(prefixes, heavier)
  wild.sort(compareWeight)
  const sieve = createPatternIndex(wild)
  const kept = new Map<string, (path: CanonicalPath) => CompiledRule | undefined>()

  return (path, budget) => {
    const floor = heavierOf(prefix(path.text), path.cut ? undefined : whole.get(path.text))
    const candidates: CompiledRule[] = []
    let work = 0
    for (const place of sieve.candidates(path.text)) {
      const one = wild[place]
      if (one === undefined || (floor && compareWeight(floor, one) <= 0)) break
      if (!path.text.startsWith(one.parts[0] ?? '')) continue
      candidates.push(one)
      work += one.octets * path.text.length
    }
    if (floor) candidates.push(floor)
    if (candidates.length === 0) return undefined
    if (candidates.length > MAX_PARSER_CANDIDATES || work > Math.min(MAX_PARSER_WORK, budget.left))
      return firstMatch(candidates, path, budget) ?? floor
    budget.left -= work
    const set = candidates.map((one) => one.key).join()
    let longest = kept.get(set)
    if (longest === undefined) {
      if (kept.size === MAX_CACHED_CANDIDATE_SETS) kept.clear()
      longest = createLongestMatch(candidates)
      kept.set(set, longest)
    }
    return longest(path)
  }
}

/** Most octets first, `allow` before `disallow`, then as in the file. */
const compareWeight = (a: CompiledRule, b: CompiledRule): number =>
  b.octets - a.octets || Number(b.allow) - Number(a.allow) || a.line - b.line
const heavier = (a: CompiledRule, b: CompiledRule): CompiledRule => (compareWeight(a, b) <= 0 ? a : b)

export const heavierOf = (a: CompiledRule | undefined, b: CompiledRule | undefined): CompiledRule | undefined =>
  a && b ? heavier(a, b) : (a ?? b)

function firstMatch(
  candidates: readonly CompiledRule[],
  path: CanonicalPath,
  budget: MatchBudget,
): CompiledRule | undefined {
  for (const one of candidates) {
    budget.left -= path.text.length + WORK_PER_PART * one.parts.length
    if (budget.left < 0) return undefined
    if (matchesPattern(one, path)) return one
  }
  return undefined
}
