import type { Agent } from '../catalog.js'
import { googleText } from './canonical.js'
import { compileRobots } from './compiled-robots.js'
import { type GroupSelection, modeOf } from './group-selection.js'
import { createListing, type Llms, parseLlms } from './llms.js'
import { type ContentUsage, parseRobots, type RobotsGroup, type RobotsRule, type RobotsTxt } from './parse-robots.js'
import { mergePreferences, type Preferences } from './preferences.js'
import type { RobotsMode } from './robots-lines.js'
import { standingOf } from './version.js'

/** One file as the origin served it. `status` is 0 if there was no response or it could not be read. */
interface FetchedFile {
  status: number
  body: Uint8Array | string
  /** The URL of the response, after redirects. */
  url?: string
}

/** The answer to one question, with its reason. */
export interface Decision {
  allowed: boolean
  /** `unavailable` (3xx, 4xx) allows everything, `unreachable` (5xx, no response) nothing. */
  reason: 'rule' | 'no_rule' | 'no_group' | 'unavailable' | 'unreachable' | 'robots_txt'
  /** The deciding pattern as written (the first 512 characters), and its line from 1. Present if `reason` is `rule`. */
  rule?: string
  line?: number
  /** The token whose groups apply; `['*']` for the groups of all other agents, `[]` if no group applies. */
  group: readonly string[]
}

/** The rules and preferences of the file for one agent, with all of its groups merged. */
export interface AgentGroup {
  group: readonly string[]
  rules: number
  /** Seconds. */
  crawl_delay?: number
  content_signals?: Preferences
  content_usage?: readonly ContentUsage[]
}

/** A robots.txt as the policy page shows it. */
export interface RobotsView extends Omit<RobotsTxt, 'groups'> {
  groups: readonly (Omit<RobotsGroup, 'rules'> & { rules: readonly Omit<RobotsRule, 'octets'>[] })[]
}

export type Policy = ReturnType<typeof createPolicy>

const MAX_RULE_CHARS = 512
const NO_GROUP: GroupSelection = { tokens: [], groups: [] }

/**
 * Creates the policy of one hostname at one moment from its two files; `llms` is absent if it was not fetched. Its methods
 * never throw or wait, and always return the same. Google's agents are judged as Google's parser reads robots.txt, all
 * others by RFC 9309. An undefined agent is one that is not in the catalog.
 */
export function createPolicy(files: { hostname: string; robots: FetchedFile; llms?: FetchedFile }) {
  const { hostname } = files
  const standing = standingOf(files.robots.status)
  const body = standing === 'served' ? files.robots.body : ''
  const llms: Llms | null =
    files.llms !== undefined && standingOf(files.llms.status) === 'served'
      ? parseLlms(files.llms.body, addressOfLlms(hostname, files.llms.url))
      : null
  const isListed = llms && createListing(llms)
  const rfc = compileRobots(body, 'rfc')
  let google: typeof rfc | undefined
  const compiledFor = (mode: RobotsMode) => {
    if (mode === 'rfc') return rfc
    google ??= compileRobots(body, mode)
    return google
  }
  const unknownAgent = {}
  const selections = new WeakMap<object, GroupSelection>()
  const selectionOf = (agent: Agent | undefined): GroupSelection => {
    if (standing !== 'served') return NO_GROUP
    const known = selections.get(agent ?? unknownAgent)
    if (known !== undefined) return known
    const selection = compiledFor(modeOf(agent)).select(agent)
    selections.set(agent ?? unknownAgent, selection)
    return selection
  }
  let view: RobotsView | undefined

  /** Decides whether the agent may fetch `target`: path and query as on the request line, one character per octet. */
  const allows = (agent: Agent | undefined, target: string): Decision => {
    const selection = selectionOf(agent)
    const group = selection.tokens
    if (/^\/robots\.txt(?:[?#]|$)/.test(target)) return { allowed: true, reason: 'robots_txt', group }
    if (standing !== 'served') return { allowed: standing === 'unavailable', reason: standing, group }
    if (selection.groups.length === 0) return { allowed: true, reason: 'no_group', group }
    const mode = modeOf(agent)
    const rule = compiledFor(mode).find(selection, mode === 'google' ? googleText(target) : target)
    if (rule === undefined) return { allowed: true, reason: 'no_rule', group }
    return {
      allowed: rule.allow,
      reason: 'rule',
      rule: rule.pattern.slice(0, MAX_RULE_CHARS),
      line: rule.line,
      group,
    }
  }
  return {
    hostname,
    /** robots.txt as parsed by the RFC; null if its status is not 2xx. Parsed when needed, since judging does not need it. */
    get robots(): RobotsView | null {
      if (standing !== 'served') return null
      view ??= toView(parseRobots(body))
      return view
    },
    /** The parsed llms.txt; null if its status is not 2xx. */
    llms,
    allows,
    /** Returns true if llms.txt lists the URL, and null if there is no llms.txt. */
    lists: (target: string): boolean | null => isListed?.(target) ?? null,
    groupOf: (agent: Agent | undefined): AgentGroup => mergeGroups(selectionOf(agent)),
    /** Returns true if all rules for the agent are plain prefixes of paths, so that no query changes a decision. */
    hasOnlyPrefixes: (agent: Agent | undefined): boolean =>
      selectionOf(agent).groups.every(({ rules }) => rules.every(({ pattern }) => !/[*$?]/.test(pattern))),
    /** Returns true if every agent is disallowed; false for an empty list. Agents with the same groups are tried once. */
    blocksAll(agents: readonly Agent[], target: string): boolean {
      const distinct = new Map(agents.map((agent) => [selectionOf(agent).groups, agent]))
      return agents.length > 0 && [...distinct.values()].every((agent) => !allows(agent, target).allowed)
    },
    /**
     * Returns Disallow patterns as written. Every target that `blocksAll` these agents matches at least one of them, so
     * they serve as a cheap first filter. `['/']` if the file is unreachable, empty if nothing can be blocked for all.
     */
    disallowPatterns(agents: readonly Agent[]): readonly string[] {
      if (agents.length === 0 || standing === 'unavailable') return []
      if (standing === 'unreachable') return ['/']
      const sets = agents.map((agent) => new Set(disallowPatternsOf(selectionOf(agent))))
      return [...sets.reduce((least, set) => (set.size < least.size ? set : least))]
    },
  }
}

/**
 * Returns the URL that relative links of llms.txt are resolved against: that of the response, whose scheme and port the
 * links share. If a redirect led to another host, links still are the hostname's own.
 */
const addressOfLlms = (hostname: string, url: string | undefined): string =>
  url !== undefined && URL.canParse(url) && new URL(url).hostname === hostname ? url : `http://${hostname}/llms.txt`

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
  const delay = groups.find(({ crawl_delay }) => crawl_delay !== undefined)?.crawl_delay
  const signals = groups.reduce<Preferences>((all, one) => mergePreferences(all, one.content_signals), {})
  const usage = groups.flatMap(({ content_usage }) => content_usage ?? [])
  return {
    group: tokens,
    rules: groups.reduce((sum, { rules }) => sum + rules.length, 0),
    ...(delay !== undefined && { crawl_delay: delay }),
    ...(Object.keys(signals).length > 0 && { content_signals: signals }),
    ...(usage.length > 0 && { content_usage: usage }),
  }
}
