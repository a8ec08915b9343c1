import type { Agent } from '../agents/catalog.js'
import { googleText } from './canonical.js'
import { compileRobots } from './compiled-robots.js'
import { type GroupSelection, modeOf } from './group-selection.js'
import { createListing, type Llms, parseLlms } from './llms.js'
import { type ContentUsage, parseRobots, type RobotsGroup, type RobotsRule, type RobotsTxt } from './parse-robots.js'
import { mergePreferences, type Preferences } from './preferences.js'
import type { RobotsMode } from './robots-lines.js'

/** One file as it was answered; `status` 0 where nothing answered, or something that could not be read. */
interface FetchedFile {
  status: number
  body: Uint8Array | string
}

/** Why a fetch is allowed or not. `unavailable` (4xx) allows all, `unreachable` (5xx, no answer) allows nothing. */
type Reason = 'rule' | 'no_rule' | 'no_group' | 'unavailable' | 'unreachable' | 'robots_txt'

/** The answer to one question, with what decided it. */
export interface Decision {
  allowed: boolean
  reason: Reason
  /** The deciding pattern as the file writes it (the first 512 characters), and its line (from 1); only for `rule`. */
  rule?: string
  line?: number
  /** The token whose groups apply, `['*']` for the rest's, `[]` for none. */
  group: readonly string[]
}

/** What the file says to one agent, all of its groups merged. */
export interface AgentGroup {
  group: readonly string[]
  rules: number
  /** Seconds. */
  crawl_delay?: number
  content_signals?: Preferences
  content_usage?: readonly ContentUsage[]
}

/** A robots.txt as the policy page shows it (contract 5). */
export interface RobotsView extends Omit<RobotsTxt, 'groups'> {
  groups: readonly (Omit<RobotsGroup, 'rules'> & { rules: readonly Omit<RobotsRule, 'octets'>[] })[]
}

/** One hostname's robots.txt and llms.txt at one moment. Its answers never change, wait or throw. */
export interface Policy {
  readonly hostname: string
  /** As the RFC reads it; null where the answer was not 2xx. Read when asked for: judging does not need it. */
  readonly robots: RobotsView | null
  /** Null where there is none of status 2xx. */
  readonly llms: Llms | null
  /**
   * `target`: path and query as they stood on the request line, one character an octet (others count as their UTF-8).
   * Undefined as agent: one that is in no catalog.
   */
  allows(agent: Agent | undefined, target: string): Decision
  /** Whether llms.txt links the URL, its `.md` twin, or it without its trailing slash; null where there is no llms.txt. */
  lists(target: string): boolean | null
  groupOf(agent: Agent | undefined): AgentGroup
  /** Whether every one of these agents is disallowed here; false for no agents. */
  blocksAll(agents: readonly Agent[], target: string): boolean
  /**
   * Disallow patterns as written, of which every target that `blocksAll` these agents matches at least one: a cheap
   * first sieve. Where nothing could be reached `['/']`, where nothing can be blocked for all none.
   */
  disallowPatterns(agents: readonly Agent[]): readonly string[]
}

const MAX_RULE_CHARS = 512
const NO_GROUP: GroupSelection = { tokens: [], groups: [] }

/** Status of robots.txt to what it means (RFC 9309 2.3.1). The caller follows redirects; one that led nowhere is a 4xx. */
function availability(status: number): 'available' | 'unavailable' | 'unreachable' {
  if (status >= 200 && status < 300) return 'available'
  return status >= 300 && status < 500 ? 'unavailable' : 'unreachable'
}

/**
 * The policy from the answers for a hostname's two files; without `llms`, none was asked for. Google's agents are judged
 * as Google's parser reads, all others by RFC 9309. `/robots.txt` is allowed to all (contract 3).
 */
export function createPolicy(files: { hostname: string; robots: FetchedFile; llms?: FetchedFile }): Policy {
  const { hostname } = files
  const state = availability(files.robots.status)
  const body = state === 'available' ? files.robots.body : ''
  let robots: RobotsView | undefined
  const llms =
    files.llms !== undefined && availability(files.llms.status) === 'available'
      ? parseLlms(files.llms.body, `http://${hostname}/llms.txt`)
      : null
  const listed = llms && createListing(llms)
  const rfc = compileRobots(body, 'rfc')
  let google: typeof rfc | undefined
  const bookOf = (mode: RobotsMode) => {
    if (mode === 'rfc') return rfc
    google ??= compileRobots(body, mode)
    return google
  }
  const nobody = {}
  const selected = new WeakMap<object, GroupSelection>()
  const selectionOf = (agent: Agent | undefined): GroupSelection => {
    if (state !== 'available') return NO_GROUP
    const known = selected.get(agent ?? nobody)
    if (known !== undefined) return known
    const selection = bookOf(modeOf(agent)).select(agent)
    selected.set(agent ?? nobody, selection)
    return selection
  }

  const allows = (agent: Agent | undefined, target: string): Decision => {
    const selection = selectionOf(agent)
    const group = selection.tokens
    if (/^\/robots\.txt(?:[?#]|$)/.test(target)) return { allowed: true, reason: 'robots_txt', group }
    if (state !== 'available') return { allowed: state === 'unavailable', reason: state, group }
    if (selection.groups.length === 0) return { allowed: true, reason: 'no_group', group }
    const mode = modeOf(agent)
    const found = bookOf(mode).find(selection, mode === 'google' ? googleText(target) : target)
    if (found === undefined) return { allowed: true, reason: 'no_rule', group }
    return {
      allowed: found.allow,
      reason: 'rule',
      rule: found.pattern.slice(0, MAX_RULE_CHARS),
      line: found.line,
      group,
    }
  }
  return {
    hostname,
    get robots() {
      if (state !== 'available') return null
      robots ??= toView(parseRobots(body))
      return robots
    },
    llms,
    allows,
    lists: (target) => listed?.(target) ?? null,
    groupOf: (agent) => mergeGroups(selectionOf(agent)),
    blocksAll: (agents, target) => agents.length > 0 && agents.every((agent) => !allows(agent, target).allowed),
    disallowPatterns(agents) {
      if (agents.length === 0 || state === 'unavailable') return []
      if (state === 'unreachable') return ['/']
      const sets = agents.map((agent) => new Set(disallowPatternsOf(selectionOf(agent))))
      return [...sets.reduce((least, set) => (set.size < least.size ? set : least))]
    },
  }
}

const toView = (robots: RobotsTxt): RobotsView => ({
  ...robots,
  groups: robots.groups.map((group) => ({
    ...group,
    rules: group.rules.map(({ allow, pattern, line }) => ({ allow, pattern, line })),
  })),
})

const disallowPatternsOf = ({ groups }: GroupSelection): string[] =>
  groups.flatMap(({ rules }) => rules.flatMap(({ allow, pattern }) => (allow || pattern === '' ? [] : [pattern])))

function mergeGroups({ tokens, groups }: GroupSelection): AgentGroup {
  const delays = groups.flatMap(({ crawl_delay }) => (crawl_delay === undefined ? [] : [crawl_delay]))
  const signals = groups.reduce<Preferences>((all, one) => mergePreferences(all, one.content_signals), {})
  const usage = groups.flatMap(({ content_usage }) => content_usage ?? [])
  return {
    group: tokens,
    rules: groups.reduce((sum, { rules }) => sum + rules.length, 0),
    ...(delays[0] !== undefined && { crawl_delay: delays[0] }),
    ...(Object.keys(signals).length > 0 && { content_signals: signals }),
    ...(usage.length > 0 && { content_usage: usage }),
  }
}
