import type { Agent } from '../agents/catalog.js'
import { canonicalPath } from './canonical.js'
import { createGroupSelector, type GroupSelection } from './group-selection.js'
import { parseRobots, type RobotsGroup, type RobotsRule } from './parse-robots.js'
import type { RobotsMode } from './robots-lines.js'
import { type CompiledRule, compileRules, heavierOf, MAX_MATCH_WORK, type MatchRules } from './rule-matcher.js'

/** What a robots.txt of status 2xx says to an agent. */
interface CompiledRobots {
  select(agent: Agent | undefined): GroupSelection
  find(selection: GroupSelection, target: string): RobotsRule | undefined
}

/** A group of so many rules is compiled by itself, for all whom it names; smaller ones together, for each selection. */
const LARGE_GROUP_RULES = 16
/** Rules of small groups kept compiled together: some 30 MB. */
const MAX_CACHED_RULES = 100_000
/**
 * Answers are kept for so many targets, of at most so many characters. Few: there are two books to each of the hostnames
 * that a stranger can name, and who judges rows remembers answers for all of them together.
 */
const MAX_CACHED_ANSWERS = 1_024
const MAX_CACHED_TARGET_CHARS = 256

interface Compilation {
  finds: readonly MatchRules[]
  answers: Map<string, RobotsRule | null>
}

/** A file in one mode: read once, groups compiled when first asked for, answers kept. */
export function compileRobots(body: Uint8Array | string, mode: RobotsMode): CompiledRobots {
  const { groups } = parseRobots(body, mode)
  const large = new Map<RobotsGroup, MatchRules>()
  const compilations = new Map<GroupSelection['groups'], Compilation>()
  let rules = 0
  let answers = 0

  const compile = (selected: readonly RobotsGroup[]): Compilation => {
    const finds = selected
      .filter((group) => group.rules.length >= LARGE_GROUP_RULES)
      .map((group) => {
        const find = large.get(group) ?? compileRules(group.rules, mode)
        large.set(group, find)
        return find
      })
    const small = selected.flatMap((group) => (group.rules.length < LARGE_GROUP_RULES ? group.rules : []))
    if (rules + small.length > MAX_CACHED_RULES) {
      compilations.clear()
      rules = 0
      answers = 0
    }
    rules += small.length
    if (small.length > 0) finds.push(compileRules(small, mode))
    return { finds, answers: new Map() }
  }
  const keep = (compilation: Compilation, target: string, found: RobotsRule | undefined) => {
    if (answers === MAX_CACHED_ANSWERS) {
      for (const other of compilations.values()) other.answers.clear()
      answers = 0
    }
    answers++
    compilation.answers.set(target, found ?? null)
  }
  return {
    select: createGroupSelector(groups, mode),
    find(selection, target) {
      let compilation = compilations.get(selection.groups)
      if (compilation === undefined) {
        compilation = compile(selection.groups)
        compilations.set(selection.groups, compilation)
      }
      const known = compilation.answers.get(target)
      if (known !== undefined) return known ?? undefined
      const path = canonicalPath(target, mode)
      const budget = { left: MAX_MATCH_WORK }
      let best: CompiledRule | undefined
      for (const find of compilation.finds) best = heavierOf(best, find(path, budget))
      if (target.length <= MAX_CACHED_TARGET_CHARS) keep(compilation, target, best?.rule)
      return best?.rule
    },
  }
}
