import { hostname } from 'node:os'
import { createRuleFronts } from '../../api/edge/rule-fronts.js'
import { redirectRoutes } from '../../api/redirects.js'
import { type DecidedBy, ruleRoutes } from '../../api/rules.js'
import { NO_RULES, type RuleSet } from '../../rules/rule-set.js'
import type { Core } from './core.js'
import type { CurrentRules } from './rules-on-disk.js'

/**
 * The rules of each site, and who decides by them: sidecars that ask, and this process as `front`, which is undefined if it
 * serves no site.
 */
export function createRuleArea(
  { manage, now }: Pick<Core, 'manage' | 'now'>,
  currentRules: CurrentRules,
  front: 'proxy' | 'application' | undefined,
) {
  const { users, rules, rulePauses: pauses, redirects } = manage
  const fronts = createRuleFronts(now)
  const started = now().toISOString()
  let sites = new Map<number, RuleSet>()
  const since = new Map<number, string>()
  currentRules.watch((set) => {
    const before = sites
    sites = new Map(set.sites.map((site) => [site.site, { version: site.version, sites: [site] }]))
    const at = now().toISOString()
    for (const site of new Set([...before.keys(), ...sites.keys()]))
      if (before.get(site)?.version !== sites.get(site)?.version) since.set(site, at)
  })
  const rulesOf = (site: number): RuleSet => sites.get(site) ?? NO_RULES
  const describe = (site: number): DecidedBy => {
    const { version } = rulesOf(site)
    const self = { name: hostname(), version, since: since.get(site) ?? started }
    return {
      version,
      ...(currentRules.isOff && { setting_off: true }),
      fronts: [...(front === undefined ? [] : [{ ...self, kind: front }]), ...fronts.list(site)],
    }
  }
  return {
    fronts,
    /** Returns the active rules of one site, as its sidecars get them. */
    rulesOf,
    routes: [
      ...ruleRoutes({ sites: manage.sites, users, rules, pauses, describe, now }),
      ...redirectRoutes({ sites: manage.sites, redirects, users }),
    ],
  }
}
