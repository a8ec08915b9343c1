import type { Agent } from '../agents/catalog.js'
import { type RobotsRule, readRobots } from './groups.js'
import { compileRules, type FindRule } from './judge.js'
import type { Mode } from './lines.js'
import { createSelect, type Selection } from './select.js'

/** What a robots.txt of status 2xx says to an agent. */
export interface Book {
  select(agent: Agent | undefined): Selection
  find(selection: Selection, target: string): RobotsRule | undefined
}

/** Compiled rules are kept for so many together: some 60 MB. One hostile group can be shared by every agent. */
const RULES_KEPT = 200_000
/** Answers are kept for so many targets, of at most so many characters. */
const ANSWERS_KEPT = 16_384
const TARGET_KEPT = 256

/** A file in one mode: read once, each set of groups compiled when first asked for, answers kept. */
export function createBook(body: Uint8Array | string, mode: Mode): Book {
  const { groups } = readRobots(body, mode)
  const select = createSelect(groups, mode)
  let compiled = new Map<Selection['groups'], { find: FindRule; answers: Map<string, RobotsRule | null> }>()
  let rules = 0
  let answers = 0
  return {
    select,
    find(selection, target) {
      let one = compiled.get(selection.groups)
      if (one === undefined) {
        const merged = selection.groups.flatMap((group) => group.rules)
        if (rules + merged.length > RULES_KEPT) {
          compiled = new Map()
          rules = 0
          answers = 0
        }
        rules += merged.length
        one = { find: compileRules(merged, mode), answers: new Map() }
        compiled.set(selection.groups, one)
      }
      const known = one.answers.get(target)
      if (known !== undefined) return known ?? undefined
      const found = one.find(target)
      if (target.length <= TARGET_KEPT) {
        if (answers === ANSWERS_KEPT) {
          for (const other of compiled.values()) other.answers.clear()
          answers = 0
        }
        answers++
        one.answers.set(target, found ?? null)
      }
      return found
    },
  }
}
