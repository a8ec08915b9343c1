import type { Agent } from '../../agents/agent.js'

/** A regular expression (without case) that finds an agent in a `User-Agent`. */
export interface AgentPattern {
  readonly pattern: string
  /** The ids of the rules that are about the agent, `-3-7-`; empty if none is, or if the pattern rules the agent out. */
  readonly rules: string
}

/** Escapes a text for PCRE and RE2 alike. */
export const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/"]/g, '\\$&')

/** Agents of these purposes are named only if no other agent is: the catalogue's rule for tools that others build with. */
const LAST = new Set<string>(['library', 'headless'])

/**
 * Returns the patterns of the agents that rules are about, in an order in which the first that matches decides, as the
 * catalogue's longest token does. Includes agents whose longer token contains one of theirs. The pattern of a
 * word that the catalogue excludes stands first, and is about no rule.
 */
export function agentPatterns(agents: readonly Agent[], rulesOf: (agent: Agent) => readonly number[]): AgentPattern[] {
  const tokens = agents.flatMap((agent) => {
    const ids = rulesOf(agent)
    const rules = ids.length === 0 ? '' : `-${ids.join('-')}-`
    return agent.ua_tokens.map((token) => ({ agent, token, lower: token.toLowerCase(), rules }))
  })
  const wanted = tokens.filter(({ rules }) => rules !== '')
  const shown = tokens.filter(({ lower }) => wanted.some((one) => lower.includes(one.lower)))
  shown.sort(
    (a, b) =>
      Number(LAST.has(a.agent.purpose)) - Number(LAST.has(b.agent.purpose)) ||
      b.token.length - a.token.length ||
      (a.lower < b.lower ? -1 : 1),
  )
  return shown.flatMap(({ agent, token, rules }) => [
    ...(agent.ua_exclude ?? []).map((word) => {
      const [a, b] = [escapePattern(token), escapePattern(word)]
      return { pattern: `${a}.*${b}|${b}.*${a}`, rules: '' }
    }),
    { pattern: tokenPattern(agent, token), rules },
  ])
}

/** Returns the catalogue's `meta.matching` as a pattern: a token stands between word boundaries unless `ua_match` says otherwise. */
function tokenPattern({ ua_match }: Agent, token: string): string {
  const text = escapePattern(token)
  if (ua_match === 'exact-ua') return `^${text}$`
  return ua_match === 'substring' ? text : `(?:^|[^a-z0-9])${text}(?:[^a-z]|$)`
}
