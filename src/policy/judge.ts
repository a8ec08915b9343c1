import { canonicalPath, canonicalPatterns, PATH_LENGTH, type Path } from './canonical.js'
import type { RobotsRule } from './groups.js'
import type { Mode } from './lines.js'
import { createBestPrefix } from './prefixes.js'
import { type Candidate, createLongestMatch } from './robots.js'
import { createSieve, matches } from './sieve.js'

interface Compiled extends Candidate {
  rule: RobotsRule
  /** Tells it from the others of its set. */
  key: number
}

/** The rule that decides for a path and query; undefined where none matches, which allows. */
export type FindRule = (target: string) => RobotsRule | undefined

/** Up to here, in characters of patterns times those of the path, robots-parser compares. */
const PARSER_WORK = 100_000
/** Beyond, patterns are compared from the heaviest on, while characters of the path and parts add up to this: some 10 ms. */
const MOST_WORK = 1_000_000
const PART_WORK = 16
/** Small sets of candidates come again and again: this many stay compiled. */
const KEPT = 256

/**
 * The longest match over the rules of one agent's groups, merged (RFC 9309 2.2.2). Of 15,000 rules few can match a path: prefixes
 * are found by binary search, patterns with `*` by three characters that they hold, and robots-parser decides among
 * those. Its work for one pattern is octets times path, so where that would be much (thousands of patterns made
 * of `*a*a`) each is compared in one pass instead, the heaviest first, until one matches.
 */
export function compileRules(rules: readonly RobotsRule[], mode: Mode): FindRule {
  const compiled: Compiled[] = []
  for (const rule of rules)
    for (const pattern of canonicalPatterns(rule.octets, rule.allow, mode)) {
      const needs = pattern.parts.reduce((sum, { length }) => sum + length, 0)
      if (needs > PATH_LENGTH) continue
      compiled.push({ ...pattern, allow: rule.allow, line: rule.line, rule, key: compiled.length })
    }
  compiled.sort(byWeight)
  const prefix = createBestPrefix(
    compiled.filter(isPrefix).map((one) => [one.parts[0] ?? '', one]),
    heavier,
  )
  const whole = new Map<string, Compiled>()
  for (const one of compiled.filter(isWhole)) {
    const text = one.parts[0] ?? ''
    if (!whole.has(text)) whole.set(text, one)
  }
  const wild = compiled.filter((one) => !isPrefix(one) && !isWhole(one))
  const sieve = createSieve(wild)
  const kept = new Map<string, (path: Path) => Compiled | undefined>()

  return (target) => {
    const path = canonicalPath(target, mode)
    const exact = path.cut ? undefined : whole.get(path.text)
    const plain = [prefix(path.text), exact].filter((one) => one !== undefined)
    const floor = plain.length === 0 ? undefined : plain.reduce(heavier)
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
    if (work > PARSER_WORK) return heaviest(candidates, path)?.rule
    const key = candidates.map((one) => one.key).join()
    let longest = kept.get(key)
    if (longest === undefined) {
      if (kept.size === KEPT) kept.clear()
      longest = createLongestMatch(candidates)
      kept.set(key, longest)
    }
    return longest(path)?.rule
  }
}

const isPrefix = ({ parts, anchored }: Compiled) =>
  !anchored && (parts.length === 1 || (parts.length === 2 && parts[1] === ''))
const isWhole = ({ parts, anchored }: Compiled) => anchored && parts.length === 1

/** Most octets first, `allow` before `disallow`, then as in the file. */
const byWeight = (a: Compiled, b: Compiled): number =>
  b.octets - a.octets || Number(b.allow) - Number(a.allow) || a.line - b.line
const heavier = (a: Compiled, b: Compiled): Compiled => (byWeight(a, b) <= 0 ? a : b)

function heaviest(candidates: readonly Compiled[], path: Path): Compiled | undefined {
  let work = 0
  for (const one of candidates) {
    if (one === candidates.at(-1) && matches(one, path)) return one
    work += path.text.length + PART_WORK * one.parts.length
    if (work <= MOST_WORK && matches(one, path)) return one
  }
  return undefined
}
