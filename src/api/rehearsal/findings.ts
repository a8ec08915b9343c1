import type { Agent } from '../../agents/agent.js'
import { UNKNOWN_AGENT } from '../../agents/identify.js'
import type { Identity } from '../../rules/rule.js'
import { identityOf, type PageCount, pageKeyOf, type RuleTally } from '../../rules/rule-tallies.js'
import type { Readers } from './readers.js'
import { type After, agentKey, forEach, type Recorded } from './recorded.js'
import type { Rehearsed } from './shape.js'

const MAX_AGENTS_SHOWN = 100
const MAX_PAGES_SHOWN = 50

export interface TopPages {
  total: number
  pages: PageCount[]
}

export async function findTopPages({ pages }: RuleTally): Promise<TopPages> {
  const top: TopPages = { total: 0, pages: [] }
  const isBefore = (a: PageCount, b: PageCount): boolean =>
    a.fetches !== b.fetches ? a.fetches > b.fetches : pageKeyOf(a) < pageKeyOf(b)
  await forEach([[...pages.values()]], (page) => {
    top.total += 1
    const last = top.pages.at(-1)
    if (top.pages.length === MAX_PAGES_SHOWN && last && !isBefore(page, last)) return
    const at = top.pages.findIndex((other) => isBefore(page, other))
    top.pages.splice(at < 0 ? top.pages.length : at, 0, page)
    top.pages.length = Math.min(top.pages.length, MAX_PAGES_SHOWN)
  })
  return top
}

type RehearsedRule = Rehearsed['rules'][number]

export function agentsOf(
  { agents, rule }: RuleTally,
  recorded: Recorded,
  { operators }: Readers,
  after: ReadonlyMap<string, After>,
): RehearsedRule['agents'] {
  const byKey = new Map<string, { agent: Agent | undefined; identity: Identity | undefined; would: number }>()
  for (const { agent, verification, fetches } of agents.values()) {
    const identity = identityOf(verification)
    const key = agentKey(agent, identity)
    byKey.set(key, { agent, identity, would: (byKey.get(key)?.would ?? 0) + fetches })
  }
  return [...byKey]
    .sort(([a, x], [b, y]) => y.would - x.would || (a < b ? -1 : 1))
    .slice(0, MAX_AGENTS_SHOWN)
    .map(([key, { agent, identity, would }]) => {
      const { id, name, operator } = agent ?? UNKNOWN_AGENT
      const then = after.get(key)
      return {
        ...{ agent_id: id, name, operator, would, search_engine: agent?.purpose === 'search' },
        ...(identity && { identity }),
        fetches: recorded.agents.get(key)?.fetches ?? 0,
        readers: identity === 'spoofed' || rule.action === 'allow' ? 0 : (operators.get(operator) ?? 0),
        ...(then && { after: then }),
      }
    })
}

export function searchEnginesOf(
  { agents, rule }: RuleTally,
  recorded: Recorded,
  { operators }: Readers,
): RehearsedRule['search_engines'] {
  if (rule.action === 'allow') return []
  return [...agents.values()]
    .flatMap(({ agent, verification, fetches }) => {
      if (agent?.purpose !== 'search' || verification === undefined) return []
      if (identityOf(verification) !== 'verified') return []
      const all = recorded.agents.get(agentKey(agent, 'verified'))?.byVerification.get(verification) ?? 0
      const { id, name, operator } = agent
      return [{ agent_id: id, name, verification, would: fetches, fetches: all, readers: operators.get(operator) ?? 0 }]
    })
    .sort((a, b) => b.would - a.would || (a.agent_id < b.agent_id ? -1 : 1))
}

/** Names the earlier rule that takes most of what a rule matches, if the rule never decides. */
export function neverDecides(
  { fetches, takenBy }: RuleTally,
  tallies: readonly RuleTally[],
): Pick<RehearsedRule, 'never_decides'> {
  if (fetches > 0) return {}
  const [most] = [...takenBy].sort(([a, x], [b, y]) => y - x || a - b)
  const by = most && tallies[most[0]]?.rule.id
  return by === undefined ? {} : { never_decides: { by, fetches: most?.[1] ?? 0 } }
}
