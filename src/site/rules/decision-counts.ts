import type { DecidingRule } from '../../rules/rule.js'

/** How often a rule decided: `paused` and `rehearse` had no effect. */
export interface DecisionCount {
  site: number
  rule: number
  action: string
  state: 'on' | 'rehearse' | 'paused'
  count: number
}

/** A counter is a series of `/metrics`: rules beyond this many are not counted. */
const MAX_COUNTERS = 5_000

/** Counts the decisions of rules since the start; rules that are deleted leave the list. */
export function createDecisionCounts() {
  const counts = new Map<string, DecisionCount>()
  return {
    add(site: number, { id, action }: DecidingRule, state: DecisionCount['state']): void {
      const key = `${site} ${id} ${action} ${state}`
      const known = counts.get(key)
      if (known !== undefined) known.count += 1
      else if (counts.size < MAX_COUNTERS) counts.set(key, { site, rule: id, action, state, count: 1 })
    },
    /** Forgets the rules that `isKnown` does not know. */
    keep(isKnown: (rule: number) => boolean): void {
      for (const [key, { rule }] of counts) if (!isKnown(rule)) counts.delete(key)
    },
    read: (): DecisionCount[] => [...counts.values()].map((one) => ({ ...one })),
  }
}
