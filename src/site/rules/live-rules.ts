import type { Agent } from '../../agents/agent.js'
import { createIdentify } from '../../agents/identify.js'
import { memoize } from '../../base/cache.js'
import type { ArrivingRequest, ClaimVerdict, FetchDecision, MissingPage, Redirection } from '../../capture/decision.js'
import { NO_RULES, type RuleSet, type SiteRules } from '../../rules/rule-set.js'
import { type CheckClaim, createClaimChecks } from './claim-checks.js'
import { createDecider, type DeciderDeps } from './decider.js'
import { createDecisionCounts, type DecisionCount } from './decision-counts.js'
import { createRedirector } from './redirector.js'
import { createSharedBudgets, type SharedBudgets } from './shared-budgets.js'
import { compileSites, createRobotsReader, type SiteList } from './site-list.js'
import { createVerdictCache } from './verdict-cache.js'

interface LiveRulesDeps {
  /** Returns the agents of the catalogue; called when the first rule is applied. */
  agents(): readonly Agent[]
  /** Milliseconds since 1970. */
  now(): number
}

/** The rules by which one process that serves sites decides. */
export interface LiveRules {
  /** Decides about a request; undefined while no site has a rule, and nothing else is looked at then. */
  readonly decide: ((request: ArrivingRequest) => FetchDecision | undefined) | undefined
  /** Returns the redirect of a missing page; undefined while no site has a redirect, and no response is looked at then. */
  readonly redirect: ((missing: MissingPage) => Redirection | undefined) | undefined
  /** The set of rules that is applied, and since when, in milliseconds since 1970. */
  readonly set: RuleSet
  readonly since: number
  /** Decides by another set from the next request on. */
  apply(set: RuleSet): void
  /** Calls the listener with the set of rules, now and whenever another is applied. */
  watch(listener: (set: RuleSet) => void): void
  /** Whether a rule asks for identities, so that verdicts are worth sending to this process. */
  needsIdentity(): boolean
  addVerdicts(verdicts: readonly ClaimVerdict[]): void
  /** Calls the listener with every verdict that is added, for the other processes of the site. */
  onVerdicts(listener: (verdicts: readonly ClaimVerdict[]) => void): void
  /** Sets the function that asks the worker for strict rules; undefined while there is no worker to ask. */
  checkClaimsWith(check: CheckClaim | undefined): void
  /** Asks the worker, for another process of the site; undefined if the worker cannot say within 200 ms. */
  readonly checkClaim: CheckClaim
  /** Decisions since the start. */
  counts(): DecisionCount[]
  /** Returns how many rules are on or in rehearsal. */
  size(): number
  /** The budgets of the rules that are on. */
  readonly budgets: SharedBudgets
}

/** Beyond this many user agents, a larger cache gained nothing in measurements of the classifier. */
const MAX_CACHED_USER_AGENTS = 8192

/** Creates rules, none at first. They need no store, so the last set on disk decides before the store is open. */
export function createLiveRules({ agents, now }: LiveRulesDeps): LiveRules {
  let identify: DeciderDeps['identify'] | undefined
  const verdicts = createVerdictCache()
  const claims = createClaimChecks()
  const counts = createDecisionCounts()
  const budgets = createSharedBudgets(now)
  const listeners = new Set<(set: RuleSet) => void>()
  const readRobots = createRobotsReader()
  const verdictListeners = new Set<(verdicts: readonly ClaimVerdict[]) => void>()
  let set = NO_RULES
  let lists: SiteList[] = []
  let since = now()
  let decider: ReturnType<typeof createDecider> | undefined
  let redirect: LiveRules['redirect']

  return {
    get decide() {
      return decider?.decide
    },
    get redirect() {
      return redirect
    },
    get set() {
      return set
    },
    get since() {
      return since
    },
    apply(next) {
      if (next.version === set.version) return
      set = next
      since = now()
      const ids = new Set(set.sites.flatMap(({ rules }) => rules.map(({ id }) => id)))
      counts.keep((rule) => ids.has(rule))
      lists = compileSites(next.sites, lists)
      if (set.sites.some(decidesAnything)) {
        identify ??= createCachedIdentify(agents())
        decider = createDecider(lists, { identify, verdicts, claims, counts, budgets, now })
        readRobots(lists, agents())
      } else decider = undefined
      redirect = createRedirector(lists)
      for (const listener of listeners) listener(set)
    },
    watch(listener) {
      listeners.add(listener)
      listener(set)
    },
    needsIdentity: () => decider?.needsIdentity === true,
    addVerdicts(added) {
      const at = now()
      for (const verdict of added) verdicts.add(verdict, at)
      for (const listener of verdictListeners) listener(added)
    },
    onVerdicts: (listener) => void verdictListeners.add(listener),
    checkClaimsWith: claims.use,
    checkClaim: claims.wait,
    counts: counts.read,
    size: () => set.sites.reduce((sum, { rules }) => sum + rules.length, 0),
    budgets,
  }
}

/** Whether requests of a site have to be looked at. */
const decidesAnything = ({ rules, managed_robots }: SiteRules): boolean =>
  rules.length > 0 || managed_robots !== undefined

function createCachedIdentify(agents: readonly Agent[]): DeciderDeps['identify'] {
  const identify = createIdentify({ agents })
  return memoize(MAX_CACHED_USER_AGENTS, (userAgent) => ({ identification: identify(userAgent) }))
}
