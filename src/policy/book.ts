import type { Agent } from '../agents/catalog.js'
import { canonicalPath } from './canonical.js'
import { type RobotsGroup, type RobotsRule, readRobots } from './groups.js'
import { type Compiled, compileRules, type FindRule, heavierOf, MOST_WORK } from './judge.js'
import type { Mode } from './lines.js'
import { createSelect, type Selection } from './select.js'

/** What a robots.txt of status 2xx says to an agent. */
export interface Book {
  select(agent: Agent | undefined): Selection
  find(selection: Selection, target: string): RobotsRule | undefined
}

/** A group of so many rules is compiled by itself, for all whom it names; smaller ones together, for each selection. */
const LARGE_GROUP = 16
/** Rules of small groups kept compiled together: some 30 MB. */
const RULES_KEPT = 100_000
/**
 * Answers are kept for so many targets, of at most so many characters. Few: there are two books to each of the hostnames
 * that a stranger can name, and who judges rows remembers answers for all of them together.
 */
const ANSWERS_KEPT = 1_024
const TARGET_KEPT = 256

interface Compilation {
  finds: readonly FindRule[]
  answers: Map<string, RobotsRule | null>
}

/** A file in one mode: read once, groups compiled when first asked for, answers kept. */
export function createBook(body: Uint8Array | string, mode: Mode): Book {
  const { groups } = readRobots(body, mode)
  const large = new Map<RobotsGroup, FindRule>()
  const compilations = new Map<Selection['groups'], Compilation>()
  let rules = 0
  let answers = 0

  const compile = (selected: readonly RobotsGroup[]): Compilation => {
    const finds = selected
      .filter((group) => group.rules.length >= LARGE_GROUP)
      .map((group) => {
        const find = large.get(group) ?? compileRules(group.rules, mode)
        large.set(group, find)
        return find
      })
    const small = selected.flatMap((group) => (group.rules.length < LARGE_GROUP ? group.rules : []))
    if (rules + small.length > RULES_KEPT) {
      compilations.clear()
      rules = 0
      answers = 0
    }
    rules += small.length
    if (small.length > 0) finds.push(compileRules(small, mode))
    return { finds, answers: new Map() }
  }
  const keep = (compilation: Compilation, target: string, found: RobotsRule | undefined) => {
    if (answers === ANSWERS_KEPT) {
      for (const other of compilations.values()) other.answers.clear()
      answers = 0
    }
    answers++
    compilation.answers.set(target, found ?? null)
  }
  return {
    select: createSelect(groups, mode),
    find(selection, target) {
      let compilation = compilations.get(selection.groups)
      if (compilation === undefined) {
        compilation = compile(selection.groups)
        compilations.set(selection.groups, compilation)
      }
      const known = compilation.answers.get(target)
      if (known !== undefined) return known ?? undefined
      const path = canonicalPath(target, mode)
      const budget = { left: MOST_WORK }
      let best: Compiled | undefined
      for (const find of compilation.finds) best = heavierOf(best, find(path, budget))
      if (target.length <= TARGET_KEPT) keep(compilation, target, best?.rule)
      return best?.rule
    },
  }
}
