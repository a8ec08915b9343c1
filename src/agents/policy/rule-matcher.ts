import { createRecentCache } from '../../base/cache.js'
import { createBestPrefix } from './best-prefix.js'
import { type CanonicalPath, canonicalPatterns, MAX_PATH_CHARS, type Pattern } from './canonical.js'
import { createLongestMatch, isPlainQuestion, type MatchCandidate } from './longest-match.js'
import type { RobotsRule } from './parse-robots.js'
import { createPatternIndex } from './pattern-index.js'
import type { RobotsMode } from './robots-lines.js'

/** A rule in the form that is compared. One rule can have two such forms. */
export interface CompiledRule extends MatchCandidate {
  /** Identifies the rule among those that were compiled together. */
  key: number
}

/** The work that one judgement may still do, in characters of the path times patterns. */
interface MatchBudget {
  left: number
}

/** Returns the heaviest rule that matches a path. */
export type MatchRules = (path: CanonicalPath, budget: MatchBudget) => CompiledRule | undefined

/** Some 10 ms. When it is used up, the remaining patterns with `*`, which are the lightest, count as not matching. */
export const MAX_MATCH_WORK = 1_000_000
/** robots-parser compares up to so much work, in characters of patterns times those of the path, and so many candidates. */
const MAX_PARSER_WORK = 100_000
const MAX_PARSER_CANDIDATES = 64
/** Cost of one part of a pattern, in addition to the path's characters. */
const WORK_PER_PART = 16
/** The same small sets of candidates recur, so this many stay compiled. */
const MAX_CACHED_CANDIDATE_SETS = 256

/**
 * Compiles rules for the longest match (RFC 9309 2.2.2). Of 15,000 rules few can match a path: prefixes are found by binary
 * search, patterns with `*` by the characters that they contain. Among these candidates robots-parser decides plain
 * questions; its work for one pattern is octets times path. If that is too much (thousands of patterns such as `*a*a`), or
 * the question is not plain, each pattern is compared in one pass instead, the heaviest first, until one matches.
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
  const bestPrefix = createBestPrefix(prefixes, heavier)
  wild.sort(compareWeight)
  const wildIndex = createPatternIndex(wild)
  const matchers = createRecentCache<string, (path: CanonicalPath) => CompiledRule | undefined>(
    MAX_CACHED_CANDIDATE_SETS,
  )

  return (path, budget) => {
    const floor = heavierOf(bestPrefix(path.text), path.cut ? undefined : whole.get(path.text))
    const candidates: CompiledRule[] = []
    let work = 0
    for (const index of wildIndex(path.text)) {
      const one = wild[index]
      if (one === undefined || (floor && compareWeight(floor, one) <= 0)) break
      if (!path.text.startsWith(one.parts[0] ?? '')) continue
      candidates.push(one)
      work += one.octets * path.text.length
    }
    if (floor) candidates.push(floor)
    if (candidates.length === 0) return undefined
    const isSmall = candidates.length <= MAX_PARSER_CANDIDATES && work <= Math.min(MAX_PARSER_WORK, budget.left)
    if (!isSmall || !isPlainQuestion(candidates, path)) return firstMatch(candidates, path, budget) ?? floor
    budget.left -= work
    const set = candidates.map((one) => one.key).join()
    let matcher = matchers.get(set)
    if (matcher === undefined) {
      matcher = createLongestMatch(candidates)
      matchers.set(set, matcher)
    }
    return matcher(path)
  }
}

/** Sorts by most octets, then `allow` before `disallow`, then by line. */
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

/**
 * Compares a pattern with a path in one pass. Each part is looked for after the previous one; the first place is as good
 * as any later one, so nothing is tried twice.
 */
export function matchesPattern({ parts, anchored }: Pattern, { text, cut }: CanonicalPath): boolean {
  if (anchored && cut) return false
  const head = parts[0] ?? ''
  if (!text.startsWith(head)) return false
  if (anchored && parts.length === 1) return text.length === head.length
  const between = anchored ? parts.length - 1 : parts.length
  let at = head.length
  for (let place = 1; place < between; place++) {
    const part = parts[place] ?? ''
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  const tail = anchored ? (parts.at(-1) ?? '') : ''
  return text.length - tail.length >= at && text.endsWith(tail)
}
