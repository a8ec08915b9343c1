import type { Agent } from '../agents/agent.js'
import { UNKNOWN_AGENT } from '../agents/identify.js'
import { type Budgets, createBudgets } from './budgets.js'
import { compileRules, isAbout, isSpared, type RuleList, type Verdict } from './decide.js'
import type { DecidingRule, Identity } from './rule.js'
import { addTo, agentKey, createTallies, identityOf, type RecordedFetches } from './rule-tallies.js'

/** The rules that may decide about an agent, with the traits of fetches that they depend on. */
interface AgentRules {
  candidates: readonly Candidate[]
  /** The identity may make a difference, so that the first fetch of an address differs from others. */
  needsIdentity: boolean
  /** Budgets depend on the order of fetches, and the end of a rule on their time. */
  needsOrder: boolean
}
interface Candidate {
  rule: DecidingRule
  place: number
  /** The rule alone. */
  list: RuleList
}

/** Whether a claim to be an agent can be checked; a live front knows of any other that it is `unverifiable`. */
const isVerifiable = (agent: Agent | undefined): boolean => agent !== undefined && !agent.client_side
const identityIn = ({ agent, verification }: RecordedFetches): Identity | undefined =>
  isVerifiable(agent) ? identityOf(verification) : 'unverifiable'

/** Returns a function that finds the rules about an agent. */
function createRuleFinder(rules: readonly DecidingRule[], sitemaps: readonly string[], end: Date) {
  const alone = rules
    .map((rule, place): Candidate => ({ rule, place, list: compileRules([rule], sitemaps) }))
    .filter(({ rule }) => rule.state !== 'off')
  const byAgent = new Map<string, AgentRules>()
  return (agent: Agent | undefined): AgentRules => {
    const id = agent?.id ?? UNKNOWN_AGENT.id
    const cached = byAgent.get(id)
    if (cached) return cached
    const candidates = alone.filter(({ rule }) => isAbout(rule, agent))
    const agentRules = {
      candidates,
      needsIdentity:
        isVerifiable(agent) &&
        candidates.some(({ rule, list }) => rule.identity.length > 0 || (list.needsIdentity && isSpared(agent))),
      needsOrder: candidates.some(
        ({ rule: { budget, until } }) => budget || (until && Date.parse(until) < end.getTime()),
      ),
    }
    byAgent.set(id, agentRules)
    return agentRules
  }
}

export type Rehearsal = ReturnType<typeof createRehearsal>

/**
 * Decides again about fetches that were recorded until `end`, by the code that decides live, and tallies what each rule does.
 * Rules that are off decide nothing; those in rehearsal decide like those that are on.
 */
export function createRehearsal(rules: readonly DecidingRule[], sitemaps: readonly string[], end: Date) {
  const all = compileRules(rules, sitemaps)
  const [budgets, aloneBudgets] = [createBudgets(), createBudgets()]
  const places = new Map(rules.map((rule, place) => [rule, place]))
  const rulesFor = createRuleFinder(rules, sitemaps, end)
  const { tallies, addDecided } = createTallies(rules)
  const fetchesOf = new Map<string, number>()
  const pending = createPendingBytes()
  const counts = { unverified: 0, firsts: 0 }
  const decide = (
    list: RuleList,
    budgets: Budgets,
    fetch: RecordedFetches,
    identity: Identity | undefined,
    cannotWait: boolean,
  ): Verdict => {
    // Each field by name: to spread an object costs more than to decide.
    const { agent, method, pathname, address, at, disallowed } = fetch
    const asked = { agent, identity, method, pathname, address, at, cannotWait, isDisallowed: () => disallowed }
    const verdict = list.decide(asked, budgets)
    if (verdict.bytesTo && !verdict.waits) pending.add(at + fetch.duration_ms, budgets, verdict.bytesTo, fetch.bytes)
    return verdict
  }
  /** Finds out which earlier rule decides about what a rule matches, for rules that have decided nothing yet. */
  const countTaken = (decider: number | undefined, fetch: RecordedFetches, identity: Identity | undefined): void => {
    for (const { rule, place, list } of rulesFor(fetch.agent).candidates) {
      const tally = tallies[place]
      const isLater = decider !== undefined && decider < place
      // A budget alone is used by every fetch, whatever decides about it.
      if (!tally || tally.would > 0 || (rule.budget === undefined && !isLater)) continue
      const matches = decide(list, aloneBudgets, fetch, identity, true).rule !== undefined
      if (matches && isLater) addTo(tally.takenBy, decider, fetch.fetches)
    }
  }
  return {
    tallies,
    /** All fetches of agents that a rule may be about, by `agentKey`. */
    fetchesOf,
    rulesFor,
    /** Fetches whose claim could not be checked, and first fetches of an address, whose claim was not checked yet. */
    counts,
    /** Adds fetches. Those of agents that need an order come one by one, in the order of time. */
    add(fetch: RecordedFetches): void {
      pending.countUntil(fetch.at)
      const identity = identityIn(fetch)
      const { needsIdentity } = rulesFor(fetch.agent)
      if (identity === undefined && needsIdentity) counts.unverified += fetch.fetches
      // Nothing is known of the claim of a first fetch, unless a rule waits for its check.
      const isFirst = fetch.isFirst && needsIdentity
      let knownIdentity = isFirst ? undefined : identity
      let verdict = decide(all, budgets, fetch, knownIdentity, !isFirst)
      if (verdict.waits) {
        knownIdentity = identity
        verdict = decide(all, budgets, fetch, knownIdentity, true)
      }
      if (knownIdentity !== identity) counts.firsts += fetch.fetches
      addTo(fetchesOf, agentKey(fetch.agent, identityOf(fetch.verification)), fetch.fetches)
      const decider = verdict.rule && places.get(verdict.rule)
      const tally = decider === undefined ? undefined : tallies[decider]
      if (tally) addDecided(tally, fetch)
      countTaken(decider, fetch, knownIdentity)
    },
  }
}

/** Bytes that count once their response is over, in the order of these ends. */
function createPendingBytes() {
  let waiting: { at: number; budgets: Budgets; to: NonNullable<Verdict['bytesTo']>; bytes: number }[] = []
  let next = 0
  return {
    add(at: number, budgets: Budgets, to: NonNullable<Verdict['bytesTo']>, bytes: number): void {
      // Few responses are open at once, and most that began later end later.
      let place = waiting.length
      while (place > next && (waiting[place - 1]?.at ?? 0) > at) place--
      waiting.splice(place, 0, { at, budgets, to, bytes })
    },
    /** Counts the bytes of responses that are over at `at`. */
    countUntil(at: number): void {
      for (let one = waiting[next]; one !== undefined && one.at <= at; one = waiting[next]) {
        for (const { rule, holder, budget } of one.to) one.budgets.add(rule, holder, budget, one.at, one.bytes)
        next += 1
      }
      if (next < 1_000) return
      waiting = waiting.slice(next)
      next = 0
    },
  }
}
