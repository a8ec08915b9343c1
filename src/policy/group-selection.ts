import type { Agent } from '../agents/catalog.js'
import type { RobotsGroup } from './parse-robots.js'
import type { RobotsMode } from './robots-lines.js'
import { userAgentNames } from './robots-records.js'

/** The groups that apply to one agent, and the tokens that chose them. */
export interface GroupSelection {
  /** As the catalog spells them; `['*']` for the rest's groups, `[]` for none. */
  tokens: readonly string[]
  /** In the order of the file. */
  groups: readonly RobotsGroup[]
}

/** Google's agents are judged as Google's parser reads, all others by the RFC. */
export const modeOf = (agent: Agent | undefined): RobotsMode => (agent?.operator === 'Google' ? 'google' : 'rfc')

/**
 * The names an agent obeys in robots.txt: its `robots_tokens`. Where the catalog knows none, its user agent's tokens
 * that could be product tokens (letters, digits, `_ - .`): who writes `User-agent: curl` means curl.
 */
const robotsTokensOf = (agent: Agent): readonly string[] =>
  agent.robots_tokens ?? agent.ua_tokens.filter((token) => /^[a-z][\w.-]*$/i.test(token))

/**
 * Which groups apply (RFC 9309 2.2.1): all that name the first of the agent's tokens that any group names, else of
 * its `robots_fallback`, else those of `*` unless its operator says that it ignores them. Undefined as agent: `*`.
 */
export function createGroupSelector(
  groups: readonly RobotsGroup[],
  mode: RobotsMode,
): (agent: Agent | undefined) => GroupSelection {
  const byName = new Map<string, RobotsGroup[]>()
  for (const group of groups)
    for (const userAgent of group.user_agents)
      for (const name of userAgentNames(userAgent, mode)) {
        const named = byName.get(name)
        if (named === undefined) byName.set(name, [group])
        else if (named.at(-1) !== group) named.push(group)
      }
  // Names of the same groups share one list, so that those are compiled once.
  const lists = new Map<string, RobotsGroup[]>()
  for (const [name, named] of byName) {
    const key = named.map((group) => group.line).join()
    const known = lists.get(key)
    if (known === undefined) lists.set(key, named)
    else byName.set(name, known)
  }
  return (agent) => {
    const tokens = agent === undefined ? [] : [...robotsTokensOf(agent), ...(agent.robots_fallback ?? [])]
    if (agent === undefined || agent.honors_wildcard_group) tokens.push('*')
    for (const token of tokens) {
      const found = byName.get(token.toLowerCase())
      if (found !== undefined) return { tokens: [token], groups: found }
    }
    return { tokens: [], groups: [] }
  }
}
