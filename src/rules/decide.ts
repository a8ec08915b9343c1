import type { Agent } from '../agents/agent.js'
import { UNKNOWN_AGENT } from '../agents/identify.js'
import { MAX_CHARACTERS } from '../base/text-limits.js'
import { createPathMatcher } from '../capture/excluded-paths.js'
import type { Budgets, Counter } from './budgets.js'
import { isNeverRefused } from './never-refused.js'
import type { DecidingRule, Identity } from './rule.js'

/** A fetch of an agent, as the live decision and a rehearsal over stored rows both know it. */
export interface AgentFetch {
  /** Undefined for an agent that is not in the catalogue. */
  agent: Agent | undefined
  /** Undefined while the claim is not checked. */
  identity: Identity | undefined
  method: string
  /** As requested, without the query. */
  pathname: string
  /** Names the address in budgets: the address itself, or its hash in a stored row. */
  address: string
  /** Milliseconds since 1970. */
  at: number
  /** Returns whether the active robots.txt disallows the fetch; asked only where a rule needs it. */
  isDisallowed(): boolean
  /** True if the fetch does not wait for its claim to be checked: strict rules then decide by what is known. */
  cannotWait?: boolean
}

/** The decision of a list of rules about one fetch. */
export interface Verdict {
  /** The first rule that matches; undefined if none does, and the fetch passes. */
  rule: DecidingRule | undefined
  /** True if the verdict could be another one once the claim is checked, and a rule wants to wait for that. */
  waits: boolean
  /** Budgets of bytes that the response counts towards if the fetch passes; absent without any. */
  bytesTo?: readonly Counter[]
}

/** Decides about fetches; budgets count in `Budgets`. */
export interface RuleList {
  decide(fetch: AgentFetch, budgets: Budgets): Verdict
  /** Whether any rule asks for the claim's identity, so that verdicts are worth knowing. */
  readonly needsIdentity: boolean
}

interface CompiledRule {
  rule: DecidingRule
  until: number
  matchesPath: ((pathname: string) => boolean) | undefined
  methods: ReadonlySet<string> | undefined
  identities: ReadonlySet<Identity> | undefined
}

/** A rule that may be about an agent. */
interface Candidate extends CompiledRule {
  /** The rule does not name the agent, which is spared: it matches only a claim that is spoofed. */
  isOnlyForSpoofed: boolean
  /** The agent or operator that the budget counts by; undefined if it counts by address. */
  holder: string | undefined
}

/** Agents of these purposes pass unless a rule names them: most sites would lose readers. */
const SPARED_PURPOSES: ReadonlySet<string> = new Set(['search', 'feed', 'social', 'monitor'])
const PASSES: Verdict = { rule: undefined, waits: false }

/**
 * Compiles rules into one function that decides about fetches. The first rule that matches decides. Rules that are off are
 * skipped, and so is a rule from its `until` on. Costs grow with the rules that name the agent, not with all rules; each
 * pattern takes time linear in the path.
 */
export function compileRules(rules: readonly DecidingRule[], sitemaps: readonly string[] = []): RuleList {
  const compiled = rules.filter(({ state }) => state !== 'off').map(compileRule)
  const sitemapPaths = new Set(sitemaps.map(plainPath))
  const byAgent = new Map<string, readonly Candidate[]>()
  const rulesFor = (agent: Agent | undefined): readonly Candidate[] => {
    const id = agent?.id ?? UNKNOWN_AGENT.id
    const cached = byAgent.get(id)
    if (cached !== undefined) return cached
    const candidates = compiled
      .filter(({ rule }) => isAbout(rule, agent))
      // Each field by name: objects that are spread have layouts of their own in V8, and are read six times as slowly.
      .map(({ rule, until, matchesPath, methods, identities }) => ({
        rule,
        until,
        matchesPath,
        methods,
        identities,
        isOnlyForSpoofed: rule.action !== 'allow' && isSpared(agent) && !namesAgent(rule, agent),
        holder: holderOf(rule, agent ?? UNKNOWN_AGENT),
      }))
    byAgent.set(id, candidates)
    return candidates
  }
  return {
    needsIdentity: compiled.some(({ rule }) => rule.identity.length > 0 || !isNaming(rule)),
    decide(fetch, budgets) {
      const candidates = rulesFor(fetch.agent)
      if (candidates.length === 0) return PASSES
      const pathname = plainPath(fetch.pathname)
      if (isNeverRefused(pathname, sitemapPaths)) return PASSES
      return decideAmong(candidates, fetch, pathname, budgets)
    },
  }
}

function decideAmong(candidates: readonly Candidate[], fetch: AgentFetch, pathname: string, budgets: Budgets): Verdict {
  const counted: Counter[] = []
  let waits = false
  let decided: DecidingRule | undefined
  for (const one of candidates) {
    const { rule } = one
    if (fetch.at >= one.until) continue
    if (one.methods !== undefined && !one.methods.has(fetch.method)) continue
    // Cheaper than paths, and the same result: a verdict that is known does not change.
    if (fetch.identity !== undefined && !isIdentityMatched(one, fetch.identity)) continue
    if (one.matchesPath !== undefined && !one.matchesPath(pathname)) continue
    if (rule.disallowed && !fetch.isDisallowed()) continue
    if (fetch.identity === undefined && !isIdentityMatched(one, undefined)) {
      waits ||= rule.strict && fetch.cannotWait !== true
      continue
    }
    if (rule.budget !== undefined) {
      const counter = budgets.counterOf(rule.id, one.holder ?? fetch.address, rule.budget, fetch.at)
      if (counter.used < rule.budget.limit) {
        counted.push(counter)
        continue
      }
    }
    decided = rule
    break
  }
  if (decided !== undefined && decided.action !== 'allow') return { rule: decided, waits }
  // Only a fetch that passes uses budgets: one that another rule refuses takes nothing from them.
  for (const counter of counted) if (counter.budget.unit === 'fetches' && !waits) budgets.spend(counter, fetch.at, 1)
  const bytesTo = counted.filter(({ budget }) => budget.unit === 'bytes')
  if (decided === undefined && !waits && bytesTo.length === 0) return PASSES
  return { rule: decided, waits, ...(bytesTo.length > 0 && { bytesTo }) }
}

function compileRule(rule: DecidingRule): CompiledRule {
  return {
    rule,
    until: rule.until === undefined ? Number.POSITIVE_INFINITY : Date.parse(rule.until),
    matchesPath: rule.paths.length === 0 ? undefined : createPathMatcher(rule.paths.map(plainPath)),
    methods: rule.methods.length === 0 ? undefined : new Set(rule.methods),
    identities: rule.identity.length === 0 ? undefined : new Set(rule.identity),
  }
}

/** Returns whether a rule lists agents, operators or purposes. */
const isNaming = ({ agents, operators, purposes }: DecidingRule): boolean =>
  agents.length + operators.length + purposes.length > 0

/** Returns whether a rule names an agent by itself, its operator or its purpose. */
export function namesAgent(rule: DecidingRule, agent: Agent | undefined): boolean {
  const { id, operator, purpose } = agent ?? UNKNOWN_AGENT
  const { agents, operators, purposes } = rule
  return agents.includes(id) || operators.includes(operator) || purposes.some((one) => one === purpose)
}

/** Returns whether a rule may be about an agent, whatever it fetches. */
export const isAbout = (rule: DecidingRule, agent: Agent | undefined): boolean =>
  (!isNaming(rule) || namesAgent(rule, agent)) && !rule.except.includes(agent?.id ?? UNKNOWN_AGENT.id)

/** Returns whether agents like this one pass rules that do not name them. */
export const isSpared = (agent: Agent | undefined): boolean => agent !== undefined && SPARED_PURPOSES.has(agent.purpose)

/** Returns whether a claim, or one that is not checked, is among those that a rule asks for. */
function isIdentityMatched({ identities, isOnlyForSpoofed }: Candidate, identity: Identity | undefined): boolean {
  if (identities !== undefined && (identity === undefined || !identities.has(identity))) return false
  return !isOnlyForSpoofed || identity === 'spoofed'
}

const holderOf = ({ budget }: DecidingRule, { id, operator }: Pick<Agent, 'id' | 'operator'>): string | undefined =>
  budget?.by === 'agent' ? id : budget?.by === 'operator' ? operator : undefined

/** Returns a function that tells whether a rule is about a page: all are, of a rule without paths, that may be refused. */
export function createPageMatcher(rule: DecidingRule, sitemaps: readonly string[]): (pathname: string) => boolean {
  const { matchesPath = () => true } = compileRule(rule)
  const sitemapPaths = new Set(sitemaps.map(plainPath))
  return (pathname) => {
    const path = plainPath(pathname)
    return matchesPath(path) && !isNeverRefused(path, sitemapPaths)
  }
}

const UNRESERVED = /%(?:2d|2e|5f|7e|3[0-9]|[46][1-9a-f]|[57][0-9a])/gi

/**
 * Returns a path as rules compare it: as long as a row keeps it, and with percent-encoded letters and digits decoded, which
 * mean the same (RFC 3986 6.2.2.2) and would otherwise get past a rule.
 */
const plainPath = (pathname: string): string => {
  const path = pathname.length > MAX_CHARACTERS.pathname ? pathname.slice(0, MAX_CHARACTERS.pathname) : pathname
  return path.includes('%')
    ? path.replace(UNRESERVED, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
    : path
}
