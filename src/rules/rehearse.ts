import type { Agent } from '../agents/agent.js'
import { UNKNOWN_AGENT } from '../agents/identify.js'
import { createRecentCache } from '../base/cache.js'
import { HOUR_MS } from '../base/time-units.js'
import { type Budgets, createBudgets } from './budgets.js'
import { compileRules, isAbout, isSpared, type RuleList, type Verdict } from './decide.js'
import type { DecidingRule, Identity } from './rule.js'
import { createTallies, identityOf, type RecordedFetches } from './rule-tallies.js'

/** A live front keeps as many verdicts, each for an hour after the last one of its address and agent. */
const MAX_VERDICTS = 50_000
export const VERDICT_LIFETIME_MS = HOUR_MS

/** The rules that may decide about an agent, with the traits of fetches that they depend on. */
interface AgentRules {
  candidates: readonly Candidate[]
  /** The identity may make a difference, so that the first fetch of an address differs from others. */
  needsIdentity: boolean
  /** Budgets depend on the order of fetches. */
  needsOrder: boolean
}
interface Candidate {
  place: number
  /** The rule alone. */
  list: RuleList
  hasBudget: boolean
}

/** Whether a claim to be an agent can be checked; a live front knows of any other that it is `unverifiable`. */
const isVerifiable = (agent: Agent | undefined): boolean => agent !== undefined && !agent.client_side
const identityIn = ({ agent, verification }: RecordedFetches): Identity | undefined =>
  isVerifiable(agent) ? identityOf(verification) : 'unverifiable'

/** Returns a function that finds the rules about an agent. */
function createRuleFinder(rules: readonly DecidingRule[], sitemaps: readonly string[]) {
  const alone = rules.map((rule, place) => {
    const list = compileRules([rule], sitemaps)
    return { rule, candidate: { place, list, hasBudget: rule.budget !== undefined } }
  })
  const byAgent = new Map<string, AgentRules>()
  return (agent: Agent | undefined): AgentRules => {
    const id = agent?.id ?? UNKNOWN_AGENT.id
    const cached = byAgent.get(id)
    if (cached) return cached
    const about = alone.filter(({ rule }) => isAbout(rule, agent))
    const agentRules = {
      candidates: about.map(({ candidate }) => candidate),
      needsIdentity:
        isVerifiable(agent) &&
        about.some(
          ({ rule, candidate }) => rule.identity.length > 0 || (candidate.list.needsIdentity && isSpared(agent)),
        ),
      needsOrder: about.some(({ candidate }) => candidate.hasBudget),
    }
    byAgent.set(id, agentRules)
    return agentRules
  }
}

export type Rehearsal = ReturnType<typeof createRehearsal>

/**
 * Decides again about recorded fetches, by the code that decides live, and tallies what each rule does. Rules that are off
 * are left out; those in rehearsal decide like those that are on.
 */
export function createRehearsal(given: readonly DecidingRule[], sitemaps: readonly string[] = []) {
  const rules = given.filter(({ state }) => state !== 'off')
  const list = compileRules(rules, sitemaps)
  const together = [list, createBudgets()] as const
  const aloneBudgets = createBudgets()
  const places = new Map(rules.map((rule, place) => [rule, place]))
  const rulesFor = createRuleFinder(rules, sitemaps)
  const tallies = createTallies(rules)
  const lastFetches = createRecentCache<string, number>(MAX_VERDICTS)
  const pending = createPendingBytes()
  const counts = { unverified: 0, firsts: 0 }
  const decide = (
    [by, used]: readonly [RuleList, Budgets],
    fetch: RecordedFetches,
    identity: Identity | undefined,
    cannotWait = true,
  ): Verdict => {
    // Each field by name: to spread an object costs more than to decide.
    const { agent, method, pathname, address, at, disallowed } = fetch
    const asked = { agent, identity, method, pathname, address, at, cannotWait, isDisallowed: () => disallowed }
    const verdict = by.decide(asked, used)
    if (verdict.bytesTo) pending.add(fetch.at + fetch.duration_ms, used, verdict.bytesTo, fetch.bytes)
    return verdict
  }
  const count = ({ rule }: Verdict, fetch: RecordedFetches, identity: Identity | undefined, sign: 1 | -1): void => {
    const decider = rule && places.get(rule)
    if (decider !== undefined) tallies.addDecided(decider, fetch, sign)
    for (const { place, list: one, hasBudget } of rulesFor(fetch.agent).candidates) {
      // Before the rule that decided, only one with a budget can match.
      if (!hasBudget && place !== decider && (decider === undefined || place < decider)) continue
      const isItsOwn = place === decider && !hasBudget
      const matches = isItsOwn || decide([one, aloneBudgets], fetch, identity).rule !== undefined
      if (matches || place === decider) tallies.addMatch(place, decider, sign * fetch.fetches)
    }
  }
  /** Nothing is known of the claim, unless a rule waits for its check. */
  const decideFirst = (fetch: RecordedFetches, identity: Identity | undefined) => {
    const verdict = decide(together, fetch, undefined, false)
    return verdict.waits ? { verdict: decide(together, fetch, identity), seen: identity } : { verdict, seen: undefined }
  }
  return {
    ...tallies,
    rulesFor,
    /** Fetches whose claim could not be checked, and first fetches of an address, whose claim was not checked yet. */
    counts,
    /** Adds fetches of an agent for which the order does not matter; their claims count as checked. */
    addGroup(fetch: RecordedFetches): void {
      const identity = identityIn(fetch)
      if (identity === undefined && rulesFor(fetch.agent).needsIdentity) counts.unverified += fetch.fetches
      count(decide(together, fetch, identity), fetch, identity, 1)
    },
    /** Decides again about those fetches of groups that were the first of their address, or the first in an hour. */
    correctFirsts(fetch: RecordedFetches): void {
      const identity = identityIn(fetch)
      const before = decide(together, fetch, identity)
      const { verdict, seen } = decideFirst(fetch, identity)
      if (seen !== identity) counts.firsts += fetch.fetches
      count(before, fetch, identity, -1)
      count(verdict, fetch, seen, 1)
    },
    /** Adds one fetch; all fetches come in the order of time. */
    addNext(fetch: RecordedFetches): void {
      pending.countUntil(fetch.at)
      const identity = identityIn(fetch)
      const { needsIdentity } = rulesFor(fetch.agent)
      if (identity === undefined && needsIdentity) counts.unverified += 1
      const caller = `${fetch.address} ${fetch.agent?.id ?? UNKNOWN_AGENT.id}`
      const isFirst = needsIdentity && fetch.at - (lastFetches.get(caller) ?? -Infinity) >= VERDICT_LIFETIME_MS
      if (needsIdentity) lastFetches.set(caller, fetch.at)
      const { verdict, seen } = isFirst
        ? decideFirst(fetch, identity)
        : { verdict: decide(together, fetch, identity), seen: identity }
      if (seen !== identity) counts.firsts += 1
      count(verdict, fetch, seen, 1)
    },
  }
}

/** Returns a function that tells whether a rule is about a page: all are, of a rule without paths, that may be refused. */
export function createPageMatcher(rule: DecidingRule, sitemaps: readonly string[] = []): (pathname: string) => boolean {
  const anybody = { agents: [], operators: [], purposes: [], except: [], identity: [], methods: [], disallowed: false }
  const { id, name, text, paths, refuse_search_engines } = rule
  const open = { id, name, text, paths, refuse_search_engines, ...anybody, strict: false }
  const list = compileRules([{ ...open, action: 'block', state: 'on' }], sitemaps)
  const fetch = { agent: undefined, identity: undefined, method: 'GET', address: '', at: 0, isDisallowed: () => false }
  const budgets = createBudgets()
  return (pathname) => list.decide({ ...fetch, pathname }, budgets).rule !== undefined
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
