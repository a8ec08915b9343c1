import type { Agent } from '../catalog.js'
import type { RobotsGroup } from './parse-robots.js'
import type { RobotsMode } from './robots-lines.js'
import { userAgentNames } from './robots-records.js'

/** The groups that apply to one agent, and the tokens that selected them. */
export interface GroupSelection {
  /** As the catalog spells them; `['*']` for the groups of all other agents, `[]` if no group applies. */
  tokens: readonly string[]
  /** In the order of the file. */
  groups: readonly RobotsGroup[]
}

/** Google's agents are judged as Google's parser reads the file, all others by RFC 9309. */
export const modeOf = (agent: Agent | undefined): RobotsMode => (agent?.operator === 'Google' ? 'google' : 'rfc')

/**
 * Returns the names that an agent obeys in robots.txt: its `robots_tokens`, or if the catalog has none, the tokens of its
 * user agent that could be product tokens (letters, digits, `_ - .`), since `User-agent: curl` means curl.
 */
const robotsTokensOf = (agent: Agent): readonly string[] =>
  agent.robots_tokens ?? agent.ua_tokens.filter((token) => /^[a-z][\w.-]*$/i.test(token))

/**
 * Returns a function that selects the groups of an agent (RFC 9309 2.2.1): all groups that name the first of the agent's
 * tokens that any group names, then the same for its `robots_fallback`, then the groups of `*`, unless the agent's
 * operator says that it ignores them. An undefined agent obeys `*`.
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
  // Names that select the same groups share one list, so that the groups are compiled once.
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
      const selected = byName.get(token.toLowerCase())
      if (selected !== undefined) return { tokens: [token], groups: selected }
    }
    return { tokens: [], groups: [] }
  }
}
