import type { Agent } from '../../agents/agent.js'
import { createPolicy, type Policy } from '../../agents/policy/policy.js'
import { compileRules, type RuleList } from '../../rules/decide.js'
import type { SiteRules } from '../../rules/rule-set.js'
import { createManagedRobots } from './managed-robots.js'

/** The compiled rules of one site. */
export interface SiteList {
  readonly site: SiteRules
  readonly domains: readonly string[]
  readonly isPaused: boolean
  /** The robots.txt that readership serves for the site. */
  readonly robots: ReturnType<typeof createManagedRobots> | undefined
  /** The rules that are on: they decide. */
  readonly on: RuleList
  /** The rules that are on or in rehearsal, which are counted only; undefined if none is in rehearsal. */
  readonly rehearsed: RuleList | undefined
  /** Returns whether the active robots.txt disallows a target to an agent; false where no text is known. */
  isDisallowed(hostname: string, agent: Agent | undefined, target: string): boolean
}

/** Compiles the rules of a site. The texts of robots.txt are read when a rule first needs them. */
export function compileSite(site: SiteRules): SiteList {
  const policies = new Map<string, Policy>()
  const policyOf = (hostname: string): Policy | undefined => {
    const known = policies.get(hostname)
    if (known !== undefined) return known
    const robots = site.robots.find((one) => one.hostname === hostname)
    if (robots === undefined) return undefined
    const policy = createPolicy({ hostname, robots })
    policies.set(hostname, policy)
    return policy
  }
  return {
    site,
    domains: site.domains,
    isPaused: site.paused_since !== undefined,
    robots: site.managed_robots === undefined ? undefined : createManagedRobots(site.managed_robots),
    on: compileRules(
      site.rules.filter(({ state }) => state === 'on'),
      site.sitemaps,
    ),
    rehearsed: site.rules.some(({ state }) => state === 'rehearse')
      ? compileRules(site.rules, site.sitemaps)
      : undefined,
    isDisallowed(hostname, agent, target) {
      const decision = policyOf(hostname)?.allows(agent, target)
      // A robots.txt that the origin did not serve disallows nothing here: rows have no verdict of it either.
      return decision?.reason === 'rule' && !decision.allowed
    },
  }
}
