import { hostname } from 'node:os'
import { createRuleFronts } from '../../api/edge/rule-fronts.js'
import type { RuleFront, RulesInForce } from '../../api/rules.js'
import { nameRuleSet } from '../../rules/build-rule-set.js'
import { NO_RULES, type RuleSet } from '../../rules/rule-set.js'
import type { CurrentRules } from './rules-on-disk.js'

interface RulesInForceDeps {
  readonly currentRules: CurrentRules
  /** What this process is to the site; undefined if it serves none. */
  readonly front: 'proxy' | 'application' | undefined
  readonly now: () => Date
}

/** Describes the rules of each site, and who decides by them: sidecars that ask, and this process. */
export function createRulesInForce({ currentRules, front, now }: RulesInForceDeps) {
  const fronts = createRuleFronts(now)
  const started = now().toISOString()
  let named = new Map<number, RuleSet>()
  const since = new Map<number, string>()
  currentRules.watch(({ sites }) => {
    const before = named
    named = new Map(sites.map((site) => [site.site, nameRuleSet([site])]))
    const at = now().toISOString()
    for (const site of new Set([...before.keys(), ...named.keys()]))
      if (before.get(site)?.version !== named.get(site)?.version) since.set(site, at)
  })
  const rulesOf = (site: number): RuleSet => named.get(site) ?? NO_RULES
  const own = (site: number, version: string): RuleFront[] =>
    front === undefined ? [] : [{ name: hostname(), kind: front, version, since: since.get(site) ?? started }]
  const inForce: RulesInForce = {
    describe(site) {
      const { version } = rulesOf(site)
      return { version, isOff: currentRules.isOff, fronts: [...own(site, version), ...fronts.list(site)] }
    },
  }
  return {
    fronts,
    /** Returns the rules in force of one site, as its sidecars get them. */
    rulesOf,
    inForce,
  }
}
