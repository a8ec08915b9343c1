import type { Agent } from '../../agents/agent.js'
import { isAbout, isSpared, namesAgent } from '../decide.js'
import { NEVER_REFUSED_PATTERN } from '../never-refused.js'
import type { DecidingRule } from '../rule.js'
import { type AgentPattern, agentPatterns, escapePattern } from './agent-patterns.js'

/** A rule as another server can decide by it. */
export interface ExportedRule {
  readonly rule: DecidingRule
  /** Match `rules:METHOD:/path` of a fetch that the rule decides, as PCRE and RE2 read it; `rules` are those of the agent. */
  readonly patterns: readonly string[]
  /** The ids of its agents. */
  readonly agents: readonly string[]
}

/** Rules as other servers decide by them, the first that matches; and sentences about what these servers cannot know. */
export interface ExportedRules {
  readonly agents: readonly AgentPattern[]
  readonly rules: readonly ExportedRule[]
  readonly leftOut: readonly string[]
  /** Matches `rules:METHOD:/path` of paths that no rule refuses. */
  readonly neverRefused: string
}

/**
 * Prepares the rules that are on at `now` (milliseconds since 1970) for another server. It never refuses what readership would
 * let pass: a rule that refuses by more than the name, the path and the method is left out, and one that lets pass loses
 * such conditions.
 */
export function exportRules(rules: readonly DecidingRule[], catalog: readonly Agent[], now: number): ExportedRules {
  const leftOut: string[] = []
  const named = catalog.filter(({ ua_tokens }) => ua_tokens.length > 0)
  const exported = rules
    .filter(({ state, until }) => state === 'on' && (until === undefined || Date.parse(until) > now))
    .flatMap((rule): ExportedRule[] => {
      const unsaid = unsaidConditions(rule)
      if (unsaid.length > 0 && rule.action !== 'allow') {
        leftOut.push(`Rule "${rule.name}" is left out: it asks for ${unsaid.join(' and ')}.`)
        return []
      }
      if (unsaid.length > 0)
        leftOut.push(`Rule "${rule.name}" lets more pass here: it does not ask for ${unsaid.join(' and ')}.`)
      const agents = named
        .filter(
          (agent) => isAbout(rule, agent) && (rule.action === 'allow' || !isSpared(agent) || namesAgent(rule, agent)),
        )
        .map(({ id }) => id)
      return agents.length === 0 ? [] : [{ rule, agents, patterns: decisionPatterns(rule) }]
    })
  if (exported.some(({ rule }) => rule.agents.length + rule.operators.length + rule.purposes.length === 0))
    leftOut.push('Bots that are not in the catalogue pass.')
  const rulesOf = ({ id }: Agent) => exported.filter(({ agents }) => agents.includes(id)).map(({ rule }) => rule.id)
  const neverRefused = `^[^:]*:[^:]*:${NEVER_REFUSED_PATTERN}`
  return { agents: agentPatterns(named, rulesOf), rules: exported, leftOut, neverRefused }
}

/** The conditions that only readership can check. */
const unsaidConditions = ({ identity, disallowed, budget }: DecidingRule): string[] => [
  ...(identity.length > 0 ? ['a checked identity'] : []),
  ...(disallowed ? ['what robots.txt disallows'] : []),
  ...(budget !== undefined ? ['a budget'] : []),
]

/** Returns one pattern for each path, because servers limit the length of a line. */
function decisionPatterns({ id, methods, paths }: DecidingRule): string[] {
  const method = methods.length === 0 ? '[A-Z]+' : `(?:${methods.join('|')})`
  return (paths.length === 0 ? ['.*'] : paths.map(pathPattern)).map((path) => `^[^:]*-${id}-[^:]*:${method}:${path}$`)
}

/** Translates a pattern of whole paths: `*` matches within a segment, `**` across segments. */
const pathPattern = (path: string): string =>
  (path.match(/\*+|[^*]+/g) ?? [])
    .map((part) => (part.startsWith('**') ? '.*' : part === '*' ? '[^/]*' : escapePattern(part)))
    .join('')
