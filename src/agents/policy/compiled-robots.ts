import { canonicalPath } from './canonical.js'
import { createGroupSelector, type GroupSelection } from './group-selection.js'
import { parseRobots, type RobotsGroup, type RobotsRule } from './parse-robots.js'
import type { RobotsMode } from './robots-lines.js'
import { type CompiledRule, compileRules, heavierOf, MAX_MATCH_WORK, type MatchRules } from './rule-matcher.js'

/** A larger group is compiled by itself, for all agents that it names; smaller groups are compiled per selection. */
const LARGE_GROUP_RULES = 16
/** Rules of small groups that stay compiled: some 30 MB. */
const MAX_CACHED_RULES = 100_000

/** Reads a robots.txt in one mode. Groups are compiled when they are first needed. */
export function compileRobots(body: Uint8Array | string, mode: RobotsMode) {
  const { groups } = parseRobots(body, mode)
  const large = new Map<RobotsGroup, MatchRules>()
  const compiled = new Map<GroupSelection['groups'], readonly MatchRules[]>()
  let smallRules = 0

  const compile = (selected: readonly RobotsGroup[]): readonly MatchRules[] => {
    const matchers = selected
      .filter((group) => group.rules.length >= LARGE_GROUP_RULES)
      .map((group) => {
        const matcher = large.get(group) ?? compileRules(group.rules, mode)
        large.set(group, matcher)
        return matcher
      })
    const small = selected.flatMap((group) => (group.rules.length < LARGE_GROUP_RULES ? group.rules : []))
    if (smallRules + small.length > MAX_CACHED_RULES) {
      compiled.clear()
      smallRules = 0
    }
    smallRules += small.length
    if (small.length > 0) matchers.push(compileRules(small, mode))
    compiled.set(selected, matchers)
    return matchers
  }
  return {
    select: createGroupSelector(groups, mode),
    /** Returns the rule of the selected groups that decides about a path and query. */
    find({ groups }: GroupSelection, target: string): RobotsRule | undefined {
      const path = canonicalPath(target, mode)
      const budget = { left: MAX_MATCH_WORK }
      let best: CompiledRule | undefined
      for (const match of compiled.get(groups) ?? compile(groups)) best = heavierOf(best, match(path, budget))
      return best?.rule
    },
  }
}
