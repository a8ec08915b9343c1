import type { Identification } from '../../agents/identify.js'
import { MAX_CHARACTERS, truncate } from '../../base/text-limits.js'
import type { ArrivingRequest, FetchDecision } from '../../capture/decision.js'
import { createSiteLookup } from '../../capture/site.js'
import { type Budgets, secondsUntilNextWindow } from '../../rules/budgets.js'
import type { AgentFetch, Verdict } from '../../rules/decide.js'
import { refusalOf } from '../../rules/refusal.js'
import type { DecidingRule } from '../../rules/rule.js'
import { hostnameOf, splitTarget } from '../proxy/observe-request.js'
import type { ClaimChecks } from './claim-checks.js'
import type { createDecisionCounts } from './decision-counts.js'
import { asksForRobots } from './managed-robots.js'
import type { SharedBudgets } from './shared-budgets.js'
import type { SiteList } from './site-list.js'
import type { VerdictCache } from './verdict-cache.js'

/** The parts that stay when another set of rules is applied. */
export interface DeciderDeps {
  /** Names the agent of a user agent, from a cache; `identification` is undefined for a person. */
  identify(userAgent: string): { identification: Identification | undefined }
  verdicts: VerdictCache
  claims: ClaimChecks
  counts: ReturnType<typeof createDecisionCounts>
  budgets: SharedBudgets
  /** Milliseconds since 1970. */
  now(): number
}

/** Stands for a verdict that waits until the claim is checked: the request is decided about, and counted, after that. */
const WAITS: FetchDecision = {}

/** Creates the function that decides about requests. A person costs one lookup of the user agent. */
export function createDecider(lists: readonly SiteList[], deps: DeciderDeps) {
  const siteOf = createSiteLookup(lists)
  const decideFetch = createFetchDecider(deps)
  const { identify, verdicts, claims, now } = deps

  const decideLater = async (list: SiteList, fetch: AgentFetch, accept: string | undefined) => {
    const { address: ip, agent } = fetch
    const identity = agent && (await claims.wait({ ip, agent_id: agent.id }))
    if (agent && identity !== undefined) verdicts.add({ ip, agent_id: agent.id, isSigned: false, identity }, now())
    return decideFetch(list, { ...fetch, identity, at: now(), cannotWait: true }, accept)
  }

  const servesRobots = lists.some(({ robots }) => robots !== undefined)
  const hasRules = lists.some(({ site }) => site.rules.length > 0)

  const decide = (request: ArrivingRequest): FetchDecision | undefined => {
    if (servesRobots && asksForRobots(request)) {
      const response = siteOf(hostnameOf(request.host))?.robots?.(request)
      if (response !== undefined) return { response }
    }
    if (!hasRules) return undefined
    const { identification } = identify(truncate(request.user_agent, MAX_CHARACTERS.user_agent))
    if (identification === undefined) return undefined
    const hostname = hostnameOf(request.host)
    const list = siteOf(hostname)
    if (list === undefined || list.site.rules.length === 0) return undefined
    const { target, method, ip, at, accept, isSigned } = request
    const { agent } = identification
    const fetch: AgentFetch = {
      agent,
      identity: verdicts.find(ip, agent, isSigned, at),
      method,
      pathname: splitTarget(target)[0],
      address: ip,
      at,
      isDisallowed: () => list.isDisallowed(hostname, agent, target),
      // A signature may be checked once only, or its nonce would be a replay: signed requests do not wait.
      cannotWait: !request.canWait || isSigned || !claims.isAvailable(),
    }
    const decision = decideFetch(list, fetch, accept)
    return decision === WAITS ? { later: decideLater(list, fetch, accept).catch(() => undefined) } : decision
  }

  return {
    /** Never throws: a fault of the rules must not cost the site a response, so the request passes. */
    decide(request: ArrivingRequest): FetchDecision | undefined {
      try {
        return decide(request)
      } catch {
        return undefined
      }
    },
    needsIdentity: lists.some(({ on, rehearsed }) => on.needsIdentity || rehearsed?.list.needsIdentity === true),
  }
}

/** Returns the function that decides about a fetch by the rules of its site, and counts what the rules say. */
function createFetchDecider({ counts, budgets, now }: Pick<DeciderDeps, 'counts' | 'budgets' | 'now'>) {
  return (list: SiteList, fetch: AgentFetch, accept: string | undefined): FetchDecision | undefined => {
    const { site, isPaused, on, rehearsed } = list
    const verdict = on.decide(fetch, budgets)
    if (verdict.waits) return WAITS
    const rehearsal = rehearsed?.list.decide({ ...fetch, cannotWait: true }, rehearsed.budgets)
    if (rehearsal?.rule?.state === 'rehearse') counts.add(site.site, rehearsal.rule, 'rehearse')
    const { rule } = verdict
    if (rule !== undefined) counts.add(site.site, rule, isPaused ? 'paused' : 'on')
    const countBytes = joinByteCounters(
      createByteCounter(verdict, budgets, now),
      rehearsed && rehearsal && createByteCounter(rehearsal, rehearsed.budgets, now),
    )
    if (rule === undefined || isPaused) return countBytes && { countBytes }
    const response = refusalOf(rule, accept, retryAfter(rule, fetch.at))
    return {
      decided: { rule: rule.id, action: rule.action },
      ...(response && { response }),
      ...(countBytes && { countBytes }),
    }
  }
}

type ByteCounter = (bytes: number) => void

/** Returns a function that counts a response's bytes towards budgets; undefined without any. */
const createByteCounter = ({ bytesTo }: Verdict, budgets: Budgets, now: () => number): ByteCounter | undefined =>
  bytesTo &&
  ((bytes) => {
    for (const { rule, holder, budget } of bytesTo) budgets.add(rule, holder, budget, now(), bytes)
  })

const joinByteCounters = (a: ByteCounter | undefined, b: ByteCounter | undefined): ByteCounter | undefined =>
  a && b
    ? (bytes) => {
        a(bytes)
        b(bytes)
      }
    : (a ?? b)

/** Returns the seconds of `Retry-After` for a rule that limits. */
const retryAfter = ({ budget }: DecidingRule, at: number): number =>
  budget === undefined ? 0 : secondsUntilNextWindow(budget, at)
