import type { Agent } from '../../agents/agent.js'
import { createPolicy, type Policy } from '../../agents/policy/policy.js'
import { type Budgets, createBudgets } from '../../rules/budgets.js'
import { compileRules, isAbout, type RuleList } from '../../rules/decide.js'
import { indexRedirects, type Redirects } from '../../rules/redirect.js'
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
  /** The rules that are on or in rehearsal, which are counted only, with full budgets; undefined if none is in rehearsal. */
  readonly rehearsed: { readonly list: RuleList; readonly budgets: Budgets } | undefined
  readonly redirects: Redirects
  /** Returns whether the active robots.txt disallows a target to an agent; false where no text is known. */
  isDisallowed(hostname: string, agent: Agent | undefined, target: string): boolean
}

/** Compiles the rules of each site. A site of the same version keeps its list, and so the budgets of its rehearsals. */
export function compileSites(sites: readonly SiteRules[], before: readonly SiteList[]): SiteList[] {
  const known = new Map(before.map((list) => [list.site.site, list]))
  return sites.map((site) => {
    const list = known.get(site.site)
    return list?.site.version === site.version ? list : compileSite(site)
  })
}

/**
 * Returns a function that reads the texts of robots.txt, one step in each turn of the event loop, so that no request waits for
 * all of them: a long one takes 100 ms. The next call begins again, and a text that was read costs nothing more.
 */
export function createRobotsReader() {
  let latest: Generator<undefined> | undefined
  return (lists: readonly SiteList[], agents: readonly Agent[]): void => {
    const steps = readRobots(lists, agents)
    latest = steps
    const step = () => {
      try {
        if (latest === steps && !steps.next().done) setImmediate(step)
      } catch {
        // The request that needs the text reads it.
      }
    }
    setImmediate(step)
  }
}

/** Reads each text for the agents that a rule judges by it. */
function* readRobots(lists: readonly SiteList[], agents: readonly Agent[]): Generator<undefined> {
  for (const { site, isDisallowed } of lists) {
    const asking = site.rules.filter(({ disallowed }) => disallowed)
    const judged = [undefined, ...agents].filter((agent) => asking.some((rule) => isAbout(rule, agent)))
    for (const { hostname } of site.robots)
      for (const agent of judged) {
        isDisallowed(hostname, agent, '/')
        yield
      }
  }
}

function compileSite(site: SiteRules): SiteList {
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
      ? { list: compileRules(site.rules, site.sitemaps), budgets: createBudgets() }
      : undefined,
    redirects: indexRedirects(site.redirects),
    isDisallowed(hostname, agent, target) {
      const decision = policyOf(hostname)?.allows(agent, target)
      // A robots.txt that the origin did not serve disallows nothing here: rows have no verdict of it either.
      return decision?.reason === 'rule' && !decision.allowed
    },
  }
}
